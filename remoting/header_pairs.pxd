# cython: language_level=3
"""The header of a request, read in C in both serialisations, for the kernels of sends and pulls.

    JSON      { "code" : 310 , "extFields" : { "key" : "text" , "key" : 12 , … } , … }
    ROCKETMQ  i16 code, i8 language, i16 version, i32 opaque, i32 flag, i32 0, i32 m,
              m bytes of ( i16 k, key | i32 v, value )

Rule: what is read is what ``remoting.serialize`` reads. For everything else the answer is False, and
the header is left to the general way: an escape other than those of the property separators, a value
that is neither text nor a whole number, a key around extFields that is unknown or comes twice, a
remark in the binary form, and whatever is wrong. Texts stay bytes, which may not be UTF-8, and a pair
that comes twice is there twice: the last one counts. No byte is looked at before its place was
compared with the end.

Source: as ``remoting.serialize``.
"""

from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcmp

from storefmt.formats.big_endian cimport i32, u32

ctypedef const uint8_t *Bytes

cdef enum:
    # The serialisations.
    JSON = 0
    ROCKETMQ = 1

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
    ESCAPE_SIZE = 6
    FLAG_RESPONSE = 1
    FLAG_ONEWAY = 2


cdef struct Span:
    Bytes at
    Py_ssize_t size


cdef struct Pair:
    Span name, value


cdef struct Header:
    int64_t code, opaque, flag
    int count
    Pair pairs[PAIRS_MAX]
    # What is left, where the next text without its escapes goes, and which keys were seen.
    Bytes at, end
    uint8_t *scratch
    int seen


cdef inline bint is_word(const Span *text, const char *word, Py_ssize_t size) noexcept nogil:
    return text.size == size and memcmp(text.at, word, size) == 0


cdef inline bint is_ascii(Span text) noexcept nogil:
    cdef Py_ssize_t at
    for at in range(text.size):
        if text.at[at] & 0x80:
            return False
    return True


cdef inline bint is_utf8(Span text) except -1:
    if not is_ascii(text):
        try:
            PyUnicode_DecodeUTF8(<char *> text.at, text.size, NULL)
        except UnicodeDecodeError:
            return False
    return True


cdef inline int next_byte(Header *header) noexcept nogil:
    """Pass over white space and one byte; return that byte, -1 at the end."""
    cdef int found
    while header.at < header.end:
        found = header.at[0]
        header.at += 1
        if found != c" " and found != c"\n" and found != c"\r" and found != c"\t":
            return found
    return -1


cdef inline bint read_escaped(Header *header, Span *text) noexcept nogil:
    """Read a text that has escapes from its first letter on."""
    cdef uint8_t *out = header.scratch
    cdef Bytes at = header.at, end = header.end
    if out == NULL:
        return False
    text.at = out
    while at < end and at[0] != c'"':
        if at[0] != c"\\":
            out[0] = at[0]
            at += 1
        else:
            if end - at < ESCAPE_SIZE or memcmp(at, b"\\u000", ESCAPE_SIZE - 1):
                return False
            if at[ESCAPE_SIZE - 1] != c"1" and at[ESCAPE_SIZE - 1] != c"2":
                return False
            out[0] = at[ESCAPE_SIZE - 1] - c"0"
            at += ESCAPE_SIZE
        out += 1
    if at == end:
        return False
    text.size = out - header.scratch
    header.scratch, header.at = out, at + 1
    return True


cdef inline bint read_text(Header *header, Span *text) noexcept nogil:
    """Read the rest of a text whose quote was read; False if it has no end."""
    cdef Bytes at = header.at, end = header.end
    while at < end and at[0] != c'"':
        if at[0] == c"\\":
            return read_escaped(header, text)
        at += 1
    if at == end:
        return False
    text.at, text.size = header.at, at - header.at
    header.at = at + 1
    return True


cdef inline bint number_of(const Span *text, int64_t *number) noexcept nogil:
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


cdef inline bint int32_of(const Span *text, int64_t *number) noexcept nogil:
    return number_of(text, number) and -(1LL << 31) <= number[0] < 1LL << 31


cdef inline bint read_digits(Header *header, int first, Span *text) noexcept nogil:
    """Read the rest of a whole number in JSON, of which the first byte was read.

    What follows has to be a comma or a brace, so fractions are left to the general way.
    """
    cdef Bytes digits = header.at if first == c"-" else header.at - 1
    text.at = header.at - 1
    while header.at < header.end and c"0" <= header.at[0] <= c"9":
        header.at += 1
    text.size = header.at - text.at
    if first != c"-" and not c"0" <= first <= c"9":
        return False
    if not 0 < header.at - digits <= DIGITS_MAX:
        return False
    # JSON has no leading zeros, and -0 is never written.
    return digits[0] != c"0" or text.size == 1


cdef inline bint read_pairs(Header *header) noexcept nogil:
    """Read extFields in JSON from after its brace on."""
    cdef Pair *pair
    cdef int found
    for header.count in range(PAIRS_MAX):
        pair = &header.pairs[header.count]
        if next_byte(header) != c'"' or not read_text(header, &pair.name):
            return False
        if next_byte(header) != c":":
            return False
        # Clients in C++ write some numbers without quotes.
        found = next_byte(header)
        if found == c'"':
            if not read_text(header, &pair.value):
                return False
        elif found < 0 or not read_digits(header, found, &pair.value):
            return False
        found = next_byte(header)
        if found != c",":
            header.count += 1
            return found == c"}"
    return False


cdef inline bint read_value(Header *header, const Span *name) noexcept nogil:
    """Read the value of a key around extFields; False for another key or one that comes twice."""
    cdef Span text
    cdef int64_t number = 0
    cdef int first = next_byte(header), bit
    if is_word(name, b"extFields", 9):
        bit = HAS_EXT
        if first != c"{" or not read_pairs(header):
            return False
    elif (
        is_word(name, b"language", 8)
        or is_word(name, b"serializeTypeCurrentRPC", 23)
        or is_word(name, b"remark", 6)
    ):
        # None of them matters, so it may come twice.
        bit = 0
        if first != c'"' or not read_text(header, &text):
            return False
    elif first < 0 or not read_digits(header, first, &text) or not int32_of(&text, &number):
        return False
    elif is_word(name, b"code", 4):
        bit, header.code = HAS_CODE, number
    elif is_word(name, b"opaque", 6):
        bit, header.opaque = HAS_OPAQUE, number
    elif is_word(name, b"flag", 4):
        bit, header.flag = HAS_FLAG, number
    elif is_word(name, b"version", 7):
        bit = HAS_VERSION
    else:
        return False
    if header.seen & bit:
        return False
    header.seen |= bit
    return True


cdef inline bint read_json(Header *header) noexcept nogil:
    cdef Span name
    cdef int found
    if next_byte(header) != c"{":
        return False
    while True:
        if next_byte(header) != c'"' or not read_text(header, &name):
            return False
        if next_byte(header) != c":" or not read_value(header, &name):
            return False
        found = next_byte(header)
        if found != c",":
            break
    if found != c"}" or next_byte(header) >= 0:
        return False
    return header.seen & HAS_CODE != 0 and header.seen & HAS_OPAQUE != 0


cdef inline bint read_binary(Header *header) noexcept nogil:
    cdef Pair *pair
    cdef int64_t size
    cdef int read
    if header.end - header.at < FIXED_SIZE:
        return False
    # The code is the first half of a number of 32 bits.
    header.code = i32(header.at) >> 16
    header.opaque, header.flag = i32(header.at + 5), i32(header.at + 9)
    size = i32(header.at + 17)
    if u32(header.at + 13) or size != header.end - header.at - FIXED_SIZE:
        return False
    header.at += FIXED_SIZE
    for read in range(PAIRS_MAX):
        if header.at == header.end:
            return True
        if header.end - header.at < 2:
            return False
        pair = &header.pairs[header.count]
        pair.name.at, pair.name.size = header.at + 2, header.at[0] << 8 | header.at[1]
        if pair.name.size > KEY_SIZE_MAX or header.end - pair.name.at < pair.name.size + 4:
            return False
        pair.value.at = pair.name.at + pair.name.size + 4
        pair.value.size = i32(pair.value.at - 4)
        if not 0 <= pair.value.size <= header.end - pair.value.at:
            return False
        # An empty value counts as none.
        if pair.value.size:
            header.count += 1
        header.at = pair.value.at + pair.value.size
    return False


cdef inline bint read_header(
    int64_t serialize, Bytes at, Bytes end, uint8_t *scratch, Header *header
) noexcept nogil:
    """Read a header from ``at`` to ``end``; False if it is left to the general way.

    ``scratch`` has as much room as the header, or is NULL: then a text with an escape is left.
    """
    header.at, header.end, header.scratch = at, end, scratch
    header.code = header.opaque = header.flag = 0
    header.count = header.seen = 0
    if serialize == JSON:
        return read_json(header)
    return serialize == ROCKETMQ and read_binary(header)


cdef inline void find_fields(
    const Header *header, const char **names, const int *sizes, int count, Span *fields
) noexcept nogil:
    """Find the values of ``count`` names; a missing one is at NULL."""
    cdef const Pair *pair
    cdef int at, step, number
    for number in range(count):
        fields[number].at, fields[number].size = NULL, 0
    number = count - 1
    for at in range(header.count):
        pair = &header.pairs[at]
        # Most clients write the fields in one order, so the search begins after the last one.
        for step in range(count):
            number = number + 1 if number + 1 < count else 0
            if is_word(&pair.name, names[number], sizes[number]):
                fields[number] = pair.value
                break


cdef inline int compare(const Span *one, const Span *other) noexcept nogil:
    cdef Py_ssize_t size = one.size if one.size < other.size else other.size
    cdef int found = memcmp(one.at, other.at, size)
    if found or one.size == other.size:
        return found
    return -1 if one.size < other.size else 1


cdef inline void sort_pairs(Header *header) noexcept nogil:
    """Sort the pairs by the bytes of their names; of those with one name, the last one stays."""
    cdef Pair pair
    cdef int at, place, moved, found, count = 0
    for at in range(header.count):
        pair = header.pairs[at]
        place, found = count, -1
        # Most clients write sorted names, so this is seldom repeated.
        while place:
            found = compare(&header.pairs[place - 1].name, &pair.name)
            if found <= 0:
                break
            place -= 1
        if place and found == 0:
            header.pairs[place - 1] = pair
            continue
        for moved in range(count, place, -1):
            header.pairs[moved] = header.pairs[moved - 1]
        header.pairs[place] = pair
        count += 1
    header.count = count
