# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Growing buffers in the layout of Arrow, for the compiled kernel of the columns.

    Texts    offsets (int32, one more than there are texts) | data
    Values   the same, and a bit for each that is not null
    Lists    offsets alone: the items are in other buffers

All are made with room for ``count`` items of ``size`` bytes together, and grow beyond it.

Rule: every write asks for its room first. A Buffer is memory that Python can read: an
Arrow buffer over it keeps it alive, and nothing writes to it any more by then.
"""

from cpython.buffer cimport PyBuffer_FillInfo
from libc.stdlib cimport free, realloc

cdef enum:
    ROOM_MIN = 64


cdef class Buffer:
    """Bytes that grow at their end."""

    def __cinit__(self, int64_t room=0):
        self.grow(room)

    def __dealloc__(self):
        free(self.data)

    def __getbuffer__(self, Py_buffer *view, int flags):
        PyBuffer_FillInfo(view, self, self.data, self.size, 1, flags)

    def __len__(self):
        return self.size

    cdef int grow(self, int64_t more) except -1:
        """Make room for ``more`` bytes, and for as many again as there are."""
        cdef int64_t room = max(self.size + more, 2 * self.room, ROOM_MIN)
        cdef char *data = <char *> realloc(self.data, room)
        if data == NULL:
            raise MemoryError(f"no memory for a column of {room} bytes")
        self.data, self.room = data, room
        return 0


cdef class Texts:
    """Texts, or other bytes, one behind the other."""

    def __cinit__(self, int64_t count=0, int64_t size=0):
        self.offsets, self.data = Buffer(4 * (count + 1)), Buffer(size)
        self.end()


cdef class Values(Texts):
    """Texts of which some are null."""

    def __cinit__(self, int64_t count=0, int64_t size=0):
        self.valid = Buffer(count // 8 + 1)


cdef class Lists:
    """Where lists end in the items of all of them."""

    def __cinit__(self, int64_t count=0, int64_t size=0):
        self.offsets = Buffer(4 * (count + 1))
        self.end(0)
