"""The index after a crash: back to what the safe point says, and on from there.

    | header | slots … | 1 … K-1 | K … |      K: entry count at the safe point
      again    again     synced    zeros, and filled again by the walk of the tail

Rule: entries below the safe point were synced and never change; slots and header do, so
they are made again from the entries. That reads one index file at most (400 MB in the
usual geometry), however long the log is. A file that is missing or cannot be right goes
with all that follow it, and the log is walked for their keys.

Source: store/index/IndexService.java#load (which deletes the last file after a crash).
"""

import sys
from array import array
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Final

from server.store.calls import RecoveryReport
from server.store.config import StoreConfig
from server.store.disk import Disk, DiskFile
from server.store.index import Index
from server.store.indexfile import IndexFile
from server.store.indexfiles import index_geometry, is_usable, open_index_file
from server.store.safepoint import IndexMark
from server.store.zeros import data_parts
from storefmt.index import ENTRY, HEADER, IndexEntry, IndexHeader, entry_pos, index_file_size
from storefmt.index import slot_pos as position_of_slot
from storefmt.paths import StorePaths

_CHUNK_SIZE: Final = ENTRY.size << 16
_SLOTS_A_READ: Final = 1 << 16


def load_marked_index(
    disk: Disk,
    paths: StorePaths,
    config: StoreConfig,
    *,
    mark: IndexMark,
    safe: int,
    store_ms_at: Callable[[int], int],
    report: RecoveryReport,
) -> tuple[Index, int]:
    """Return the index as it was at log offset ``safe``, and from where it lacks keys.

    Args:
        mark: the index when the safe point was written.
        store_ms_at: gives the store time (ms) of the record at a log offset.

    Raises:
        OSError: the disk refused.
    """
    names = _names_from(disk, paths, mark)
    kept = [name for name, wanted in zip(names, mark.names, strict=False) if name == wanted]
    slot_count, entry_count_max = index_geometry(disk, paths, config, kept)
    rewinding = _Rewind(disk, slot_count, entry_count_max, safe=safe, store_ms_at=store_ms_at)
    files: list[IndexFile] = []
    emptied = 0
    for name in kept:
        stat = disk.stat(paths.index / name)
        if stat is None or stat.size != index_file_size(slot_count, entry_count_max):
            break
        is_last = name == mark.names[-1]
        if is_last:
            outcome = rewinding.run(paths.index / name, IndexHeader(*mark.header))
            emptied = outcome is _Outcome.EMPTY
            if outcome is not _Outcome.DONE:
                break
        file = open_index_file(disk, paths, name, slot_count, entry_count_max)
        if file is None or not is_usable(file, None) or not (is_last or file.is_full):
            break
        files.append(file)
    is_whole = len(files) + emptied == len(mark.names)
    while files and files[-1].end_log_offset >= safe:
        file = files.pop()
        file.close()
        outcome = rewinding.run(file.path, file.header)
        # A start that was interrupted here leaves a file that says more than it has.
        is_whole = is_whole and outcome is not _Outcome.DAMAGED
        if outcome is _Outcome.DONE:
            again = open_index_file(disk, paths, file.path.name, slot_count, entry_count_max)
            files += [] if again is None else [again]
    for name in names[len(files) :]:
        disk.unlink(paths.index / name)
    if not is_whole:
        report.rebuilt_index_files += len(mark.names) - len(files)
    index = Index(
        disk, paths.index, slot_count=slot_count, entry_count_max=entry_count_max, files=files
    )
    return index, safe if is_whole else index.end_log_offset


def has_marked_files(index: Index | None, mark: IndexMark | None) -> bool:
    """Tell whether every file that a safe point names is still there.

    One without a key below it went: if that is not said, the next start misses the file, and
    goes through all of the log for its keys.
    """
    names = [] if mark is None else mark.names
    return index is None or [file.path.name for file in index.files[: len(names)]] == names


def _names_from(disk: Disk, paths: StorePaths, mark: IndexMark) -> list[str]:
    """Return the names of the index files; what expired and was said to is deleted now."""
    names = [name for name in disk.list(paths.index) if name.isdecimal()]
    if not mark.names or mark.names[0] not in names:
        return names
    first = names.index(mark.names[0])
    for name in names[:first]:
        disk.unlink(paths.index / name)
    return names[first:]


class _Outcome(Enum):
    DONE = "as at the safe point"
    EMPTY = "all of its records came after it"
    DAMAGED = "its last entry is another one"


class _Rewind:
    def __init__(
        self,
        disk: Disk,
        slot_count: int,
        entry_count_max: int,
        *,
        safe: int,
        store_ms_at: Callable[[int], int],
    ) -> None:
        self._disk = disk
        self._slot_count = slot_count
        self._entry_count_max = entry_count_max
        self._safe = safe
        self._store_ms_at = store_ms_at

    def run(self, path: Path, header: IndexHeader) -> _Outcome:
        """Bring a file back to the safe point; an empty one is left as it is."""
        if header.entry_count <= 1:
            return _Outcome.EMPTY
        if header.entry_count > self._entry_count_max:
            return _Outcome.DAMAGED
        file = self._disk.open(path)
        try:
            if self._entry(file, header.entry_count - 1).log_offset != header.end_log_offset:
                return _Outcome.DAMAGED
            wanted = self._header(file, header)
            if wanted is None:
                return _Outcome.EMPTY
            self._write_slots(file, wanted.entry_count)
            self._erase(file, entry_pos(wanted.entry_count, slot_count=self._slot_count))
            if file.pread(HEADER.size, 0) != wanted.encode():
                file.pwrite(wanted.encode(), 0)
            file.fdatasync()
            return _Outcome.DONE
        finally:
            file.close()

    def _entry(self, file: DiskFile, number: int) -> IndexEntry:
        pos = entry_pos(number, slot_count=self._slot_count)
        return IndexEntry.decode(file.pread(ENTRY.size, pos))

    def _header(self, file: DiskFile, header: IndexHeader) -> IndexHeader | None:
        """Return the header without the entries of records that were not synced."""
        count, used = header.entry_count, header.slot_count
        entry = self._entry(file, count - 1)
        while entry.log_offset >= self._safe:
            used -= entry.previous == 0
            count -= 1
            if count <= 1:
                return None
            entry = self._entry(file, count - 1)
        if count == header.entry_count:
            return header
        return header._replace(
            end_ms=self._store_ms_at(entry.log_offset),
            end_log_offset=entry.log_offset,
            slot_count=used,
            entry_count=count,
        )

    def _write_slots(self, file: DiskFile, entry_count: int) -> None:
        """Let every slot point at its last entry below ``entry_count``."""
        if not self._points_beyond(file, entry_count):
            return
        slot_count = self._slot_count
        slots = array("i", bytes(4 * slot_count))
        end = entry_pos(entry_count, slot_count=slot_count)
        pos, number = entry_pos(1, slot_count=slot_count), 1
        while pos < end:
            words = _words(file.pread(min(_CHUNK_SIZE, end - pos), pos))
            for key_hash in words[:: ENTRY.size // 4]:
                slots[key_hash % slot_count] = number
                number += 1
            pos += 4 * len(words)
        _swap(slots)
        wanted = slots.tobytes()
        for first in range(0, len(wanted), 4 * _SLOTS_A_READ):
            part = wanted[first : first + 4 * _SLOTS_A_READ]
            at = position_of_slot(first // 4)
            if file.pread(len(part), at) != part:
                file.pwrite(part, at)

    def _points_beyond(self, file: DiskFile, entry_count: int) -> bool:
        """Tell whether a slot points at what was not synced."""
        for slot in range(0, self._slot_count, _SLOTS_A_READ):
            count = min(_SLOTS_A_READ, self._slot_count - slot)
            words = _words(file.pread(4 * count, position_of_slot(slot)))
            if max(words) >= entry_count or min(words) < 0:
                return True
        return False

    def _erase(self, file: DiskFile, start: int) -> None:
        size = index_file_size(self._slot_count, self._entry_count_max)
        for pos, data in data_parts(file, start, size):
            file.pwrite(bytes(len(data)), pos)


def _words(data: bytes) -> "array[int]":
    words = array("i", data)
    _swap(words)
    return words


def _swap(words: "array[int]") -> None:
    if sys.byteorder == "little":
        words.byteswap()
