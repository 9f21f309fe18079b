# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The loop of ``Dispatcher.dispatch`` in C: an entry of 20 bytes for each stored record.

Rule: optional. It adds the entry of each record to the tail of a loaded queue or to the backlog
of an evicted one, and stops at the first record that needs more: a chunk of the backlog that is
full, a queue that has many entries in it, was loaded meanwhile or deleted, or a record that raises
an error here. The caller adds that one in plain Python, where the
error shows if it is real, and calls again: a record never fails those around it. Records of one
queue that follow one another extend its tail once, and its attributes are set when the bytes are
there.

Source: as ``mqserver.store.commitlog.dispatcher``.
"""

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_Resize
from cpython.long cimport PyLong_CheckExact
from cpython.memoryview cimport PyMemoryView_Check, PyMemoryView_GET_BUFFER
from cpython.tuple cimport PyTuple_Check, PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy

from storefmt.formats.big_endian cimport put_u32, put_u64
from storefmt.formats.checked_int cimport int_bits, java_int, java_long

from mqserver.store.queues import entry_backlog, evicted_queues
from storefmt.formats import consumequeue, sysflag

cdef uint32_t TRANSACTION_MASK = sysflag.TRANSACTION_MASK
cdef uint32_t TRANSACTION_COMMIT = sysflag.TRANSACTION_COMMIT
cdef Py_ssize_t ENTRY_SIZE = consumequeue.ENTRY_SIZE
cdef int64_t NONE = evicted_queues.NONE
cdef Py_ssize_t ONE_START_MAX = entry_backlog.ONE_START_MAX
cdef enum:
    # A run of one entry: the place of the run before, the size of the entry, and the entry.
    RUN_SIZE = 28


cdef inline object item(object record, Py_ssize_t number):
    return <object> PyTuple_GET_ITEM(record, number)


cdef bint is_queued(object record) except -1:
    """Return whether a record has a queue entry; refuse what is not a ``DispatchEntry``."""
    cdef uint32_t bits
    if not PyTuple_Check(record) or PyTuple_GET_SIZE(record) != 9:
        raise TypeError(f"record of {record!r}, expected a DispatchEntry")
    bits = int_bits(item(record, 7)) & TRANSACTION_MASK
    return bits == 0 or bits == TRANSACTION_COMMIT


cdef int put_entry(uint8_t *at, object record) except -1:
    cdef int64_t log_offset = java_long(item(record, 3)), tags_code = java_long(item(record, 5))
    cdef int32_t size = java_int(item(record, 4))
    put_u64(put_u32(put_u64(at, log_offset), <uint32_t> size), tags_code)
    return 0


cdef Py_ssize_t add_run(list records, list handles, Py_ssize_t start, object queue) except -1:
    """Add the records from ``start`` on that are of a loaded queue; return where they end."""
    cdef Py_ssize_t end = start, count, size, number = 0
    cdef int64_t max_offset
    cdef bytearray tail
    cdef uint8_t *out
    if queue.deleted:
        return start
    max_offset = java_long(queue.max_offset)
    try:
        while end < len(records) and handles[end] is queue:
            if not is_queued(records[end]):
                break
            end += 1
    except Exception:
        # The run ends before the record that raised this.
        pass
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
    except Exception:
        count = number
        PyByteArray_Resize(tail, size + count * ENTRY_SIZE)
    queue.max_offset = max_offset + count
    return start + count


cdef void *column(object view, Py_ssize_t count, Py_ssize_t number_size) except NULL:
    """Return the ``count`` numbers of a column; refuse one that has fewer or of another size."""
    cdef Py_buffer *buffer
    if not PyMemoryView_Check(view):
        raise TypeError(f"column {view!r}, expected a memoryview")
    buffer = PyMemoryView_GET_BUFFER(view)
    if buffer.readonly or buffer.itemsize != number_size or buffer.len < count * number_size:
        raise TypeError(f"column {view!r}, expected {count} numbers of {number_size} bytes")
    return buffer.buf


cdef Py_ssize_t add_evicted(
    list records, list handles, Py_ssize_t start, columns, backlog, Py_ssize_t unwritten_max
) except -1:
    """Add the records from ``start`` on that are of evicted queues; return where they end."""
    cdef Py_ssize_t end = start, count = len(columns.written), slot, size
    cdef int64_t *written = <int64_t *> column(columns.written, count, sizeof(int64_t))
    cdef uint32_t *unwritten = <uint32_t *> column(columns.unwritten, count, sizeof(uint32_t))
    cdef int32_t *waiting = <int32_t *> column(columns.waiting, count, sizeof(int32_t))
    cdef bytearray chunk = backlog.chunk
    cdef int32_t chunk_start = java_int(backlog.start)
    cdef uint8_t run[RUN_SIZE]
    size = len(chunk)
    try:
        while end < len(records) and size <= ONE_START_MAX and PyLong_CheckExact(handles[end]):
            slot = handles[end]
            if not 0 <= slot < count:
                raise IndexError(f"slot {slot} of {count}")
            if unwritten[slot] >= unwritten_max or written[slot] == NONE:
                break
            if not is_queued(records[end]):
                break
            put_entry(put_u32(put_u32(run, <uint32_t> waiting[slot]), ENTRY_SIZE), records[end])
            PyByteArray_Resize(chunk, size + RUN_SIZE)
            memcpy(PyByteArray_AS_STRING(chunk) + size, run, RUN_SIZE)
            waiting[slot] = chunk_start + <int32_t> size
            unwritten[slot] += 1
            size += RUN_SIZE
            end += 1
    except Exception:
        # The record at ``end`` raised this; nothing of it was added.
        pass
    backlog.added += end - start
    return end


def add_entries(
    list records not None, list handles not None, Py_ssize_t start, columns, backlog, *,
    Py_ssize_t evicted_max,
):
    """Add the queue entries of records from ``start`` on; return the first that is left.

    Args:
        records: a DispatchEntry each.
        handles: the queue of each.
        start: the first to add.
        columns: the numbers of evicted queues.
        backlog: takes the entries of evicted queues.
        evicted_max: unwritten entries at which an evicted queue has to be loaded.
    """
    cdef Py_ssize_t count = len(records), at = start, end
    if count != len(handles) or start < 0:
        raise ValueError(f"{count} records from {start} on and {len(handles)} queues")
    while at < count:
        try:
            if not is_queued(records[at]):
                at += 1
                continue
        except Exception:
            break
        if PyLong_CheckExact(handles[at]):
            end = add_evicted(records, handles, at, columns, backlog, evicted_max)
        else:
            end = add_run(records, handles, at, handles[at])
        if end == at:
            break
        at = end
    return at
