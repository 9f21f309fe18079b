# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""``mqserver.store.disk.mapped.join_pure`` in C.

Rule: as there. A part is compared with the mapping before it is copied, and a page is read only
when mincore(2) has just reported that it is in memory.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from mqserver.store.disk import mapped

cdef extern from "<sys/mman.h>" nogil:
    int mincore(void *address, size_t size, unsigned char *known)

cdef enum:
    PAGES_MAX = 1024

cdef int64_t PAGE = mapped.PAGE
cdef int64_t SPAN_MAX = mapped.SPAN_MAX

assert SPAN_MAX // PAGE + 2 <= PAGES_MAX


cdef bint is_in_memory(char *whole, int64_t begin, int64_t end) noexcept nogil:
    """Tell whether the pages from ``begin`` (of a page) to ``end``, SPAN_MAX at most, are there."""
    cdef unsigned char known[PAGES_MAX]
    cdef int64_t number
    if mincore(whole + begin, end - begin, known):
        return False
    for number in range((end - begin + PAGE - 1) // PAGE):
        if not known[number] & 1:
            return False
    return True


cdef bytes joined(const char *whole, int64_t first, int64_t end, list parts, int64_t base):
    cdef int64_t start, stop, total = 0
    cdef char *out
    for start, stop in parts:
        start, stop = start - base, stop - base
        if not first <= start <= stop <= end:
            return None
        total += stop - start
    found = PyBytes_FromStringAndSize(NULL, total)
    out = PyBytes_AS_STRING(found)
    for start, stop in parts:
        memcpy(out, whole + (start - base), stop - start)
        out += stop - start
    return found


def join_compiled(view, list parts, int64_t base):
    """Return what ``join_pure`` returns."""
    cdef int64_t first = parts[0][0] - base, end = parts[len(parts) - 1][1] - base
    cdef Py_buffer whole
    PyObject_GetBuffer(view, &whole, PyBUF_SIMPLE)
    try:
        if not 0 <= first < end <= whole.len or end - first > SPAN_MAX:
            return None
        if not is_in_memory(<char *> whole.buf, first - first % PAGE, end):
            return None
        return joined(<const char *> whole.buf, first, end, parts, base)
    finally:
        PyBuffer_Release(&whole)
