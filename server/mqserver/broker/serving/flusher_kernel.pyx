# cython: language_level=3
"""Writes and syncs files in a thread that never holds the interpreter's lock.

    hand_over (loop) ── Order ── pipe ──> write ── fdatasync ── 0 or errno (int) ── pipe ──> loop

Rule: the thread touches no Python object, and the loop keeps the bytes of an order alive until it
has its result. A thread of Python's would need the lock twice for each order, and take it from
the event loop: that is more than the system's own change of threads.
"""

from libc.errno cimport EINTR, EIO, errno
from libc.stdint cimport int64_t

from mqserver.broker.serving.flusher import DiskKernel

cdef extern from "<unistd.h>" nogil:
    int fdatasync(int descriptor)
    ssize_t read(int descriptor, void *data, size_t size)
    ssize_t write(int descriptor, const void *data, size_t size)
    ssize_t pwrite(int descriptor, const void *data, size_t size, int64_t pos)

cdef extern from "<poll.h>" nogil:
    struct pollfd:
        int fd
        short events
        short revents
    enum:
        POLLIN
    int poll(pollfd *descriptors, unsigned long count, int timeout_ms)

cdef struct Order:
    const char *data
    size_t size
    int64_t pos
    int descriptor


def hand_over(int orders, int descriptor, const unsigned char[::1] data, int64_t pos):
    """Let the thread write ``data`` at ``pos`` of a file, or sync the file if ``data`` is None.

    An order is small enough to pass through the pipe ``orders`` as a whole.
    """
    cdef Order order
    order.data, order.size = NULL, 0
    if data is not None and data.shape[0]:
        order.data, order.size = <const char *> &data[0], data.shape[0]
    order.pos, order.descriptor = pos, descriptor
    while write(orders, &order, sizeof(Order)) < 0:
        if errno != EINTR:
            raise OSError(errno, "the disk thread takes no order")


def wait_for(int results, int wait_ms_max):
    """Return the number of an order's error, 0 for none; None if it takes longer than that."""
    cdef pollfd wanted
    cdef int number = 0
    cdef ssize_t size
    wanted.fd, wanted.events, wanted.revents = results, POLLIN, 0
    with nogil:
        if wait_ms_max:
            poll(&wanted, 1, wait_ms_max)
        size = read(results, &number, sizeof(int))
    return number if size == sizeof(int) else None


def work_off(int orders, int results):
    """Carry out each order that comes from ``orders``; return when that pipe is closed."""
    cdef Order order
    with nogil:
        while take(orders, &order):
            tell(results, synced(&order) if order.data == NULL else written(&order))


cdef bint take(int orders, Order *order) noexcept nogil:
    cdef ssize_t size = -1
    while size < 0:
        size = read(orders, order, sizeof(Order))
        if size < 0 and errno != EINTR:
            return False
    return size == sizeof(Order)


cdef int written(Order *order) noexcept nogil:
    cdef ssize_t size
    while order.size:
        size = pwrite(order.descriptor, order.data, order.size, order.pos)
        if size < 0:
            if errno != EINTR:
                return errno
        elif size == 0:
            return EIO
        else:
            order.data += size
            order.size -= size
            order.pos += size
    return 0


cdef int synced(Order *order) noexcept nogil:
    while fdatasync(order.descriptor):
        if errno != EINTR:
            return errno
    return 0


cdef void tell(int results, int error) noexcept nogil:
    while write(results, &error, sizeof(int)) < 0 and errno == EINTR:
        pass


disk_thread_compiled = DiskKernel(hand_over, wait_for, work_off)
