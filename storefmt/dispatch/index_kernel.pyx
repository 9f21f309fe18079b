# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The two loops of ``storefmt.dispatch.index_table`` in C: hashes of keys, and their entries.

Rule: optional; it returns and changes what ``key_rows_pure`` and ``add_rows_pure`` do, which tests
compare for any keys. The memory of the new entries is allocated before a slot is changed, and a
slot's number is compared with the number of slots.

Source: as ``storefmt.dispatch.index_table``.
"""

from cpython.buffer cimport PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_Resize
from cpython.tuple cimport PyTuple_Check, PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from storefmt.formats.big_endian cimport put_u32, put_u64
from storefmt.formats.checked_int cimport int_bits, java_int, java_long
from storefmt.formats.javahash_kernel cimport hash_on, index_hash

from storefmt.formats import index, sysflag

cdef uint32_t TRANSACTION_MASK = sysflag.TRANSACTION_MASK
cdef uint32_t TRANSACTION_ROLLBACK = sysflag.TRANSACTION_ROLLBACK
cdef int64_t TIME_DIFF_S_MAX = index.TIME_DIFF_S_MAX
cdef Py_ssize_t ENTRY_SIZE = index.ENTRY.size
cdef Py_ssize_t PAGE_SLOTS = index.PAGE_SLOTS
cdef Py_ssize_t KEYED_SIZE = 9
cdef Py_ssize_t ROW_SIZE = 3
cdef str SEPARATOR = index.KEY_SEPARATOR


cdef inline object item(object values, Py_ssize_t number):
    return <object> PyTuple_GET_ITEM(values, number)


def key_rows_compiled(records):
    """Return what ``key_rows_pure`` returns."""
    cdef list rows = []
    cdef object topic, keys, known = None
    cdef uint32_t beginning = 0
    for record in records:
        if not PyTuple_Check(record) or PyTuple_GET_SIZE(record) != KEYED_SIZE:
            raise TypeError(f"record of {record!r}, expected a tuple of {KEYED_SIZE}")
        keys = item(record, 8)
        if not keys or int_bits(item(record, 7)) & TRANSACTION_MASK == TRANSACTION_ROLLBACK:
            continue
        topic = item(record, 0)
        if topic is not known:
            beginning = hash_on(hash_on(0, topic), SEPARATOR)
            known = topic
        for key in keys:
            rows.append((index_hash(hash_on(beginning, key)), item(record, 3), item(record, 6)))
    return rows


def add_rows_compiled(
    list rows not None, slots, bytearray dirty not None, bytearray fresh not None,
    int64_t number, int64_t begin_ms, int64_t begin_log_offset,
):
    """Do what ``add_rows_pure`` does; refuse slots that ``dirty`` does not cover."""
    cdef Py_buffer memory
    cdef Py_ssize_t size = len(fresh), count = len(rows), slot_count
    cdef int64_t used
    PyObject_GetBuffer(slots, &memory, PyBUF_WRITABLE)
    try:
        slot_count = memory.len // <Py_ssize_t> sizeof(int32_t)
        if slot_count == 0 or (slot_count - 1) // PAGE_SLOTS >= len(dirty):
            raise IndexError(f"{slot_count} slots and {len(dirty)} pages")
        if number < 0 or number + count > 0x7FFFFFFF:
            raise OverflowError(f"{count} entries from number {number} on")
        for row in rows:
            # A bad row shows here, before slots point at entries that are then not kept.
            _check_row(row)
        PyByteArray_Resize(fresh, size + count * ENTRY_SIZE)
        try:
            used = _add_rows(
                rows, <int32_t *> memory.buf, slot_count,
                <uint8_t *> PyByteArray_AS_STRING(dirty),
                <uint8_t *> PyByteArray_AS_STRING(fresh) + size,
                <int32_t> number, &begin_ms, &begin_log_offset,
            )
        except BaseException:
            PyByteArray_Resize(fresh, size)
            raise
    finally:
        PyBuffer_Release(&memory)
    return used, begin_ms, begin_log_offset


cdef int _check_row(object row) except -1:
    if not PyTuple_Check(row) or PyTuple_GET_SIZE(row) != ROW_SIZE:
        raise TypeError(f"row of {row!r}, expected a tuple of {ROW_SIZE}")
    java_int(item(row, 0))
    java_long(item(row, 1))
    java_long(item(row, 2))
    return 0


cdef int64_t _add_rows(
    list rows, int32_t *slots, Py_ssize_t slot_count, uint8_t *dirty, uint8_t *at,
    int32_t number, int64_t *begin_ms, int64_t *begin_log_offset,
) except -1:
    cdef int64_t used = 0, log_offset, store_ms, seconds
    cdef int32_t key_hash, previous
    cdef Py_ssize_t slot
    for row in rows:
        key_hash, log_offset = java_int(item(row, 0)), java_long(item(row, 1))
        store_ms = java_long(item(row, 2))
        slot = key_hash % slot_count
        previous = slots[slot]
        if previous <= 0 or previous > number:
            previous = 0
            used += 1
        seconds = 0
        if begin_ms[0] > 0 and store_ms > begin_ms[0]:
            seconds = min((store_ms - begin_ms[0]) // 1000, TIME_DIFF_S_MAX)
        at = put_u64(put_u32(at, <uint32_t> key_hash), log_offset)
        at = put_u32(put_u32(at, <uint32_t> seconds), <uint32_t> previous)
        slots[slot] = number
        dirty[slot // PAGE_SLOTS] = 1
        if number <= 1:
            begin_log_offset[0], begin_ms[0] = log_offset, store_ms
        number += 1
    return used
