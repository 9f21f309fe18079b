# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The loop of ``storefmt.formats.scan.scan_log`` in C: from head to head, a CRC for each body.

Rule: optional; it returns what ``scan_pure`` returns, which tests compare for any bytes. A length
is compared with the bytes that are left before it is used.

Source: as ``storefmt.formats.scan``.
"""

from array import array

from cpython cimport array as c_array
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint8_t, uint32_t

from storefmt.formats.big_endian cimport i32, u32
from storefmt.formats.checked_int cimport crc_bits
from storefmt.formats.record cimport (
    CRC_POS,
    MAGIC_POS,
    RECORD_SIZE_MIN,
    RecordParts,
    find_body,
    magic_v1,
    magic_v2,
)

from storefmt.formats import message

cdef uint32_t CRC_MASK = message.CRC_MASK
cdef object crc32 = message.crc32


cdef class BodyCrc:
    """Computes CRCs as ``storefmt.formats.message`` does (isal where it is installed).

    ``crc32`` gets this object as a view of the body: it is made once and moved from body to body,
    since a slice for each would cost as much as the CRC.
    """

    def __getbuffer__(self, Py_buffer *view, int flags):
        PyBuffer_FillInfo(view, self, <void *> self.start, self.size, 1, flags)

    cdef uint32_t crc_of(self, const uint8_t *start, Py_ssize_t size) except? 0xFFFFFFFF:
        """Return the CRC that a record with this body has."""
        cdef uint32_t crc
        self.start, self.size = start, size
        crc = crc_bits(crc32(self))
        return crc & CRC_MASK

    cdef bint is_good(self, const RecordParts *parts) except -1:
        """Return whether the body fits its CRC; an empty one has none to fit, as in Java."""
        if parts.body.size == 0:
            return True
        return self.crc_of(parts.body.at, parts.body.size) == u32(parts.head + CRC_POS)


cdef int64_t _walk(
    const uint8_t *data, int64_t pos, int64_t end, bint check_crc, c_array.array starts
) except -1:
    cdef BodyCrc crc = BodyCrc()
    cdef RecordParts parts
    cdef const uint8_t *head
    cdef int64_t size
    cdef uint32_t magic
    cdef Py_ssize_t count = 0
    while pos <= end - RECORD_SIZE_MIN:
        head = data + pos
        size, magic = i32(head), u32(head + MAGIC_POS)
        if (magic != magic_v1() and magic != magic_v2()) or size > end - pos:
            break
        if check_crc:
            if not find_body(head, size, &parts) or not crc.is_good(&parts):
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
        pos = _walk(<const uint8_t *> whole.buf, pos, end, check_crc, starts)
    finally:
        PyBuffer_Release(&whole)
    return starts, pos
