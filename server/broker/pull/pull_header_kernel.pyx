# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The header of a pull, read in C in both serialisations.

    JSON      { "key" : 12 , "key" : "text" , "extFields" : { "key" : "text" , … } , … }
    ROCKETMQ  i16 code, i8 language, i16 version, i32 opaque, i32 flag, i32 0, i32 m,
              m bytes of ( i16 k, key | i32 v, value )

Rule: as in ``server.broker.pull.pull_header``: what is taken is read as the general path reads it,
and everything else is left to that path. No byte is looked at before its place was compared with
the end of the header. Texts are found as places in the header and become objects at the end.

Source: as ``remoting.serialize``.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memchr, memcmp

from storefmt.formats.big_endian cimport i32, u32

from remoting import codes
from server.broker.pull import pull_header

cdef enum:
    # The fields of extFields, in the order of KEYS; all up to TEXTS are numbers.
    QUEUE_ID, MAX_MSG_NUMS, SYS_FLAG, QUEUE_OFFSET, COMMIT_OFFSET, SUSPEND, SUB_VERSION
    GROUP, TOPIC, SUBSCRIPTION, EXPRESSION_TYPE, FIELDS_COUNT
    TEXTS = GROUP
    INT32_COUNT = QUEUE_OFFSET

cdef enum:
    # The keys around extFields, as bits of what was seen.
    HAS_CODE = 1
    HAS_OPAQUE = 2
    HAS_FLAG = 4
    HAS_VERSION = 8
    HAS_EXT = 16

cdef enum:
    PAIRS_MAX = 64
    DIGITS_MAX = 18
    KEY_SIZE_MAX = 32767
    FIXED_SIZE = 21
    FLAG_RESPONSE = 1
    FLAG_ONEWAY = 2

cdef int64_t INT32_MIN = -(1 << 31), INT32_MAX = (1 << 31) - 1
cdef int64_t PULL_MESSAGE = codes.RequestCode.PULL_MESSAGE
cdef int64_t JSON = codes.SerializeType.JSON
cdef int64_t ROCKETMQ = codes.SerializeType.ROCKETMQ
cdef object Pull = pull_header.Pull
cdef object new_tuple = tuple.__new__

cdef struct Text:
    const uint8_t *at
    Py_ssize_t size

cdef struct Head:
    # What was read; ``at`` and ``end`` are what is left of the header.
    const uint8_t *at
    const uint8_t *end
    int seen
    int64_t code
    int64_t opaque
    int64_t flag
    Text fields[FIELDS_COUNT]
    int64_t numbers[TEXTS]

cdef const char *KEYS[FIELDS_COUNT]
cdef int KEY_SIZES[FIELDS_COUNT]
KEYS[:] = [
    b"queueId", b"maxMsgNums", b"sysFlag", b"queueOffset", b"commitOffset",
    b"suspendTimeoutMillis", b"subVersion", b"consumerGroup", b"topic", b"subscription",
    b"expressionType",
]
KEY_SIZES[:] = [7, 10, 7, 11, 12, 20, 10, 13, 5, 12, 14]


cdef inline bint is_named(const Text *text, const char *name, Py_ssize_t size) noexcept nogil:
    return text.size == size and memcmp(text.at, name, size) == 0


cdef inline int next_byte(Head *head) noexcept nogil:
    """Pass over white space and one byte; return that byte, -1 at the end."""
    cdef int found
    while head.at < head.end:
        found = head.at[0]
        head.at += 1
        if found != c" " and found != c"\n" and found != c"\r" and found != c"\t":
            return found
    return -1


cdef inline bint read_text(Head *head, Text *text) noexcept nogil:
    """Read the rest of a text whose quote was read; False for an escape, or if it has no end."""
    cdef const uint8_t *close = <const uint8_t *> memchr(head.at, c'"', head.end - head.at)
    if close == NULL or memchr(head.at, c"\\", close - head.at) != NULL:
        return False
    text.at, text.size = head.at, close - head.at
    head.at = close + 1
    return True


cdef inline bint number_of(const Text *text, int64_t *number) noexcept nogil:
    """Read a text of a sign or none and up to DIGITS_MAX digits, which fit in any case."""
    cdef Py_ssize_t pos = 0
    cdef int64_t value = 0
    if text.size and (text.at[0] == c"-" or text.at[0] == c"+"):
        pos = 1
    if not 0 < text.size - pos <= DIGITS_MAX:
        return False
    while pos < text.size:
        if not c"0" <= text.at[pos] <= c"9":
            return False
        value = 10 * value + (text.at[pos] - c"0")
        pos += 1
    number[0] = -value if text.at[0] == c"-" else value
    return True


cdef inline bint read_digits(Head *head, int first, Text *text) noexcept nogil:
    """Read the rest of a whole number in JSON, of which the first byte was read.

    What follows has to be a comma or a brace, so fractions are left to the general path.
    """
    cdef const uint8_t *digits = head.at if first == c"-" else head.at - 1
    text.at = head.at - 1
    while head.at < head.end and c"0" <= head.at[0] <= c"9":
        head.at += 1
    text.size = head.at - text.at
    if first == c"+" or not 0 < head.at - digits <= DIGITS_MAX:
        return False
    # JSON has no leading zeros, and nobody writes -0.
    return digits[0] != c"0" or text.size == 1


cdef inline bint read_int32(Head *head, int first, int64_t *number) noexcept nogil:
    cdef Text text
    if not read_digits(head, first, &text) or not number_of(&text, number):
        return False
    return INT32_MIN <= number[0] <= INT32_MAX


cdef void keep(Head *head, const Text *name, const Text *value) noexcept nogil:
    """Keep one pair of extFields; of pairs with one key, the last one counts."""
    cdef int number
    for number in range(FIELDS_COUNT):
        if is_named(name, KEYS[number], KEY_SIZES[number]):
            head.fields[number] = value[0]
            return


cdef bint read_ext(Head *head) noexcept nogil:
    """Read extFields from its brace on."""
    cdef Text name, value
    cdef int found, count
    for count in range(PAIRS_MAX):
        if next_byte(head) != c'"' or not read_text(head, &name):
            return False
        if next_byte(head) != c":":
            return False
        # Clients in C++ write some numbers without quotes.
        found = next_byte(head)
        if found == c'"':
            if not read_text(head, &value):
                return False
        elif found < 0 or not read_digits(head, found, &value):
            return False
        keep(head, &name, &value)
        found = next_byte(head)
        if found != c",":
            return found == c"}"
    return False


cdef bint read_value(Head *head, const Text *name) noexcept nogil:
    """Read the value of a key around extFields; False for another key or one that comes twice."""
    cdef Text unused
    cdef int64_t number = 0
    cdef int first = next_byte(head), bit
    if is_named(name, "extFields", 9):
        bit = HAS_EXT
        if first != c"{" or not read_ext(head):
            return False
    elif (
        is_named(name, "language", 8)
        or is_named(name, "serializeTypeCurrentRPC", 23)
        or is_named(name, "remark", 6)
    ):
        # None of them matters, so it may come twice.
        bit = 0
        if first != c'"' or not read_text(head, &unused):
            return False
    elif first < 0 or not read_int32(head, first, &number):
        return False
    elif is_named(name, "code", 4):
        bit, head.code = HAS_CODE, number
    elif is_named(name, "opaque", 6):
        bit, head.opaque = HAS_OPAQUE, number
    elif is_named(name, "flag", 4):
        bit, head.flag = HAS_FLAG, number
    elif is_named(name, "version", 7):
        bit = HAS_VERSION
    else:
        return False
    if head.seen & bit:
        return False
    head.seen |= bit
    return True


cdef bint read_json(Head *head) noexcept nogil:
    cdef Text name
    cdef int found
    if next_byte(head) != c"{":
        return False
    while True:
        if next_byte(head) != c'"' or not read_text(head, &name):
            return False
        if next_byte(head) != c":" or not read_value(head, &name):
            return False
        found = next_byte(head)
        if found != c",":
            break
    if found != c"}" or next_byte(head) >= 0:
        return False
    return head.seen & HAS_CODE != 0 and head.seen & HAS_OPAQUE != 0


cdef bint read_binary(Head *head) noexcept nogil:
    cdef Text name, value
    cdef int64_t size
    cdef int count
    if head.end - head.at < FIXED_SIZE:
        return False
    # The code is the first half of a number of 32 bits.
    head.code = i32(head.at) >> 16
    head.opaque, head.flag = i32(head.at + 5), i32(head.at + 9)
    size = i32(head.at + 17)
    if u32(head.at + 13) or size != head.end - head.at - FIXED_SIZE:
        return False
    head.at += FIXED_SIZE
    for count in range(PAIRS_MAX):
        if head.at == head.end:
            return True
        if head.end - head.at < 2:
            return False
        name.at, name.size = head.at + 2, head.at[0] << 8 | head.at[1]
        if name.size > KEY_SIZE_MAX or head.end - name.at < name.size + 4:
            return False
        value.at = name.at + name.size + 4
        value.size = i32(value.at - 4)
        if not 0 <= value.size <= head.end - value.at:
            return False
        # An empty value counts as none.
        if value.size:
            keep(head, &name, &value)
        head.at = value.at + value.size
    return False


cdef bint read_numbers(Head *head) noexcept nogil:
    cdef int number
    for number in range(TEXTS):
        if head.fields[number].at == NULL:
            return False
        if not number_of(&head.fields[number], &head.numbers[number]):
            return False
        if number < INT32_COUNT and not INT32_MIN <= head.numbers[number] <= INT32_MAX:
            return False
    return head.fields[GROUP].at != NULL and head.fields[TOPIC].at != NULL


cdef object text_or_none(const Text *text):
    if text.at == NULL:
        return None
    return PyUnicode_DecodeUTF8(<const char *> text.at, text.size, NULL)


def parse_pull_compiled(int64_t serialize, bytes header):
    """Return the fields of a pull's header, None for what the general path has to read."""
    cdef Head head
    cdef int number
    head.at = <const uint8_t *> PyBytes_AS_STRING(header)
    head.end = head.at + PyBytes_GET_SIZE(header)
    head.seen, head.code, head.opaque, head.flag = 0, 0, 0, 0
    for number in range(FIELDS_COUNT):
        head.fields[number].at, head.fields[number].size = NULL, 0
    if serialize == JSON:
        if not read_json(&head):
            return None
    elif serialize != ROCKETMQ or not read_binary(&head):
        return None
    if head.code != PULL_MESSAGE or head.flag & FLAG_RESPONSE or not read_numbers(&head):
        return None
    try:
        group, topic = text_or_none(&head.fields[GROUP]), text_or_none(&head.fields[TOPIC])
        subscription = text_or_none(&head.fields[SUBSCRIPTION])
        expression_type = text_or_none(&head.fields[EXPRESSION_TYPE])
    except UnicodeDecodeError:
        return None
    return new_tuple(
        Pull,
        (
            head.code, head.opaque, head.flag & FLAG_ONEWAY != 0, group, topic,
            head.numbers[QUEUE_ID], head.numbers[QUEUE_OFFSET], head.numbers[MAX_MSG_NUMS],
            head.numbers[SYS_FLAG], head.numbers[COMMIT_OFFSET], head.numbers[SUSPEND],
            subscription, head.numbers[SUB_VERSION], expression_type,
        ),
    )
