"""The commit log: one writer that appends records to files of equal size.

    put ──> pending parts ──begin_write──> LogWrite ──> file (page cache) ──flush──> disk
            end             handed over                 written_offset       flushed_offset

    | record | record | … | record | int32 left, int32 BLANK, zeros |   next file …

Rule: a record never crosses files and leaves at least 8 bytes free for the blank that ends
its file. Files are allocated before they are written, so that a full disk is an error of
``open_next`` and not of a write. One write runs at a time; what is put meanwhile waits for the
next one, and goes with it when it fails. All bytes after ``written_offset`` in its file are zero:
the bytes of a failed write are erased before the next one, because whole old records there would
be mistaken for stored ones after a crash.

Source: store/CommitLog.java#doAppend (END_OF_FILE), store/MappedFileQueue.java.
"""

from pathlib import Path
from typing import Final, NamedTuple

from mqserver.store.commitlog.log_write import LogWrite, Piece
from mqserver.store.commitlog.next_file import NextFile
from mqserver.store.disk.disk import Disk, DiskFile, open_files_max
from mqserver.store.disk.zeros import data_parts
from storefmt.formats.message import BLANK_SIZE_MIN, blank
from storefmt.paths import log_file_name

OPEN_FILES_MAX: Final = 64


class _Mark(NamedTuple):
    """Where the log ends at some moment."""

    end: int
    """Log offset of the next record."""
    file_end: int
    """Log offset at which the file of that record ends."""
    blank_size: int
    """Bytes of blanks since ``set_end``."""


class CommitLog:
    """The files of one commit log and the bytes that are pending for them.

    Args:
        disk: where the files are.
        directory: the ``commitlog`` directory.
        file_size: bytes of one file.
        bases: log offsets at which the existing files start.
        end: log offset where the next record goes.
    """

    def __init__(
        self, disk: Disk, directory: Path, *, file_size: int, bases: list[int], end: int
    ) -> None:
        self.file_size = file_size
        self.end = end
        """Log offset at the end of the last record that was put."""
        self.written_offset = end
        self.flushed_offset = end
        self.bases = sorted(bases)
        self._known = set(bases)
        self._disk = disk
        self._directory = directory
        self._open: dict[int, DiskFile] = {}
        self._open_max = open_files_max(OPEN_FILES_MAX)
        # Pending bytes of earlier files, each with the log offset at which they begin.
        self._full: list[tuple[int, list[bytes | memoryview]]] = []
        self.parts: list[bytes | memoryview] = []
        """Pending bytes of the current file."""
        self._parts_start = end
        self._dirty_until = end
        self._unsynced: dict[int, None] = {}
        self._syncing: dict[int, None] = {}
        self._writing: LogWrite | None = None
        self.directory_unsynced = False
        self.warm_size = 0
        """Bytes written between syncs while a file made ahead is warmed; 0 for no warming."""
        self._next: NextFile | None = None
        self.file_end = 0
        """Log offset at which the file of the next record ends."""
        self._blank_size = 0
        # Where the log ended at the last ``begin_write``, and where it ends in its files.
        self._handed = self._written = _Mark(end, end, 0)
        self.set_end(end)

    def set_end(self, end: int) -> None:
        """Set the log offset of the next record, the end of what is kept; drop pending bytes."""
        self.end = self.written_offset = self.flushed_offset = self._start = end
        self._parts_start = self._dirty_until = end
        # After a full last file there is no next file yet: the first put creates it.
        base = end - end % self.file_size
        self.file_end = base + self.file_size if base in self._known else end
        self._handed = self._written = _Mark(end, self.file_end, self._blank_size)

    @property
    def put_size(self) -> int:
        """Bytes of records written since ``set_end``."""
        return self.written_offset - self._start - self._written.blank_size

    @property
    def is_writing(self) -> bool:
        """Return whether a write runs that ``begin_write`` handed over."""
        return self._writing is not None

    @property
    def is_pending(self) -> bool:
        """Return whether bytes were put since the last ``begin_write``."""
        return self.end > self._handed.end

    @property
    def min_offset(self) -> int:
        """Log offset of the first byte that is retained, or will be."""
        return self.bases[0] if self.bases else self.end

    def place(self, size: int) -> int:
        """Reserve ``size`` bytes (at most ``file_size - 8``) and return their log offset.

        The caller must then append exactly ``size`` bytes to ``parts``.

        Raises:
            OSError: the next file could not be created; nothing was reserved.
        """
        self.make_room(size)
        start = self.end
        self.end = start + size
        return start

    def give_back(self, size: int) -> None:
        """Release the bytes that the last ``place`` reserved, which were not appended."""
        self.end -= size

    def make_room(self, size: int) -> None:
        """End the file if ``size`` bytes (at most ``file_size - 8``) and a blank do not fit in it.

        Raises:
            OSError: the next file could not be created; nothing was changed.
        """
        if self.end + size + BLANK_SIZE_MIN > self.file_end:
            self._roll()

    def append(self, data: bytes) -> None:
        """Append bytes of another log unchanged, whole records or not, for the next write.

        Raises:
            OSError: the next file could not be created; nothing was taken.
            ValueError: the bytes cross the end of a file.
        """
        start = self.end if self.end != self.file_end else self._roll()
        if start + len(data) > self.file_end:
            raise ValueError(f"{len(data)} bytes at {start} cross the end of a file")
        self.parts.append(data)
        self.end = start + len(data)

    def cut(self, end: int) -> None:
        """End the log at ``end`` in its last file; later bytes are erased and synced.

        Raises:
            OSError: the disk refused.
        """
        self.undo_pending()
        base = self._base_of(end)
        if base in self._known:
            self.erase_tail(base, end - base)
        start, flushed = self._start, min(self.flushed_offset, end)
        self.set_end(end)
        self._start, self.flushed_offset = start, flushed

    def _roll(self) -> int:
        next_base = self.file_end
        self.open_next(next_base)
        left = next_base - self.end
        if left:
            self.parts.append(blank(left))
            self._blank_size += left
        if self.parts:
            self._full.append((self._parts_start, self.parts))
        self.parts = []
        self._parts_start = self.end = next_base
        self.file_end = next_base + self.file_size
        return next_base

    def open_next(self, base: int) -> None:
        """Make sure that the file that starts at ``base`` exists with all its blocks.

        Raises:
            OSError: there is no space for the file; nothing is left behind.
        """
        if self.bases and self.bases[-1] >= base:
            return
        made, self._next = self._next, None
        if made is None or made.error is not None:
            made = self._next_file(base)
        file = made.take_file()
        self.bases.append(base)
        self._known.add(base)
        self._keep_open(base, file)
        self.directory_unsynced = True

    def _next_file(self, base: int) -> NextFile:
        return NextFile(
            disk=self._disk,
            path=self.path_of(base),
            base=base,
            size=self.file_size,
            warm_size=self.warm_size,
            is_first=not self.bases,
        )

    def begin_next(self) -> NextFile | None:
        """Return a job that creates the next file once three quarters of this one are full.

        It also returns None while such a job is running. Call ``do_work`` of the job in any thread,
        then ``end_next``.
        """
        base = self.file_end
        if self._next is not None or not self.bases or self.bases[-1] >= base:
            return None
        if base - self.end >= self.file_size // 4:
            return None
        self._next = self._next_file(base)
        return self._next

    def end_next(self, job: NextFile) -> None:
        """Process the result of a job from ``begin_next``; a failed one is repeated later."""
        if job is not self._next:
            return
        if job.error is None:
            self.open_next(job.base)
        else:
            self._next = None

    def begin_write(self) -> LogWrite:
        """Return a job that writes all pending bytes; pass it to ``end_write`` afterwards.

        Raises:
            OSError: a file could not be opened; the bytes are still pending.
        """
        pieces = []
        erased_from = self.written_offset
        while erased_from < self._dirty_until:
            base = self._base_of(erased_from)
            size = min(self._dirty_until, base + self.file_size) - erased_from
            pieces.append(Piece(self.file_at(base), erased_from - base, None, size))
            erased_from += size
        full = [*self._full, (self._parts_start, self.parts)] if self.parts else self._full
        for start, parts in full:
            base = self._base_of(start)
            pieces.append(Piece(self.file_at(base), start - base, parts, 0))
        self._handed = _Mark(self.end, self.file_end, self._blank_size)
        self._full, self.parts = [], []
        self._parts_start = self.end
        self._writing = LogWrite(pieces, begin=self.written_offset, end=self.end)
        return self._writing

    def end_write(self, job: LogWrite) -> None:
        """Process the result of a write; after an error the caller calls ``undo_pending``."""
        self._writing = None
        dirty_until = max(self._dirty_until, job.end)
        # Some of the bytes may be in their files also after an error.
        base = self._base_of(job.begin)
        while base < dirty_until:
            self._unsynced[base] = None
            base += self.file_size
        if job.error is not None:
            self._dirty_until = dirty_until
            self._handed = self._written
            return
        self._written = self._handed
        self.written_offset = self._dirty_until = job.end

    def undo_pending(self) -> None:
        """Discard what was put since the last ``begin_write``, or the last successful one."""
        self._full.clear()
        self.parts = []
        self.end, self.file_end, self._blank_size = self._handed
        self._parts_start = self.end

    def take_unsynced(self) -> list[DiskFile]:
        """Return the files written since the last call; they stay open until the next call.

        A writeback error belongs to the descriptor that wrote: only that one is sure to
        report it from ``fdatasync``.
        """
        self._syncing = self._unsynced
        self._unsynced = {}
        return [self.file_at(base) for base in self._syncing]

    def sync_again(self) -> None:
        """Schedule the files of the last ``take_unsynced`` and their directory for another sync."""
        self._unsynced = self._syncing | self._unsynced
        self._syncing = {}
        self.directory_unsynced = True

    def sync_ended(self) -> None:
        """Allow the files of the last ``take_unsynced`` to be closed."""
        self._syncing = {}

    def read(self, log_offset: int, size: int) -> bytes | None:
        """Return ``size`` written bytes, or None if they are not all in one retained file."""
        base = self._base_of(log_offset)
        if not self._holds(base, log_offset, size):
            return None
        data = self.file_at(base).pread(size, log_offset - base)
        return data if len(data) == size else None

    def read_into(self, view: memoryview, log_offset: int) -> bool:
        """Fill ``view`` with written bytes; False if they are not all in one retained file."""
        base, size = self._base_of(log_offset), len(view)
        if not self._holds(base, log_offset, size):
            return False
        return self.file_at(base).read_into(view, log_offset - base) == size

    def _holds(self, base: int, log_offset: int, size: int) -> bool:
        end = log_offset + size
        return (
            self.min_offset <= log_offset
            and end <= min(self.written_offset, base + self.file_size)
            and base in self._known
        )

    def read_parts(self, parts: list[tuple[int, int]]) -> bytes | None:
        """Return written bytes, a (start, end) each, joined; None if ``read`` has to be used.

        It is None if they are not all in one retained file, or may not all be in memory.
        """
        start, end = parts[0][0], parts[-1][1]
        base = self._base_of(start)
        if start < self.min_offset or end > min(self.written_offset, base + self.file_size):
            return None
        return self.file_at(base).parts(parts, base) if base in self._known else None

    def path_of(self, base: int) -> Path:
        """Return the path of the file that starts at ``base``."""
        return self._directory / log_file_name(base)

    def _base_of(self, log_offset: int) -> int:
        return log_offset - log_offset % self.file_size

    def file_at(self, base: int) -> DiskFile:
        """Return the file that starts at ``base``, opened if necessary."""
        file = self._open.get(base)
        if file is None:
            file = self._disk.open(self._directory / log_file_name(base))
            self._keep_open(base, file)
        return file

    def _keep_open(self, base: int, file: DiskFile) -> None:
        if len(self._open) >= self._open_max:
            for old in self._open:
                if not (old in self._unsynced or old in self._syncing or self._is_written(old)):
                    self._open.pop(old).close()
                    break
        self._open[base] = file

    def _is_written(self, base: int) -> bool:
        """Return whether a write that runs may use the file that starts at ``base``."""
        return self._writing is not None and base + self.file_size > self._writing.begin

    def remove(self, base: int) -> None:
        """Delete a file of the log.

        Raises:
            OSError: the disk refused.
        """
        if base in self._open:
            self._open.pop(base).close()
        self._disk.unlink(self._directory / log_file_name(base))
        self.bases.remove(base)
        self._known.discard(base)

    def is_at_rest(self, base: int) -> bool:
        """Return whether a file is full, synced, and not used by a sync job."""
        is_full = base + self.file_size <= self.flushed_offset
        return is_full and base not in self._unsynced and base not in self._syncing

    def detach(self, bases: list[int]) -> list[Path]:
        """Close the files of these bases and drop them from the log; return their paths."""
        for base in bases:
            if base in self._open:
                self._open.pop(base).close()
            self.bases.remove(base)
            self._known.discard(base)
        return [self._directory / log_file_name(base) for base in bases]

    def attach(self, paths: list[Path]) -> None:
        """Add files to the log again that ``detach`` dropped."""
        bases = [int(path.name) for path in paths]
        self.bases = sorted({*self.bases, *bases})
        self._known.update(bases)

    def erase_tail(self, base: int, pos: int) -> int:
        """Set a file to zeros from ``pos`` on and sync it; return how many bytes were not zero.

        Raises:
            OSError: the disk refused.
        """
        file = self.file_at(base)
        erased = 0
        for data_pos, data in data_parts(file, pos, self.file_size):
            file.pwrite(bytes(len(data)), data_pos)
            erased += len(data) - data.count(0)
        if erased:
            file.fdatasync()
        return erased

    def drop_unused(self) -> None:
        """Remove files that were created ahead and are empty, as Java does on shutdown."""
        if self._next is not None:
            self._next.give_up()
            self._next = None
        while self.bases and self.bases[-1] >= self.end and self.bases[-1] > 0:
            self.remove(self.bases[-1])

    def close(self) -> None:
        """Close every file."""
        for file in self._open.values():
            file.close()
        self._open.clear()
