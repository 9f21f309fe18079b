"""The index made again from the log: by one writer, or shared out, a file a writer.

    log ──records──> IndexFiles ──> index/<time>          ``write_index``
    writer 1, 2 …:   the log from the file in which the index file before ends

Rule: sizes and names of files, and entries of messages that the log has no more (history), are
those of the old index. An index with history has one writer: what its first file has room for
depends on it.

Source: store/index/IndexService.java.
"""

from collections.abc import Iterator
from itertools import takewhile
from typing import NamedTuple

from storefmt.errors import StoreError
from storefmt.formats.index import ENTRY_COUNT, SLOT_COUNT, IndexHeader
from storefmt.formats.message import Record
from storefmt.offline.output_dir import OutDir, progress_none
from storefmt.offline.repair.index_writer import IndexFiles, IndexShare
from storefmt.offline.views.effective_log import SolidLog
from storefmt.offline.views.geometry import IndexShape
from storefmt.offline.views.indexes import IndexView
from storefmt.offline.views.opened import Opened
from storefmt.offline.views.tree import V5_MARKS


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
    """Return the shape of the files: as told, else as the old ones, else as stock ones."""
    return IndexShape(
        slot_count or old.geometry.index_slot_count or SLOT_COUNT,
        entry_count or old.geometry.index_entry_count or ENTRY_COUNT,
    )


def indexes_tags(old: Opened) -> bool:
    """Return whether the index has tags, too, as that of 5.x."""
    return any((old.root / mark).exists() for mark in V5_MARKS)


def has_history(old: Opened, log_min: int) -> bool:
    """Return whether the old index knows of the time before the log's first record."""
    return next(_histories(old, log_min), None) is not None


def index_files(
    out: OutDir, old: Opened, shape: IndexShape, *, share: IndexShare | None = None
) -> IndexFiles:
    """Return the writer of an index, which has nothing yet."""
    return IndexFiles(out, shape, names=_names(old), with_tags=indexes_tags(old), share=share)


def take_history(index: IndexFiles, old: Opened, log_min: int) -> None:
    """Take over what the old index knows of the time before the log's first record."""
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
        share: what is written, of a store without history; all when None.
        start: log offset of the first file to read, for a share.

    Raises:
        StoreError: the disk refuses a read.
        OSError: it refuses a write.
    """
    log = SolidLog(store)
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
