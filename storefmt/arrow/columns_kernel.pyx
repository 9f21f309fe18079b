# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Records into columns in C: one pass, record by record, into the buffers of an Arrow batch.

    starts ──> RecordParts (where body, topic, properties lie) ──> ints, texts
                               properties ──> columns_properties

Rule: optional; it returns what ``columns_decode`` returns, which tests compare for any bytes. A
length is compared with the bytes that are left before it is used, and nothing after the end of a
record is read.

Source: as ``storefmt.formats.message``, ``storefmt.formats.properties``.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from storefmt.arrow.columns_buffers cimport Buffer, Texts, copy
from storefmt.arrow.columns_properties cimport PropertyColumns, is_text
from storefmt.formats.big_endian cimport i32, i64
from storefmt.formats.record cimport (
    BORN_LONG,
    HEAD_SIZE,
    HOST_GROWTH,
    HOST_V4_SIZE,
    HOST_V6_SIZE,
    LOG_OFFSET_POS,
    STORE_LONG,
    Part,
    RecordParts,
    find_parts,
)
from storefmt.formats.scan_kernel cimport BodyCrc

from storefmt.arrow.columns_properties import PROPERTY_COLUMNS
from storefmt.formats import hosts

cdef object address_text = hosts.address_text

cdef enum:
    INTS_MAX = 32
    BLOCK = 64
    # An IPv6 address has 39 characters, a packed host 40 hex digits.
    TEXT_MAX = 40

cdef char HEX[256][2]


def _fill_hex():
    cdef int number, place
    for number in range(256):
        for place, unit in enumerate(b"%02X" % number):
            HEX[number][place] = unit


_fill_hex()


cdef struct Known:
    # A host and its text, as they were in the record before.
    uint8_t packed[20]
    int64_t size
    uint8_t text[TEXT_MAX]
    int64_t text_size


cdef struct Ints:
    # Where the field lies in the head, for each lane.
    int64_t place[4]
    bint wide
    char *out


cdef int find_rows(
    const Py_buffer *whole, const int64_t *starts, int count, RecordParts *rows, bint placed,
    int64_t at,
) except -1:
    """Fill ``rows``; return how many there are before the first that does not add up.

    If ``placed``, a record also has to lie where it says, with the first byte at ``at``.
    """
    cdef int number
    cdef int64_t start
    for number in range(count):
        start = starts[number]
        if start < 0 or start > whole.len:
            raise IndexError(f"record at byte {start} of {whole.len}")
        if not find_parts(<const uint8_t *> whole.buf + start, whole.len - start, &rows[number]):
            return number
        if not is_text(rows[number].topic):
            return number
        if placed and i64(rows[number].head + LOG_OFFSET_POS) - start != at:
            return number
    return count


cdef inline void write_hex(char *out, const uint8_t *at, int64_t size) noexcept nogil:
    cdef int64_t number
    for number in range(size):
        memcpy(out + 2 * number, HEX[at[number]], 2)


cdef class Columns:
    """The columns of up to ``rows_max`` records.

    Args:
        ints: the columns of numbers: name, where the field lies in the head for each of the
            four combinations of hosts, its size in bytes (4 or 8).
        names: the other columns.
        host_places: where the born host and the store host lie, as for numbers.
        before: the columns of the batch before, which show how much room this one may need.
    """

    cdef readonly int64_t count
    cdef readonly dict made
    cdef dict rooms
    cdef int64_t rows_max
    cdef Ints ints[INTS_MAX]
    cdef int ints_count
    cdef int64_t born_place[4]
    cdef int64_t store_place[4]
    cdef dict addresses
    cdef Known known_born
    cdef Known known_store
    cdef Known known_hex
    cdef Texts body, topic, raw, born_host, store_host, msg_id
    cdef Buffer crc_ok
    cdef BodyCrc crc
    cdef PropertyColumns properties

    def __cinit__(self, ints, names, host_places, int64_t rows_max, Columns before=None):
        cdef Ints *column
        cdef Buffer out
        self.rows_max, self.made, self.addresses = max(rows_max, 1), {}, {}
        if len(ints) > INTS_MAX:
            raise IndexError(f"{len(ints)} columns of numbers; there is room for {INTS_MAX}")
        for name, places, size in ints:
            if name in self.made:
                raise ValueError(f"column {name} twice")
            column, out = &self.ints[self.ints_count], Buffer(size * self.rows_max)
            take_places(places, size, column.place)
            column.wide, column.out, self.made[name] = size == 8, out.data, out
            self.ints_count += 1
        take_places(host_places[0], 8, self.born_place)
        take_places(host_places[1], 8, self.store_place)
        self.rooms = {} if before is None else before.sizes()
        self._make(frozenset(names))

    cdef int _make(self, names) except -1:
        self.body = self._one(Texts, "body", names)
        self.topic = self._one(Texts, "topic", names)
        self.raw = self._one(Texts, "properties_raw", names)
        self.born_host = self._one(Texts, "born_host", names)
        self.store_host = self._one(Texts, "store_host", names)
        self.msg_id = self._one(Texts, "msg_id", names)
        if "crc_ok" in names:
            self.crc_ok, self.crc = Buffer(self.rows_max), BodyCrc()
            self.made["crc_ok"] = self.crc_ok
        if not PROPERTY_COLUMNS.isdisjoint(names):
            self.properties = PropertyColumns(names, self.rows_max, self.rooms)
            self.made.update(self.properties.made)
        return 0

    cdef object _one(self, kind, name, names):
        if name not in names:
            return None
        self.made[name] = kind(self.rows_max, self.rooms.get(name, 0))
        return self.made[name]

    def add(self, data, const int64_t[::1] starts, at):
        """Add the records at ``starts``; return how many were added.

        ``at`` is the log offset of the first byte, or None if records may claim any position. The
        first record that does not add up, or that does not fit, ends them.
        """
        cdef Py_buffer whole
        cdef RecordParts rows[BLOCK]
        cdef Py_ssize_t done = 0, count = min(starts.shape[0], self.rows_max - self.count)
        cdef int found = BLOCK
        cdef bint placed = at is not None
        cdef int64_t log_offset = at if placed else 0
        PyObject_GetBuffer(data, &whole, PyBUF_SIMPLE)
        try:
            # Column by column pays, as long as the records stay in the nearest cache.
            while found == BLOCK and done < count:
                found = find_rows(&whole, &starts[done], min(BLOCK, count - done), rows, placed, log_offset)
                self._add_ints(rows, found)
                self._add_texts(rows, found)
                done += found
            return done
        finally:
            PyBuffer_Release(&whole)

    cdef int _add_ints(self, const RecordParts *rows, int count) except -1:
        cdef int number, row
        cdef Ints *column
        for number in range(self.ints_count):
            column = &self.ints[number]
            if column.wide:
                for row in range(count):
                    (<int64_t *> column.out)[row] = i64(
                        rows[row].head + column.place[rows[row].lane]
                    )
                column.out += 8 * count
            else:
                for row in range(count):
                    (<int32_t *> column.out)[row] = <int32_t> i32(
                        rows[row].head + column.place[rows[row].lane]
                    )
                column.out += 4 * count
        return 0

    cdef int _add_texts(self, const RecordParts *row, int count) except -1:
        cdef int number
        if self.body is not None:
            for number in range(count):
                self.body.add(&row[number].body)
        if self.topic is not None:
            for number in range(count):
                self.topic.add(&row[number].topic)
        if self.raw is not None:
            for number in range(count):
                self.raw.add(&row[number].properties)
        if self.born_host is not None:
            for number in range(count):
                self._add_address(
                    self.born_host,
                    &self.known_born,
                    row[number].head + self.born_place[row[number].lane],
                    row[number].lane & BORN_LONG,
                )
        if self.store_host is not None:
            for number in range(count):
                self._add_address(
                    self.store_host,
                    &self.known_store,
                    row[number].head + self.store_place[row[number].lane],
                    row[number].lane & STORE_LONG,
                )
        for number in range(count):
            if self.msg_id is not None:
                self._add_msg_id(&row[number])
            if self.crc_ok is not None:
                self.crc_ok.data[self.count] = self.crc.is_good(&row[number])
            if self.properties is not None:
                self.properties.add(row[number].properties)
            self.count += 1
        return 0

    cdef int _add_address(self, Texts texts, Known *known, const uint8_t *at, bint is_long) except -1:
        """Add an address; most are the one of the record before."""
        cdef int64_t size = HOST_V6_SIZE - 4 if is_long else HOST_V4_SIZE - 4
        cdef bytes text
        cdef Part part
        if known.size != size or memcmp(known.packed, at, size):
            text = self.addresses.get(at[:size])
            if text is None:
                text = self.addresses[at[:size]] = address_text(at[:size] + bytes(4)).encode()
            if len(text) > TEXT_MAX:
                raise ValueError(f"address of {len(text)} characters: {text!r}")
            memcpy(known.packed, at, size)
            memcpy(known.text, <const char *> text, len(text))
            known.size, known.text_size = size, len(text)
        part.at, part.size = known.text, known.text_size
        return texts.add(&part)

    cdef int _add_msg_id(self, const RecordParts *row) except -1:
        cdef int64_t size = HOST_V6_SIZE if row.lane & STORE_LONG else HOST_V4_SIZE
        cdef char *out = self.msg_id.data.reserve(2 * size + 16)
        cdef Known *known = &self.known_hex
        cdef const uint8_t *host = row.head + self.store_place[row.lane]
        if known.size != size or memcmp(known.packed, host, size):
            memcpy(known.packed, host, size)
            write_hex(<char *> known.text, host, size)
            known.size = size
        copy(out, known.text, 2 * size)
        write_hex(out + 2 * size, row.head + LOG_OFFSET_POS, 8)
        self.msg_id.data.size += 2 * size + 16
        return self.msg_id.end()

    def finish(self):
        """Return the buffers by column; nothing may be added any more."""
        cdef Buffer out
        cdef int number
        for number, out in enumerate(list(self.made.values())[:self.ints_count]):
            out.size = self.count * (8 if self.ints[number].wide else 4)
        if self.crc_ok is not None:
            self.crc_ok.size = self.count
        self.rows_max = self.count
        return self.made


    cdef dict sizes(self):
        """Return the size of the data of each column of text, and a little more."""
        sizes = {name: made for name, made in self.made.items() if isinstance(made, Texts)}
        if self.properties is not None:
            sizes.update(self.properties.inner)
        return {name: len(made.data) + len(made.data) // 16 for name, made in sizes.items()}


cdef int take_places(places, int size, int64_t *place) except -1:
    """Copy four places into ``place``; refuse what is not within a head of such hosts."""
    for lane in range(4):
        place[lane] = places[lane]
        growth = HOST_GROWTH * ((lane & 1) + (lane >> 1))
        if place[lane] < 0 or place[lane] + size > HEAD_SIZE + growth:
            raise IndexError(f"{size} bytes at byte {place[lane]} of a head")
    return 0
