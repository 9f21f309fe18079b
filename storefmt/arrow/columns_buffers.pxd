# cython: language_level=3
"""Declares ``columns_buffers`` for the kernels that fill its buffers."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from storefmt.formats.record cimport Part


cdef inline void copy(char *out, const uint8_t *at, int64_t size) noexcept nogil:
    """Copy bytes; most texts are short, and a call would cost as much as all the rest."""
    if size > 64:
        memcpy(out, at, size)
    elif size >= 32:
        memcpy(out, at, 32)
        memcpy(out + size - 32, at + size - 32, 32)
    elif size >= 16:
        memcpy(out, at, 16)
        memcpy(out + size - 16, at + size - 16, 16)
    elif size >= 8:
        memcpy(out, at, 8)
        memcpy(out + size - 8, at + size - 8, 8)
    elif size >= 4:
        memcpy(out, at, 4)
        memcpy(out + size - 4, at + size - 4, 4)
    elif size > 0:
        out[0] = at[0]
        out[size >> 1] = at[size >> 1]
        out[size - 1] = at[size - 1]


cdef class Buffer:
    cdef char *data
    cdef int64_t size
    cdef int64_t room

    cdef int grow(self, int64_t more) except -1

    cdef inline char *reserve(self, int64_t more) except NULL:
        """Return where ``more`` bytes may be written; ``size`` is for the caller to move."""
        if more > self.room - self.size or self.data == NULL:
            self.grow(more)
        return self.data + self.size


cdef class Texts:
    cdef readonly Buffer offsets
    cdef readonly Buffer data
    # None, and 0, where no text can be null.
    cdef readonly Buffer valid
    cdef readonly int64_t nulls

    cdef inline int end(self) except -1:
        """End the text that lies in the data since the last end."""
        if self.data.size > 0x7FFFFFFF:
            raise OverflowError("2 GiB of text in one batch of columns; ask for smaller ones")
        (<int32_t *> self.offsets.reserve(4))[0] = <int32_t> self.data.size
        self.offsets.size += 4
        return 0

    cdef inline int add(self, const Part *part) except -1:
        """Add one text."""
        cdef char *at = self.data.reserve(part.size)
        copy(at, part.at, part.size)
        self.data.size += part.size
        return self.end()


cdef class Values(Texts):
    cdef int64_t count

    cdef inline int add_or_null(self, const Part *part) except -1:
        """Add a text; null where ``part`` is nowhere."""
        cdef char *bits
        if self.count % 8 == 0:
            self.valid.reserve(1)[0] = 0
            self.valid.size += 1
        if part.at == NULL:
            self.nulls += 1
            self.count += 1
            return self.end()
        bits = self.valid.data + self.valid.size - 1
        bits[0] = bits[0] | <char> (1 << self.count % 8)
        self.count += 1
        return self.add(part)


cdef class Lists:
    cdef readonly Buffer offsets
    cdef int64_t count

    cdef inline int end(self, int64_t more) except -1:
        """End a list of ``more`` items."""
        self.count += more
        if self.count > 0x7FFFFFFF:
            raise OverflowError("2^31 items in one batch of columns; ask for smaller ones")
        (<int32_t *> self.offsets.reserve(4))[0] = <int32_t> self.count
        self.offsets.size += 4
        return 0
