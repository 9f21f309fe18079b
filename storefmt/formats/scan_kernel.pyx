# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The loop of ``storefmt.formats.scan.scan_log`` in C: from head to head, a CRC for each body.

Rule: optional, and a copy of ``scan_pure`` in what it returns, which tests hold for any
bytes. A length is compared with what is there before it is used. The CRC itself is that
of ``storefmt.formats.message`` (isal where installed), called with a view that is made once and
moved from body to body: a slice for each would cost as much as the CRC.

Source: as ``storefmt.formats.scan``.
"""

from array import array

from cpython cimport array as c_array
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint32_t

from storefmt.formats.big_endian cimport i32, u32
from storefmt.formats.checked_int cimport crc_bits

from storefmt.formats import layout, message, sysflag

cdef uint32_t MAGIC_V1 = message.MAGIC_V1 & 0xFFFFFFFF
cdef uint32_t MAGIC_V2 = message.MAGIC_V2 & 0xFFFFFFFF
cdef uint32_t CRC_MASK = message.CRC_MASK
cdef int64_t RECORD_SIZE_MIN = message.RECORD_SIZE_MIN
cdef int64_t HEAD_SIZE = layout.MESSAGE.part("body_size").struct().size
cdef int64_t CRC_POS = layout.MESSAGE.part("magic").struct().size
cdef int64_t SYS_FLAG_POS = layout.MESSAGE.part("log_offset").struct().size
cdef int64_t HOST_GROWTH = layout.HOST_V6_SIZE - layout.HOST_V4_SIZE
cdef uint32_t BORN_HOST_V6 = sysflag.BORN_HOST_V6
cdef uint32_t STORE_HOST_V6 = sysflag.STORE_HOST_V6
cdef object crc32 = message.crc32


cdef class Span:
    """Bytes of somebody else's buffer, for as long as a call to ``crc32`` takes."""

    def __getbuffer__(self, Py_buffer *view, int flags):
        PyBuffer_FillInfo(view, self, <void *> self.start, self.size, 1, flags)


cdef bint _good_body(const unsigned char *at, int64_t size, Span body) except -1:
    """Tell whether the body lies within ``size`` bytes, of which the head's v4 part is there."""
    cdef int64_t body_pos = HEAD_SIZE, body_size
    cdef uint32_t sys_flag = u32(at + SYS_FLAG_POS), found
    if sys_flag & BORN_HOST_V6:
        body_pos += HOST_GROWTH
    if sys_flag & STORE_HOST_V6:
        body_pos += HOST_GROWTH
    if body_pos > size:
        return False
    body_size = i32(at + body_pos - 4)
    if body_size < 0 or body_size > size - body_pos:
        return False
    if body_size == 0:
        return True
    body.start, body.size = at + body_pos, body_size
    found = crc_bits(crc32(body))
    return found & CRC_MASK == u32(at + CRC_POS)


cdef int64_t _walk(
    const unsigned char *data, int64_t pos, int64_t end, bint check_crc, c_array.array starts
) except -1:
    cdef Span body = Span()
    cdef const unsigned char *at
    cdef int64_t size
    cdef uint32_t magic
    cdef Py_ssize_t count = 0
    while pos <= end - RECORD_SIZE_MIN:
        at = data + pos
        size, magic = i32(at), u32(at + 4)
        if (magic != MAGIC_V1 and magic != MAGIC_V2) or size > end - pos:
            break
        if check_crc:
            if not _good_body(at, size, body):
                break
        elif size < RECORD_SIZE_MIN:
            break
        # Grows by an eighth at a time.
        c_array.resize_smart(starts, count + 1)
        starts.data.as_longlongs[count] = pos
        count += 1
        pos += size
    return pos


def scan_compiled(data, int64_t pos, int64_t end, bint check_crc):
    """Return what ``scan_pure`` returns; refuse what is not within ``data``."""
    cdef Py_buffer whole
    cdef c_array.array starts = array("q")
    PyObject_GetBuffer(data, &whole, PyBUF_SIMPLE)
    try:
        if pos < 0 or end < pos or end > whole.len:
            raise IndexError(f"bytes {pos} to {end} of {whole.len}")
        pos = _walk(<const unsigned char *> whole.buf, pos, end, check_crc, starts)
    finally:
        PyBuffer_Release(&whole)
    return starts, pos
