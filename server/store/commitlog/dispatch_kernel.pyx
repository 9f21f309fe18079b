# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The loop of ``Dispatcher.dispatch`` in C: an entry of 20 bytes for each stored record.

Rule: optional. It takes the records whose entries only go to memory, to the tail of a loaded
queue or to the backlog of an evicted one, and stops at the first record that needs more:
a tail that has to be written, a queue that was loaded meanwhile or deleted. The caller takes
that one in plain Python and calls again. Records of one queue that follow one another extend
its tail once, and its attributes are set when the bytes are there.

Source: as ``server.store.commitlog.dispatch``.
"""

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_Resize
from cpython.long cimport PyLong_CheckExact
from cpython.tuple cimport PyTuple_Check, PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from storefmt.formats.big_endian cimport put_u32, put_u64

from server.store.queues import evicted_queues
from storefmt.formats import consumequeue, sysflag

cdef uint32_t TRANSACTION_MASK = sysflag.TRANSACTION_MASK
cdef uint32_t TRANSACTION_COMMIT = sysflag.TRANSACTION_COMMIT
cdef Py_ssize_t ENTRY_SIZE = consumequeue.ENTRY_SIZE
cdef object NONE = evicted_queues.NONE


cdef inline object item(object record, Py_ssize_t number):
    return <object> PyTuple_GET_ITEM(record, number)


cdef bint is_queued(object record) except -1:
    """Tell whether a record has a queue entry; refuse what is no ``DispatchEntry``."""
    cdef uint32_t bits
    if not PyTuple_Check(record) or PyTuple_GET_SIZE(record) != 9:
        raise TypeError(f"record of {record!r}, expected a DispatchEntry")
    bits = <uint32_t> item(record, 7) & TRANSACTION_MASK
    return bits == 0 or bits == TRANSACTION_COMMIT


cdef int put_entry(uint8_t *at, object record) except -1:
    cdef int64_t log_offset = item(record, 3), tags_code = item(record, 5)
    cdef int32_t size = item(record, 4)
    put_u64(put_u32(put_u64(at, log_offset), <uint32_t> size), tags_code)
    return 0


cdef Py_ssize_t add_run(
    list records, list handles, Py_ssize_t start, object queue, Py_ssize_t unwritten_max
) except -1:
    """Add the records from ``start`` on that are of a loaded queue; return where they end."""
    cdef Py_ssize_t end = start, count, size, room, number
    cdef int64_t max_offset
    cdef bytearray tail
    cdef uint8_t *out
    if queue.deleted:
        return start
    max_offset = queue.max_offset
    room = unwritten_max - 1 - (max_offset - <int64_t> queue.written_count)
    while end < len(records) and end - start < room and handles[end] is queue:
        if not is_queued(records[end]):
            break
        end += 1
    count = end - start
    if count <= 0:
        return start
    tail = queue.tail
    size = len(tail)
    PyByteArray_Resize(tail, size + count * ENTRY_SIZE)
    out = <uint8_t *> PyByteArray_AS_STRING(tail) + size
    try:
        for number in range(count):
            put_entry(out + number * ENTRY_SIZE, records[start + number])
        queue.max_offset = max_offset + count
    except BaseException:
        PyByteArray_Resize(tail, size)
        raise
    return end


def add_entries(
    list records not None, list handles not None, Py_ssize_t start, columns, add_one, *,
    Py_ssize_t loaded_max, evicted_max,
):
    """Add the queue entries of records from ``start`` on; return the first that is left.

    Args:
        records: a DispatchEntry each.
        handles: the queue of each.
        start: the first to add.
        columns: the numbers of evicted queues.
        add_one: adds an entry to the backlog.
        loaded_max: unwritten entries at which the tail of a loaded queue has to be written.
        evicted_max: the same for an evicted queue.
    """
    cdef Py_ssize_t count = len(records), at = start, end
    if count != len(handles) or start < 0:
        raise ValueError(f"{count} records from {start} on and {len(handles)} queues")
    written, unwritten, waiting = columns.written, columns.unwritten, columns.waiting
    while at < count:
        record, handle = records[at], handles[at]
        if not is_queued(record):
            at += 1
        elif not PyLong_CheckExact(handle):
            end = add_run(records, handles, at, handle, loaded_max)
            if end == at:
                break
            at = end
        elif unwritten[handle] < evicted_max and written[handle] != NONE:
            waiting[handle] = add_one(
                waiting[handle], item(record, 3), item(record, 4), item(record, 5)
            )
            unwritten[handle] += 1
            at += 1
        else:
            break
    return at
