# cython: language_level=3
"""The CRC of a body that lies in foreign memory, for every kernel that needs one."""

from libc.stdint cimport uint8_t, uint32_t

from storefmt.formats.record cimport RecordParts


cdef class BodyCrc:
    cdef const uint8_t *start
    cdef Py_ssize_t size

    cdef uint32_t crc_of(self, const uint8_t *start, Py_ssize_t size) except? 0xFFFFFFFF
    cdef bint is_good(self, const RecordParts *parts) except -1
