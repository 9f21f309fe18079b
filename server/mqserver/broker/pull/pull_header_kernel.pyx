# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The header of a pull, read in C in both serialisations.

Rule: as in ``mqserver.broker.pull.pull_header``: what is taken is read as the general path reads it,
and everything else is left to that path. Texts are found as places in the header and become objects
at the end.

Source: as ``remoting.serialize``.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t
from remoting.header_pairs cimport (
    FLAG_ONEWAY,
    FLAG_RESPONSE,
    Bytes,
    Header,
    Span,
    find_fields,
    int32_of,
    number_of,
    read_header,
)

from remoting import codes
from mqserver.broker.pull import pull_header

cdef enum:
    # The fields of extFields, in the order of NAMES; all up to TEXTS are numbers.
    QUEUE_ID, MAX_MSG_NUMS, SYS_FLAG, QUEUE_OFFSET, COMMIT_OFFSET, SUSPEND, SUB_VERSION
    GROUP, TOPIC, SUBSCRIPTION, EXPRESSION_TYPE, FIELDS_COUNT
    TEXTS = GROUP
    INT32_COUNT = QUEUE_OFFSET

cdef int64_t PULL_MESSAGE = codes.RequestCode.PULL_MESSAGE
cdef object Pull = pull_header.Pull
cdef object new_tuple = tuple.__new__

cdef const char *NAMES[FIELDS_COUNT]
cdef int SIZES[FIELDS_COUNT]
NAMES[:] = [
    b"queueId", b"maxMsgNums", b"sysFlag", b"queueOffset", b"commitOffset",
    b"suspendTimeoutMillis", b"subVersion", b"consumerGroup", b"topic", b"subscription",
    b"expressionType",
]
SIZES[:] = [7, 10, 7, 11, 12, 20, 10, 13, 5, 12, 14]


cdef bint read_numbers(const Span *fields, int64_t *numbers) noexcept nogil:
    cdef int number
    for number in range(TEXTS):
        if fields[number].at == NULL:
            return False
        if number < INT32_COUNT:
            if not int32_of(&fields[number], &numbers[number]):
                return False
        elif not number_of(&fields[number], &numbers[number]):
            return False
    return True


cdef object text_or_none(const Span *text):
    if text.at == NULL:
        return None
    return PyUnicode_DecodeUTF8(<const char *> text.at, text.size, NULL)


def parse_pull_compiled(int64_t serialize, bytes data):
    """Return the fields of a pull's header, None for what the general path has to read."""
    cdef Header header
    cdef Span fields[FIELDS_COUNT]
    cdef int64_t numbers[TEXTS]
    cdef Bytes at = <Bytes> PyBytes_AS_STRING(data)
    if not read_header(serialize, at, at + PyBytes_GET_SIZE(data), NULL, &header):
        return None
    find_fields(&header, NAMES, SIZES, FIELDS_COUNT, fields)
    if header.code != PULL_MESSAGE or header.flag & FLAG_RESPONSE:
        return None
    if fields[GROUP].at == NULL or fields[TOPIC].at == NULL or not read_numbers(fields, numbers):
        return None
    try:
        group, topic = text_or_none(&fields[GROUP]), text_or_none(&fields[TOPIC])
        subscription = text_or_none(&fields[SUBSCRIPTION])
        expression_type = text_or_none(&fields[EXPRESSION_TYPE])
    except UnicodeDecodeError:
        return None
    return new_tuple(
        Pull,
        (
            header.code, header.opaque, header.flag & FLAG_ONEWAY != 0, group, topic,
            numbers[QUEUE_ID], numbers[QUEUE_OFFSET], numbers[MAX_MSG_NUMS],
            numbers[SYS_FLAG], numbers[COMMIT_OFFSET], numbers[SUSPEND],
            subscription, numbers[SUB_VERSION], expression_type,
        ),
    )
