"""One consume queue: 20 bytes a message, files on disk and the newest entries in memory.

    0         min_offset      tail_start       written_count   max_offset
    | expired | files …       | tail: in files | tail: memory  |
                              next_offset = max_offset + what is put but not dispatched

Rule: entries are derived from the commit log and can be built again, so they reach
their files lazily and without fsync; the reader looks at the tail first. Files are
sparse and of one size, named by the byte at which they start. The first file may start
above 0; a queue that starts inside a file begins with fillers.

Source: store/ConsumeQueue.java#putMessagePositionInfo, #fillPreBlank, #correctMinOffset.
"""

from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from server.store.disk import Disk, DiskFile
from storefmt.consumequeue import CQ_ENTRY, ENTRY_SIZE, FILLER
from storefmt.paths import log_file_name, parse_log_file_name

TAIL_FLUSH_SIZE: Final = 8 << 10
"""Bytes of unwritten entries that make a queue write them by itself."""
TAIL_KEEP_SIZE: Final = 100 * ENTRY_SIZE
"""Bytes of written entries that stay in memory for readers at the end of the queue."""
OPEN_FILES_MAX: Final = 256


class QueueFiles:
    """Open queue files of all queues, the least recently used closed first."""

    def __init__(self, disk: Disk, *, file_size: int) -> None:
        self.disk = disk
        self.file_size = file_size
        self.new_directories: set[Path] = set()
        """Directories of files that were made and are not synced by name."""
        self._open: OrderedDict[Path, DiskFile] = OrderedDict()

    def get(self, path: Path, *, create: bool = False) -> DiskFile:
        """Return the open file; ``create`` makes it, with all its (sparse) size.

        Raises:
            OSError: it is not there or cannot be made.
        """
        file = self._open.get(path)
        if file is not None:
            self._open.move_to_end(path)
            return file
        found = self.disk.stat(path) if create else None
        if create and found is None:
            self.disk.mkdir(path.parent)
            self.new_directories.add(path.parent)
        file = self.disk.open(path, create=create)
        # Also one that a full disk let us make and not extend.
        if create and (found is None or found.size < self.file_size):
            try:
                file.truncate(self.file_size)
            except OSError:
                file.close()
                raise
        self._open[path] = file
        if len(self._open) > OPEN_FILES_MAX:
            self._open.popitem(last=False)[1].close()
        return file

    def forget(self, directory: Path) -> None:
        """Close every file below ``directory``."""
        for path in [path for path in self._open if directory in path.parents]:
            self._open.pop(path).close()

    def close(self) -> None:
        """Close all."""
        for file in self._open.values():
            file.close()
        self._open.clear()


class ConsumeQueue:
    """The entries of one queue of one topic; all offsets count entries.

    Args:
        files: shared open files.
        directory: ``consumequeue/<topic>/<queue id>``; made at the first write.
        min_offset: first entry that points at a kept record.
        max_offset: entries there are, expired and filler ones included.
        first: first entry that has a file.
    """

    __slots__ = (
        "_directory",
        "_files",
        "deleted",
        "dirty",
        "first",
        "max_offset",
        "min_offset",
        "next_offset",
        "queue_id",
        "tail",
        "tail_start",
        "topic",
        "topic_part",
        "unsynced",
        "written_count",
    )

    def __init__(
        self,
        files: QueueFiles,
        directory: Path,
        *,
        topic: str,
        queue_id: int,
        min_offset: int = 0,
        max_offset: int = 0,
        first: int = 0,
    ) -> None:
        self._files = files
        self._directory = directory
        self.topic = topic
        self.queue_id = queue_id
        topic_bytes = topic.encode()
        self.topic_part = len(topic_bytes).to_bytes(2, "big")[1:] + topic_bytes
        self.min_offset = min_offset
        self.max_offset = max_offset
        self.next_offset = max_offset
        self.first = first
        self.tail = bytearray()
        self.tail_start = max_offset
        self.written_count = max_offset
        self.dirty = False
        self.deleted = False
        self.unsynced: set[int] = set()

    @property
    def directory(self) -> Path:
        """Where the files are."""
        return self._directory

    @property
    def file_entry_count(self) -> int:
        """Entries in one file."""
        return self._files.file_size // ENTRY_SIZE

    def append(self, log_offset: int, size: int, tags_code: int) -> None:
        """Add the entry ``max_offset``; it stays in memory until ``write``."""
        self.tail += CQ_ENTRY.pack(log_offset, size, tags_code)
        self.max_offset += 1

    @property
    def unwritten_size(self) -> int:
        """Bytes of entries that are only in memory."""
        return (self.max_offset - self.written_count) * ENTRY_SIZE

    def write(self) -> None:
        """Write the entries that are only in memory.

        Raises:
            OSError: the disk did not take them; they stay in memory.
        """
        skip = (self.written_count - self.tail_start) * ENTRY_SIZE
        self.put_bytes(self.written_count, bytes(memoryview(self.tail)[skip:]))
        self.written_count = self.max_offset
        surplus = len(self.tail) - TAIL_KEEP_SIZE
        if surplus > 0:
            del self.tail[:surplus]
            self.tail_start += surplus // ENTRY_SIZE

    def drop_tail(self) -> None:
        """Give back the memory of entries that are in their file."""
        if self.tail and self.written_count == self.max_offset:
            self.tail = bytearray()
            self.tail_start = self.max_offset

    def put_bytes(self, start: int, data: bytes) -> None:
        """Write whole entries from entry ``start`` on, over what is there.

        Raises:
            OSError: the disk did not take them.
        """
        pos = start * ENTRY_SIZE
        done = 0
        file_size = self._files.file_size
        while done < len(data):
            in_file = (pos + done) % file_size
            base = pos + done - in_file
            count = min(file_size - in_file, len(data) - done)
            self._files.get(self.path_at(base), create=True).pwrite(
                data[done : done + count], in_file
            )
            self.unsynced.add(base)
            done += count

    def fill_until(self, start: int) -> None:
        """Make ``start`` the first message: fillers before it in its file.

        Raises:
            OSError: the disk did not take them.
        """
        in_file = start % self.file_entry_count
        self.first = start - in_file
        self.put_bytes(self.first, FILLER * in_file)
        self.min_offset = self.max_offset = self.next_offset = start
        self.tail_start = self.written_count = start

    def path_at(self, base: int) -> Path:
        """Return the path of the file whose first byte is byte ``base`` of the queue."""
        return self._directory / log_file_name(base)

    def read(self, start: int, count: int) -> bytes | bytearray:
        """Return up to ``count`` entries from ``start``; fewer at the end of a file.

        b"" where the entries are not there: below the first file or beyond the end.

        Raises:
            OSError: the disk cannot be read there.
        """
        count = min(count, self.max_offset - start)
        if count <= 0 or start < self.first:
            return b""
        if start >= self.tail_start:
            begin = (start - self.tail_start) * ENTRY_SIZE
            return self.tail[begin : begin + count * ENTRY_SIZE]
        pos = start * ENTRY_SIZE
        in_file = pos % self._files.file_size
        size = min(count * ENTRY_SIZE, self._files.file_size - in_file)
        on_disk = min(size, (self.tail_start - start) * ENTRY_SIZE)
        try:
            data = self._files.get(self.path_at(pos - in_file)).pread(on_disk, in_file)
        except FileNotFoundError:
            return b""
        if on_disk < size and len(data) == on_disk:
            return data + self.tail[: size - on_disk]
        return data[: len(data) - len(data) % ENTRY_SIZE]

    def entry(self, start: int) -> tuple[int, int, int] | None:
        """Return (log offset, size, tags code) of one entry, None where there is none."""
        data = self.read(start, 1)
        if not data:
            return None
        log_offset, size, tags_code = CQ_ENTRY.unpack(data)
        return log_offset, size, tags_code

    def take_unsynced(self) -> list[Path]:
        """Return the files written since the last call."""
        paths = [self.path_at(base) for base in self.unsynced]
        self.unsynced = set()
        return paths

    def remove(self) -> None:
        """Delete the files and the directory of the queue; its topic's directory stays.

        Raises:
            OSError: the disk refused.
        """
        self.deleted = True
        disk = self._files.disk
        self._files.forget(self._directory)
        for name in disk.list(self._directory):
            disk.unlink(self._directory / name)
        if disk.is_dir(self._directory):
            disk.rmdir(self._directory)


def queue_directories(disk: Disk, root: Path) -> Iterator[tuple[str, int, Path]]:
    """Yield (topic, queue id, directory) of every queue directory below ``root``."""
    for topic in disk.list(root):
        for name in disk.list(root / topic) if disk.is_dir(root / topic) else ():
            if name.isdecimal() and disk.is_dir(root / topic / name):
                yield topic, int(name), root / topic / name


def queue_bases(disk: Disk, directory: Path) -> list[int]:
    """Return the byte positions at which the files in a queue directory start, sorted."""
    names = (parse_log_file_name(name) for name in disk.list(directory))
    return [base for base in names if base is not None]
