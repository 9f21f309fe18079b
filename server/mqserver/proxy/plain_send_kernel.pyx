# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Reads the plain SendMessage of one message in C, and packs it for the broker in the same pass.

    SendMessageRequest ── fields ── checks ── properties in Java's order ──> SendDraft

Rule: optional; a draft is what ``sending`` makes of the decoded request, which tests hold for any
bytes. Everything that is not plain is left to the general way, which also says what is wrong: more
than one message, a field that comes twice or that few messages have, a text beside printable ASCII,
a name that is not allowed, a limit that is passed. A size is compared with what is there before it
is used, as an unsigned number of 64 bits.

Source: as ``mqserver.proxy.sending``.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_DecodeASCII
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memchr, memcmp, memcpy

from mqclient.producer.send_request import PackedMessage
from mqserver.proxy import drafts
from mqserver.proxy.cluster import TopicType
from mqserver.proxy.grpc_status import ProxyRefused
from mqserver.proxy.protocol.protobuf import ITEMS_MAX
from remoting.codes import RequestCode
from storefmt.formats import sysflag

cdef extern from "Python.h":
    object PyUnicode_New(Py_ssize_t size, unsigned int maxchar)
    uint8_t *PyUnicode_1BYTE_DATA(object text)

ctypedef const uint8_t *Bytes

cdef enum:
    VARINT = 0
    DELIMITED = 2
    DIGITS_MAX = 10
    # Of the user, and with those that are added.
    OWN_COUNT_MAX = 64
    PARTS_MAX = 80
    NAMES_SIZE_MAX = 1024
    KEYS_COUNT_MAX = 16
    LAYOUTS_MAX = 4096
    NUMBER_SIZE = 20
    # What tells a layout apart beside the user's names.
    HAS_TAG = 1
    HAS_KEYS = 2
    HAS_GROUP = 4
    HAS_TRACE = 8

# The encodings and the types of a message, as the protocol numbers them.
cdef enum:
    IDENTITY = 1
    GZIP = 2
    NORMAL = 1
    FIFO = 2

cdef int64_t ITEMS = ITEMS_MAX
cdef int64_t SECONDS_MAX = 1 << 40
cdef int64_t NANOS_MAX = 1_000_000_000
cdef object SendDraft = drafts.SendDraft
cdef object SEND = RequestCode.SEND_MESSAGE_V2
cdef int64_t COMPRESSED = sysflag.COMPRESSED
cdef object OF_FIFO = TopicType.FIFO
cdef object OF_NORMAL = TopicType.NORMAL
# Creating a named tuple this way takes half the time.
cdef object new_tuple = tuple.__new__


cdef struct Span:
    Bytes at
    Py_ssize_t size


cdef struct Reader:
    # ``at`` is NULL when something was not plain.
    Bytes at, end
    int64_t left


cdef struct Parts:
    # Names and values of the properties, first those of the user.
    Span names[PARTS_MAX]
    Span values[PARTS_MAX]
    int own_count, count
    # The bytes that the limit of user properties counts.
    Py_ssize_t user_size


cdef struct System:
    Span tag, message_id, born_host, group, trace
    Span keys[KEYS_COUNT_MAX]
    int keys_count
    uint64_t encoding, kind
    int64_t born_ms
    uint64_t seen


cdef inline uint64_t _varint(Reader *data) noexcept nogil:
    cdef uint64_t value = 0
    cdef uint8_t byte
    cdef int count
    if data.at == NULL:
        return 0
    for count in range(DIGITS_MAX):
        if data.at >= data.end:
            break
        byte = data.at[0]
        data.at += 1
        value |= <uint64_t> (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            return value
    data.at = NULL
    return 0


cdef inline uint64_t _tag(Reader *data) noexcept nogil:
    """Read a tag, and count the item that it begins."""
    data.left -= 1
    if data.left < 0:
        data.at = NULL
    return _varint(data)


cdef inline Span _bytes(Reader *data) noexcept nogil:
    cdef uint64_t size = _varint(data)
    cdef Span found
    found.at, found.size = NULL, 0
    if data.at == NULL:
        return found
    if size > <uint64_t> (data.end - data.at):
        data.at = NULL
        return found
    found.at, found.size = data.at, <Py_ssize_t> size
    data.at += size
    return found


cdef inline Span _text(Reader *data) noexcept nogil:
    """Read a text of printable ASCII."""
    cdef Span found = _bytes(data)
    cdef Py_ssize_t number
    for number in range(found.size):
        if not 0x20 <= found.at[number] < 0x7F:
            data.at = NULL
    return found


cdef inline bint _is_blank(Span text) noexcept nogil:
    cdef Py_ssize_t number
    for number in range(text.size):
        if text.at[number] != c" ":
            return False
    return True


cdef inline Reader _inside(Reader *data) noexcept nogil:
    """Return a reader of the message that comes next; ``_leave`` goes on after it."""
    cdef Span found = _bytes(data)
    cdef Reader inner
    inner.at, inner.end, inner.left = found.at, found.at + found.size, data.left
    return inner


cdef inline void _leave(Reader *data, Reader *inner) noexcept nogil:
    data.left = inner.left
    if inner.at == NULL:
        data.at = NULL


cdef inline int64_t _millis(Reader *data) noexcept nogil:
    """Read a time since 1970."""
    cdef Reader inner = _inside(data)
    cdef int64_t seconds = 0, nanos = 0
    cdef uint64_t tag, value
    while inner.at != NULL and inner.at < inner.end:
        tag = _tag(&inner)
        value = _varint(&inner)
        if tag == 1 << 3 | VARINT and value < <uint64_t> SECONDS_MAX:
            seconds = <int64_t> value
        elif tag == 2 << 3 | VARINT and value < <uint64_t> NANOS_MAX:
            nanos = <int64_t> value
        else:
            inner.at = NULL
    _leave(data, &inner)
    return seconds * 1000 + nanos // 1_000_000


cdef inline Span _resource(Reader *data) noexcept nogil:
    """Read a Resource, and return its name."""
    cdef Reader inner = _inside(data)
    cdef Span name
    cdef uint64_t tag
    name.at, name.size = inner.at, 0
    while inner.at != NULL and inner.at < inner.end:
        tag = _tag(&inner)
        if tag == 1 << 3 | DELIMITED:
            _text(&inner)
        elif tag == 2 << 3 | DELIMITED:
            name = _text(&inner)
        else:
            inner.at = NULL
    _leave(data, &inner)
    return name


cdef inline void _property(Reader *data, Parts *parts) noexcept nogil:
    """Read a property of the user."""
    cdef Reader inner = _inside(data)
    cdef Span name, value
    name.size = value.size = 0
    if parts.count == OWN_COUNT_MAX:
        inner.at = NULL
    if inner.at != NULL and _tag(&inner) == 1 << 3 | DELIMITED:
        name = _text(&inner)
    if inner.at != NULL and _tag(&inner) == 2 << 3 | DELIMITED:
        value = _text(&inner)
    if not name.size or not value.size or inner.at != inner.end:
        inner.at = NULL
    else:
        parts.names[parts.count], parts.values[parts.count] = name, value
        parts.count += 1
        parts.user_size += name.size + value.size
    _leave(data, &inner)


cdef inline void _digest(Reader *data) noexcept nogil:
    """Pass over the checksum of the body."""
    cdef Reader inner = _inside(data)
    cdef uint64_t tag
    while inner.at != NULL and inner.at < inner.end:
        tag = _tag(&inner)
        if tag == 1 << 3 | VARINT:
            _varint(&inner)
        elif tag == 2 << 3 | DELIMITED:
            _text(&inner)
        else:
            inner.at = NULL
    _leave(data, &inner)


cdef inline void _system(Reader *data, System *system, Parts *parts) noexcept nogil:
    cdef Reader inner = _inside(data)
    cdef uint64_t tag, number
    while inner.at != NULL and inner.at < inner.end:
        tag = _tag(&inner)
        number = tag >> 3
        # A field that comes twice replaces the first one; only keys add up.
        if number > 18 or (number != 2 and system.seen >> number & 1):
            inner.at = NULL
            break
        system.seen |= <uint64_t> 1 << number
        if tag == 1 << 3 | DELIMITED:
            system.tag = _text(&inner)
            parts.user_size += system.tag.size
        elif tag == 2 << 3 | DELIMITED and system.keys_count < KEYS_COUNT_MAX:
            system.keys[system.keys_count] = _text(&inner)
            if inner.at != NULL and _is_blank(system.keys[system.keys_count]):
                inner.at = NULL
            parts.user_size += system.keys[system.keys_count].size
            system.keys_count += 1
        elif tag == 3 << 3 | DELIMITED:
            system.message_id = _text(&inner)
        elif tag == 4 << 3 | DELIMITED:
            _digest(&inner)
        elif tag == 5 << 3 | VARINT:
            system.encoding = _varint(&inner)
        elif tag == 6 << 3 | VARINT:
            system.kind = _varint(&inner)
        elif tag == 7 << 3 | DELIMITED:
            system.born_ms = _millis(&inner)
        elif tag == 8 << 3 | DELIMITED:
            system.born_host = _text(&inner)
        elif tag == 13 << 3 | VARINT or tag == 14 << 3 | VARINT:
            _varint(&inner)
        elif tag == 17 << 3 | DELIMITED:
            system.group = _text(&inner)
        elif tag == 18 << 3 | DELIMITED:
            system.trace = _text(&inner)
        else:
            inner.at = NULL
    _leave(data, &inner)


cdef inline void _add(Parts *parts, const char *name, Py_ssize_t size, Span value) noexcept nogil:
    parts.names[parts.count].at, parts.names[parts.count].size = <Bytes> name, size
    parts.values[parts.count] = value
    parts.count += 1


cdef inline uint8_t *_copy(uint8_t *out, Span text) noexcept nogil:
    memcpy(out, text.at, text.size)
    return out + text.size


cdef inline Span _decimal(uint8_t *digits, int64_t value) noexcept nogil:
    """Write a number that is not negative at the end of its buffer."""
    cdef Span text
    cdef int at = NUMBER_SIZE
    while True:
        at -= 1
        digits[at] = c"0" + value % 10
        value //= 10
        if not value:
            break
    text.at, text.size = digits + at, NUMBER_SIZE - at
    return text


cdef class Layout:
    """For each stored property its place among the given ones."""

    cdef int order[PARTS_MAX]

    def __init__(self, order):
        for number, place in enumerate(order):
            self.order[number] = place


cdef class PlainSends:
    """Reads sends for one endpoint.

    Args:
        limits: what the settings allow.
    """

    cdef Py_ssize_t _body_max, _user_size_max, _group_max, _own_max
    cdef bint _may_be_empty
    cdef dict _layouts
    cdef object _topic
    cdef bytes _topic_bytes

    def __init__(self, limits):
        self._body_max = limits.body_max
        self._user_size_max = limits.user_size_max
        self._own_max = limits.user_count_max
        self._group_max = limits.group_size_max
        self._may_be_empty = limits.may_be_empty
        self._layouts = {}
        self._topic, self._topic_bytes = None, b""

    def read(self, bytes message not None):
        """Return the draft of a send and how many items it has; None if it is not plain."""
        cdef Reader data, inner
        cdef Parts parts
        cdef System system
        cdef Span topic, body
        cdef uint64_t tag
        cdef int seen = 0
        data.at = <Bytes> PyBytes_AS_STRING(message)
        data.end = data.at + PyBytes_GET_SIZE(message)
        data.left = ITEMS
        parts.count = parts.own_count = 0
        parts.user_size = 0
        system.seen = system.encoding = system.kind = 0
        system.born_ms = 0
        system.keys_count = 0
        system.tag.size = system.message_id.size = system.born_host.size = 0
        system.group.size = system.trace.size = 0
        body.at, body.size = data.at, 0
        if data.at >= data.end or _tag(&data) != 1 << 3 | DELIMITED:
            return None
        inner = _inside(&data)
        if data.at != data.end:
            return None
        while inner.at != NULL and inner.at < inner.end:
            tag = _tag(&inner)
            if tag >> 3 > 4 or (tag >> 3 != 2 and seen >> (tag >> 3) & 1):
                return None
            seen |= 1 << (tag >> 3)
            if tag == 1 << 3 | DELIMITED:
                topic = _resource(&inner)
            elif tag == 2 << 3 | DELIMITED:
                _property(&inner, &parts)
            elif tag == 3 << 3 | DELIMITED:
                _system(&inner, &system, &parts)
            elif tag == 4 << 3 | DELIMITED:
                body = _bytes(&inner)
            else:
                return None
        if inner.at == NULL or not seen & 1 << 1 or not self._aim(topic):
            return None
        if not self._is_allowed(&system, &parts, body.size):
            return None
        draft = self._draft(&system, &parts, body)
        return None if draft is None else (draft, ITEMS - inner.left)

    cdef bint _aim(self, Span topic) except -1:
        """Take a topic; False if the general way has to look at it."""
        if topic.size == PyBytes_GET_SIZE(self._topic_bytes) and topic.size and not memcmp(
            topic.at, PyBytes_AS_STRING(self._topic_bytes), topic.size
        ):
            return True
        # Topics of retries and dead letters take every type of message.
        if not topic.size or topic.at[0] == c"%":
            return False
        name = PyUnicode_DecodeASCII(<const char *> topic.at, topic.size, NULL)
        try:
            drafts.check_topic(name)
        except ProxyRefused:
            return False
        self._topic_bytes = PyBytes_FromStringAndSize(<const char *> topic.at, topic.size)
        self._topic = name
        return True

    cdef bint _is_allowed(self, System *system, Parts *parts, Py_ssize_t body_size) noexcept:
        if not body_size and not self._may_be_empty:
            return False
        if 0 < self._body_max < body_size:
            return False
        if parts.user_size > self._user_size_max or parts.count > self._own_max:
            return False
        if system.kind > FIFO or system.encoding > GZIP:
            return False
        if _is_blank(system.message_id) or _is_blank(system.born_host):
            return False
        if system.tag.size and (
            _is_blank(system.tag) or memchr(system.tag.at, c"|", system.tag.size) != NULL
        ):
            return False
        if system.group.size and (
            _is_blank(system.group) or system.group.size >= self._group_max
        ):
            return False
        return True

    cdef object _draft(self, System *system, Parts *parts, Span body):
        cdef uint8_t digits[NUMBER_SIZE]
        cdef Span keys, zero, topic, name
        cdef Layout layout
        cdef Py_ssize_t size = 0
        cdef int number, place
        cdef uint8_t flags = 0
        cdef uint8_t *out
        cdef bytes joined
        parts.own_count = parts.count
        topic.at, topic.size = <Bytes> PyBytes_AS_STRING(self._topic_bytes), PyBytes_GET_SIZE(
            self._topic_bytes
        )
        zero.at, zero.size = <Bytes> b"0", 1
        if system.tag.size:
            flags |= HAS_TAG
            _add(parts, b"TAGS", 4, system.tag)
        if system.keys_count:
            flags |= HAS_KEYS
            joined = b" ".join([
                PyBytes_FromStringAndSize(<const char *> system.keys[number].at, system.keys[number].size)
                for number in range(system.keys_count)
            ])
            keys.at, keys.size = <Bytes> PyBytes_AS_STRING(joined), PyBytes_GET_SIZE(joined)
            _add(parts, b"KEYS", 4, keys)
        _add(parts, b"UNIQ_KEY", 8, system.message_id)
        _add(parts, b"RECONSUME_TIME", 14, zero)
        _add(parts, b"PGROUP", 6, topic)
        if system.group.size:
            flags |= HAS_GROUP
            _add(parts, b"__SHARDINGKEY", 13, system.group)
        if system.trace.size:
            flags |= HAS_TRACE
            _add(parts, b"TRACE_CONTEXT", 13, system.trace)
        _add(parts, b"__BORNHOST", 10, system.born_host)
        _add(parts, b"BORN_TIMESTAMP", 14, _decimal(digits, system.born_ms))
        layout = self._layout(parts, flags)
        if layout is None:
            return None
        for number in range(parts.count):
            size += parts.names[number].size + parts.values[number].size + 2
        properties = PyUnicode_New(size - 1, 0x7F)
        out = PyUnicode_1BYTE_DATA(properties)
        for number in range(parts.count):
            if number:
                out[0] = 2
                out += 1
            place = layout.order[number]
            name = parts.names[place]
            out = _copy(out, name)
            out[0] = 1
            out = _copy(out + 1, parts.values[place])
        unique_key = PyUnicode_DecodeASCII(
            <const char *> system.message_id.at, system.message_id.size, NULL
        )
        group = None
        if system.group.size:
            group = PyUnicode_DecodeASCII(
                <const char *> system.group.at, system.group.size, NULL
            )
        packed = new_tuple(PackedMessage, (
            SEND, self._topic,
            PyBytes_FromStringAndSize(<const char *> body.at, body.size), 0,
            COMPRESSED if system.encoding == GZIP else 0,
            properties, unique_key, 0, None, False,
        ))
        kind = OF_NORMAL if group is None else OF_FIFO
        return new_tuple(SendDraft, (self._topic, kind, group, packed, system.born_ms))

    cdef Layout _layout(self, Parts *parts, uint8_t flags):
        """Return how properties of these names are stored; None if the general way has to know."""
        cdef uint8_t names[NAMES_SIZE_MAX]
        cdef uint8_t *out = names
        cdef int number
        out[0] = flags
        out += 1
        for number in range(parts.own_count):
            if parts.names[number].size + 1 > NAMES_SIZE_MAX - (out - names):
                return None
            out = _copy(out, parts.names[number])
            out[0] = 2
            out += 1
        key = PyBytes_FromStringAndSize(<const char *> names, out - names)
        known = self._layouts.get(key)
        if known is None:
            if len(self._layouts) >= LAYOUTS_MAX:
                # A client uses ever new property names: start again to bound the memory.
                self._layouts.clear()
            given = [
                PyUnicode_DecodeASCII(
                    <const char *> parts.names[number].at, parts.names[number].size, NULL
                )
                for number in range(parts.count)
            ]
            order = drafts.stored_order(given, own_count=parts.own_count)
            known = self._layouts[key] = False if order is None else Layout(order)
        return known if known is not False else None
