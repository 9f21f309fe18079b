# cython: language_level=3
"""One message record, for the kernels that read or write one: where its parts lie.

    | size | magic | crc | … | body | topic_size | topic | properties_size | properties |
      └────────── head, 88 to 112 bytes by the hosts ──┘

Rule: a record is whole here exactly where ``storefmt.formats.message`` decodes it, except for its
CRC and texts. A length is compared with what is there before it is used. The numbers are those of
the Python modules; ``message_kernel`` compares them when it is imported.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t

from storefmt.formats.big_endian cimport i32, u32


cdef enum:
    # Where the fields lie; those after the producer's host move with its size.
    MAGIC_POS = 4
    CRC_POS = 8
    QUEUE_ID_POS = 12
    FLAG_POS = 16
    QUEUE_OFFSET_POS = 20
    LOG_OFFSET_POS = 28
    SYS_FLAG_POS = 36
    BORN_MS_POS = 40
    BORN_HOST_POS = 48


cdef enum:
    HEAD_SIZE = 88
    # The two small lengths after the body.
    TAIL_SIZE_MIN = 3
    RECORD_SIZE_MIN = 91
    HOST_V4_SIZE = 8
    HOST_V6_SIZE = 20
    HOST_GROWTH = 12


cdef enum:
    TOPIC_SIZE_V1_MAX = 127
    TOPIC_SIZE_V2_MAX = 32767
    PROPERTIES_SIZE_MAX = 32767


cdef enum:
    # Bits of ``sys_flag``.
    BORN_HOST_V6 = 16
    STORE_HOST_V6 = 32


cdef enum:
    # Bits of a lane.
    BORN_LONG = 1
    STORE_LONG = 2


cdef inline uint32_t magic_v1() noexcept nogil:
    return 0xDAA320A7


cdef inline uint32_t magic_v2() noexcept nogil:
    return 0xDAA320AB


cdef struct Part:
    const uint8_t *at
    int64_t size


cdef struct RecordParts:
    const uint8_t *head
    Part body
    Part topic
    Part properties
    # Which hosts are long: an index into the four kinds of heads.
    int lane


cdef inline int64_t u16(const uint8_t *at) noexcept nogil:
    return <int64_t> at[0] << 8 | at[1]


cdef inline bint find_body(const uint8_t *head, int64_t size, RecordParts *parts) noexcept nogil:
    """Fill in head, lane and body; tell whether the body lies within ``size`` bytes.

    The bytes of a head with IPv4 hosts must be there, whatever ``size`` says.
    """
    cdef int64_t at = HEAD_SIZE
    cdef uint32_t sys_flag = u32(head + SYS_FLAG_POS)
    parts.head, parts.lane = head, 0
    if sys_flag & BORN_HOST_V6:
        parts.lane, at = BORN_LONG, at + HOST_GROWTH
    if sys_flag & STORE_HOST_V6:
        parts.lane, at = parts.lane | STORE_LONG, at + HOST_GROWTH
    if at > size:
        return False
    parts.body.at, parts.body.size = head + at, i32(head + at - 4)
    return 0 <= parts.body.size <= size - at


cdef inline bint find_parts(const uint8_t *head, int64_t left, RecordParts *parts) noexcept nogil:
    """Fill in ``parts``; tell whether the record lies within ``left`` bytes and adds up."""
    cdef const uint8_t *at
    cdef const uint8_t *end
    cdef int64_t size
    cdef uint32_t magic
    if left < RECORD_SIZE_MIN:
        return False
    size, magic = i32(head), u32(head + MAGIC_POS)
    if size > left or (magic != magic_v1() and magic != magic_v2()):
        return False
    if not find_body(head, size, parts):
        return False
    at, end = parts.body.at + parts.body.size, head + size
    if end - at < TAIL_SIZE_MIN:
        return False
    if magic == magic_v1():
        parts.topic.size, at = at[0], at + 1
        if parts.topic.size > TOPIC_SIZE_V1_MAX:
            return False
    else:
        parts.topic.size, at = u16(at), at + 2
        if parts.topic.size > TOPIC_SIZE_V2_MAX:
            return False
    parts.topic.at = at
    if end - at < parts.topic.size + 2:
        return False
    at += parts.topic.size
    parts.properties.at, parts.properties.size = at + 2, u16(at)
    return (
        parts.properties.size <= PROPERTIES_SIZE_MAX
        and end - parts.properties.at == parts.properties.size
    )
