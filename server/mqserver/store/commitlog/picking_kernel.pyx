# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""``mqserver.store.commitlog.picking.pick_each`` in C, for the entries of nearly every get.

    | i64 log offset | i32 size | i64 tags code |     20 bytes, big endian

Rule: the same result as that of ``pick_each``, or None. None is the answer to entries with the
address of an ext unit, of a record that would lie past the end of the log, and to numbers
that no store writes (a size of 0 or less, a log offset below 0): these are rare, and ``pick_each``
says what they mean. With sizes and log offsets so bounded, no sum below can overflow.

Source: as ``mqserver.store.commitlog.picking``.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t

from storefmt.formats.big_endian cimport i32, i64

from mqserver.store.commitlog import picking
from mqserver.store.results import GetStatus
from storefmt.formats import consumequeue

cdef enum:
    ENTRY_SIZE = 20
    SIZE_AT = 8
    CODE_AT = 12

assert ENTRY_SIZE == consumequeue.ENTRY_SIZE

cdef int64_t FILLER_SIZE = consumequeue.FILLER_SIZE
cdef int64_t EXT_ADDRESS_MAX = consumequeue.EXT_ADDRESS_MAX
cdef int64_t PART_SIZE_MAX = picking.PART_SIZE_MAX
cdef object Picked = picking.Picked
cdef object FOUND = GetStatus.FOUND
cdef object NO_MATCHED_MESSAGE = GetStatus.NO_MATCHED_MESSAGE
cdef object MESSAGE_WAS_REMOVING = GetStatus.MESSAGE_WAS_REMOVING
cdef object new_tuple = tuple.__new__


def pick_compiled(data, limits, codes):
    """Return what ``pick_each`` returns for plain entries, None for others."""
    cdef int64_t count_max, size_max, disk_count_max, disk_size_max, memory_size
    cdef int64_t log_start, log_end, file_size
    cdef int64_t log_offset = 0, size, code, behind_end
    cdef int64_t total = 0, count = 0, scanned = 0, skip_until = -1, start = -1, end = -1
    cdef Py_ssize_t pos
    cdef list parts = []
    cdef object status = NO_MATCHED_MESSAGE
    cdef const unsigned char *at
    cdef Py_buffer whole
    if not isinstance(limits, tuple):
        raise TypeError(f"limits are {type(limits).__name__}, expected GetLimits")
    # A NamedTuple is unpacked like a plain tuple.
    (
        count_max, size_max, disk_count_max, disk_size_max, memory_size,
        log_start, log_end, file_size,
    ) = <tuple> limits
    if log_start < 0 or file_size <= 0:
        return None
    PyObject_GetBuffer(data, &whole, PyBUF_SIMPLE)
    try:
        for pos in range(0, whole.len - ENTRY_SIZE + 1, ENTRY_SIZE):
            at = <const unsigned char *> whole.buf + pos
            log_offset, size, code = i64(at), i32(at + SIZE_AT), i64(at + CODE_AT)
            if log_offset < 0 or size <= 0 or code <= EXT_ADDRESS_MAX:
                return None
            if log_offset < skip_until or size == FILLER_SIZE:
                scanned += 1
                continue
            behind_end = log_end - log_offset
            if count:
                if behind_end > memory_size:
                    if total + size > disk_size_max or count >= disk_count_max:
                        break
                elif total + size > size_max or count >= count_max:
                    break
            scanned += 1
            if codes is not None and code not in codes:
                continue
            if log_offset < log_start:
                if not count:
                    status = MESSAGE_WAS_REMOVING
                # The log's start is far below the largest number.
                skip_until = log_offset - log_offset % file_size + file_size
                continue
            skip_until = -1
            if size > behind_end:
                return None
            count += 1
            total += size
            if (
                log_offset == end
                and log_offset % file_size != 0
                and log_offset + size - start <= PART_SIZE_MAX
            ):
                end = log_offset + size
                continue
            if end >= 0:
                parts.append((start, end))
            start, end = log_offset, log_offset + size
    finally:
        PyBuffer_Release(&whole)
    if count:
        status = FOUND
        parts.append((start, end))
    return new_tuple(Picked, (status, parts, count, scanned, log_offset, []))
