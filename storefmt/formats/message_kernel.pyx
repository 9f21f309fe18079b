# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Decodes the good records at the beginning of an answer in C.

Rule: optional. What is taken is decoded as ``storefmt.formats.message`` decodes it (tests hold that
for any bytes); it stops before the first record that is not good, and says nothing about it. A
length is compared with what is there before it is used.

Source: as ``storefmt.formats.message``.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memcmp

from storefmt.formats.big_endian cimport i32, i64, u32
from storefmt.formats.checked_int cimport crc_bits

from storefmt.formats import layout, message, properties, sysflag

cdef int64_t MAGIC_V1 = message.MAGIC_V1
cdef int64_t MAGIC_V2 = message.MAGIC_V2
cdef uint32_t CRC_MASK = message.CRC_MASK
cdef int64_t TOPIC_V1_MAX = message.TOPIC_SIZE_V1_MAX
cdef int64_t TOPIC_V2_MAX = message.TOPIC_SIZE_V2_MAX
cdef int64_t PROPERTIES_MAX = properties.PROPERTIES_SIZE_MAX
cdef int64_t RECORD_SIZE_MIN = message.RECORD_SIZE_MIN
cdef int64_t BORN_V6 = sysflag.BORN_HOST_V6
cdef int64_t STORE_V6 = sysflag.STORE_HOST_V6
cdef int64_t HOST_V4 = layout.HOST_V4_SIZE
cdef int64_t HOST_V6 = layout.HOST_V6_SIZE
cdef object crc32 = message.crc32
cdef object Record = message.Record
# This takes half the time of calling the class.
cdef object new_tuple = tuple.__new__

cdef enum:
    # Where the fields are; those behind the host of the producer move with its size.
    CRC = 8
    QUEUE_ID = 12
    FLAG = 16
    QUEUE_OFFSET = 20
    LOG_OFFSET = 28
    SYS_FLAG = 36
    BORN_MS = 40
    BORN_HOST = 48

for name, pos in (
    ("magic", CRC), ("body_crc", QUEUE_ID), ("queue_id", FLAG), ("flag", QUEUE_OFFSET),
    ("queue_offset", LOG_OFFSET), ("log_offset", SYS_FLAG), ("sys_flag", BORN_MS),
    ("born_ms", BORN_HOST),
):
    assert layout.MESSAGE.part(name).struct().size == pos


cdef inline bint _is_same(bytes known, const unsigned char *at, int64_t size) noexcept:
    return PyBytes_GET_SIZE(known) == size and memcmp(PyBytes_AS_STRING(known), at, size) == 0


cdef inline bytes _slice(const unsigned char *at, int64_t size):
    return PyBytes_FromStringAndSize(<const char *> at, size)


cdef class _Decoder:
    """Decodes records of one answer, which mostly have the same topic and hosts."""

    cdef bytes _born_host, _store_host, _topic_bytes
    cdef str _topic

    def __cinit__(self):
        self._born_host = self._store_host = self._topic_bytes = b""
        self._topic = ""

    cdef bint _find_topic(self, const unsigned char *at, int64_t size) except -1:
        """Keep the topic as text; False if it is no UTF-8."""
        if not _is_same(self._topic_bytes, at, size):
            try:
                self._topic = PyUnicode_DecodeUTF8(<const char *> at, size, NULL)
            except UnicodeDecodeError:
                return False
            self._topic_bytes = _slice(at, size)
        return True

    cdef object record(self, const unsigned char *at, int64_t left, bint check_crc):
        """Return the record that begins at ``at``; None if it is not a good one."""
        cdef const unsigned char *end
        cdef const unsigned char *here
        cdef int64_t size, magic, sys_flag, body_size, topic_size, born_size, store_size
        cdef int64_t properties_size, crc
        cdef bytes body
        if left < RECORD_SIZE_MIN:
            return None
        size, magic, sys_flag = i32(at), i32(at + 4), i32(at + SYS_FLAG)
        born_size = HOST_V6 if sys_flag & BORN_V6 else HOST_V4
        store_size = HOST_V6 if sys_flag & STORE_V6 else HOST_V4
        if size > left or size < RECORD_SIZE_MIN + born_size + store_size - 2 * HOST_V4:
            return None
        end = at + size
        # The store time and the host of the broker, two numbers, and the size of the body.
        here = at + BORN_HOST + born_size + 8 + store_size + 4 + 8
        body_size = i32(here)
        here += 4
        # One byte of the topic's size is the least, and two of the properties' size.
        if not 0 <= body_size <= end - here - 3:
            return None
        body = _slice(here, body_size)
        here += body_size
        if magic == MAGIC_V1:
            topic_size = here[0]
            here += 1
            if topic_size > TOPIC_V1_MAX:
                return None
        elif magic == MAGIC_V2:
            topic_size = <int64_t> here[0] << 8 | here[1]
            here += 2
            if topic_size > TOPIC_V2_MAX:
                return None
        else:
            return None
        if end - here - 2 < topic_size:
            return None
        if not self._find_topic(here, topic_size):
            return None
        here += topic_size
        properties_size = <int64_t> here[0] << 8 | here[1]
        here += 2
        if end - here != properties_size or properties_size > PROPERTIES_MAX:
            return None
        crc = i32(at + CRC)
        if check_crc and body_size and (crc_bits(crc32(body)) & CRC_MASK) != crc:
            return None
        return self._made(at, size, born_size, store_size, body, _slice(here, properties_size))

    cdef object _made(
        self,
        const unsigned char *at,
        int64_t size,
        int64_t born_size,
        int64_t store_size,
        bytes body,
        bytes properties_raw,
    ):
        cdef const unsigned char *behind = at + BORN_HOST + born_size
        if not _is_same(self._born_host, at + BORN_HOST, born_size):
            self._born_host = _slice(at + BORN_HOST, born_size)
        if not _is_same(self._store_host, behind + 8, store_size):
            self._store_host = _slice(behind + 8, store_size)
        return new_tuple(
            Record,
            (
                size, i32(at + 4), i32(at + CRC), i32(at + QUEUE_ID), i32(at + FLAG),
                i64(at + QUEUE_OFFSET), i64(at + LOG_OFFSET), i32(at + SYS_FLAG),
                i64(at + BORN_MS), self._born_host, i64(behind), self._store_host,
                i32(behind + 8 + store_size), i64(behind + 12 + store_size), body,
                self._topic, properties_raw,
            ),
        )


def decode_compiled(bytes data, bint check_crc):
    """Return the good records at the beginning of ``data``, and the position behind them."""
    cdef const unsigned char *start = <const unsigned char *> PyBytes_AS_STRING(data)
    cdef int64_t pos = 0, end = PyBytes_GET_SIZE(data)
    cdef _Decoder decoder = _Decoder()
    cdef list records = []
    while pos < end:
        record = decoder.record(start + pos, end - pos, check_crc)
        if record is None:
            break
        records.append(record)
        pos += i32(start + pos)
    return records, pos
