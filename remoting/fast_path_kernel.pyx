# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Writes the sends of a producer, and reads their answers, in C.

    SendFramesCompiled.frame ── lengths, header with the properties as JSON, body ──> one frame
    read: | stored | stored | pulled | stored |
            read here ────────>|<── these go the general way (``FrameReader``)

Rule: optional; what is written and read is what ``remoting.fast_path`` writes and reads, which
tests hold. A send is left to it whose properties have a character beside those of ASCII and the
separators, and every bad one. Reading stops before the first frame that is incomplete, has another
layout or is bad. A length is compared with what is there before it is used.

Source: as ``remoting.fast_path``.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memchr, memcmp, memcpy
from storefmt.formats.big_endian cimport put_u32, u32

from remoting import fast_path
from remoting.codes import LanguageCode
from remoting.frame import FRAME_SIZE_MAX, HEADER_SIZE_MAX, RawFrame

cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(object text)
    Py_ssize_t PyUnicode_GET_LENGTH(object text)
    const uint8_t *PyUnicode_1BYTE_DATA(object text)

ctypedef const uint8_t *Bytes

cdef enum:
    HEAD_SIZE = 8
    # Of a text whose characters are all escaped.
    GROWTH_MAX = 6
    # The longest number has a sign and 19 digits.
    NUMBER_SIZE = 20
    HEADER_SIZE_SEND_MAX = 0xFFFFFF

cdef int64_t LENGTH_MAX = FRAME_SIZE_MAX
cdef int64_t HEADER_MAX = HEADER_SIZE_MAX
cdef object Stored = fast_path.Stored
# This takes half the time of calling the class.
cdef object new_tuple = tuple.__new__


# Writing.

cdef inline uint8_t *_copy(uint8_t *out, const void *at, Py_ssize_t size) noexcept nogil:
    memcpy(out, at, size)
    return out + size


cdef inline uint8_t *_bytes(uint8_t *out, bytes text) noexcept:
    return _copy(out, PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text))


cdef inline uint8_t *_number(uint8_t *out, int64_t number) noexcept nogil:
    cdef uint8_t digits[NUMBER_SIZE]
    cdef int at = NUMBER_SIZE
    cdef uint64_t value = <uint64_t> number
    if number < 0:
        out[0] = c"-"
        out += 1
        value = 0 - value
    while True:
        at -= 1
        digits[at] = c"0" + value % 10
        value //= 10
        if not value:
            return _copy(out, digits + at, NUMBER_SIZE - at)


cdef inline uint8_t *_escaped(uint8_t *out, Bytes at, Py_ssize_t size) noexcept nogil:
    """Write a text as the inside of a JSON string; NULL if it has rare characters."""
    cdef Py_ssize_t number
    cdef uint8_t found
    for number in range(size):
        found = at[number]
        if found == 1 or found == 2:
            out = _copy(out, b"\\u000", 5)
            found += c"0"
        elif found < 0x20 or found == c'"' or found == c"\\" or found == 0x7F:
            return NULL
        out[0] = found
        out += 1
    return out


cdef class SendFramesCompiled:
    """Does what ``SendFrames`` does; numbers have at most 64 bits."""

    cdef object _plain
    cdef bytes _front, _back, _end

    def __init__(self, ext, language=LanguageCode.PYTHON):
        plain = self._plain = fast_path.SendFrames(ext, language)
        try:
            self._back, self._end = plain.back.encode(), plain.end.encode()
            self._front = plain.front.encode()
        except UnicodeEncodeError:
            # ``SendFrames`` says so in each send.
            self._front = None

    def frame(
        self,
        int64_t opaque,
        *,
        int64_t sys_flag,
        int64_t born_ms,
        int64_t flag,
        str properties not None,
        object body,
    ):
        """Return one send as a frame."""
        cdef bytes frame = None
        if self._front is not None and type(body) is bytes and PyUnicode_IS_ASCII(properties):
            frame = self._frame(opaque, sys_flag, born_ms, flag, properties, body)
        if frame is None:
            frame = self._plain.frame(
                opaque, sys_flag=sys_flag, born_ms=born_ms, flag=flag, properties=properties,
                body=body,
            )
        return frame

    cdef bytes _frame(
        self,
        int64_t opaque,
        int64_t sys_flag,
        int64_t born_ms,
        int64_t flag,
        str properties,
        bytes body,
    ):
        """Return the frame; None if it is left to ``SendFrames``."""
        cdef Py_ssize_t text_size = PyUnicode_GET_LENGTH(properties), header_size
        cdef Py_ssize_t body_size = PyBytes_GET_SIZE(body)
        cdef bytes scratch, frame
        cdef uint8_t *begin
        cdef uint8_t *out
        scratch = PyBytes_FromStringAndSize(
            NULL,
            PyBytes_GET_SIZE(self._front) + PyBytes_GET_SIZE(self._back)
            + PyBytes_GET_SIZE(self._end) + GROWTH_MAX * text_size + 4 * (NUMBER_SIZE + 8),
        )
        begin = out = <uint8_t *> PyBytes_AS_STRING(scratch)
        out = _number(_bytes(out, self._front), sys_flag)
        out = _number(_copy(out, b'","g":"', 7), born_ms)
        out = _number(_copy(out, b'","h":"', 7), flag)
        out = _escaped(_copy(out, b'","i":"', 7), PyUnicode_1BYTE_DATA(properties), text_size)
        if out == NULL:
            return None
        out[0] = c'"'
        out = _number(_bytes(out + 1, self._back), opaque)
        header_size = _bytes(out, self._end) - begin
        if header_size > HEADER_SIZE_SEND_MAX or 4 + header_size + body_size > LENGTH_MAX:
            return None
        frame = PyBytes_FromStringAndSize(NULL, HEAD_SIZE + header_size + body_size)
        out = <uint8_t *> PyBytes_AS_STRING(frame)
        out = put_u32(put_u32(out, 4 + header_size + body_size), header_size)
        _bytes(_copy(out, begin, header_size), body)
        return frame


# Reading.

cdef struct Reader:
    # What is left of a header; at NULL when it did not have what was expected.
    Bytes at, end


cdef inline void _pass(Reader *header, const char *text, Py_ssize_t size) noexcept nogil:
    if header.at != NULL:
        if header.end - header.at < size or memcmp(header.at, text, size):
            header.at = NULL
        else:
            header.at += size


cdef inline int64_t _digits(Reader *header, int count_max) noexcept nogil:
    """Read one to ``count_max`` digits."""
    cdef int64_t value = 0
    cdef int count = 0
    if header.at == NULL:
        return 0
    while header.at < header.end and c"0" <= header.at[0] <= c"9" and count < count_max:
        value = 10 * value + (header.at[0] - c"0")
        header.at += 1
        count += 1
    if not count:
        header.at = NULL
    return value


cdef inline int64_t _json_number(Reader *header) noexcept nogil:
    """Read up to nine digits without leading zeros."""
    cdef Bytes begin = header.at
    cdef int64_t value = _digits(header, 9)
    if header.at != NULL and begin[0] == c"0" and header.at - begin > 1:
        header.at = NULL
    return value


cdef inline Py_ssize_t _text(Reader *header) noexcept nogil:
    """Pass over a text without escapes, up to its quote; return its size."""
    cdef Bytes stop
    cdef Py_ssize_t size
    if header.at == NULL:
        return 0
    stop = <Bytes> memchr(header.at, c'"', header.end - header.at)
    if stop == NULL or memchr(header.at, c"\\", stop - header.at) != NULL:
        header.at = NULL
        return 0
    size = stop - header.at
    header.at = stop
    return size


cdef inline void _capitals(Reader *header) noexcept nogil:
    """Pass over 1 to 12 capitals."""
    cdef int count = 0
    if header.at == NULL:
        return
    while header.at < header.end and c"A" <= header.at[0] <= c"Z" and count < 12:
        header.at += 1
        count += 1
    if not count:
        header.at = NULL


cdef object _stored(Bytes at, Py_ssize_t size):
    """Return the answer in a JSON header, None for any other layout."""
    cdef Reader header
    cdef int64_t queue_id, queue_offset, opaque
    cdef bint trace_on = False
    cdef Bytes region_at, id_at
    cdef Py_ssize_t region_size, id_size
    header.at, header.end = at, at + size
    _pass(&header, b'{"code":0,"extFields":{"queueId":"', 34)
    queue_id = _digits(&header, 9)
    _pass(&header, b'","TRACE_ON":"', 14)
    if header.at != NULL:
        trace_on = header.at < header.end and header.at[0] == c"t"
    _pass(&header, b"true" if trace_on else b"false", 4 if trace_on else 5)
    _pass(&header, b'","MSG_REGION":"', 16)
    region_at = header.at
    region_size = _text(&header)
    _pass(&header, b'","msgId":"', 11)
    id_at = header.at
    id_size = _text(&header)
    _pass(&header, b'","queueOffset":"', 17)
    queue_offset = _digits(&header, 18)
    _pass(&header, b'"},"flag":1,"language":"', 24)
    _capitals(&header)
    _pass(&header, b'","opaque":', 11)
    opaque = _json_number(&header)
    _pass(&header, b',"serializeTypeCurrentRPC":"JSON","version":', 44)
    _json_number(&header)
    _pass(&header, b"}", 1)
    if header.at == NULL or header.at != header.end:
        return None
    try:
        region = PyUnicode_DecodeUTF8(<const char *> region_at, region_size, NULL)
        msg_id = PyUnicode_DecodeUTF8(<const char *> id_at, id_size, NULL)
    except UnicodeDecodeError:
        return None
    raw = new_tuple(RawFrame, (0, PyBytes_FromStringAndSize(<const char *> at, size), b""))
    return new_tuple(
        Stored, (opaque, queue_id, bool(trace_on), region, msg_id, queue_offset, raw)
    )


def read_stored_compiled(bytes data):
    """Return the usual answers to sends at the beginning of a read, and the size of their frames."""
    cdef Bytes at = <Bytes> PyBytes_AS_STRING(data)
    cdef Py_ssize_t pos = 0, left
    cdef int64_t header_size
    cdef list answers = []
    while True:
        left = PyBytes_GET_SIZE(data) - pos - HEAD_SIZE
        if left < 0:
            break
        # The serialisation is in the first byte of the header's size, and 0 means JSON.
        header_size = u32(at + pos + 4)
        if header_size > HEADER_MAX or header_size > left or u32(at + pos) != 4 + header_size:
            break
        stored = _stored(at + pos + HEAD_SIZE, header_size)
        if stored is None:
            break
        answers.append(stored)
        pos += HEAD_SIZE + header_size
    return answers, pos
