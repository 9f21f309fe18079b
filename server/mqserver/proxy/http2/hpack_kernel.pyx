# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Reads the header blocks of ``mqserver.proxy.http2.hpack`` in C.

    block ── index | literal | size of the table ──> fields
                          └── Huffman: four bits a step, ``_next`` and ``_symbol``

Rule: optional; fields, table and errors are those of ``HeaderDecoder``, which tests hold for any
bytes. What a length says is compared with what is there before it is used. The table is a ring of
``SLOTS`` entries: each takes at least 32 of its 4,096 bytes.

Source: as ``mqserver.proxy.http2.hpack``.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int16_t, int64_t, uint8_t

from mqserver.proxy.http2 import hpack
from remoting.aio import costs

ctypedef const uint8_t *Bytes

cdef enum:
    SLOTS = 128
    STATES = 256
    FIELD_SIZE = 32
    # What ``_symbol`` has for a step that ends no byte, and for one that no text has.
    NOTHING = -1
    WRONG = -2

cdef object BadHeaders = hpack.BadHeaders
cdef tuple STATIC = hpack.STATIC
cdef Py_ssize_t STATIC_COUNT = len(hpack.STATIC)
cdef int64_t NUMBER_MAX = hpack.NUMBER_MAX
cdef int64_t TABLE_SIZE_MAX = hpack.TABLE_SIZE_MAX
assert TABLE_SIZE_MAX // FIELD_SIZE <= SLOTS

# The code of Huffman as steps of four bits, by state and bits; made when the first text needs it.
cdef uint8_t _next[STATES * 16]
cdef int16_t _symbol[STATES * 16]
cdef uint8_t _may_end[STATES]
cdef bint _is_made = False


cdef _make_steps():
    global _is_made
    cdef Py_ssize_t state, bits
    states = hpack.huffman_states()
    assert len(states) == STATES
    for state in range(STATES):
        may_end, steps = states[state]
        _may_end[state] = may_end
        for bits in range(16):
            if steps[bits] is None:
                _next[16 * state + bits], _symbol[16 * state + bits] = 0, WRONG
            else:
                following, found = steps[bits]
                _next[16 * state + bits] = following
                _symbol[16 * state + bits] = found[0] if found else NOTHING
    _is_made = True


cdef struct Reader:
    Bytes at, begin, end


cdef object _cut(Reader *block):
    raise BadHeaders(f"the header block ends in a field, after {block.end - block.begin} bytes")


cdef int64_t _integer(Reader *block, uint8_t mask) except -1:
    """Read a number, which begins in the low bits of a byte."""
    cdef int64_t value
    cdef uint8_t byte
    cdef int shift = 0
    if block.at >= block.end:
        _cut(block)
    value = block.at[0] & mask
    block.at += 1
    if value < mask:
        return value
    while True:
        if block.at >= block.end:
            _cut(block)
        byte = block.at[0]
        block.at += 1
        # At most 2**35 is added to a number of at most 2**21.
        value += <int64_t> (byte & 0x7F) << shift
        if value > NUMBER_MAX:
            raise BadHeaders(f"a number of the header block is larger than {NUMBER_MAX}")
        if byte < 0x80:
            return value
        shift += 7
        if shift > 28:
            raise BadHeaders("a number of the header block has too many bytes")


cdef str _huffman(Bytes at, Py_ssize_t size, Py_ssize_t *decoded_size):
    """Return a text in Huffman's code, whose shortest code has five bits."""
    cdef bytes scratch = PyBytes_FromStringAndSize(NULL, 2 * size)
    cdef uint8_t *begin = <uint8_t *> PyBytes_AS_STRING(scratch)
    cdef uint8_t *out = begin
    cdef Py_ssize_t number
    cdef unsigned int state = 0, step
    cdef int shift
    cdef int16_t symbol
    if not _is_made:
        _make_steps()
    for number in range(size):
        for shift in range(4, -1, -4):
            step = 16 * state + (at[number] >> shift & 0x0F)
            symbol = _symbol[step]
            if symbol >= 0:
                out[0] = <uint8_t> symbol
                out += 1
            elif symbol == WRONG:
                raise BadHeaders("a header field has the code of its end within it")
            state = _next[step]
    if not _may_end[state]:
        raise BadHeaders("a header field ends in the code of a byte")
    decoded_size[0] = out - begin
    return PyUnicode_DecodeUTF8(<const char *> begin, out - begin, "replace")


cdef str _text(Reader *block, Py_ssize_t *text_size):
    """Read a text, and add the bytes that it counts for to ``text_size``."""
    cdef bint is_huffman
    cdef Py_ssize_t size, left
    cdef Bytes at
    cdef str text
    if block.at >= block.end:
        _cut(block)
    is_huffman = block.at[0] & 0x80
    size = _integer(block, 0x7F)
    left = block.end - block.at
    if left < size:
        raise BadHeaders(f"a header field has {size} bytes, {left} are left")
    at = block.at
    block.at += size
    if is_huffman:
        text = _huffman(at, size, &size)
    else:
        text = PyUnicode_DecodeUTF8(<const char *> at, size, "replace")
    text_size[0] += size
    return text


cdef class HeaderDecoderCompiled:
    """Does what ``HeaderDecoder`` does."""

    cdef Py_ssize_t _list_size_max, _list_count_max
    # The fields that were added: a ring, its oldest entry and how many there are.
    cdef list _fields
    cdef Py_ssize_t _name_sizes[SLOTS]
    cdef Py_ssize_t _text_sizes[SLOTS]
    cdef Py_ssize_t _oldest, _count
    cdef Py_ssize_t _size, _size_max

    def __init__(
        self,
        *,
        Py_ssize_t size_max=hpack.LIST_SIZE_MAX,
        Py_ssize_t count_max=hpack.LIST_COUNT_MAX,
    ):
        self._list_size_max, self._list_count_max = size_max, count_max
        self._fields = [None] * SLOTS
        self._oldest = self._count = self._size = 0
        self._size_max = TABLE_SIZE_MAX

    def decode(self, bytes block not None):
        """Return the fields of a block, in order."""
        cdef Reader reader
        cdef list fields = []
        cdef Py_ssize_t left = self._list_size_max, count_left = self._list_count_max, size
        cdef uint8_t first
        cdef tuple field
        reader.at = reader.begin = <Bytes> PyBytes_AS_STRING(block)
        reader.end = reader.begin + PyBytes_GET_SIZE(block)
        while reader.at < reader.end:
            first = reader.at[0]
            size = 0
            if first & 0x80:
                field = self._known(_integer(&reader, 0x7F), NULL, &size)
            elif first & 0x40:
                field = self._literal(&reader, 0x3F, True, &size)
            elif first & 0x20:
                self._resize(_integer(&reader, 0x1F), not fields)
                continue
            else:
                field = self._literal(&reader, 0x0F, False, &size)
            fields.append(field)
            left -= size + FIELD_SIZE
            if left < 0:
                raise BadHeaders(
                    f"the headers of a request have more than {self._list_size_max} bytes"
                )
            count_left -= 1
            if count_left < 0:
                raise BadHeaders(
                    f"the headers of a request have more than {self._list_count_max} fields"
                )
        return fields

    cdef tuple _known(self, int64_t index, Py_ssize_t *name_size, Py_ssize_t *text_size):
        """Return the field of an index, and the bytes of its texts."""
        cdef Py_ssize_t slot
        cdef tuple field
        if not 0 < index <= STATIC_COUNT + self._count:
            raise BadHeaders(f"there is no header field {index}")
        if index <= STATIC_COUNT:
            field = <tuple> STATIC[index - 1]
            if name_size != NULL:
                name_size[0] = len(<str> field[0])
            text_size[0] = len(<str> field[0]) + len(<str> field[1])
            return field
        # The newest entry has the first index behind the static ones.
        slot = (self._oldest + self._count - (index - STATIC_COUNT)) % SLOTS
        if name_size != NULL:
            name_size[0] = self._name_sizes[slot]
        text_size[0] = self._text_sizes[slot]
        return <tuple> self._fields[slot]

    cdef tuple _literal(
        self, Reader *block, uint8_t mask, bint is_added, Py_ssize_t *text_size
    ):
        """Read a field that is written out, and add it to the table if it shall be."""
        cdef int64_t index = _integer(block, mask)
        cdef Py_ssize_t name_size = 0, known_size = 0
        cdef str name
        cdef tuple field
        if index:
            name = <str> self._known(index, &name_size, &known_size)[0]
        else:
            name = _text(block, &name_size)
        text_size[0] = name_size
        field = (name, _text(block, text_size))
        if is_added:
            self._add(field, name_size, text_size[0])
        return field

    cdef _add(self, tuple field, Py_ssize_t name_size, Py_ssize_t text_size):
        cdef Py_ssize_t slot
        # A field that is larger than the table empties it and is not kept.
        self._evict(self._size_max - text_size - FIELD_SIZE)
        if text_size + FIELD_SIZE > self._size_max:
            return
        slot = (self._oldest + self._count) % SLOTS
        self._fields[slot] = field
        self._name_sizes[slot] = name_size
        self._text_sizes[slot] = text_size
        self._count += 1
        self._size += text_size + FIELD_SIZE

    cdef _resize(self, int64_t size_max, bint may_be):
        if size_max > TABLE_SIZE_MAX or not may_be:
            raise BadHeaders(f"the table of header fields cannot get {size_max} bytes here")
        self._size_max = size_max
        self._evict(size_max)

    cdef _evict(self, Py_ssize_t size):
        """Remove the oldest entries until the others take at most ``size`` bytes."""
        while self._count and self._size > size:
            self._size -= self._text_sizes[self._oldest] + FIELD_SIZE
            self._fields[self._oldest] = None
            self._oldest = (self._oldest + 1) % SLOTS
            self._count -= 1


# The fields of a request, as ``malformed`` reads them.

cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(object text)
    Py_ssize_t PyUnicode_GET_LENGTH(object text)
    const uint8_t *PyUnicode_1BYTE_DATA(object text)

cdef frozenset PSEUDO = frozenset((":authority", ":method", ":path", ":scheme"))
cdef frozenset NOT_USUAL = frozenset((
    "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade",
    "content-length",
))
cdef Py_ssize_t FIELD_COST = costs.FIELD.size


def read_head_compiled(list fields not None):
    """Does what ``malformed.read_head_plain`` does."""
    cdef Py_ssize_t size = 0, at
    cdef bint has_regular = False, is_usual = True
    cdef dict metadata = {}
    cdef tuple field
    cdef str name, value
    cdef Bytes text
    for field in fields:
        name, value = <str> field[0], <str> field[1]
        size += PyUnicode_GET_LENGTH(name) + PyUnicode_GET_LENGTH(value) + FIELD_COST
        if not PyUnicode_GET_LENGTH(name) or not PyUnicode_IS_ASCII(name):
            is_usual = False
            continue
        text = PyUnicode_1BYTE_DATA(name)
        if text[0] == c":":
            is_usual &= name in PSEUDO and not has_regular and name not in metadata
        else:
            has_regular = True
            for at in range(PyUnicode_GET_LENGTH(name)):
                if c"A" <= text[at] <= c"Z":
                    is_usual = False
            is_usual &= name not in NOT_USUAL and (name != "te" or value == "trailers")
        metadata[name] = value
    if not (
        is_usual and metadata.get(":method") and metadata.get(":path") and metadata.get(":scheme")
    ):
        return size, None
    return size, metadata
