"""The index at the safe point: what the safe point records of it, and how a start restores it.

    | header | slots … | 1 … K-1 | K … |      K: entry count of records below the safe point
      rebuilt  rebuilt   synced    zeros, then filled again by the scan of the tail

Rule: the safe point counts the entries of records below it and no others, as it does for
queues. These entries were synced and never change. Slots and header do change, so a start
rebuilds them from the entries. It reads one index file at most (400 MB with the default
sizes), however long the log is. If a file is missing or cannot be right, the safe point is not
valid, and the whole log is scanned.

Source: store/index/IndexService.java#load (which deletes the last file after a crash).
"""

from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Final

from mqserver.store.disk.disk import Disk, DiskFile
from mqserver.store.disk.zeros import data_parts
from mqserver.store.index.index import Index
from mqserver.store.index.index_file import IndexFile
from mqserver.store.index.usable_files import index_geometry, is_usable, open_index_file
from mqserver.store.recovery.safe_point import IndexMark
from mqserver.store.recovery.trust import SafePointWrong
from mqserver.store.store_config import StoreConfig
from storefmt.formats.index import (
    ENTRY,
    HEADER,
    IndexEntry,
    IndexHeader,
    decode_slots,
    encode_slots,
    entry_pos,
    index_file_size,
)
from storefmt.formats.index import slot_pos as position_of_slot
from storefmt.paths import StorePaths

_CHUNK_SIZE: Final = ENTRY.size << 16
_SLOTS_A_READ: Final = 1 << 16
_LOOK_BACK: Final = 512
_UNKNOWN_MS: Final = 0


class IndexEnds:
    """The written end of an index as it is now, for a thread that may read the files later.

    The index must have been written.
    """

    def __init__(self, disk: Disk, index: Index) -> None:
        self._disk = disk
        self._slot_count = index.slot_count
        self._files = [(file.path, file.header) for file in index.files]

    def mark(self, *, below: int) -> IndexMark:
        """Return what the safe point may record: the entries of records below a log offset.

        Raises:
            OSError: an index file could not be read.
        """
        files = list(self._files)
        while files:
            path, header = files.pop()
            header = self._header_below(path, header, below)
            if header.entry_count > 1:
                return IndexMark(
                    names=[*(path.name for path, _ in files), path.name], header=tuple(header)
                )
        return IndexMark()

    def _header_below(self, path: Path, header: IndexHeader, below: int) -> IndexHeader:
        """Return a header that leaves out the entries of records from ``below`` on."""
        count, used = header.entry_count, header.slot_count
        if count <= 1 or header.end_log_offset < below:
            return header
        file = self._disk.open(path)
        try:
            while count > 1:
                low = max(1, count - _LOOK_BACK)
                pos = entry_pos(low, slot_count=self._slot_count)
                data = file.pread((count - low) * ENTRY.size, pos)
                for entry in reversed([*map(IndexEntry._make, ENTRY.iter_unpack(data))]):
                    if entry.log_offset < below:
                        return header._replace(
                            end_ms=_UNKNOWN_MS, end_log_offset=entry.log_offset,
                            slot_count=used, entry_count=count,
                        )  # fmt: skip
                    used -= entry.previous == 0
                    count -= 1
        finally:
            file.close()
        return header._replace(entry_count=count)


def load_marked_index(
    disk: Disk,
    paths: StorePaths,
    config: StoreConfig,
    *,
    mark: IndexMark,
    store_ms_at: Callable[[int], int],
) -> Index:
    """Return the index in the state that the safe point records.

    Args:
        disk: the disk that holds the store.
        paths: the store's paths.
        config: the store's settings.
        mark: the index when the safe point was written.
        store_ms_at: returns the store time (ms) of the record at a log offset, 0 for none.

    Raises:
        SafePointWrong: the files do not agree with ``mark``.
        OSError: the disk refused.
    """
    names = _names_from(disk, paths, mark)
    kept = [name for name, marked in zip(names, mark.names, strict=False) if name == marked]
    slot_count, entry_count_max = index_geometry(disk, paths, config, kept)
    size = index_file_size(slot_count, entry_count_max)
    files: list[IndexFile] = []
    for name in mark.names:
        stat = disk.stat(paths.index / name)
        is_there = name in kept and stat is not None and stat.size == size
        is_last = name == mark.names[-1]
        if is_there and is_last:
            header = IndexHeader(*mark.header)
            is_there = 1 < header.entry_count <= entry_count_max
            is_there = is_there and _rewind(
                disk, paths.index / name, header,
                slot_count=slot_count, file_size=size, store_ms_at=store_ms_at,
            )  # fmt: skip
        file = None
        if is_there:
            file = open_index_file(disk, paths, name, slot_count, entry_count_max)
        if file is None or not is_usable(file, None) or not (is_last or file.is_full):
            for index_file in files:
                index_file.close()
            raise SafePointWrong(f"index file {name} is missing or not as it was")
        files.append(file)
    for name in names[len(files) :]:
        disk.unlink(paths.index / name)
    return Index(
        disk, paths.index, slot_count=slot_count, entry_count_max=entry_count_max, files=files
    )


def _names_from(disk: Disk, paths: StorePaths, mark: IndexMark) -> list[str]:
    """Return the names of the index files; files that the safe point left out are deleted."""
    names = [name for name in disk.list(paths.index) if name.isdecimal()]
    if not mark.names or mark.names[0] not in names:
        return names
    first = names.index(mark.names[0])
    for name in names[:first]:
        disk.unlink(paths.index / name)
    return names[first:]


def _rewind(
    disk: Disk,
    path: Path,
    header: IndexHeader,
    *,
    slot_count: int,
    file_size: int,
    store_ms_at: Callable[[int], int],
) -> bool:
    """Restore a file to a header; return False if it cannot have had that header."""
    end = entry_pos(header.entry_count, slot_count=slot_count)
    file = disk.open(path)
    try:
        last = IndexEntry.decode(file.pread(ENTRY.size, end - ENTRY.size))
        if last.log_offset != header.end_log_offset:
            return False
        if header.end_ms == _UNKNOWN_MS:
            # If the record has expired, its store time is known only to the second.
            end_ms = store_ms_at(last.log_offset)
            header = header._replace(end_ms=end_ms or header.begin_ms + last.time_diff_s * 1000)
        if _has_slot_beyond(file, header.entry_count, slot_count):
            _write_slots(file, end, slot_count)
        for pos, data in data_parts(file, end, file_size):
            file.pwrite(bytes(len(data)), pos)
        if file.pread(HEADER.size, 0) != header.encode():
            file.pwrite(header.encode(), 0)
        file.fdatasync()
        return True
    finally:
        file.close()


def _has_slot_beyond(file: DiskFile, entry_count: int, slot_count: int) -> bool:
    """Return whether any slot points at an entry that may not be synced."""
    for slot in range(0, slot_count, _SLOTS_A_READ):
        count = min(_SLOTS_A_READ, slot_count - slot)
        words = decode_slots(file.pread(4 * count, position_of_slot(slot)))
        if max(words) >= entry_count or min(words) < 0:
            return True
    return False


def _write_slots(file: DiskFile, end: int, slot_count: int) -> None:
    """Make every slot point at its last entry before the byte position ``end``."""
    slots = array("i", bytes(4 * slot_count))
    pos, number = entry_pos(1, slot_count=slot_count), 1
    while pos < end:
        words = decode_slots(file.pread(min(_CHUNK_SIZE, end - pos), pos))
        for key_hash in words[:: ENTRY.size // 4]:
            slots[key_hash % slot_count] = number
            number += 1
        pos += 4 * len(words)
    encoded = encode_slots(slots)
    for first in range(0, len(encoded), 4 * _SLOTS_A_READ):
        part = encoded[first : first + 4 * _SLOTS_A_READ]
        slot_pos = position_of_slot(first // 4)
        if file.pread(len(part), slot_pos) != part:
            file.pwrite(part, slot_pos)
