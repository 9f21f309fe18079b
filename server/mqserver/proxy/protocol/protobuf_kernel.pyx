# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Reads and writes the messages of ``mqserver.proxy.protocol.protobuf`` in C.

    a class ── declared fields ──> CompiledCodec: a ``FieldCodec`` by number
    decode: tag ── FieldCodec ── value ──> slot of the new object; slots without a value: defaults
    encode: the last field first, into the end of a buffer, so that the size of a message is known

Rule: optional; messages, bytes and errors are those of ``PlainCodec``, which tests hold for any
bytes. A size is compared with what is there before it is used, as an unsigned number of 64 bits.
The object is written through the offsets of its slots, as Python's own member descriptors have
them; a class without such slots is refused when its codec is made.

Source: as ``mqserver.proxy.protocol.protobuf``.
"""

import dataclasses

from cpython.bytes cimport (
    PyBytes_AS_STRING,
    PyBytes_Check,
    PyBytes_FromStringAndSize,
    PyBytes_GET_SIZE,
)
from cpython.dict cimport PyDict_Contains, PyDict_GetItem, PyDict_SetItem
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.unicode cimport PyUnicode_AsUTF8AndSize, PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from mqserver.proxy.protocol import protobuf

cdef extern from *:
    """
    #include <structmember.h>

    /* The offset of the slot that a descriptor of a class with __slots__ stands for; -1 if none. */
    static Py_ssize_t slot_offset(PyObject *descriptor) {
        if (Py_TYPE(descriptor) != &PyMemberDescr_Type) return -1;
        PyMemberDef *member = ((PyMemberDescrObject *) descriptor)->d_member;
        return member->type == T_OBJECT_EX ? member->offset : -1;
    }

    static PyObject *new_object(PyObject *cls) {
        return ((PyTypeObject *) cls)->tp_alloc((PyTypeObject *) cls, 0);
    }
    """
    Py_ssize_t slot_offset(object descriptor)
    object new_object(object cls)

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object number, int *overflow) except? -1
    void Py_XDECREF(PyObject *)

ctypedef const uint8_t *Bytes

cdef enum:
    VARINT = 0
    FIXED64 = 1
    DELIMITED = 2
    FIXED32 = 5
    # Fields with larger numbers are not declared anywhere.
    NUMBERS = 64
    DIGITS_MAX = 10
    BUFFER_SIZE = 256
    NANOS_A_MS = 1_000_000

cdef enum Value:
    TEXT, BINARY, NUMBER, FLAG, REAL, CHOICE, MESSAGE, MILLIS

cdef dict VALUES = {
    "text": TEXT, "binary": BINARY, "number": NUMBER, "flag": FLAG, "real": REAL,
    "choice": CHOICE, "message": MESSAGE, "millis": MILLIS,
}
cdef object BadMessage = protobuf.BadMessage
cdef object MASK = (1 << 64) - 1
# Times beyond it would overflow when they are turned into milliseconds.
cdef int64_t SECONDS_MAX = 1 << 52


# Reading.

cdef struct Reader:
    Bytes begin, at, end
    # How many items may still come, and the limit for the error.
    int64_t left, items_max


cdef int _spend(Reader *data) except -1:
    data.left -= 1
    if data.left < 0:
        raise BadMessage(f"a request has more than {data.items_max} fields and items")
    return 0


cdef inline int _varint(Reader *data, uint64_t *value) except -1:
    """Read a number of at most ten bytes; what does not fit 64 bits is dropped."""
    cdef uint8_t byte
    if data.at < data.end and data.at[0] < 0x80:
        value[0] = data.at[0]
        data.at += 1
        return 0
    return _long_varint(data, value)


cdef int _long_varint(Reader *data, uint64_t *value) except -1:
    cdef uint8_t byte
    cdef int count
    value[0] = 0
    for count in range(DIGITS_MAX):
        if data.at >= data.end:
            raise BadMessage(f"the message ends in a number, at byte {data.end - data.begin}")
        byte = data.at[0]
        data.at += 1
        value[0] |= <uint64_t> (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            return 0
    raise BadMessage(f"the number at byte {data.at - data.begin} has more than 10 bytes")


cdef inline object _text(Bytes at, Py_ssize_t size):
    try:
        return PyUnicode_DecodeUTF8(<const char *> at, size, NULL)
    except UnicodeDecodeError as error:
        text = f"a text is not UTF-8: {error.reason} at byte {error.start}"
        raise BadMessage(text) from None


cdef object _millis(Reader *parent, Bytes at, uint64_t size):
    """Read a message of seconds (1) and nanoseconds (2), and return it in milliseconds."""
    cdef Reader data = Reader(at, at, at + size, parent.left, parent.items_max)
    cdef uint64_t tag, value = 0
    cdef int64_t seconds = 0, nanos = 0
    cdef Bytes begin
    while data.at < data.end:
        _spend(&data)
        _varint(&data, &tag)
        begin = _value(&data, tag, &value)
        if tag >> 3 == 1 or tag >> 3 == 2:
            if tag & 7 != VARINT:
                raise BadMessage(f"field {tag >> 3} of _Instant has the wire type {tag & 7}")
            if tag >> 3 == 1:
                seconds = <int64_t> value
            else:
                nanos = <int64_t> value
    parent.left = data.left
    if -SECONDS_MAX < seconds < SECONDS_MAX:
        return seconds * 1000 + nanos // NANOS_A_MS
    return (<object> seconds) * 1000 + nanos // NANOS_A_MS


cdef inline Bytes _value(Reader *data, uint64_t tag, uint64_t *value) except NULL:
    """Read what is after a tag: a number, or the place and the size of other bytes."""
    cdef Bytes begin
    cdef int wire = tag & 7
    if wire == VARINT:
        _varint(data, value)
        return data.at
    if wire == DELIMITED:
        _varint(data, value)
    elif wire == FIXED32 or wire == FIXED64:
        value[0] = 4 if wire == FIXED32 else 8
    else:
        raise BadMessage(f"field {tag >> 3} has the unknown wire type {wire}")
    if value[0] > <uint64_t> (data.end - data.at):
        raise BadMessage(
            f"field {tag >> 3} has {value[0]} bytes, {data.end - data.at} are left"
        )
    begin = data.at
    data.at += value[0]
    return begin


# Writing.

cdef struct Out:
    # What was written is at the end of the buffer, from ``at``.
    uint8_t *begin
    uint8_t *at
    Py_ssize_t size


cdef int _grow(Out *out, Py_ssize_t count) except -1:
    """Make room for ``count`` bytes before those that were written."""
    cdef Py_ssize_t used = out.begin + out.size - out.at, size = 2 * (out.size + count)
    cdef uint8_t *begin = <uint8_t *> PyMem_Malloc(size)
    if begin == NULL:
        raise MemoryError
    memcpy(begin + size - used, out.at, used)
    PyMem_Free(out.begin)
    out.begin, out.at, out.size = begin, begin + size - used, size
    return 0


cdef inline int _room(Out *out, Py_ssize_t count) except -1:
    if out.at - out.begin < count:
        _grow(out, count)
    return 0


cdef inline int _put_varint(Out *out, uint64_t value) except -1:
    cdef int count = 1
    cdef uint64_t rest = value >> 7
    cdef uint8_t *at
    _room(out, DIGITS_MAX)
    while rest:
        count += 1
        rest >>= 7
    out.at -= count
    at = out.at
    while value > 0x7F:
        at[0] = value & 0x7F | 0x80
        at += 1
        value >>= 7
    at[0] = <uint8_t> value
    return 0


cdef inline int _put_bytes(Out *out, const void *at, Py_ssize_t size) except -1:
    """Write bytes and, before them, their size."""
    _room(out, size)
    out.at -= size
    memcpy(out.at, at, size)
    return _put_varint(out, size)


cdef uint64_t _bits(object number) except? 0:
    """Return an integer of any size as its lowest 64 bits."""
    cdef int overflow = 0
    cdef long long value = PyLong_AsLongLongAndOverflow(number, &overflow)
    return <uint64_t> value if not overflow else <uint64_t> (number & MASK)


cdef class FieldCodec:
    """Both directions of one declared field."""

    cdef object _kind
    cdef str _name
    cdef CompiledCodec _codec
    cdef dict _members
    cdef object _first, _default
    cdef Value _value
    cdef int _wire
    cdef bint _is_list, _is_map, _is_maybe
    cdef uint64_t _tag
    cdef Py_ssize_t _offset

    def __init__(self, cls, declared):
        field = declared.metadata["field"]
        kind = self._kind = field.kind
        self._name = declared.name
        self._value, self._wire = VALUES[kind.name], kind.wire
        self._is_list, self._is_map, self._is_maybe = field.is_list, field.is_map, field.is_maybe
        self._tag = field.number << 3 | kind.wire
        self._offset = slot_offset(getattr(cls, declared.name))
        if self._offset < 0:
            raise TypeError(f"{cls.__name__}.{declared.name} is not a slot")
        if not 0 < field.number < NUMBERS:
            raise ValueError(f"{cls.__name__}.{declared.name} has the number {field.number}")
        if kind.name == "message":
            self._codec = CompiledCodec(kind.message)
        if kind.members is not None:
            self._members, self._first = kind.members, kind.members[0]
        self._default = declared.default

    cdef PyObject **_slot(self, object message) noexcept:
        return <PyObject **> (<char *> <PyObject *> message + self._offset)

    cdef inline _set(self, object message, object value):
        """Put a value into the slot."""
        cdef PyObject **slot = self._slot(message)
        cdef PyObject *before = slot[0]
        Py_INCREF(value)
        slot[0] = <PyObject *> value
        Py_XDECREF(before)

    cdef _fill(self, object message):
        """Put the default into the slot if no value came."""
        if self._slot(message)[0] == NULL:
            if self._is_list:
                self._set(message, [])
            elif self._is_map:
                self._set(message, {})
            else:
                self._set(message, self._default)

    cdef object _decode(self, Reader *data, Bytes at, uint64_t value):
        """Return one value, given the number, or the place and size of the bytes."""
        cdef PyObject *member
        cdef Reader inner
        if self._value == TEXT:
            return _text(at, value)
        if self._value == BINARY:
            return PyBytes_FromStringAndSize(<const char *> at, value)
        if self._value == NUMBER:
            return <int64_t> value
        if self._value == FLAG:
            return value != 0
        if self._value == CHOICE:
            member = PyDict_GetItem(self._members, <int64_t> value)
            return self._first if member == NULL else <object> member
        if self._value == MILLIS:
            return _millis(data, at, value)
        if self._value == REAL:
            return self._kind.decode(PyBytes_FromStringAndSize(<const char *> at, value))
        inner = Reader(at, at, at + value, data.left, data.items_max)
        message = self._codec._read(&inner)
        data.left = inner.left
        return message

    cdef _take(self, object message, Reader *data, Bytes at, uint64_t value):
        """Decode one value into the message."""
        cdef PyObject **slot
        found = self._decode(data, at, value)
        if self._is_list:
            slot = self._slot(message)
            if slot[0] == NULL:
                self._set(message, [])
            (<list> slot[0]).append(found)
        elif self._is_map:
            slot = self._slot(message)
            if slot[0] == NULL:
                self._set(message, {})
            PyDict_SetItem(<dict> slot[0], found.key, found.value)
        else:
            self._set(message, found)

    cdef _take_packed(self, object message, Reader *data, Bytes at, uint64_t size):
        """Decode numbers of a list that lie together."""
        cdef Reader inner = Reader(at, at, at + size, data.left, data.items_max)
        cdef uint64_t value = 0
        cdef PyObject **slot = self._slot(message)
        cdef list found
        if slot[0] == NULL:
            self._set(message, [])
        found = <list> slot[0]
        while inner.at < inner.end:
            _spend(&inner)
            _varint(&inner, &value)
            found.append(self._decode(data, NULL, value))
        data.left = inner.left

    cdef _put(self, Out *out, object message):
        """Write the field if the message has a value for it."""
        cdef PyObject *at = self._slot(message)[0]
        cdef object value
        cdef list items
        cdef Py_ssize_t number
        if at == NULL:
            raise AttributeError(f"{type(message).__name__}.{self._name} has no value")
        value = <object> at
        if value is None or not (self._is_maybe or value):
            return
        if self._is_list:
            items = value
            for number in range(PyList_GET_SIZE(items) - 1, -1, -1):
                self._put_one(out, <object> PyList_GET_ITEM(items, number))
        elif self._is_map:
            for key, each in reversed((<dict> value).items()):
                self._put_one(out, self._kind.message(key=key, value=each))
        else:
            self._put_one(out, value)

    cdef _put_one(self, Out *out, object value):
        """Write the tag and one value, the tag last."""
        cdef const char *text
        cdef Py_ssize_t size, used
        if self._value == TEXT:
            text = PyUnicode_AsUTF8AndSize(value, &size)
            _put_bytes(out, text, size)
        elif self._value == NUMBER or self._value == FLAG:
            _put_varint(out, _bits(value))
        elif self._value == CHOICE:
            if not PyDict_Contains(self._members, value):
                raise KeyError(value)
            _put_varint(out, _bits(value))
        elif self._value == MESSAGE:
            used = out.begin + out.size - out.at
            self._codec._put(out, value)
            _put_varint(out, out.begin + out.size - out.at - used)
        elif self._value == MILLIS:
            self._put_millis(out, value)
        elif self._value == BINARY and PyBytes_Check(value):
            _put_bytes(out, PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value))
        else:
            data = <bytes> self._kind.encode(value)
            if self._wire == DELIMITED:
                _put_bytes(out, PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))
            else:
                size = PyBytes_GET_SIZE(data)
                _room(out, size)
                out.at -= size
                memcpy(out.at, PyBytes_AS_STRING(data), size)
        _put_varint(out, self._tag)

    cdef _put_millis(self, Out *out, object value):
        """Write a time or a duration as seconds and nanoseconds."""
        cdef int overflow = 0
        cdef long long millis = PyLong_AsLongLongAndOverflow(value, &overflow)
        cdef Py_ssize_t used = out.begin + out.size - out.at
        cdef bytes data
        if overflow:
            data = self._kind.encode(value)
            _put_bytes(out, PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))
            return
        if millis % 1000:
            _put_varint(out, millis % 1000 * NANOS_A_MS)
            _put_varint(out, 2 << 3 | VARINT)
        if millis // 1000:
            _put_varint(out, <uint64_t> <int64_t> (millis // 1000))
            _put_varint(out, 1 << 3 | VARINT)
        _put_varint(out, out.begin + out.size - out.at - used)


cdef class CompiledCodec:
    """Does what ``PlainCodec`` does."""

    cdef object _cls
    cdef list _fields
    # Those of ``_fields`` by number; NULL for others.
    cdef PyObject *_by_number[NUMBERS]

    def __init__(self, cls):
        self._cls = cls
        self._fields = []
        for declared in dataclasses.fields(cls):
            field = FieldCodec(cls, declared)
            self._fields.append(field)
            self._by_number[(<FieldCodec> field)._tag >> 3] = <PyObject *> field

    def decode(self, bytes data not None, int64_t items_max=protobuf.ITEMS_MAX):
        """Return the message in ``data`` and how many items it has."""
        cdef Bytes at = <Bytes> PyBytes_AS_STRING(data)
        cdef Reader reader = Reader(at, at, at + PyBytes_GET_SIZE(data), items_max, items_max)
        message = self._read(&reader)
        return message, items_max - reader.left

    def encode(self, message not None):
        """Return the bytes of a message."""
        cdef Out out
        out.begin = <uint8_t *> PyMem_Malloc(BUFFER_SIZE)
        if out.begin == NULL:
            raise MemoryError
        out.size = BUFFER_SIZE
        out.at = out.begin + BUFFER_SIZE
        try:
            self._put(&out, message)
            return PyBytes_FromStringAndSize(<char *> out.at, out.begin + out.size - out.at)
        finally:
            PyMem_Free(out.begin)

    cdef object _read(self, Reader *data):
        cdef uint64_t tag = 0, value = 0
        cdef Bytes at
        cdef FieldCodec field
        message = new_object(self._cls)
        while data.at < data.end:
            _spend(data)
            _varint(data, &tag)
            at = _value(data, tag, &value)
            if tag >> 3 >= NUMBERS or self._by_number[tag >> 3] == NULL:
                continue
            field = <FieldCodec> self._by_number[tag >> 3]
            if tag == field._tag:
                field._take(message, data, at, value)
            elif field._is_list and field._wire == VARINT and tag & 7 == DELIMITED:
                field._take_packed(message, data, at, value)
            else:
                raise BadMessage(
                    f"field {tag >> 3} of {self._cls.__name__} has the wire type {tag & 7}"
                )
        for each in self._fields:
            (<FieldCodec> each)._fill(message)
        return message

    cdef _put(self, Out *out, object message):
        cdef Py_ssize_t number
        if type(message) is not self._cls:
            raise TypeError(f"a {type(message).__name__} instead of a {self._cls.__name__}")
        for number in range(PyList_GET_SIZE(self._fields) - 1, -1, -1):
            (<FieldCodec> PyList_GET_ITEM(self._fields, number))._put(out, message)
