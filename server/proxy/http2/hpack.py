"""Header blocks of HTTP/2 (HPACK): a decoder with its table, and blocks that need no table.

    1xxxxxxx  a field of the table                 01xxxxxx  a field to be added to the table
    001xxxxx  the table gets another size          000xxxxx  a field that is not added

An index counts from 1: the 61 fields of ``STATIC``, then the fields that were added, newest first.
A text is its length and its bytes, which may be in Huffman's code.

Rule: a decoder belongs to one connection and sees every block of it, in order, because each may
change the table. The blocks that we send add nothing to the peer's table.

Source: RFC 7541.
"""

import functools
from typing import Final

TABLE_SIZE_MAX: Final = 4096
"""The size of a table unless the settings name another one, which ours do not."""
LIST_SIZE_MAX: Final = 16 * 1024
"""The most bytes of all fields of one block, counted as for the table."""
_FIELD_SIZE: Final = 32
"""What a field costs beside its bytes."""
_INT_MAX: Final = 1 << 21
"""No index and no length that is right is larger."""
_END: Final = 256
"""The symbol that ends a text in Huffman's code; it may not occur, its first bits fill a byte."""

Field = tuple[str, str]

STATIC: Final[tuple[Field, ...]] = (
    (":authority", ""), (":method", "GET"), (":method", "POST"), (":path", "/"),
    (":path", "/index.html"), (":scheme", "http"), (":scheme", "https"), (":status", "200"),
    (":status", "204"), (":status", "206"), (":status", "304"), (":status", "400"),
    (":status", "404"), (":status", "500"), ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"), ("accept-language", ""), ("accept-ranges", ""),
    ("accept", ""), ("access-control-allow-origin", ""), ("age", ""), ("allow", ""),
    ("authorization", ""), ("cache-control", ""), ("content-disposition", ""),
    ("content-encoding", ""), ("content-language", ""), ("content-length", ""),
    ("content-location", ""), ("content-range", ""), ("content-type", ""), ("cookie", ""),
    ("date", ""), ("etag", ""), ("expect", ""), ("expires", ""), ("from", ""), ("host", ""),
    ("if-match", ""), ("if-modified-since", ""), ("if-none-match", ""), ("if-range", ""),
    ("if-unmodified-since", ""), ("last-modified", ""), ("link", ""), ("location", ""),
    ("max-forwards", ""), ("proxy-authenticate", ""), ("proxy-authorization", ""), ("range", ""),
    ("referer", ""), ("refresh", ""), ("retry-after", ""), ("server", ""), ("set-cookie", ""),
    ("strict-transport-security", ""), ("transfer-encoding", ""), ("user-agent", ""), ("vary", ""),
    ("via", ""), ("www-authenticate", ""),
)  # fmt: skip

_LENGTHS: Final = (
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5,
    6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
    6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23,
    23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20,
    22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22,
    22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26,
    27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25,
    25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
)  # fmt: skip
"""Bits of each byte in Huffman's code, and of its end. The code is canonical: codes of one length
count upwards in the order of the bytes, and each length goes on where the shorter one ended."""


class BadHeaders(ValueError):
    """The bytes are no header block. The connection cannot go on, since its table is unknown."""


class HeaderDecoder:
    """Reads the header blocks of one connection."""

    def __init__(self) -> None:
        self._table = list(STATIC)
        """The fields by index, which counts from 1."""
        self._size = 0
        """Of the fields that were added."""
        self._size_max = TABLE_SIZE_MAX

    def decode(self, block: bytes) -> list[Field]:
        """Return the fields of a block, in order.

        Raises:
            BadHeaders: the block is wrong, or its fields have more than LIST_SIZE_MAX bytes.
        """
        fields: list[Field] = []
        at, end, size = 0, len(block), 0
        try:
            while at < end:
                first = block[at]
                if first & 0x80:
                    # Most fields of a call are these, most of them one byte.
                    index, at = (
                        (first & 0x7F, at + 1) if first < 0xFF else _integer(block, at, 0x7F)
                    )
                    field = self._field(index)
                elif first & 0x40:
                    field, at = self._literal(block, at, 0x3F)
                    self._add(field)
                elif first & 0x20:
                    size_max, at = _integer(block, at, 0x1F)
                    self._resize(size_max, may_be=not fields)
                    continue
                else:
                    field, at = self._literal(block, at, 0x0F)
                fields.append(field)
                # A short block may name one long field of the table many times.
                size += len(field[0]) + len(field[1]) + _FIELD_SIZE
                if size > LIST_SIZE_MAX:
                    text = f"the headers of a request have more than {LIST_SIZE_MAX} bytes"
                    raise BadHeaders(text)
        except IndexError:
            raise BadHeaders(f"the header block ends in a field, after {end} bytes") from None
        return fields

    def _field(self, index: int) -> Field:
        if not 0 < index <= len(self._table):
            raise BadHeaders(f"there is no header field {index}")
        return self._table[index - 1]

    def _literal(self, block: bytes, at: int, mask: int) -> tuple[Field, int]:
        index, at = _integer(block, at, mask)
        if index:
            name = self._field(index)[0]
        else:
            name, at = _text(block, at)
        value, at = _text(block, at)
        return (name, value), at

    def _add(self, field: Field) -> None:
        self._size += _size_of(field)
        self._table.insert(len(STATIC), field)
        self._evict()

    def _resize(self, size_max: int, *, may_be: bool) -> None:
        if size_max > TABLE_SIZE_MAX or not may_be:
            raise BadHeaders(f"the table of header fields cannot get {size_max} bytes here")
        self._size_max = size_max
        self._evict()

    def _evict(self) -> None:
        while self._size > self._size_max:
            self._size -= _size_of(self._table.pop())


def encode(*fields: Field) -> bytes:
    """Return a block that any table can read: each field is written out.

    Args:
        fields: names and values in ASCII, names in lower case.
    """
    return b"".join(b"\x00" + _written(name) + _written(value) for name, value in fields)


def _written(text: str) -> bytes:
    data = text.encode("ascii")
    size = len(data)
    if size < 0x7F:
        return bytes((size,)) + data
    out, size = bytearray((0x7F,)), size - 0x7F
    while size >= 0x80:
        out.append(size & 0x7F | 0x80)
        size >>= 7
    out.append(size)
    return bytes(out) + data


def _size_of(field: Field) -> int:
    return len(field[0]) + len(field[1]) + _FIELD_SIZE


def _integer(block: bytes, at: int, mask: int) -> tuple[int, int]:
    """Return a number, which begins in the low bits of a byte, and the place behind it."""
    value = block[at] & mask
    at += 1
    if value < mask:
        return value, at
    shift = 0
    while True:
        byte = block[at]
        at += 1
        value += (byte & 0x7F) << shift
        if value > _INT_MAX:
            raise BadHeaders(f"a number of the header block is larger than {_INT_MAX}")
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 28:
            raise BadHeaders("a number of the header block has too many bytes")


def _text(block: bytes, at: int) -> tuple[str, int]:
    """Return a text and the place behind it."""
    is_huffman = block[at] & 0x80
    size, start = _integer(block, at, 0x7F)
    at = start + size
    data = block[start:at]
    if len(data) < size:
        raise BadHeaders(f"a header field has {size} bytes, {len(data)} are left")
    if is_huffman:
        data = huffman_decode(data)
    return data.decode("utf-8", "replace"), at


class _Node:
    """A place in the tree of Huffman's code.

    Attributes:
        is_end: whether a text may end here: only ones follow to here, fewer than eight.
        steps: for each value of four bits, the next place and the bytes that were complete on the
            way; None where there is no such code.
    """

    __slots__ = ("children", "is_end", "steps", "symbol")

    def __init__(self) -> None:
        self.children: dict[int, _Node] = {}
        self.symbol: int | None = None
        self.is_end = False
        self.steps: list[tuple[_Node, bytes] | None] = []


@functools.cache
def _tree() -> _Node:
    """Return the root of the tree; made when the first client sends such a text."""
    root, inner = _Node(), []
    code = length = 0
    for symbol in sorted(range(len(_LENGTHS)), key=_LENGTHS.__getitem__):
        code <<= _LENGTHS[symbol] - length
        length = _LENGTHS[symbol]
        node = root
        for shift in range(length - 1, -1, -1):
            node = node.children.setdefault(code >> shift & 1, _Node())
        node.symbol = symbol
        code += 1
    waiting = [root]
    while waiting:
        node = waiting.pop()
        inner.append(node)
        waiting += [child for child in node.children.values() if child.symbol is None]
    for node in inner:
        node.steps = [_step(root, node, bits) for bits in range(16)]
    node = root
    for _ in range(8):
        node.is_end = True
        node = node.children[1]
    return root


def _step(root: _Node, node: _Node, bits: int) -> tuple[_Node, bytes] | None:
    found = b""
    for shift in (3, 2, 1, 0):
        node = node.children[bits >> shift & 1]
        if node.symbol == _END:
            return None
        if node.symbol is not None:
            found += bytes((node.symbol,))
            node = root
    return node, found


def huffman_decode(data: bytes) -> bytes:
    """Return the bytes of a text in Huffman's code.

    Raises:
        BadHeaders: the code is wrong, or does not end with a text.
    """
    node = _tree()
    found: list[bytes] = []
    try:
        for byte in data:
            node, one = node.steps[byte >> 4]  # type: ignore[misc]  # None raises TypeError.
            node, other = node.steps[byte & 0x0F]  # type: ignore[misc]
            found += (one, other)
    except TypeError:
        raise BadHeaders("a header field has the code of its end within it") from None
    if not node.is_end:
        raise BadHeaders("a header field ends in the code of a byte")
    return b"".join(found)
