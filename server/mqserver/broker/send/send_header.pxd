# cython: language_level=3
"""The fields of a plain send, from the pairs of its header.

    code 310, 320   "a" group, "b" topic, … "m" batch         code 10   the same with long names

Rule: True is returned only for what the general way (the typed header) reads with the same result,
and whose answer depends on nothing else; False for everything else, for example a one-way request, a
field that is missing or wrong, or a message that is sent again.

Source: common/protocol/header/SendMessageRequestHeaderV2.java.
"""

from libc.stdint cimport int64_t, uint8_t
from remoting.header_pairs cimport (
    FLAG_ONEWAY,
    FLAG_RESPONSE,
    Header,
    Span,
    find_fields,
    int32_of,
    number_of,
)

cdef enum:
    SEND = 10
    SEND_V2 = 310
    SEND_BATCH = 320

cdef enum:
    # The fields in the order of their short names; those before PROPERTIES have to be there.
    GROUP, TOPIC, DEFAULT_TOPIC, QUEUE_COUNT, QUEUE_ID, SYS_FLAG, BORN_MS, FLAG, PROPERTIES
    RECONSUME_TIMES, UNIT_MODE, RECONSUME_TIMES_MAX, IS_BATCH, FIELDS_COUNT


cdef struct Send:
    int64_t code, opaque, queue_id, sys_flag, born_ms, flag
    Span topic, properties
    bint is_batch


cdef inline bint is_true(Span text) noexcept nogil:
    cdef const char *word = b"true"
    cdef int at
    if text.size != 4:
        return False
    for at in range(4):
        if text.at[at] | 0x20 != <uint8_t> word[at]:
            return False
    return True


cdef inline bint read_send(
    const Header *header, const char **names, const int *sizes, Send *send
) noexcept nogil:
    """Read the fields, which have these names in the order of the enum; False if not plain."""
    cdef Span fields[FIELDS_COUNT]
    cdef int64_t number = 0
    cdef int at
    if header.flag & (FLAG_RESPONSE | FLAG_ONEWAY) or header.opaque < 0:
        return False
    find_fields(header, names, sizes, FIELDS_COUNT, fields)
    for at in range(PROPERTIES):
        if fields[at].at == NULL:
            return False
    # The first two numbers matter only where a topic is made or a message is sent again.
    if not int32_of(&fields[QUEUE_COUNT], &number):
        return False
    if fields[RECONSUME_TIMES_MAX].at != NULL:
        if not int32_of(&fields[RECONSUME_TIMES_MAX], &number):
            return False
    if fields[RECONSUME_TIMES].at != NULL:
        if not int32_of(&fields[RECONSUME_TIMES], &number) or number:
            return False
    if not int32_of(&fields[QUEUE_ID], &send.queue_id):
        return False
    if not int32_of(&fields[SYS_FLAG], &send.sys_flag):
        return False
    if not int32_of(&fields[FLAG], &send.flag) or not number_of(&fields[BORN_MS], &send.born_ms):
        return False
    send.code, send.opaque = header.code, header.opaque
    send.topic, send.properties = fields[TOPIC], fields[PROPERTIES]
    send.is_batch = is_true(fields[IS_BATCH])
    return True
