# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Store the plain sends at the beginning of a read in C: header, properties, record, answer.

    one read:  | send | send | batch | pull | send |
                 taken here ─────────>|<── these go the general way (``Sender.handle_send``)

    header ── fields ── allowed? ── properties in stored order ──> record in ``log.parts``
                                                   ├─> DispatchEntry and queue of the appender
                                                   └─> answer, kept by the group commit

Rule: optional; with or without it, the same bytes in the same reads give the same records,
entries, answers and counters (a test compares them). What is not plain is left to the general way,
untouched, and with it all that follows in the same read: a header that ``header_pairs`` or
``send_header`` leaves or in another serialisation than the first one, a send that the access control
refuses, a property on which the broker acts, a topic without a route, a record that needs the next
file, and every bad input. A length is compared with what is there before it is used. Nothing of a
message is visible to others before all objects for it exist.

Source: as ``mqserver.broker.send.sender``.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_GetItem
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_DecodeASCII, PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memchr, memcpy
from remoting.acl_kernel cimport proof_of
from remoting.header_pairs cimport (
    JSON,
    ROCKETMQ,
    Bytes,
    Header,
    Pair,
    Span,
    is_ascii,
    is_utf8,
    is_word,
    read_header,
)
from mqserver.broker.send.send_header cimport (
    FIELDS_COUNT,
    SEND,
    SEND_BATCH,
    SEND_V2,
    Send,
    is_true,
    read_send,
)
from storefmt.formats.big_endian cimport i32, put_u32, put_u64, u32
from storefmt.formats.javahash_kernel cimport hash_on
from storefmt.formats.record cimport BORN_HOST_V6 as BORN_V6
from storefmt.formats.record cimport HEAD_SIZE as RECORD_HEAD
from storefmt.formats.record cimport PROPERTIES_SIZE_MAX as PROPERTIES_MAX
from storefmt.formats.record cimport STORE_HOST_V6 as STORE_V6
from storefmt.formats.record cimport TOPIC_SIZE_V1_MAX as TOPIC_MAX
from storefmt.formats.record cimport magic_v1
from storefmt.formats.scan_kernel cimport BodyCrc

from remoting.codes import FLAG_RESPONSE, RequestCode, SerializeType
from remoting.frame import FRAME_SIZE_MAX, HEADER_SIZE_MAX
from mqserver.broker.send.batches import RUN_COUNT_MAX
from mqserver.store.queues.queue import ConsumeQueue
from mqserver.store.results import DispatchEntry
from storefmt.formats import layout, message
from storefmt.formats.hosts import HOST_V4_SIZE
from storefmt.formats.properties import (
    KEYS,
    TAGS,
    UNIQUE_KEY,
    WAIT,
    split_keys,
)
from storefmt.formats.sysflag import HOSTS_V6, TRANSACTION_MASK

cdef enum:
    PARTS_MAX = 64
    NAMES_SIZE_MAX = 1024
    HEAD_SIZE = 8

cdef int64_t LENGTH_MAX = FRAME_SIZE_MAX
cdef int64_t HEADER_MAX = HEADER_SIZE_MAX
cdef int64_t BLANK_MIN = message.BLANK_SIZE_MIN
cdef int64_t MESSAGES_MAX = RUN_COUNT_MAX
cdef int64_t HOSTS_MASK = HOSTS_V6
cdef int64_t TRANSACTION = TRANSACTION_MASK
cdef int64_t BATCH_HEAD = layout.BATCH_ENTRY.part("body_size").struct().size
cdef bytes TAGS_NAME = TAGS.encode(), KEYS_NAME = KEYS.encode()
cdef bytes UNIQUE_NAME = UNIQUE_KEY.encode(), WAIT_NAME = WAIT.encode()
cdef uint32_t ANSWER_FLAG = FLAG_RESPONSE
# Creating a named tuple this way takes half the time.
cdef object new_entry = tuple.__new__
assert HOST_V4_SIZE == 8
assert (SEND, SEND_V2, SEND_BATCH) == (
    RequestCode.SEND_MESSAGE,
    RequestCode.SEND_MESSAGE_V2,
    RequestCode.SEND_BATCH_MESSAGE,
)
assert (JSON, ROCKETMQ) == (SerializeType.JSON, SerializeType.ROCKETMQ)

cdef const char *SHORT_NAMES[FIELDS_COUNT]
cdef const char *LONG_NAMES[FIELDS_COUNT]
cdef int SHORT_SIZES[FIELDS_COUNT]
cdef int LONG_SIZES[FIELDS_COUNT]
SHORT_NAMES[:] = [
    b"a", b"b", b"c", b"d", b"e", b"f", b"g", b"h", b"i", b"j", b"k", b"l", b"m",
]
SHORT_SIZES[:] = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
LONG_NAMES[:] = [
    b"producerGroup", b"topic", b"defaultTopic", b"defaultTopicQueueNums", b"queueId", b"sysFlag",
    b"bornTimestamp", b"flag", b"properties", b"reconsumeTimes", b"unitMode", b"maxReconsumeTimes",
    b"batch",
]
LONG_SIZES[:] = [13, 5, 12, 21, 7, 7, 13, 4, 10, 14, 8, 17, 5]


cdef struct Entry:
    # One message of a batch.
    Span body, own
    Span tags, keys, unique
    uint32_t flag


cdef class Output:
    """Bytes that grow at their end."""

    cdef uint8_t *data
    cdef Py_ssize_t size, room

    def __dealloc__(self):
        PyMem_Free(self.data)

    cdef uint8_t *more(self, Py_ssize_t size) except NULL:
        """Return where ``size`` further bytes go; ``self.size`` has to be raised by the caller."""
        cdef Py_ssize_t room
        cdef void *data
        if self.size + size > self.room:
            room = max(2 * self.room, self.size + size, <Py_ssize_t> 4096)
            data = PyMem_Realloc(self.data, room)
            if data == NULL:
                raise MemoryError()
            self.data, self.room = <uint8_t *> data, room
        return self.data + self.size

    cdef bytes take(self):
        """Return the bytes and start over; much room is given back."""
        cdef bytes found = PyBytes_FromStringAndSize(<char *> self.data, self.size)
        self.size = 0
        if self.room > 1 << 20:
            PyMem_Free(self.data)
            self.data, self.room = NULL, 0
        return found


cdef class Layout:
    """How the properties with one list of names are stored.

    Args:
        names: the names, as bytes joined by the separator.
        order: for each stored property the index of the given one, -1 for CLUSTER.
        places: the indices of TAGS, KEYS, UNIQ_KEY and WAIT, -1 for a missing one.
    """

    cdef bytes names
    cdef int order[PARTS_MAX + 1]
    cdef int count, tags, keys, unique, wait

    def __init__(self, bytes names, order, places):
        self.names = names
        self.count = len(order)
        if self.count > PARTS_MAX + 1:
            raise ValueError(f"{self.count} properties")
        for at, place in enumerate(order):
            self.order[at] = place
        self.tags, self.keys, self.unique, self.wait = places


# Reading properties.

cdef int _split(Span text, Pair *parts) noexcept nogil:
    """Split properties; return how many there are, -1 if some would be dropped or are too many."""
    cdef Bytes at = text.at, end = text.at + text.size, stop, mark
    cdef int count = 0
    # Clients of 5.x end the text with a separator.
    if at < end and (end - 1)[0] == 2:
        end -= 1
    if at >= end:
        return -1
    while True:
        if count == PARTS_MAX:
            return -1
        stop = <Bytes> memchr(at, 2, end - at)
        if stop == NULL:
            stop = end
        mark = <Bytes> memchr(at, 1, stop - at)
        if mark == NULL or mark == at or mark + 1 == stop:
            return -1
        parts[count].name.at, parts[count].name.size = at, mark - at
        parts[count].value.at, parts[count].value.size = mark + 1, stop - mark - 1
        count += 1
        if stop == end:
            return count
        at = stop + 1
        if at >= end:
            return -1


cdef inline bint _named(Span name, bytes wanted) noexcept:
    return is_word(&name, PyBytes_AS_STRING(wanted), PyBytes_GET_SIZE(wanted))


cdef object _tag_code(Span tag):
    """Return what ``tags_code`` returns for a tag in UTF-8; a size of 0 is not a tag."""
    if not tag.size:
        return 0
    return <int32_t> hash_on(0, PyUnicode_DecodeUTF8(<char *> tag.at, tag.size, NULL))


cdef tuple _index_keys(Span unique, Span keys):
    """Return what ``split_keys`` returns for two values in UTF-8; a size of 0 is not a value."""
    cdef str first = PyUnicode_DecodeUTF8(<char *> unique.at, unique.size, NULL)
    if not keys.size:
        return (first,) if unique.size else ()
    return split_keys(first, PyUnicode_DecodeUTF8(<char *> keys.at, keys.size, NULL))


# Writing.

cdef inline uint8_t *_copy(uint8_t *out, const void *at, Py_ssize_t size) noexcept nogil:
    memcpy(out, at, size)
    return out + size


cdef inline uint8_t *_bytes(uint8_t *out, bytes text) noexcept:
    return _copy(out, PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text))


cdef uint8_t *_decimal(uint8_t *out, uint64_t value) noexcept nogil:
    cdef uint8_t digits[20]
    cdef int count = 0
    while True:
        digits[count] = c'0' + value % 10
        value //= 10
        count += 1
        if not value:
            break
    while count:
        count -= 1
        out[0] = digits[count]
        out += 1
    return out


cdef uint8_t *_sized(uint8_t *out, uint64_t value) noexcept nogil:
    """Write a number as text with its size before it, as in a binary header."""
    cdef uint8_t *end = _decimal(out + 4, value)
    put_u32(out, <uint32_t> (end - out - 4))
    return end


cdef uint8_t *_hex16(uint8_t *out, uint64_t value) noexcept nogil:
    cdef const char *digits = b"0123456789ABCDEF"
    cdef int at
    for at in range(15, -1, -1):
        out[at] = digits[value & 15]
        value >>= 4
    return out + 16


cdef class SendKernel:
    """Takes plain sends for one broker; see the module.

    Args:
        allows: returns whether a send is allowed (``AccessControl.allows_send``); None without
            access control.
        limits: returns the largest body and the largest record (bytes); None while every send has
            to go the general way.
        routes: the known routes by topic.
        layout_of: returns the ``order`` and the ``places`` of a ``Layout`` for a list of names, or
            None if the broker acts on one of them.
        cluster: the stored CLUSTER property, name and value.
        suffix_of: returns the ``BatchSuffix`` of a batch for its properties.
        appender: takes the records.
        answers: has the constant parts of an answer.
        turn: keeps the answers until the messages are safe.
        store_host: packed host of this broker.
    """

    cdef object _allows, _limits, _layout_of, _suffix_of, _appender, _answers, _turn, _log, _table
    cdef dict _routes, _queues, _layouts, _suffixes
    cdef bytes _cluster, _store_host
    cdef Output _records, _out
    cdef uint8_t *_scratch
    cdef Entry *_batch
    cdef BodyCrc _crc
    cdef Layout _layout
    cdef Pair _parts[PARTS_MAX]
    # What is the same for the frames of one read.
    cdef object _now, _ip, _route, _topic, _topic_bytes
    cdef bytes _peer_host
    cdef tuple _pieces
    cdef list _entries, _handles, _opaques
    cdef int64_t _now_ms, _body_max, _size_max, _end, _file_end, _head_size, _host_bits
    cdef int64_t _queue_limit, _route_flag, _route_count, _route_size, _route_times
    cdef int64_t _frame_count, _serialize

    def __cinit__(self):
        self._scratch = <uint8_t *> PyMem_Malloc(HEADER_MAX)
        self._batch = <Entry *> PyMem_Malloc(MESSAGES_MAX * sizeof(Entry))
        if self._scratch == NULL or self._batch == NULL:
            raise MemoryError()

    def __dealloc__(self):
        PyMem_Free(self._scratch)
        PyMem_Free(self._batch)

    def __init__(
        self, *, allows, limits, routes, layout_of, cluster, suffix_of, appender, answers, turn,
        store_host
    ):
        self._allows = allows
        self._limits, self._routes, self._layout_of = limits, routes, layout_of
        self._cluster, self._suffix_of = cluster, suffix_of
        self._appender, self._answers, self._turn = appender, answers, turn
        self._store_host = store_host
        self._log, self._table = appender.log, appender.table
        self._queues = appender.table.queues
        self._layouts, self._suffixes = {}, {}
        self._records, self._out, self._crc = Output(), Output(), BodyCrc()

    def store_sends(self, conn, bytes data, now_ms):
        """Store the messages of all plain sends at the beginning of ``data``.

        Args:
            conn: the connection of the producer.
            data: bytes of its stream, from the beginning of a frame on.
            now_ms: the store time.

        Returns:
            The number of bytes taken; the bytes after them go the general way.
        """
        cdef Py_ssize_t pos = 0
        limits = self._limits()
        if limits is None or PyBytes_GET_SIZE(data) < HEAD_SIZE:
            return 0
        self._body_max, self._size_max = limits
        self._serialize = <uint8_t> PyBytes_AS_STRING(data)[4]
        pieces = self._answers.pieces if self._serialize == JSON else self._answers.binary_pieces
        if pieces is None:
            return 0
        self._pieces, self._peer_host, self._ip = pieces, conn.peer_host, conn.peer[0]
        self._now, self._now_ms = now_ms, now_ms
        self._entries, self._handles = self._appender.entries, self._appender.handles
        self._opaques = []
        self._end, self._file_end = self._log.end, self._log.file_end
        self._host_bits = BORN_V6 if PyBytes_GET_SIZE(self._peer_host) != 8 else 0
        self._host_bits |= STORE_V6 if PyBytes_GET_SIZE(self._store_host) != 8 else 0
        self._head_size = (
            RECORD_HEAD - 16 + PyBytes_GET_SIZE(self._peer_host) + PyBytes_GET_SIZE(self._store_host)
        )
        self._route, self._frame_count = None, 0
        try:
            pos = self._take(<Bytes> PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))
        finally:
            if self._frame_count:
                self._finish(conn)
            self._ip = self._route = self._topic = self._topic_bytes = None
            self._entries = self._handles = self._opaques = None
        return pos

    cdef _finish(self, conn):
        """Pass on what was taken."""
        self._log.parts.append(self._records.take())
        self._log.end = self._end
        self._count()
        conn.frame_count += self._frame_count
        self._turn.ack(conn, self._out.take(), opaques=self._opaques, serialize=self._serialize)

    cdef _count(self):
        """Count the messages of the route that was used last."""
        if self._route is None or not self._route_times:
            return
        nums, sizes = self._route.put_nums, self._route.put_size
        nums.sum += self._route_count
        nums.times += self._route_times
        sizes.sum += self._route_size
        sizes.times += self._route_times
        self._route_count = self._route_size = self._route_times = 0

    cdef Py_ssize_t _take(self, Bytes data, Py_ssize_t size) except -1:
        cdef Py_ssize_t pos = 0
        cdef int64_t length, header_size
        cdef Bytes at, end
        cdef Span body
        cdef Header header
        cdef Send send
        while size - pos >= HEAD_SIZE:
            length, header_size = i32(data + pos), u32(data + pos + 4) & 0xFFFFFF
            if header_size > min(HEADER_MAX, length - 4) or length > LENGTH_MAX:
                break
            if length + 4 > size - pos or data[pos + 4] != self._serialize:
                break
            at, end = data + pos + HEAD_SIZE, data + pos + 4 + length
            body.at, body.size = at + header_size, end - at - header_size
            if not read_header(self._serialize, at, body.at, self._scratch, &header):
                break
            if header.code == SEND_V2 or header.code == SEND_BATCH:
                if not read_send(&header, SHORT_NAMES, SHORT_SIZES, &send):
                    break
            elif header.code != SEND or not read_send(&header, LONG_NAMES, LONG_SIZES, &send):
                break
            if not self._aim(&send):
                break
            if self._allows is not None and not self._is_allowed(&header, &body):
                break
            if not (self._take_batch(&send, body) if send.is_batch else self._take_one(&send, body)):
                break
            self._frame_count += 1
            pos += 4 + length
        return pos

    cdef bint _aim(self, Send *send) except -1:
        """Find the route of a send; False if the general way has to."""
        cdef PyObject *found
        if self._route is None or not _named(send.topic, self._topic_bytes):
            if not is_ascii(send.topic):
                return False
            topic = PyUnicode_DecodeASCII(<char *> send.topic.at, send.topic.size, NULL)
            found = PyDict_GetItem(self._routes, topic)
            if found == NULL:
                return False
            route = <object> found
            if route.retry_group is not None or len(route.topic_bytes) > TOPIC_MAX:
                return False
            self._count()
            self._route, self._topic, self._topic_bytes = route, route.topic, route.topic_bytes
            self._queue_limit, self._route_flag = route.queue_limit, route.sys_flag
            self._route_count = self._route_size = self._route_times = 0
        if not 0 <= send.queue_id < self._queue_limit or send.sys_flag & TRANSACTION:
            return False
        send.sys_flag = (send.sys_flag | self._route_flag) & ~HOSTS_MASK | self._host_bits
        return True

    cdef bint _is_allowed(self, Header *header, const Span *body) except -1:
        """Tell whether the access control allows a send; False also if only the general way can."""
        proof = proof_of(header, body)
        return proof is not None and self._allows(self._ip, header.code, self._topic, proof)

    cdef Layout _layout_for(self, Pair *parts, int count):
        """Return how these properties are stored; None if the general way has to do it."""
        cdef uint8_t names[NAMES_SIZE_MAX]
        cdef uint8_t *out = names
        cdef int at
        for at in range(count):
            if parts[at].name.size + 1 > NAMES_SIZE_MAX - (out - names):
                return None
            out = _copy(out, parts[at].name.at, parts[at].name.size)
            out[0] = 2
            out += 1
        cdef Span all_names
        all_names.at, all_names.size = names, out - names
        if self._layout is not None and _named(all_names, self._layout.names):
            return self._layout
        key = PyBytes_FromStringAndSize(<char *> names, out - names)
        if key not in self._layouts:
            if len(self._layouts) >= 4096:
                # A client uses ever new property names: start again to bound the memory.
                self._layouts.clear()
            found = self._layout_of(PyUnicode_DecodeUTF8(<char *> names, len(key) - 1, NULL).split("\2"))
            self._layouts[key] = Layout(key, *found) if found is not None else None
        cdef Layout known = self._layouts[key]
        if known is not None:
            self._layout = known
        return known

    cdef object _handle(self, int64_t queue_id, object number):
        """Return what gives the queue's offsets, a loaded queue or a slot."""
        cdef PyObject *found = PyDict_GetItem(self._queues, (self._topic, number))
        return <object> found if found != NULL else self._table.handle(self._topic, queue_id)

    cdef int64_t _assign_offsets(self, object handle, int64_t count) except -1:
        """Assign the next offsets of a queue; return the first."""
        cdef int64_t first
        if type(handle) is ConsumeQueue:
            first = handle.next_offset
            handle.next_offset = first + count
        else:
            first = self._table.columns.assign_offsets(handle, count)
        return first

    cdef uint8_t *_record_head(
        self, uint8_t *out, Send *send, int64_t size, uint32_t crc, uint32_t flag,
        int64_t queue_offset, int64_t log_offset, int64_t body_size
    ) noexcept:
        out = put_u32(put_u32(put_u32(out, <uint32_t> size), magic_v1()), crc)
        out = put_u32(put_u32(out, <uint32_t> send.queue_id), flag)
        out = put_u64(put_u64(out, queue_offset), log_offset)
        out = _bytes(put_u64(put_u32(out, <uint32_t> send.sys_flag), send.born_ms), self._peer_host)
        out = _bytes(put_u64(out, self._now_ms), self._store_host)
        return put_u32(put_u64(put_u32(out, 0), 0), <uint32_t> body_size)

    cdef uint8_t *_topic_and(self, uint8_t *out, int64_t properties_size) noexcept:
        """Write the topic and the size of the properties."""
        cdef bytes topic = self._topic_bytes
        out[0] = <uint8_t> PyBytes_GET_SIZE(topic)
        out = _bytes(out + 1, topic)
        out[0], out[1] = properties_size >> 8, properties_size & 255
        return out + 2

    cdef bint _take_one(self, Send *send, Span body) except -1:
        cdef Pair *parts = self._parts
        cdef int count = _split(send.properties, parts), at, place
        cdef Span nothing
        cdef int64_t properties_size, size, queue_offset, log_offset = self._end
        cdef uint32_t crc
        cdef uint8_t *out
        nothing.at, nothing.size = body.at, 0
        if count < 0 or not 0 < body.size <= self._body_max:
            return False
        # Bytes that are not UTF-8 are replaced on the general way.
        if not is_utf8(send.properties):
            return False
        cdef Layout found = self._layout_for(parts, count)
        if found is None or (found.wait >= 0 and not is_true(parts[found.wait].value)):
            return False
        properties_size = found.count - 1
        for at in range(found.count):
            place = found.order[at]
            if place < 0:
                properties_size += PyBytes_GET_SIZE(self._cluster)
            else:
                properties_size += parts[place].name.size + 1 + parts[place].value.size
        size = self._head_size + body.size + 3 + PyBytes_GET_SIZE(self._topic_bytes) + properties_size
        if properties_size > PROPERTIES_MAX or size > self._size_max:
            return False
        if log_offset + size + BLANK_MIN > self._file_end:
            return False
        # All that may fail comes before the first change.
        code = _tag_code(parts[found.tags].value if found.tags >= 0 else nothing)
        keys = _index_keys(
            parts[found.unique].value if found.unique >= 0 else nothing,
            parts[found.keys].value if found.keys >= 0 else nothing,
        )
        crc = self._crc.crc_of(body.at, body.size)
        number = send.queue_id
        handle = self._handle(send.queue_id, number)
        out = self._records.more(size)
        self._out.more(256 + self._answer_room())
        queue_offset = self._assign_offsets(handle, 1)
        out = self._record_head(
            out, send, size, crc, <uint32_t> send.flag, queue_offset, log_offset, body.size
        )
        out = self._topic_and(_copy(out, body.at, body.size), properties_size)
        for at in range(found.count):
            if at:
                out[0] = 2
                out += 1
            place = found.order[at]
            if place < 0:
                out = _bytes(out, self._cluster)
            else:
                # Name, mark and value are adjacent in the request.
                out = _copy(
                    out, parts[place].name.at, parts[place].name.size + 1 + parts[place].value.size
                )
        self._records.size += size
        self._end += size
        entry = (
            self._topic, number, queue_offset, log_offset, size, code, self._now, send.sys_flag, keys
        )
        self._entries.append(new_entry(DispatchEntry, entry))
        self._handles.append(handle)
        self._route_count += 1
        self._route_size += size
        self._route_times += 1
        self._answer(send, queue_offset, &log_offset, 1)
        return True

    # Answers.

    cdef Py_ssize_t _answer_room(self) except -1:
        """Return the bytes of the constant parts of an answer."""
        cdef Py_ssize_t size = 0
        for piece in self._pieces:
            size += PyBytes_GET_SIZE(<bytes> piece)
        return size

    cdef int _answer(
        self, Send *send, int64_t queue_offset, int64_t *log_offsets, int64_t count
    ) except -1:
        """Write the answer to a send; ``self._out`` has the room."""
        cdef uint8_t *start = self._out.more(0)
        cdef uint8_t *out = start + HEAD_SIZE
        cdef uint8_t *pairs
        cdef uint8_t *ids
        cdef tuple pieces = self._pieces
        if self._serialize == JSON:
            out = _bytes(_decimal(_bytes(out, <bytes> pieces[0]), send.queue_id), <bytes> pieces[1])
            out = self._ids(out, log_offsets, count)
            out = _decimal(_bytes(out, <bytes> pieces[3]), queue_offset)
            out = _bytes(_decimal(_bytes(out, <bytes> pieces[4]), send.opaque), <bytes> pieces[5])
        else:
            out = put_u32(_bytes(out, <bytes> pieces[0]), <uint32_t> send.opaque)
            pairs = put_u32(put_u32(out, ANSWER_FLAG), 0) + 4
            ids = _bytes(_sized(_bytes(pairs, <bytes> pieces[1]), send.queue_id), <bytes> pieces[3])
            out = self._ids(ids + 4, log_offsets, count)
            put_u32(ids, <uint32_t> (out - ids - 4))
            out = _sized(_bytes(out, <bytes> pieces[4]), queue_offset)
            put_u32(pairs - 4, <uint32_t> (out - pairs))
        put_u32(
            put_u32(start, <uint32_t> (out - start - 4)),
            <uint32_t> self._serialize << 24 | <uint32_t> (out - start - HEAD_SIZE),
        )
        self._out.size += out - start
        self._opaques.append(send.opaque)
        return 0

    cdef uint8_t *_ids(self, uint8_t *out, int64_t *log_offsets, int64_t count) noexcept:
        """Write offset ids, with commas between them."""
        cdef bytes prefix = <bytes> self._pieces[2]
        cdef int64_t at
        for at in range(count):
            if at:
                out[0] = c','
                out += 1
            out = _hex16(_bytes(out, prefix), log_offsets[at])
        return out

    # Batches.

    cdef object _suffix(self, Span properties):
        """Return the ``BatchSuffix`` of a batch's properties; None if they are not UTF-8."""
        key = PyBytes_FromStringAndSize(<char *> properties.at, properties.size)
        found = self._suffixes.get(key)
        if found is None:
            try:
                text = key.decode()
            except UnicodeDecodeError:
                return None
            if len(self._suffixes) >= 1024:
                # A client uses ever new properties: start again to bound the memory.
                self._suffixes.clear()
            found = self._suffixes[key] = self._suffix_of(text)
        return found

    cdef bint _find(self, Entry *entry, Span properties) noexcept:
        """Find tag and keys in properties; False if these are not plain ASCII."""
        cdef int count, at
        cdef Pair *parts = self._parts
        if not properties.size:
            return True
        if not is_ascii(properties):
            return False
        count = _split(properties, parts)
        for at in range(count):
            if _named(parts[at].name, TAGS_NAME):
                entry.tags = parts[at].value
            elif _named(parts[at].name, KEYS_NAME):
                entry.keys = parts[at].value
            elif _named(parts[at].name, UNIQUE_NAME):
                entry.unique = parts[at].value
        return count > 0

    cdef int64_t _read_batch(
        self, Span body, Span suffix, bint is_indexed, int64_t other_size, int64_t *total
    ) except -1:
        """Read the messages of a batch; return how many there are, 0 if it is not plain."""
        cdef Bytes at = body.at, end = body.at + body.size, told
        cdef int64_t count = 0, size, body_size, own_size
        cdef Entry *entry
        total[0] = 0
        while at < end:
            if count == MESSAGES_MAX or end - at < BATCH_HEAD + 2:
                return 0
            size, body_size = i32(at), i32(at + BATCH_HEAD - 4)
            if not BATCH_HEAD + 2 <= size <= end - at:
                return 0
            own_size = size - BATCH_HEAD - 2 - body_size
            if not 0 <= body_size <= self._body_max or not 0 <= own_size <= PROPERTIES_MAX:
                return 0
            entry = &self._batch[count]
            entry.flag = u32(at + BATCH_HEAD - 8)
            entry.body.at, entry.body.size = at + BATCH_HEAD, body_size
            entry.own.at, entry.own.size = at + BATCH_HEAD + body_size + 2, own_size
            told = entry.own.at - 2
            if (told[0] << 8 | told[1]) != own_size:
                return 0
            entry.tags.size = entry.keys.size = entry.unique.size = 0
            entry.tags.at = entry.keys.at = entry.unique.at = told
            # Tags and keys of the batch replace those of each message.
            if not self._find(entry, entry.own) or (is_indexed and not self._find(entry, suffix)):
                return 0
            own_size += suffix.size + (own_size > 0 and entry.own.at[own_size - 1] != 2)
            size = other_size + body_size + own_size
            if own_size > PROPERTIES_MAX or size > self._size_max:
                return 0
            total[0] += size
            count += 1
            at = entry.own.at + entry.own.size
        return count

    cdef bint _take_batch(self, Send *send, Span body) except -1:
        cdef int64_t count, total = 0, size, own_size, queue_offset, first, log_offset = self._end
        cdef int64_t other_size = self._head_size + 3 + PyBytes_GET_SIZE(self._topic_bytes), at
        cdef Entry *one
        cdef uint8_t *out
        cdef bytes suffix
        cdef Span behind
        if not 0 < body.size <= self._body_max:
            return False
        ends = self._suffix(send.properties)
        if ends is None or ends.is_delayed or not ends.waits:
            return False
        suffix = ends.data
        behind.at, behind.size = <Bytes> PyBytes_AS_STRING(suffix), PyBytes_GET_SIZE(suffix)
        count = self._read_batch(body, behind, ends.is_indexed, other_size, &total)
        if not count or log_offset + total + BLANK_MIN > self._file_end:
            return False
        number, sys_flag = send.queue_id, send.sys_flag
        crcs = [self._crc.crc_of(self._batch[at].body.at, self._batch[at].body.size) for at in range(count)]
        codes = [_tag_code(self._batch[at].tags) for at in range(count)]
        keys = [_index_keys(self._batch[at].unique, self._batch[at].keys) for at in range(count)]
        handle = self._handle(send.queue_id, number)
        out = self._records.more(total)
        self._out.more(
            256 + self._answer_room() + count * (17 + PyBytes_GET_SIZE(<bytes> self._pieces[2]))
        )
        log_offsets = PyBytes_FromStringAndSize(NULL, count * sizeof(int64_t))
        cdef int64_t *offsets = <int64_t *> PyBytes_AS_STRING(log_offsets)
        queue_offset = first = self._assign_offsets(handle, count)
        made = []
        for at in range(count):
            one = &self._batch[at]
            own_size = one.own.size
            own_size += PyBytes_GET_SIZE(suffix) + (own_size > 0 and one.own.at[own_size - 1] != 2)
            size = other_size + one.body.size + own_size
            out = self._record_head(
                out, send, size, crcs[at], one.flag, queue_offset, log_offset, one.body.size
            )
            out = self._topic_and(_copy(out, one.body.at, one.body.size), own_size)
            out = _copy(out, one.own.at, one.own.size)
            if own_size > one.own.size + PyBytes_GET_SIZE(suffix):
                out[0] = 2
                out += 1
            out = _bytes(out, suffix)
            entry = (
                self._topic, number, queue_offset, log_offset, size, codes[at], self._now, sys_flag,
                keys[at],
            )
            made.append(new_entry(DispatchEntry, entry))
            offsets[at] = log_offset
            log_offset += size
            queue_offset += 1
        self._entries += made
        self._handles += [handle] * count
        self._records.size += total
        self._end += total
        self._route_count += count
        self._route_size += total
        self._route_times += 1
        self._answer(send, first, offsets, count)
        return True
