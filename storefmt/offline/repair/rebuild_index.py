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

from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import Final, NamedTuple

from storefmt.dispatch.index_table import IndexTable, Row, following_header, new_file_name
from storefmt.dispatch.record_entries import is_indexed, tag_and_keys_of
from storefmt.errors import StoreError
from storefmt.formats.index import (
    ENTRY_COUNT,
    SLOT_COUNT,
    IndexHeader,
    index_key,
)
from storefmt.formats.index import KEY_SEPARATOR as INDEX_SEPARATOR
from storefmt.formats.javahash import index_key_hash
from storefmt.formats.message import Record
from storefmt.offline.output_dir import OutputDirectory, SparseFile, progress_none
from storefmt.offline.views.effective_log import EffectiveLog
from storefmt.offline.views.geometry import IndexShape
from storefmt.offline.views.indexes import IndexView
from storefmt.offline.views.store_view import StoreView
from storefmt.offline.views.tree import V5_MARKS

_BUFFER_SIZE: Final = 1 << 20


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
        out: OutputDirectory,
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
        """Log offset of the last entry that a share skipped, -1 for none."""
        self.end_log_offset = -1
        """Log offset of the last entry, -1 for none."""
        self._passed = share.passed if share else 0
        self._one_file = share is not None and not share.is_last
        self._out = out
        self._shape = shape
        self._names = names
        self._with_tags = with_tags
        self._last_name = ""
        self._table: IndexTable | None = None
        self._file: SparseFile | None = None
        self._before: IndexHeader | None = None
        """Header of the full file before this one, which may be another writer's."""
        self._made_ms = 0

    def history(self, header: IndexHeader, rows: Iterable[tuple[int, int, int]]) -> None:
        """Copy entries of an old file: (key hash, log offset, seconds) of each."""
        self._new_file(header.begin_ms)
        begin_ms, table = header.begin_ms, self._table
        assert table is not None
        table.begin_ms = begin_ms
        for key_hash, log_offset, seconds in rows:
            self._put([(key_hash, log_offset, begin_ms + seconds * 1000)])
            # The first entry counts from the end of a file that no longer exists.
            table.begin_ms = begin_ms

    def record(self, record: Record, log_offset: int) -> None:
        """Add the keys of one record.

        Raises:
            OSError: the disk refuses.
        """
        store_ms = record.store_ms
        if not self._passed and not self._has_room(store_ms):
            return
        if not is_indexed(record.sys_flag):
            return
        keys = index_keys(record, with_tags=self._with_tags)
        rows = [
            (index_key_hash(index_key(record.topic, key)), log_offset, store_ms) for key in keys
        ]
        self._put(self._pass_over(rows) if self._passed else rows)

    def _pass_over(self, rows: list[Row]) -> list[Row]:
        """Return the entries of a record that do not belong to another writer's file."""
        left = rows[self._passed :]
        self._passed = max(0, self._passed - len(rows))
        if not self._passed:
            # The last entry of the file before is of this record.
            _, self.follows, store_ms = rows[-1]
            self._before = IndexHeader(store_ms, store_ms, self.follows, self.follows)
        return left

    def close(self) -> None:
        """Write the last file to its end.

        Raises:
            OSError: the disk refuses.
        """
        if self._table is not None:
            self._finish(self._table)

    def _put(self, rows: list[Row]) -> None:
        """Add keys, in new files if the last one is full."""
        while rows:
            if not self._has_room(rows[0][2]):
                return
            assert self._table is not None
            count = self._table.put_rows(rows)
            self.end_log_offset = rows[count - 1][1]
            self.entry_total += count
            rows = rows[count:]
            if self._table.fresh_size >= _BUFFER_SIZE:
                self._table.write_to(self._opened(self._table), pages_max=0)

    def _has_room(self, now_ms: int) -> bool:
        """Begin a new file if the last one is full; return False if a share has all its files."""
        if self._table is not None and not self._table.is_full:
            return True
        if self._table is not None and self._one_file:
            self.is_done = True
            return False
        self._new_file(now_ms)
        return True

    def _new_file(self, now_ms: int) -> None:
        if self._table is not None:
            self._finish(self._table)
            self._before = self._table.header
        if self._before is not None:
            self.full_end_ms = self._before.end_ms
        slot_count, entry_count = self._shape
        header = following_header(self._before)
        self._table = IndexTable(header, slot_count=slot_count, entry_count_max=entry_count)
        self._made_ms = now_ms
        self.file_count += 1

    def _finish(self, table: IndexTable) -> None:
        table.write_to(self._opened(table))
        self._opened(table).close()
        self._file = None

    def _opened(self, table: IndexTable) -> SparseFile:
        if self._file is None:
            path = self._out.file("index", self._name(table))
            self._file = SparseFile(path, size=table.file_size)
        return self._file

    def _name(self, table: IndexTable) -> str:
        old = self._names.get(table.begin_log_offset, "") if table.entry_count > 1 else ""
        new_name = new_file_name(self._made_ms, last=self._last_name)
        self._last_name = old if old > self._last_name else new_name
        return self._last_name


def index_keys(record: Record, *, with_tags: bool) -> tuple[str, ...]:
    """Return the keys that the index has of a record, in their order.

    Args:
        with_tags: 5.x adds the tag as ``T#<tag>``.
    """
    tag, keys = tag_and_keys_of(record.properties_raw)
    return (*keys, f"T{INDEX_SEPARATOR}{tag}") if with_tags and tag else keys


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


def shape_of(old: StoreView, *, slot_count: int = 0, entry_count: int = 0) -> IndexShape:
    """Return the shape of the files: as given, else that of the old files, else the default."""
    return IndexShape(
        slot_count or old.geometry.index_slot_count or SLOT_COUNT,
        entry_count or old.geometry.index_entry_count or ENTRY_COUNT,
    )


def indexes_tags(old: StoreView) -> bool:
    """Return whether the index also contains tags, as 5.x writes them."""
    return any((old.root / mark).exists() for mark in V5_MARKS)


def has_history(old: StoreView, log_min: int) -> bool:
    """Return whether the old index has entries from before the log's first record."""
    return next(_histories(old, log_min), None) is not None


def index_files(
    out: OutputDirectory, old: StoreView, shape: IndexShape, *, share: IndexShare | None = None
) -> IndexFiles:
    """Return a new writer of the index."""
    return IndexFiles(out, shape, names=_names(old), with_tags=indexes_tags(old), share=share)


def take_history(index: IndexFiles, old: StoreView, log_min: int) -> None:
    """Copy the entries of the old index from before the log's first record."""
    for header, view in _histories(old, log_min):
        try:
            index.history(header, takewhile(lambda row: row[1] < log_min, _rows(view)))
        except StoreError:
            return


def write_index(
    store: StoreView, out: OutputDirectory, *, share: IndexShare | None = None, start: int = 0
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


def _names(old: StoreView) -> dict[int, str]:
    names: dict[int, str] = {}
    for view in old.index_files:
        try:
            if view.header.entry_count > 1:
                names.setdefault(view.header.begin_log_offset, view.span.path.name)
        except StoreError:
            # The file is cut; it gets a name by its time.
            continue
    return names


def _histories(old: StoreView, log_min: int) -> Iterator[tuple[IndexHeader, IndexView]]:
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
        # A damaged entry finds nothing, so it is not copied.
        if min(entry.key_hash, entry.log_offset, entry.time_diff_s) >= 0:
            yield entry.key_hash, entry.log_offset, entry.time_diff_s
