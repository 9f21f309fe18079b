# cython: language_level=3
"""What the compiled kernels share."""

from libc.stdint cimport uint32_t


cdef class Span:
    cdef const unsigned char *start
    cdef Py_ssize_t size


cdef inline uint32_t u32(const unsigned char *at) noexcept nogil:
    return <uint32_t> at[0] << 24 | <uint32_t> at[1] << 16 | <uint32_t> at[2] << 8 | at[3]
