# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The hash of ``storefmt.formats.javahash`` in C: one step for each UTF-16 code unit.

Rule: optional; it returns what ``hash_pure`` returns, which tests compare for any text.
The units are read where Python keeps the characters, of one, two or four bytes each; a
character beyond the BMP counts as the two units of its surrogate pair.

Source: as ``storefmt.formats.javahash``.
"""

from cpython.unicode cimport (
    PyUnicode_1BYTE_KIND,
    PyUnicode_2BYTE_KIND,
    PyUnicode_Check,
    PyUnicode_DATA,
    PyUnicode_GET_LENGTH,
    PyUnicode_KIND,
)
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t


cdef uint32_t hash_on(uint32_t value, object text) except? 0xFFFFFFFF:
    """Return the hash of a text that begins with one whose hash is ``value``."""
    cdef Py_ssize_t number, size
    cdef unsigned int kind
    cdef const void *data
    cdef uint32_t unit
    if not PyUnicode_Check(text):
        raise TypeError(f"hash of {type(text).__name__}, expected str")
    size, kind, data = PyUnicode_GET_LENGTH(text), PyUnicode_KIND(text), PyUnicode_DATA(text)
    if kind == PyUnicode_1BYTE_KIND:
        for number in range(size):
            value = 31 * value + (<const uint8_t *> data)[number]
    elif kind == PyUnicode_2BYTE_KIND:
        for number in range(size):
            value = 31 * value + (<const uint16_t *> data)[number]
    else:
        for number in range(size):
            unit = (<const uint32_t *> data)[number]
            if unit > 0xFFFF:
                unit -= 0x10000
                value = 31 * value + (0xD800 | unit >> 10)
                unit = 0xDC00 | unit & 0x3FF
            value = 31 * value + unit
    return value


def hash_compiled(text):
    """Return what ``hash_pure`` returns."""
    return <int32_t> hash_on(0, text)
