"""Rebuilds the index from the log; the files are split and filled as a broker does it.

    record ──> its unique key, then its keys ──> file 0, full ──> file 1 …

Rule: a file is made when a record comes and the last file is full, even if the record has no keys.
The first entry of a file counts its seconds from the end of the file before, and the header counts
the slots in use. Names and sizes of files come from the old index. Entries of an old file that
point before the log (history) are copied, because the log no longer contains their records.

One writer makes all files, or several writers make one file each (``IndexShare``). An index with
history has one writer, because the room that history leaves decides where the files end.

Source: store/index/IndexService.java#buildIndex, #getAndCreateLastIndexFile,
store/index/IndexFile.java#putKey (4.9.7).
"""

import sys
from array import array
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import takewhile
from typing import Final, NamedTuple

from storefmt.errors import StoreError
from storefmt.formats.index import (
    ENTRY,
    ENTRY_COUNT,
    HEADER,
    SLOT_COUNT,
    IndexHeader,
    entry_pos,
    index_file_size,
    slot_pos,
    time_diff_s,
)
from storefmt.formats.index import KEY_SEPARATOR as INDEX_SEPARATOR
from storefmt.formats.javahash import KeyHashes
from storefmt.formats.message import Record
from storefmt.formats.properties import KEY_SEPARATOR, KEYS, TAGS, UNIQUE_KEY, parse_properties
from storefmt.formats.sysflag import TRANSACTION_MASK, TRANSACTION_ROLLBACK
from storefmt.offline.output_dir import OutDir, SparseFile, progress_none
from storefmt.offline.views.effective_log import EffectiveLog
from storefmt.offline.views.geometry import IndexShape
from storefmt.offline.views.indexes import IndexView
from storefmt.offline.views.opened import Opened
from storefmt.offline.views.tree import V5_MARKS

_BUFFER_SIZE: Final = 1 << 20
_SLOTS_A_WRITE: Final = 1 << 18
_UNIQUE_KEY: Final = f"{UNIQUE_KEY}\x01".encode()
_KEYS: Final = f"{KEYS}\x01".encode()


class IndexShare(NamedTuple):
    """The share of one of several writers of an index.

    Attributes:
        passed: number of entries, from the first record on, that belong to other writers' files.
        is_last: whether this writer continues to the end of the log; the others make one file.
    """

    passed: int
    is_last: bool


class IndexFiles:
    """Writes the index files of one store, or one writer's share of them.

    Args:
        out: the directory to write ``index/…`` into.
        shape: slots and entries of each file.
        names: names of the old files, by the log offset of the file's first entry.
        with_tags: also index the tag, as 5.x does.
        share: the part to write; None for the whole index.
    """

    def __init__(
        self,
        out: OutDir,
        shape: IndexShape,
        *,
        names: dict[int, str],
        with_tags: bool = False,
        share: IndexShare | None = None,
    ) -> None:
        self.file_count = 0
        self.entry_total = 0
        self.full_end_ms = 0
        """Store time of the last entry of the last file that is full; 0 for none."""
        self.is_done = False
        """Whether the file of this share is full."""
        self.follows = -1
        """Log offset of the last entry that a share passed over, -1 for none."""
        self.end_log_offset = -1
        """Log offset of the last entry, -1 for none."""
        self._passed = share.passed if share else 0
        self._one_file = share is not None and not share.is_last
        self._before_elsewhere = False
        self._out = out
        self._shape = shape
        self._names = names
        self._with_tags = with_tags
        self._hashes = KeyHashes()
        self._last_name = ""
        self._slots = array("i")
        self._header: IndexHeader | None = None
        self._file: SparseFile | None = None
        self._made_ms = 0
        self._buffer = bytearray()
        self._written = 0

    def history(self, header: IndexHeader, rows: Iterable[tuple[int, int, int]]) -> None:
        """Copy entries of an old file: (key hash, log offset, seconds) of each."""
        self._new_file(header.begin_ms)
        assert self._header is not None
        first_ms = header.begin_ms
        self._header = self._header._replace(begin_ms=first_ms)
        for key_hash, log_offset, seconds in rows:
            self._put([key_hash], log_offset, first_ms + seconds * 1000, history_s=seconds)

    def record(self, record: Record, log_offset: int) -> None:
        """Add the keys of one record.

        Raises:
            OSError: the disk refuses.
        """
        header = self._header
        full = header is None or header.entry_count >= self._shape.entry_count
        if full and not self._passed and not self._new_file(record.store_ms):
            return
        raw = record.properties_raw
        if _UNIQUE_KEY not in raw and _KEYS not in raw and not self._with_tags:
            return
        if record.sys_flag & TRANSACTION_MASK == TRANSACTION_ROLLBACK:
            return
        room, hash_of = self._shape.entry_count, self._hashes.of(record.topic)
        hashes = [hash_of(key) for key in self._keys(record)]
        if self._passed:
            hashes = self._pass_over(hashes, record.store_ms, log_offset)
        while hashes:
            assert self._header is not None
            if self._header.entry_count >= room and not self._new_file(record.store_ms):
                return
            count = min(len(hashes), room - self._header.entry_count)
            self._put(hashes[:count], log_offset, record.store_ms)
            del hashes[:count]

    def _pass_over(self, hashes: list[int], store_ms: int, log_offset: int) -> list[int]:
        """Return the entries of a record that are not in another writer's file."""
        left = hashes[self._passed :]
        self._passed = max(0, self._passed - len(hashes))
        if not self._passed:
            # The last entry of the file before is of this record.
            self.follows = log_offset
            room = self._shape.entry_count
            self._header = IndexHeader(store_ms, store_ms, log_offset, log_offset, 0, room)
            self._before_elsewhere = True
        return left

    def _keys(self, record: Record) -> list[str]:
        return index_keys(record, with_tags=self._with_tags)

    def close(self) -> None:
        """Write the last file to its end.

        Raises:
            OSError: the disk refuses.
        """
        if self._header is not None and not self._before_elsewhere:
            self._finish()

    def _put(
        self, hashes: list[int], log_offset: int, store_ms: int, *, history_s: int | None = None
    ) -> None:
        """Add the keys of one record, for which there is room.

        Args:
            history_s: the seconds that the entry has, where they are known.
        """
        header, slots, slot_count = self._header, self._slots, self._shape.slot_count
        assert header is not None
        begin_ms, end_ms, begin, end, used, number = header
        seconds = time_diff_s(store_ms, begin_ms=begin_ms) if history_s is None else history_s
        for key_hash in hashes:
            slot = key_hash % slot_count
            previous = slots[slot]
            slots[slot] = number
            used += previous == 0
            if number <= 1:
                begin_ms = begin_ms if history_s is not None else store_ms
                begin = log_offset
            number += 1
            self._buffer += ENTRY.pack(key_hash, log_offset, seconds, previous)
            if history_s is None and number == 2:
                # The first entry counts from the end of the file before, the next from itself.
                seconds = time_diff_s(store_ms, begin_ms=begin_ms)
        if hashes:
            end_ms, end = store_ms, log_offset
            self.end_log_offset = log_offset
        self.entry_total += len(hashes)
        self._header = IndexHeader(begin_ms, end_ms, begin, end, used, number)
        if len(self._buffer) >= _BUFFER_SIZE:
            self._flush()

    def _new_file(self, now_ms: int) -> bool:
        """Begin a file and return True; False if the only file of a share is full."""
        before = self._header
        if before is not None and self._one_file and self.file_count:
            self.is_done = True
            return False
        self._header = IndexHeader()
        if before is not None:
            if not self._before_elsewhere:
                self._header = before
                self._finish()
            self._before_elsewhere = False
            self.full_end_ms = before.end_ms
            end = before.end_log_offset
            self._header = IndexHeader(before.end_ms, before.end_ms, end, end, 0, 1)
        self._slots = array("i", bytes(4 * self._shape.slot_count))
        self._made_ms = now_ms
        self._written = 1
        self.file_count += 1
        return True

    def _finish(self) -> None:
        header = self._header
        assert header is not None
        self._flush()
        assert self._file is not None
        for start in range(0, len(self._slots), _SLOTS_A_WRITE):
            part = self._slots[start : start + _SLOTS_A_WRITE]
            if sys.byteorder == "little":
                part.byteswap()
            self._file.write_sparse(part.tobytes(), slot_pos(start))
        count = header.entry_count
        # Java never writes the 1 that the count of an empty file stands for.
        kept = header._replace(entry_count=0) if count <= 1 else header
        self._file.write(kept.encode()[: HEADER.size], 0)
        self._file.close()
        self._file, self._header = None, None

    def _flush(self) -> None:
        if self._file is None:
            size = index_file_size(*self._shape)
            self._file = SparseFile(self._out.file("index", self._name()), size=size)
        pos = entry_pos(self._written, slot_count=self._shape.slot_count)
        self._file.write(self._buffer, pos)
        self._written += len(self._buffer) // ENTRY.size
        self._buffer = bytearray()

    def _name(self) -> str:
        assert self._header is not None
        empty = self._header.entry_count <= 1
        old = None if empty else self._names.get(self._header.begin_log_offset)
        name = old or time_name(self._made_ms)
        while name <= self._last_name:
            self._made_ms += 1
            name = max(time_name(self._made_ms), _after(self._last_name))
        self._last_name = name
        return name


def index_keys(record: Record, *, with_tags: bool = False) -> list[str]:
    """Return the keys that the index has of a record, in their order.

    Args:
        with_tags: 5.x adds the tag as ``T#<tag>``.
    """
    properties = parse_properties(record.properties_raw)
    unique = properties.get(UNIQUE_KEY)
    keys = [key for key in properties.get(KEYS, "").split(KEY_SEPARATOR) if key]
    if with_tags and TAGS in properties:
        keys.append(f"T{INDEX_SEPARATOR}{properties[TAGS]}")
    return keys if unique is None else [unique, *keys]


def time_name(now_ms: int) -> str:
    """Return the name of a file made at a time: yyyyMMddHHmmssSSS, local time."""
    try:
        when = datetime.fromtimestamp(now_ms / 1000)
    except (ValueError, OverflowError, OSError):
        # The store time of the record is damaged; any name in the right order is good.
        return f"{0:017d}"
    return f"{when:%Y%m%d%H%M%S}{now_ms % 1000:03d}"


def _after(name: str) -> str:
    return str(int(name) + 1).zfill(len(name))


class IndexWritten(NamedTuple):
    """What was written.

    Attributes:
        follows, end_log_offset: log offsets of the last entry before these, in the file of
            another writer, and of the last of these; -1 for none.
    """

    file_count: int
    entry_count: int
    follows: int
    end_log_offset: int


def shape_of(old: Opened, *, slot_count: int = 0, entry_count: int = 0) -> IndexShape:
    """Return the shape of the files: as given, else that of the old files, else the default."""
    return IndexShape(
        slot_count or old.geometry.index_slot_count or SLOT_COUNT,
        entry_count or old.geometry.index_entry_count or ENTRY_COUNT,
    )


def indexes_tags(old: Opened) -> bool:
    """Return whether the index also contains tags, as 5.x writes them."""
    return any((old.root / mark).exists() for mark in V5_MARKS)


def has_history(old: Opened, log_min: int) -> bool:
    """Return whether the old index has entries from before the log's first record."""
    return next(_histories(old, log_min), None) is not None


def index_files(
    out: OutDir, old: Opened, shape: IndexShape, *, share: IndexShare | None = None
) -> IndexFiles:
    """Return a new writer of the index."""
    return IndexFiles(out, shape, names=_names(old), with_tags=indexes_tags(old), share=share)


def take_history(index: IndexFiles, old: Opened, log_min: int) -> None:
    """Copy the entries of the old index from before the log's first record."""
    for header, view in _histories(old, log_min):
        try:
            index.history(header, takewhile(lambda row: row[1] < log_min, _rows(view)))
        except StoreError:
            return


def write_index(
    store: Opened, out: OutDir, *, share: IndexShare | None = None, start: int = 0
) -> IndexWritten:
    """Write the index of a store from its log, or a share of it.

    Args:
        share: the part to write, for a store without history; None for the whole index.
        start: log offset of the first log file to read, for a share.

    Raises:
        StoreError: a file of the store cannot be read.
        OSError: the output cannot be written.
    """
    log = EffectiveLog(store)
    index = index_files(out, store, shape_of(store), share=share)
    if share is None:
        take_history(index, store, log.min_offset)
    for solid in log.items(progress_none, start=start):
        if isinstance(solid.item, Record):
            index.record(solid.item, solid.log_offset)
        if index.is_done:
            break
    index.close()
    return IndexWritten(index.file_count, index.entry_total, index.follows, index.end_log_offset)


def _names(old: Opened) -> dict[int, str]:
    names: dict[int, str] = {}
    for view in old.index_files:
        try:
            if view.header.entry_count > 1:
                names.setdefault(view.header.begin_log_offset, view.span.path.name)
        except StoreError:
            # The file is cut; it gets a name by its time.
            continue
    return names


def _histories(old: Opened, log_min: int) -> Iterator[tuple[IndexHeader, IndexView]]:
    for view in old.index_files:
        try:
            header, newest = view.header, view is old.index_files[-1]
        except StoreError:
            return
        if header.end_log_offset < log_min and not newest:
            # Retention deletes such a file.
            continue
        if view.shape is None or not 0 <= header.begin_log_offset < log_min:
            return
        if header.entry_count > view.shape.entry_count or header.entry_count <= 1:
            return
        yield header, view
        if header.end_log_offset >= log_min:
            return


def _rows(view: IndexView) -> Iterator[tuple[int, int, int]]:
    for _, entry in view.entries():
        # A damaged entry finds nothing; it is not taken over.
        if min(entry.key_hash, entry.log_offset, entry.time_diff_s) >= 0:
            yield entry.key_hash, entry.log_offset, entry.time_diff_s
