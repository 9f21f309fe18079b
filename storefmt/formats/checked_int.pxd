# cython: language_level=3
"""Python integers as Java's numbers: the one way in which a kernel converts them.

    java_int   -2**31 … 2**31 - 1     a field that Java declares as int
    java_long  -2**63 … 2**63 - 1     a field that Java declares as long
    int_bits   the 32 bits of a Java int, for masks: -1 is 0xFFFFFFFF
    crc_bits   0 … 2**32 - 1          what a function for a CRC returns

Rule: a value outside its range raises ``OverflowError``, and anything but an integer ``TypeError``. No
kernel casts an object to an unsigned type by itself: Cython refuses every negative number then, and
a Java int such as a sysFlag may be negative (``tests/test_kernel_integers.py``).
"""

from libc.stdint cimport int32_t, int64_t, uint32_t


cdef inline int32_t java_int(object number) except? -1:
    return number


cdef inline int64_t java_long(object number) except? -1:
    return number


cdef inline uint32_t int_bits(object number) except? 0xFFFFFFFF:
    return <uint32_t> java_int(number)


cdef inline uint32_t crc_bits(object number) except? 0xFFFFFFFF:
    return number
