# cython: language_level=3
"""Bytes of somebody else's buffer, for other kernels that check a CRC."""


cdef class Span:
    cdef const unsigned char *start
    cdef Py_ssize_t size
