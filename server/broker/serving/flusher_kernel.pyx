# cython: language_level=3
"""Syncs files in a thread that never holds the interpreter's lock.

    read a descriptor (int) ── fdatasync ── write 0 or errno (int) ── read …

Rule: it touches no Python object. A thread of Python's would need the lock twice for each sync,
and take it from the event loop: that is more than the system's own change of threads.
"""

from libc.errno cimport EINTR, errno

cdef extern from "<unistd.h>" nogil:
    int fdatasync(int descriptor)
    ssize_t read(int descriptor, void *data, size_t size)
    ssize_t write(int descriptor, const void *data, size_t size)


def sync_each(int wanted, int done):
    """Sync each descriptor that ``wanted`` brings, and tell ``done``; return at its end.

    Both are pipes; an int is small enough to come and go as a whole.
    """
    cdef int descriptor
    with nogil:
        while take(wanted, &descriptor):
            tell(done, synced(descriptor))


cdef bint take(int wanted, int *descriptor) noexcept nogil:
    cdef ssize_t size = -1
    while size < 0:
        size = read(wanted, descriptor, sizeof(int))
        if size < 0 and errno != EINTR:
            return False
    return size == sizeof(int)


cdef int synced(int descriptor) noexcept nogil:
    while fdatasync(descriptor):
        if errno != EINTR:
            return errno
    return 0


cdef void tell(int done, int error) noexcept nogil:
    while write(done, &error, sizeof(int)) < 0 and errno == EINTR:
        pass
