"""Consume queue ext files: one unit per message for data that a queue entry cannot hold.

    queue entry: log offset, size, address ──> ext file: | tags code, store time, bit map |
                                                            which groups' filters match

Rule: a unit is written to its file before any queue entry holds its address, and it is
synced before the safe point moves past it. An entry without a unit holds its tags code, and
readers accept both kinds, as the real broker does. Recovery writes tags codes into the
entries after the safe point, because their units may have been lost. Units after the last one
that has an entry are cut off at the first write, and files below the first message are
deleted with those of the queue. Without ``enableConsumeQueueExt`` only existing units are
read, and nothing is written.

Source: store/ConsumeQueueExt.java, store/ConsumeQueue.java#putMessagePositionInfoWrapper (4.9.7).
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from mqserver.store.disk.disk import Disk
from mqserver.store.disk.nowait import ColdRead
from mqserver.store.queues.queue import ConsumeQueue, QueueFiles, queue_bases
from mqserver.store.results import DispatchEntry
from storefmt.errors import BadCall, RecordDamaged
from storefmt.formats.consumequeue import CQ_ENTRY, ext_address, ext_offset, is_ext_address
from storefmt.formats.consumequeue_ext import (
    END_OF_FILE,
    ExtUnit,
    decode_unit,
    decode_units,
    encode_unit,
)
from storefmt.paths import StorePaths, log_file_name

LOG = logging.getLogger(__name__)

END_SIZE: Final = 4
"""Bytes at the end of a file that units must leave free."""
_READ_SIZE: Final = 512
_LOOK_COUNT: Final = 4_096


def no_bits(entry: DispatchEntry) -> bytes:
    """Return an empty bit map; used until the broker sets its own function."""
    return b""


@dataclass(slots=True)
class _ExtQueue:
    """The ext files of one queue that units are written for."""

    directory: Path
    end: int
    """Position of the next unit in bytes; -1 if no unit can be written."""
    unsynced: set[Path] = field(default_factory=set)


class ExtFiles:
    """The ext files of one store.

    Args:
        file_size: bytes of one file.
    """

    def __init__(self, disk: Disk, paths: StorePaths, *, file_size: int) -> None:
        self.bit_map: Callable[[DispatchEntry], bytes] = no_bits
        """Returns the bit map of a message; empty for none."""
        self._disk = disk
        self._paths = paths
        self._file_size = file_size
        self._files = QueueFiles(disk, file_size=file_size)
        self._queues: dict[ConsumeQueue, _ExtQueue] = {}

    # Writing.

    def put_unit(self, queue: ConsumeQueue, entry: DispatchEntry) -> int:
        """Write the unit of a message; return the tags code field of its queue entry.

        That is the address of the unit, or the tags code if the unit could not be written.
        """
        ext = self._queues.get(queue)
        try:
            if ext is None:
                ext = self._queues[queue] = self._opened(queue)
            if ext.end < 0:
                return entry.tags_code
            bits = self.bit_map(entry)
            return self._append(ext, encode_unit(ExtUnit(entry.tags_code, entry.store_ms, bits)))
        except (OSError, BadCall) as error:
            LOG.error(
                "could not write an ext unit for offset %d of %s: %s",
                entry.queue_offset,
                queue.topic,
                error,
            )
            return entry.tags_code

    def _append(self, queue: _ExtQueue, unit: bytes) -> int:
        size = self._file_size
        in_file = queue.end % size
        if len(unit) > size - in_file - END_SIZE:
            if in_file:
                self._write(queue, END_OF_FILE)
                queue.end += size - in_file
            if len(unit) > size - END_SIZE:
                raise BadCall(f"ext unit of {len(unit)} bytes in files of {size}")
        self._write(queue, unit)
        start = queue.end
        queue.end += len(unit)
        return ext_address(start)

    def _write(self, queue: _ExtQueue, data: bytes) -> None:
        in_file = queue.end % self._file_size
        path = queue.directory / log_file_name(queue.end - in_file)
        self._files.get(str(path), create=True).pwrite(data, in_file)
        queue.unsynced.add(path)

    def _opened(self, queue: ConsumeQueue) -> _ExtQueue:
        """Find the end of the units that have an entry, and cut off those after it."""
        directory = self._paths.queue_ext_dir(queue.topic, queue.queue_id)
        self._drop_unmade(directory)
        bases = queue_bases(self._disk, directory)
        if not bases:
            return _ExtQueue(directory, 0)
        stat = self._disk.stat(directory / log_file_name(bases[0]))
        if stat is None or stat.size != self._file_size:
            LOG.error("ignoring %s, whose files do not have %d bytes", directory, self._file_size)
            return _ExtQueue(directory, -1)
        last = self._last_address(queue)
        end = (
            self._end_of_units(directory, bases[-1]) if last is None else self._end_of(queue, last)
        )
        self._cut(directory, bases, end)
        return _ExtQueue(directory, end)

    def _drop_unmade(self, directory: Path) -> None:
        """Remove files that a crash left with size 0, which never held a unit."""
        for base in queue_bases(self._disk, directory):
            path = directory / log_file_name(base)
            stat = self._disk.stat(path)
            if stat is not None and stat.size == 0:
                self._files.forget(str(path))
                self._disk.unlink(path)

    @staticmethod
    def _last_address(queue: ConsumeQueue) -> int | None:
        """Return the newest ext address in the last two files' worth of entries, or None."""
        start = queue.max_offset
        low = max(queue.first, start - 2 * queue.file_entry_count)
        while start > low:
            # A read ends at the end of a file.
            file_start = (start - 1) - (start - 1) % queue.file_entry_count
            begin = max(low, file_start, start - _LOOK_COUNT)
            for _, _, code in reversed(
                list(CQ_ENTRY.iter_unpack(queue.read(begin, start - begin)))
            ):
                if is_ext_address(code):
                    return int(code)
            start = begin
        return None

    def _end_of(self, queue: ConsumeQueue, address: int) -> int:
        unit = self.read(queue, address)
        offset = ext_offset(address)
        if unit is not None:
            return offset + unit.size
        # The unit is lost: continue in a new file so that its address is not used again.
        return offset - offset % self._file_size + self._file_size

    def _end_of_units(self, directory: Path, base: int) -> int:
        data = self._files.get(str(directory / log_file_name(base))).pread(self._file_size, 0)
        end = 0
        try:
            for pos, unit in decode_units(data):
                end = pos + unit.size
        except RecordDamaged as error:
            LOG.warning("%s: %s", directory, error)
        return base + end

    def _cut(self, directory: Path, bases: list[int], end: int) -> None:
        for base in bases:
            path = directory / log_file_name(base)
            if base >= end:
                self._files.forget(str(path))
                self._disk.unlink(path)
            elif base + self._file_size > end:
                file = self._files.get(str(path))
                file.truncate(end - base)
                file.truncate(self._file_size)

    # Reading.

    def read(self, queue: ConsumeQueue, address: int) -> ExtUnit | None:
        """Return the unit at an address, or None if there is none.

        Raises:
            ColdRead: under ``no_wait``, the unit is not in the page cache.
        """
        offset = ext_offset(address)
        in_file = offset % self._file_size
        directory = self._paths.queue_ext_dir(queue.topic, queue.queue_id)
        try:
            file = self._files.get(str(directory / log_file_name(offset - in_file)))
            data = file.pread(_READ_SIZE, in_file)
            size = int.from_bytes(data[:2], "big", signed=True)
            if size > len(data):
                data = file.pread(size, in_file)
            return decode_unit(data)
        except ColdRead:
            raise
        except (OSError, RecordDamaged):
            return None

    # Files.

    def take_unsynced(self) -> tuple[list[Path], list[Path]]:
        """Return the files written since the last call, and the directories of new ones."""
        files: list[Path] = []
        for ext in self._queues.values():
            files += sorted(ext.unsynced)
            ext.unsynced.clear()
        made = [Path(name) for name in self._files.take_new_names()]
        roots = [self._paths.consumequeue_ext, self._paths.root] if made else []
        return files, made + roots

    def expired(self, queue: ConsumeQueue) -> list[Path]:
        """Close and return the files that hold only units of expired messages."""
        directory = self._paths.queue_ext_dir(queue.topic, queue.queue_id)
        bases = queue_bases(self._disk, directory)
        entry = queue.entry(queue.min_offset) if bases else None
        if entry is None or not is_ext_address(entry[2]):
            return []
        start = ext_offset(entry[2])
        gone = [base for base in bases if base + self._file_size <= start]
        paths = [directory / log_file_name(base) for base in gone]
        for path in paths:
            self._files.forget(str(path))
        return paths

    @property
    def in_use(self) -> bool:
        """Return whether units were written for any queue since the start."""
        return bool(self._queues)

    def has(self, queue: ConsumeQueue) -> bool:
        """Return whether units were written for a queue, which then has to stay loaded."""
        return queue in self._queues

    def remove(self, queue: ConsumeQueue) -> None:
        """Delete the ext files of a deleted queue.

        Raises:
            OSError: the disk refused.
        """
        self._queues.pop(queue, None)
        directory = self._paths.queue_ext_dir(queue.topic, queue.queue_id)
        for name in self._disk.list(directory):
            self._files.forget(str(directory / name))
            self._disk.unlink(directory / name)
        if self._disk.is_dir(directory):
            self._disk.rmdir(directory)

    def close(self) -> None:
        """Close every file."""
        self._files.close()
