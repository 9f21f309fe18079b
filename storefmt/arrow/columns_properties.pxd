# cython: language_level=3
"""Declares ``columns_properties``, and the small loops over text."""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memchr, memcmp, memcpy

from storefmt.arrow.columns_buffers cimport Buffer, Lists, Texts, Values
from storefmt.formats.record cimport Part


cdef enum:
    # A record of more names looks them up in a dict, and its shape is not kept.
    NAMES_COMPARED = 24
    NAME_KEPT_MAX = 63


cdef enum:
    # Which column a property has, beside the map of all.
    NO_COLUMN = 0
    TAGS_COLUMN
    KEYS_COLUMN
    UNIQUE_KEY_COLUMN
    PRODUCER_GROUP_COLUMN
    ROLES_COUNT


cdef struct Pair:
    Part name
    Part value
    int role


cdef struct Name:
    # With the separator after it; ``size`` counts it as well.
    uint8_t text[NAME_KEPT_MAX + 1]
    int64_t size
    int role


cdef class Pairs:
    cdef Pair *found
    cdef int64_t count
    cdef int64_t room
    cdef dict seen
    cdef bytes replaced
    cdef Name shape[NAMES_COMPARED]
    cdef int64_t shape_count

    cdef int find(self, Part text) except -1
    cdef const uint8_t *find_expected(self, const uint8_t *at, const uint8_t *end) except NULL
    cdef int expect(self) except -1
    cdef int keep(self, Pair *pair) except -1
    cdef int grow(self) except -1


cdef class PropertyColumns:
    cdef readonly dict made
    cdef readonly dict inner
    cdef int64_t count
    cdef Pairs pairs
    cdef Texts names, map_values, words
    cdef Values tags, unique_key, producer_group
    cdef Lists maps, keys
    cdef Buffer tags_codes

    cdef object one(self, kind, name, names, int64_t rows_max, dict rooms)
    cdef int add(self, Part text) except -1
    cdef int add_words(self, const Part *text) except -1


cdef bint is_text(Part part) except -1


cdef inline bint is_ascii(Part part) noexcept nogil:
    cdef uint64_t word, high = 0
    cdef int64_t pos = 0
    while pos + 8 <= part.size:
        memcpy(&word, part.at + pos, 8)
        high |= word
        pos += 8
    while pos < part.size:
        high |= part.at[pos]
        pos += 1
    return high & <uint64_t> 0x8080808080808080 == 0


cdef inline bint same(const Part *one, const Part *other) noexcept nogil:
    if one.size != other.size or one.at[0] != other.at[0]:
        return False
    return memcmp(one.at, other.at, one.size) == 0


cdef inline int64_t size_before(int mark, const uint8_t *at, const uint8_t *end) noexcept nogil:
    """Return how many bytes lie before the first ``mark``, or before ``end``."""
    cdef const uint8_t *found = <const uint8_t *> memchr(at, mark, end - at)
    return (end if found == NULL else found) - at
