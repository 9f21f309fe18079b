"""Header blocks of HTTP/2 (HPACK): a decoder with its table, and blocks that need no table.

    1xxxxxxx  a field of the table                 01xxxxxx  a field to be added to the table
    001xxxxx  the table gets another size          000xxxxx  a field that is not added

An index counts from 1: the 61 fields of ``STATIC``, then the fields that were added, newest first.
A text is its length and its bytes, which may be in Huffman's code.

Rule: a decoder belongs to one connection and sees every block of it, in order, because each may
change the table. The blocks that we send add nothing to the peer's table. ``hpack_kernel`` decodes
the same in C where it was built.

Source: RFC 7541.
"""

import functools
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from storefmt.kernels import load

TABLE_SIZE_MAX: Final = 4096
"""The size of a table unless the settings name another one, which ours do not."""
LIST_SIZE_MAX: Final = 16 * 1024
"""The limit on the bytes of all fields of one block, counted as for the table."""
LIST_COUNT_MAX: Final = 128
"""The limit on the fields of one block; a call of a RocketMQ client has about fifteen."""
_FIELD_SIZE: Final = 32
"""The size that a field has in the table in addition to its bytes."""
NUMBER_MAX: Final = 1 << 21
"""The limit on a number; every valid index and length is lower."""
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

HUFFMAN_LENGTHS: Final = (
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


class _Entry(NamedTuple):
    """A field, and how many bytes its name and both texts have on the wire."""

    field: Field
    name_size: int
    text_size: int

    @property
    def size(self) -> int:
        """Return what the field takes in a table."""
        return self.text_size + _FIELD_SIZE


_STATIC_ENTRIES: Final = tuple(
    _Entry(field, len(field[0]), len(field[0]) + len(field[1])) for field in STATIC
)


class BadHeaders(ValueError):
    """The bytes are not a header block. The connection cannot go on, since its table is unknown."""


class FieldReader(Protocol):
    """Reads the header blocks of one connection."""

    def decode(self, block: bytes) -> list[Field]:
        """Return the fields of a block, see ``HeaderDecoder.decode``."""


class HeaderDecoder:
    """Reads the header blocks of one connection.

    Args:
        size_max: the most bytes of all fields of a block, counted as for the table.
        count_max: the most fields of a block.
    """

    def __init__(self, *, size_max: int = LIST_SIZE_MAX, count_max: int = LIST_COUNT_MAX) -> None:
        self._list_size_max = size_max
        self._list_count_max = count_max
        self._table: list[_Entry] = list(_STATIC_ENTRIES)
        """The fields by index, which counts from 1."""
        self._size = 0
        """Of the fields that were added."""
        self._size_max = TABLE_SIZE_MAX

    def decode(self, block: bytes) -> list[Field]:
        """Return the fields of a block, in order.

        Raises:
            BadHeaders: the block is wrong, or has more fields or bytes than are allowed.
        """
        fields: list[Field] = []
        pos, end, left = 0, len(block), self._list_size_max
        try:
            while pos < end:
                first = block[pos]
                if first & 0x80:
                    index, pos = _integer(block, pos, 0x7F)
                    entry = self._entry(index)
                elif first & 0x40:
                    entry, pos = self._literal(block, pos, 0x3F)
                    self._add(entry)
                elif first & 0x20:
                    size_max, pos = _integer(block, pos, 0x1F)
                    self._resize(size_max, may_be=not fields)
                    continue
                else:
                    entry, pos = self._literal(block, pos, 0x0F)
                fields.append(entry.field)
                # A short block may name one long field of the table many times.
                left -= entry.size
                if left < 0:
                    raise BadHeaders(
                        f"the headers of a request have more than {self._list_size_max} bytes"
                    )
                if len(fields) > self._list_count_max:
                    raise BadHeaders(
                        f"the headers of a request have more than {self._list_count_max} fields"
                    )
        except IndexError:
            raise BadHeaders(f"the header block ends in a field, after {end} bytes") from None
        return fields

    def _entry(self, index: int) -> _Entry:
        if not 0 < index <= len(self._table):
            raise BadHeaders(f"there is no header field {index}")
        return self._table[index - 1]

    def _literal(self, block: bytes, pos: int, mask: int) -> tuple[_Entry, int]:
        index, pos = _integer(block, pos, mask)
        if index:
            (name, _), name_size, _ = self._entry(index)
        else:
            name, name_size, pos = _text(block, pos)
        value, value_size, pos = _text(block, pos)
        return _Entry((name, value), name_size, name_size + value_size), pos

    def _add(self, entry: _Entry) -> None:
        self._size += entry.size
        self._table.insert(len(STATIC), entry)
        self._evict()

    def _resize(self, size_max: int, *, may_be: bool) -> None:
        if size_max > TABLE_SIZE_MAX or not may_be:
            raise BadHeaders(f"the table of header fields cannot get {size_max} bytes here")
        self._size_max = size_max
        self._evict()

    def _evict(self) -> None:
        while self._size > self._size_max:
            self._size -= self._table.pop().size


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


def _integer(block: bytes, pos: int, mask: int) -> tuple[int, int]:
    """Return a number, which begins in the low bits of a byte, and the place after it."""
    value = block[pos] & mask
    pos += 1
    if value < mask:
        return value, pos
    shift = 0
    while True:
        byte = block[pos]
        pos += 1
        value += (byte & 0x7F) << shift
        if value > NUMBER_MAX:
            raise BadHeaders(f"a number of the header block is larger than {NUMBER_MAX}")
        if byte < 0x80:
            return value, pos
        shift += 7
        if shift > 28:
            raise BadHeaders("a number of the header block has too many bytes")


def _text(block: bytes, pos: int) -> tuple[str, int, int]:
    """Return a text, its bytes as the table counts them, and the place after it."""
    is_huffman = block[pos] & 0x80
    size, start = _integer(block, pos, 0x7F)
    pos = start + size
    data = block[start:pos]
    if len(data) < size:
        raise BadHeaders(f"a header field has {size} bytes, {len(data)} are left")
    if is_huffman:
        data = huffman_decode(data)
    return data.decode("utf-8", "replace"), len(data), pos


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
    for symbol in sorted(range(len(HUFFMAN_LENGTHS)), key=HUFFMAN_LENGTHS.__getitem__):
        code <<= HUFFMAN_LENGTHS[symbol] - length
        length = HUFFMAN_LENGTHS[symbol]
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


def huffman_states() -> list[tuple[bool, list[tuple[int, bytes] | None]]]:
    """Return the places of Huffman's code by number, the first of them 0.

    Each has whether a text may end there, and for each value of four bits the number of the next
    place and the byte that was complete on the way, if any; None where there is no such code.
    """
    numbers, nodes = {_tree(): 0}, [_tree()]
    for node in nodes:
        for step in node.steps:
            if step is not None and step[0] not in numbers:
                numbers[step[0]] = len(nodes)
                nodes.append(step[0])
    return [
        (node.is_end, [step and (numbers[step[0]], step[1]) for step in node.steps])
        for node in nodes
    ]


def _step(root: _Node, node: _Node, bits: int) -> tuple[_Node, bytes] | None:
    text = b""
    for shift in (3, 2, 1, 0):
        node = node.children[bits >> shift & 1]
        if node.symbol == _END:
            return None
        if node.symbol is not None:
            text += bytes((node.symbol,))
            node = root
    return node, text


def huffman_decode(data: bytes) -> bytes:
    """Return the bytes of a text in Huffman's code.

    Raises:
        BadHeaders: the code is wrong, or does not end with a text.
    """
    node = _tree()
    parts: list[bytes] = []
    try:
        for byte in data:
            node, text = node.steps[byte >> 4]  # type: ignore[misc]  # None raises TypeError.
            node, other = node.steps[byte & 0x0F]  # type: ignore[misc]
            parts += (text, other)
    except TypeError:
        raise BadHeaders("a header field has the code of its end within it") from None
    if not node.is_end:
        raise BadHeaders("a header field ends in the code of a byte")
    return b"".join(parts)


header_decoder: Final[Callable[..., FieldReader]] = load(
    "mqserver.proxy.http2.hpack_kernel", "HeaderDecoderCompiled", pure=HeaderDecoder
)
"""Makes the decoder in use, with the arguments of ``HeaderDecoder``."""
