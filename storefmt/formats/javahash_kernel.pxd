# cython: language_level=3
"""Java's String.hashCode for other kernels."""

from libc.stdint cimport uint32_t


cdef uint32_t hash_on(uint32_t value, object text) except? 0xFFFFFFFF


cdef inline uint32_t index_hash(uint32_t value) noexcept nogil:
    """Return what an index entry holds for a hash: Math.abs, and 0 for Integer.MIN_VALUE."""
    return (0 - value) & 0x7FFFFFFF if value >> 31 else value
