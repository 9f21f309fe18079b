# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Decodes the good records at the beginning of an answer in C.

Rule: optional. Records are decoded as ``storefmt.formats.message`` decodes them (tests compare both
for any bytes); decoding stops before the first record that is not valid and does not report why.

Source: as ``storefmt.formats.message``.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcmp

from storefmt.formats cimport record
from storefmt.formats.big_endian cimport i32, i64, u32
from storefmt.formats.record cimport Part, RecordParts, find_parts
from storefmt.formats.scan_kernel cimport BodyCrc

from storefmt.formats import layout, message, properties, sysflag

cdef object Record = message.Record
# This takes half the time of calling the class.
cdef object new_tuple = tuple.__new__

# What ``record`` says is what the Python modules say.
for name, pos in (
    ("size", record.MAGIC_POS), ("magic", record.CRC_POS), ("body_crc", record.QUEUE_ID_POS),
    ("queue_id", record.FLAG_POS), ("flag", record.QUEUE_OFFSET_POS),
    ("queue_offset", record.LOG_OFFSET_POS), ("log_offset", record.SYS_FLAG_POS),
    ("sys_flag", record.BORN_MS_POS), ("born_ms", record.BORN_HOST_POS),
    ("body_size", record.HEAD_SIZE),
):
    assert layout.MESSAGE.part(name).struct().size == pos, name
for said, known in (
    (record.RECORD_SIZE_MIN, message.RECORD_SIZE_MIN),
    (record.TAIL_SIZE_MIN, message.RECORD_SIZE_MIN - record.HEAD_SIZE),
    (record.HOST_V4_SIZE, layout.HOST_V4_SIZE),
    (record.HOST_V6_SIZE, layout.HOST_V6_SIZE),
    (record.HOST_GROWTH, layout.HOST_V6_SIZE - layout.HOST_V4_SIZE),
    (record.TOPIC_SIZE_V1_MAX, message.TOPIC_SIZE_V1_MAX),
    (record.TOPIC_SIZE_V2_MAX, message.TOPIC_SIZE_V2_MAX),
    (record.PROPERTIES_SIZE_MAX, properties.PROPERTIES_SIZE_MAX),
    (record.BORN_HOST_V6, sysflag.BORN_HOST_V6),
    (record.STORE_HOST_V6, sysflag.STORE_HOST_V6),
    (record.magic_v1(), message.MAGIC_V1 & 0xFFFFFFFF),
    (record.magic_v2(), message.MAGIC_V2 & 0xFFFFFFFF),
):
    assert said == known, (said, known)


cdef inline bint _is_same(bytes known, const uint8_t *at, int64_t size) noexcept:
    return PyBytes_GET_SIZE(known) == size and memcmp(PyBytes_AS_STRING(known), at, size) == 0


cdef inline bytes _slice(const uint8_t *at, int64_t size):
    return PyBytes_FromStringAndSize(<const char *> at, size)


cdef class _Decoder:
    """Decodes records of one answer, which mostly have the same topic and hosts."""

    cdef bytes _born_host, _store_host, _topic_bytes
    cdef str _topic
    cdef BodyCrc _crc

    def __cinit__(self):
        self._born_host = self._store_host = self._topic_bytes = b""
        self._topic = ""
        self._crc = BodyCrc()

    cdef bint _find_topic(self, const Part *topic) except -1:
        """Keep the topic as text; return False if it is not UTF-8."""
        if not _is_same(self._topic_bytes, topic.at, topic.size):
            try:
                self._topic = PyUnicode_DecodeUTF8(<const char *> topic.at, topic.size, NULL)
            except UnicodeDecodeError:
                return False
            self._topic_bytes = _slice(topic.at, topic.size)
        return True

    cdef object record(self, const uint8_t *at, int64_t left, bint check_crc):
        """Return the record that begins at ``at``; None if it is not a good one."""
        cdef RecordParts parts
        if not find_parts(at, left, &parts) or not self._find_topic(&parts.topic):
            return None
        if check_crc and not self._crc.is_good(&parts):
            return None
        return self._make(&parts)

    cdef object _make(self, const RecordParts *parts):
        cdef const uint8_t *at = parts.head
        cdef int64_t born_size = (
            record.HOST_V6_SIZE if parts.lane & record.BORN_LONG else record.HOST_V4_SIZE
        )
        cdef int64_t store_size = (
            record.HOST_V6_SIZE if parts.lane & record.STORE_LONG else record.HOST_V4_SIZE
        )
        cdef const uint8_t *behind = at + record.BORN_HOST_POS + born_size
        if not _is_same(self._born_host, at + record.BORN_HOST_POS, born_size):
            self._born_host = _slice(at + record.BORN_HOST_POS, born_size)
        if not _is_same(self._store_host, behind + 8, store_size):
            self._store_host = _slice(behind + 8, store_size)
        return new_tuple(
            Record,
            (
                i32(at), i32(at + record.MAGIC_POS), i32(at + record.CRC_POS),
                i32(at + record.QUEUE_ID_POS), i32(at + record.FLAG_POS),
                i64(at + record.QUEUE_OFFSET_POS), i64(at + record.LOG_OFFSET_POS),
                i32(at + record.SYS_FLAG_POS), i64(at + record.BORN_MS_POS), self._born_host,
                i64(behind), self._store_host, i32(behind + 8 + store_size),
                i64(behind + 12 + store_size), _slice(parts.body.at, parts.body.size),
                self._topic, _slice(parts.properties.at, parts.properties.size),
            ),
        )


def decode_compiled(bytes data, bint check_crc):
    """Return the good records at the beginning of ``data``, and the position after them."""
    cdef const uint8_t *start = <const uint8_t *> PyBytes_AS_STRING(data)
    cdef int64_t pos = 0, end = PyBytes_GET_SIZE(data)
    cdef _Decoder decoder = _Decoder()
    cdef list records = []
    while pos < end:
        decoded = decoder.record(start + pos, end - pos, check_crc)
        if decoded is None:
            break
        records.append(decoded)
        pos += i32(start + pos)
    return records, pos
