# cython: language_level=3
"""Big-endian numbers in memory for the compiled kernels, which check the bounds themselves."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t


cdef inline uint32_t u32(const unsigned char *at) noexcept nogil:
    return <uint32_t> at[0] << 24 | <uint32_t> at[1] << 16 | <uint32_t> at[2] << 8 | at[3]


cdef inline int64_t i32(const unsigned char *at) noexcept nogil:
    return <int32_t> u32(at)


cdef inline int64_t i64(const unsigned char *at) noexcept nogil:
    return <int64_t> (<uint64_t> u32(at) << 32 | u32(at + 4))


cdef inline uint8_t *put_u32(uint8_t *at, uint32_t value) noexcept nogil:
    """Write a number and return where the next one goes, as ``put_u64`` does."""
    at[0], at[1], at[2], at[3] = value >> 24, value >> 16 & 255, value >> 8 & 255, value & 255
    return at + 4


cdef inline uint8_t *put_u64(uint8_t *at, uint64_t value) noexcept nogil:
    return put_u32(put_u32(at, <uint32_t> (value >> 32)), <uint32_t> value)
