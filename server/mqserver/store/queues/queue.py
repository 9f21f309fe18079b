"""One consume queue: 20 bytes per message, in files and, for the newest entries, in memory.

    0         min_offset      tail_start       written_count   max_offset
    | expired | files …       | tail: in files | tail: memory  |
                              next_offset = max_offset + messages put but not dispatched

after it was evicted and loaded again:          written_count    tail_start   max_offset
    | expired | files …                     | in the backlog | tail       |

Rule: entries are derived from the commit log and can be rebuilt, so a thread writes them to
their files lazily and without fsync; readers look in the tail first. Files are sparse,
of one size, and named by the byte position at which they start. The first file may start
above 0; a queue whose first message is not at the start of a file begins with fillers.

Source: store/ConsumeQueue.java#putMessagePositionInfo, #fillPreBlank, #correctMinOffset.
"""

import re
from array import array
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple, final

from mqserver.store.disk.disk import DirEntry, Disk, DiskFile, open_files_max
from mqserver.store.disk.file_write import FileWrite
from mqserver.store.queues.entry_backlog import Backlog
from mqserver.store.queues.evicted_queues import Numbers
from storefmt.dispatch.queue_entries import file_parts
from storefmt.formats.consumequeue import CQ_ENTRY, ENTRY_SIZE, FILLER, FILLER_SIZE
from storefmt.paths import StorePaths, log_file_name, parse_log_file_name

TAIL_KEEP: Final = 100
"""Written entries of a queue that stay in memory for readers at its end."""
OPEN_FILES_MAX: Final = 256
_QUEUE_NAME: Final = re.compile("0|[1-9][0-9]{0,9}")
_ID_MAX: Final = (1 << 31) - 1


class NewNames:
    """Directories whose new names may not be on the disk yet, in a few bytes per queue."""

    def __init__(self) -> None:
        self._ids: dict[str, array[int]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._ids.values())) + len(self._ids)

    def add(self, directory: str) -> None:
        """Record ``<topic>/<queue id>``, the directory of a file that was created."""
        topic, _, queue_id = directory.rpartition("/")
        self._ids.setdefault(topic, array("i")).append(int(queue_id))

    def __iter__(self) -> Iterator[str]:
        """Yield the directory of each queue, then those of the topics, each once."""
        for topic in sorted(self._ids):
            for queue_id in sorted(set(self._ids[topic])):
                yield f"{topic}/{queue_id}"
        yield from sorted(self._ids)


class QueueFiles:
    """Open files of all queues; the least recently used are closed first."""

    def __init__(self, disk: Disk, *, file_size: int) -> None:
        self.disk = disk
        self.file_size = file_size
        self.tail_keep = TAIL_KEEP
        """Written entries of each queue that stay in memory."""
        self.backlog = Backlog()
        self._new_names = NewNames()
        self._open: OrderedDict[str, DiskFile] = OrderedDict()
        self._open_max = open_files_max(OPEN_FILES_MAX)

    def get(self, path: str, *, create: bool = False) -> DiskFile:
        """Return the open file; ``create`` creates it sparse, at its full size.

        Raises:
            OSError: the file does not exist or cannot be created.
        """
        file = self._open.get(path)
        if file is not None:
            self._open.move_to_end(path)
            return file
        file = self._made(path) if create else self.disk.open(path)
        self._open[path] = file
        if len(self._open) > self._open_max:
            self._open.popitem(last=False)[1].close()
        return file

    def _made(self, path: str) -> DiskFile:
        """Open a file for writing and create it if it does not exist."""
        try:
            file = self.disk.open(path)
        except FileNotFoundError:
            directory = path.rpartition("/")[0]
            self.disk.mkdir(directory)
            self._new_names.add(directory)
            # A kill must not leave a file of length 0: with one, a real broker does not start.
            file = self.disk.open(path, create=True, size=self.file_size)
        # A full disk may have let us create the file and not extend it.
        try:
            if file.size() < self.file_size:
                file.truncate(self.file_size)
        except OSError:
            file.close()
            raise
        return file

    def note_names(self, directory: str) -> None:
        """Record a queue's directory with names that may not be on the disk yet."""
        self._new_names.add(directory)

    def take_new_names(self) -> NewNames:
        """Return the directories where files were created since the last call."""
        names, self._new_names = self._new_names, NewNames()
        return names

    def forget(self, path: str) -> None:
        """Close a file if it is open, and forget it."""
        file = self._open.pop(path, None)
        if file is not None:
            file.close()

    def close(self) -> None:
        """Close all files."""
        for file in self._open.values():
            file.close()
        self._open.clear()


class TopicPlace(NamedTuple):
    """Values shared by the queues of one topic, which saves memory with thousands of queues."""

    topic: str
    directory: str
    """``consumequeue/<topic>``."""
    part: bytes
    """The topic as it stands in a record: its length, then its bytes in UTF-8."""

    @classmethod
    def of(cls, paths: StorePaths, topic: str) -> "TopicPlace":
        """Return the shared values of a topic.

        Raises:
            BadCall: the topic cannot be part of a path.
        """
        directory = paths.queue_dir(topic, 0).parent
        name = topic.encode()
        return cls(topic, str(directory), len(name).to_bytes(2, "big")[1:] + name)


@final
class ConsumeQueue:
    """The entries of one queue of one topic; all offsets and counts are in entries.

    Args:
        files: the open files that all queues share.
        place: values that the queues of the topic share; the directory of the queue is created
            at the first write.
        queue_id: the id of the queue in its topic.
        slot: number of the queue in the table, -1 for none.
        first: first entry that has a file.
        min_offset: first entry that points at a retained record.
        synced_count: the entry from which on entries may not be on the disk; the safe point
            covers those before it.
        written_count: the entry after the last one that is in a file.
        max_offset: the entry after the last one; expired entries and fillers count.
        waiting: place in the backlog of the entries between ``written_count`` and
            ``tail_start``, -1 for none.
        next_offset: queue offset of the next message that is put.
    """

    __slots__ = (
        "_files",
        "_place",
        "deleted",
        "first",
        "max_offset",
        "min_offset",
        "next_offset",
        "queue_id",
        "slot",
        "synced_count",
        "tail",
        "tail_start",
        "topic_part",
        "waiting",
        "writing_until",
        "written_count",
    )

    # Arguments are positional for speed: with thousands of queues each message may load one.
    def __init__(
        self, files: QueueFiles, place: TopicPlace, queue_id: int, slot: int = -1, first: int = 0,
        min_offset: int = 0, synced_count: int = 0, written_count: int = 0, max_offset: int = 0,
        waiting: int = -1, next_offset: int = 0,
    ) -> None:  # fmt: skip
        self._files = files
        self._place = place
        self.topic_part = place[2]
        self.queue_id = queue_id
        self.slot = slot
        self.first = first
        self.min_offset = min_offset
        self.synced_count = synced_count
        self.written_count = written_count
        self.max_offset = self.tail_start = max_offset
        self.next_offset = next_offset
        self.waiting = waiting
        self.tail = bytearray()
        self.writing_until = -1
        """The entry after the last one that a thread is writing; -1 if none is."""
        self.deleted = False

    @property
    def topic(self) -> str:
        """The topic."""
        return self._place.topic

    @property
    def key(self) -> tuple[str, int]:
        """Topic and queue id."""
        return self._place.topic, self.queue_id

    @property
    def numbers(self) -> Numbers:
        """The numbers that are kept of the queue while it is evicted."""
        return Numbers(
            self.first, self.min_offset, self.synced_count, self.written_count, self.max_offset,
            self.waiting, self.next_offset,
        )  # fmt: skip

    @property
    def is_written_out(self) -> bool:
        """Return whether every queue offset given out has its entry in a file."""
        return self.next_offset == self.max_offset == self.written_count

    @property
    def directory(self) -> Path:
        """Directory of the queue's files."""
        return Path(f"{self._place.directory}/{self.queue_id}")

    @property
    def file_entry_count(self) -> int:
        """Number of entries in one file."""
        return self._files.file_size // ENTRY_SIZE

    def append(self, log_offset: int, size: int, tags_code: int) -> None:
        """Add the entry ``max_offset``; it stays in memory until ``write``."""
        self.tail += CQ_ENTRY.pack(log_offset, size, tags_code)
        self.max_offset += 1

    @property
    def unwritten_size(self) -> int:
        """Bytes of entries that are only in memory."""
        return (self.max_offset - self.written_count) * ENTRY_SIZE

    @property
    def is_at_new_file(self) -> bool:
        """Return whether the next write has to create a file, which takes ten times as long."""
        return self.written_count % self.file_entry_count == 0

    def recall(self) -> None:
        """Move the queue's entries from the backlog back into the tail."""
        if self.waiting >= 0:
            self.tail[:0] = self._files.backlog.take_entries(self.waiting)
            self.tail_start, self.waiting = self.written_count, -1

    def evict(self) -> None:
        """Move unwritten entries to the backlog; the object must not be used afterwards."""
        tail = self.tail
        if self.written_count > self.tail_start:
            del tail[: (self.written_count - self.tail_start) * ENTRY_SIZE]
        if tail:
            self.waiting = self._files.backlog.add(self.waiting, tail)

    def begin_write(self) -> list[FileWrite]:
        """Copy the entries that are in no file, for a thread that writes them.

        The queue stays loaded until ``end_write``.
        """
        self.recall()
        skip = (self.written_count - self.tail_start) * ENTRY_SIZE
        data, file_size = bytes(memoryview(self.tail)[skip:]), self._files.file_size
        self.writing_until = self.max_offset
        writes, taken_size = [], 0
        for base, pos, size in file_parts(
            self.written_count * ENTRY_SIZE, len(data), file_size=file_size
        ):
            writes.append(
                FileWrite(
                    self.path_at(base), file_size, [(pos, data[taken_size : taken_size + size])]
                )
            )
            taken_size += size
        return writes

    def end_write(self, *, is_done: bool) -> None:
        """Count the entries as written; if they were refused, they stay in memory."""
        pos = self.written_count * ENTRY_SIZE
        # Some of them may be in a file even after an error.
        self.note_written(pos - pos % self._files.file_size)
        until, self.writing_until = self.writing_until, -1
        if not is_done:
            return
        self.written_count = until
        surplus = min(until, self.max_offset - self._files.tail_keep) - self.tail_start
        if surplus > 0:
            del self.tail[: surplus * ENTRY_SIZE]
            self.tail_start += surplus

    def drop_tail(self) -> None:
        """Free the memory of entries if all of them are in their files."""
        if self.tail and self.written_count == self.max_offset:
            self.tail = bytearray()
            self.tail_start = self.max_offset

    def put_bytes(self, start: int, data: bytes) -> None:
        """Write whole entries from entry ``start`` on, replacing existing ones.

        Raises:
            OSError: the disk refused them.
        """
        written, pos = 0, start * ENTRY_SIZE
        for base, in_file, size in file_parts(pos, len(data), file_size=self._files.file_size):
            file = self._files.get(self.path_at(base), create=True)
            file.pwrite(data[written : written + size], in_file)
            self.note_written(base)
            written += size

    def note_written(self, base: int) -> None:
        """Record that the file at byte ``base`` and those after it have to be synced."""
        self.synced_count = min(self.synced_count, base // ENTRY_SIZE)

    def fill_until(self, start: int) -> None:
        """Make ``start`` the queue's first message, with fillers before it in its file.

        Raises:
            OSError: the disk refused the fillers.
        """
        in_file = start % self.file_entry_count
        self.first = start - in_file
        self.put_bytes(self.first, FILLER * in_file)
        self.synced_count = self.first
        self.min_offset = self.max_offset = self.next_offset = start
        self.tail_start = self.written_count = start

    def path_at(self, base: int) -> str:
        """Return the path of the file that starts at byte ``base`` of the queue."""
        return f"{self._place.directory}/{self.queue_id}/{log_file_name(base)}"

    def read(self, start: int, count: int) -> bytes | bytearray:
        """Return up to ``count`` entries from ``start`` on; fewer at the end of a file.

        The result is empty if ``start`` is below the first file or beyond the last entry.

        Raises:
            OSError: the disk could not be read.
        """
        count = min(count, self.max_offset - start)
        if count <= 0 or start < self.first:
            return b""
        if self.waiting >= 0 and start + count > self.written_count:
            self.recall()
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
        """Return (log offset, size, tags code) of one entry, or None if it does not exist."""
        data = self.read(start, 1)
        if not data:
            return None
        log_offset, size, tags_code = CQ_ENTRY.unpack(data)
        return log_offset, size, tags_code

    def count_below(self, log_offset: int) -> int:
        """Return the number of entries whose records are below a log offset.

        Entries are in log order. A filler, which points at no record, counts with the entry
        before it.

        Raises:
            OSError: the disk could not be read.
        """
        low, high = self.first, self.max_offset
        # The last entry nearly always decides.
        middle = high - 1
        while low < high:
            probe, entry = middle, self.entry(middle)
            while entry is not None and entry[1] == FILLER_SIZE and probe > low:
                probe -= 1
                entry = self.entry(probe)
            if entry is None or entry[1] == FILLER_SIZE or entry[0] < log_offset:
                low = middle + 1
            else:
                high = probe
            middle = (low + high) // 2
        return low

    def close_files(self) -> None:
        """Close the queue's open files."""
        size = self._files.file_size
        for base in range(self.first * ENTRY_SIZE, self.max_offset * ENTRY_SIZE, size):
            self._files.forget(self.path_at(base))


class QueueDirectory(NamedTuple):
    """One directory of queue files."""

    topic: str
    queue_id: int
    files: Sequence[DirEntry]


def queue_directories(disk: Disk, root: Path) -> Iterator[QueueDirectory | Path]:
    """Yield every queue directory below ``root``, and the paths of a topic's other directories."""
    for topic in disk.scan(root):
        if not topic.is_dir:
            continue
        directory = root / topic.name
        for entry in disk.scan(directory):
            # A broker gives queue directories no other names.
            is_queue = _QUEUE_NAME.fullmatch(entry.name) and int(entry.name) <= _ID_MAX
            if entry.is_dir and is_queue:
                files = disk.scan(f"{directory}/{entry.name}")
                yield QueueDirectory(topic.name, int(entry.name), files)
            elif entry.is_dir:
                yield directory / entry.name


def queue_bases(disk: Disk, directory: Path) -> list[int]:
    """Return the byte positions at which the files in a queue directory start, in order."""
    names = (parse_log_file_name(name) for name in disk.list(directory))
    return [base for base in names if base is not None]
