# cython: language_level=3
"""Reads the header of a plain send, in whatever order its keys are.

    {"code":310,"extFields":{"a":"group","b":"topic",…,"i":"KEYS\\u0001k\\u0002…",…},"flag":0,…}

Rule: True is returned only for what the general way (``remoting.serialize`` and the typed header)
reads with the same result; False for everything else, for example an escape other than those of the
property separators, a key that is given twice, white space, or a field that is missing. A function
that returns a position returns NULL for what is not plain, and reads nothing at or behind ``end``.

Source: remoting/protocol/RemotingSerializable.java; the layouts of recorded frames.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memcmp

ctypedef const uint8_t *Bytes

cdef enum:
    SEND = 10
    SEND_V2 = 310
    SEND_BATCH = 320
    VERSION_MIN = 121


cdef struct Span:
    Bytes at
    Py_ssize_t size


cdef struct Send:
    # The header of a send; ``properties`` are without escapes.
    int64_t code, opaque, queue_id, sys_flag, born_ms, flag
    Span topic, properties
    bint is_batch


cdef inline Bytes _plain(Bytes at, Bytes end, Span *found) noexcept nogil:
    """Read a string of printable ASCII characters without escapes, with its quotes."""
    if at >= end or at[0] != c'"':
        return NULL
    at += 1
    found.at = at
    while at < end and at[0] != c'"':
        if at[0] < 0x20 or at[0] > 0x7E or at[0] == c'\\':
            return NULL
        at += 1
    if at >= end:
        return NULL
    found.size = at - found.at
    return at + 1


cdef inline Bytes _unescaped(Bytes at, Bytes end, uint8_t *out, Span *found) noexcept nogil:
    """Read the property string into ``out``, which has room for all that is left."""
    cdef uint8_t *start = out
    if at >= end or at[0] != c'"':
        return NULL
    at += 1
    while at < end and at[0] != c'"':
        if at[0] < 0x20:
            return NULL
        if at[0] == c'\\':
            if end - at < 6 or memcmp(at, b"\\u000", 5) or (at[5] != c'1' and at[5] != c'2'):
                return NULL
            out[0] = at[5] - c'0'
            at += 6
        else:
            out[0] = at[0]
            at += 1
        out += 1
    if at >= end:
        return NULL
    found.at, found.size = start, out - start
    return at + 1


cdef inline bint _number(Span text, int digits_max, int64_t *out) noexcept nogil:
    """Read decimal digits, perhaps with a sign; False for anything else."""
    cdef Bytes at = text.at, end = text.at + text.size
    cdef int64_t value = 0
    cdef bint negative = at < end and at[0] == c'-'
    if negative:
        at += 1
    if at >= end or end - at > digits_max:
        return False
    while at < end:
        if at[0] < c'0' or at[0] > c'9':
            return False
        value = 10 * value + (at[0] - c'0')
        at += 1
    out[0] = -value if negative else value
    return True


cdef inline Bytes _bare_number(Bytes at, Bytes end, int64_t *out) noexcept nogil:
    """Read a JSON number of up to nine digits, without a sign."""
    cdef Span text
    text.at = at
    while at < end and c'0' <= at[0] <= c'9':
        at += 1
    text.size = at - text.at
    if text.size > 1 and text.at[0] == c'0':
        return NULL
    return at if _number(text, 9, out) else NULL


cdef inline bint _is(Span text, const char *word, Py_ssize_t size) noexcept nogil:
    return text.size == size and not memcmp(text.at, word, size)


cdef inline char _letter(Span key) noexcept nogil:
    """Return the short name of a field that has the long one ``key``; 0 for no such field."""
    if _is(key, b"producerGroup", 13):
        return c'a'
    if _is(key, b"topic", 5):
        return c'b'
    if _is(key, b"defaultTopic", 12):
        return c'c'
    if _is(key, b"defaultTopicQueueNums", 21):
        return c'd'
    if _is(key, b"queueId", 7):
        return c'e'
    if _is(key, b"sysFlag", 7):
        return c'f'
    if _is(key, b"bornTimestamp", 13):
        return c'g'
    if _is(key, b"flag", 4):
        return c'h'
    if _is(key, b"properties", 10):
        return c'i'
    if _is(key, b"reconsumeTimes", 14):
        return c'j'
    if _is(key, b"unitMode", 8):
        return c'k'
    if _is(key, b"maxReconsumeTimes", 17):
        return c'l'
    if _is(key, b"batch", 5):
        return c'm'
    return 0


cdef inline Bytes _fields(Bytes at, Bytes end, bint is_long, uint8_t *scratch, Send *send) noexcept nogil:
    """Read the object ``extFields``, whatever the order of its keys."""
    cdef Span key, value
    cdef char letter
    cdef uint8_t closing
    cdef int64_t number = 0
    cdef uint32_t seen = 0
    send.is_batch = False
    if at >= end or at[0] != c'{':
        return NULL
    at += 1
    while True:
        at = _plain(at, end, &key)
        if at == NULL or at >= end or at[0] != c':':
            return NULL
        at += 1
        if is_long:
            letter = _letter(key)
        else:
            letter = <char> key.at[0] if key.size == 1 and c'a' <= key.at[0] <= c'm' else 0
        if letter == c'i':
            at = _unescaped(at, end, scratch, &send.properties)
        else:
            at = _plain(at, end, &value)
        if at == NULL:
            return NULL
        if letter:
            if seen & (1 << (letter - c'a')):
                return NULL
            seen |= 1 << (letter - c'a')
        if letter == c'b':
            send.topic = value
        elif letter == c'd':
            if not _number(value, 9, &number):
                return NULL
        elif letter == c'e':
            if not _number(value, 9, &send.queue_id):
                return NULL
        elif letter == c'f':
            if not _number(value, 9, &send.sys_flag):
                return NULL
        elif letter == c'g':
            if not _number(value, 18, &send.born_ms):
                return NULL
        elif letter == c'h':
            if not _number(value, 9, &send.flag):
                return NULL
        elif letter == c'j':
            if not _is(value, b"0", 1):
                return NULL
        elif letter == c'k':
            if not _is(value, b"false", 5) and not _is(value, b"true", 4):
                return NULL
        elif letter == c'l':
            if not _number(value, 9, &number):
                return NULL
        elif letter == c'm':
            send.is_batch = _is(value, b"true", 4)
            if not send.is_batch and not _is(value, b"false", 5):
                return NULL
        if at >= end:
            return NULL
        closing = at[0]
        at += 1
        if closing == c'}':
            break
        if closing != c',':
            return NULL
    # Only the last of these may be missing: k, l, m and j have defaults, and a to i have none.
    return at if seen & 0x1FF == 0x1FF else NULL


cdef inline bint read_send(Bytes at, Bytes end, uint8_t *scratch, Send *send) noexcept nogil:
    """Read the JSON header of a send, with ``code`` before ``extFields``; False if not plain."""
    cdef Span key, text
    cdef int64_t flag = -1, version = -1
    cdef uint32_t seen = 0, bit
    cdef uint8_t closing
    send.code = send.opaque = -1
    if at >= end or at[0] != c'{':
        return False
    at += 1
    while True:
        at = _plain(at, end, &key)
        if at == NULL or at >= end or at[0] != c':':
            return False
        at += 1
        if _is(key, b"code", 4):
            bit = 1
            at = _bare_number(at, end, &send.code)
        elif _is(key, b"extFields", 9):
            bit = 2
            if send.code != SEND_V2 and send.code != SEND_BATCH and send.code != SEND:
                return False
            at = _fields(at, end, send.code == SEND, scratch, send)
        elif _is(key, b"flag", 4):
            bit = 4
            at = _bare_number(at, end, &flag)
        elif _is(key, b"opaque", 6):
            bit = 8
            at = _bare_number(at, end, &send.opaque)
        elif _is(key, b"version", 7):
            bit = 16
            at = _bare_number(at, end, &version)
        elif _is(key, b"language", 8):
            bit = 32
            at = _plain(at, end, &text)
        elif _is(key, b"serializeTypeCurrentRPC", 23):
            bit = 64
            at = _plain(at, end, &text)
            if at != NULL and not _is(text, b"JSON", 4):
                return False
        else:
            return False
        if at == NULL or seen & bit or at >= end:
            return False
        seen |= bit
        closing = at[0]
        at += 1
        if closing == c'}':
            break
        if closing != c',':
            return False
    if at != end or seen & 0x3F != 0x3F or flag != 0 or version < VERSION_MIN:
        return False
    return send.is_batch == (send.code == SEND_BATCH)
