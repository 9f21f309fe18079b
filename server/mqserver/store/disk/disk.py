"""Every service the store needs from an operating system, behind a protocol for tests.

Rule: every byte the store reads or writes goes through a ``Disk``. A real disk may lose,
keep or tear bytes that were not synced; tests use a disk that does so on purpose. ``pwrite``
writes everything or raises; a file grows only by ``allocate`` or ``truncate``.

A store directory is locked as Java locks it, by a POSIX lock on byte 0 of ``lock``. Such a lock
does not exclude other users in the same process, and closing any descriptor of the file drops
it; therefore ``lock_file`` refuses two stores of one directory in one process.

Source: store/DefaultMessageStore.java#start (FileChannel.tryLock on byte 0).
"""

import contextlib
import ctypes
import errno
import fcntl
import os
import re
import resource
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from stat import S_ISDIR
from typing import Final, NamedTuple, Protocol

from mqserver.store.disk.mapped import MappedFile
from mqserver.store.disk.nowait import MODE, ColdRead
from mqserver.store.store_errors import StoreLocked


def _read_in_thread(read: Callable[[], bytes]) -> Callable[[], bytes]:
    """Start a read in a thread; return a function that waits for its bytes or its error."""
    reading: Future[bytes] = Future()

    def run() -> None:
        try:
            reading.set_result(read())
        except BaseException as error:
            reading.set_exception(error)

    threading.Thread(target=run, name="read ahead", daemon=True).start()
    return reading.result


_LOCKED: Final[set[tuple[int, int]]] = set()


def lock_file(path: Path) -> Callable[[], None]:
    """Lock a file, created if it is absent; return a function that releases the lock.

    Raises:
        StoreLocked: another process, or this one, holds the lock.
        OSError: the file could not be opened or locked.
    """
    named = path.stat() if path.exists() else None
    if named is not None and (named.st_dev, named.st_ino) in _LOCKED:
        raise StoreLocked(f"{path} is locked by this process; close its other store first")
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0)
        # The file's time shows who opened the store last, so it is only written once.
        if os.pread(fd, 5, 0) != b"lock":
            os.pwrite(fd, b"lock", 0)
            os.fsync(fd)
    except OSError as error:
        os.close(fd)
        if error.errno not in (errno.EACCES, errno.EAGAIN):
            raise
        raise StoreLocked(
            f"{path} is locked by another broker, ours or Java; stop it first"
        ) from None
    locked = os.fstat(fd)
    identity = (locked.st_dev, locked.st_ino)
    _LOCKED.add(identity)

    def release() -> None:
        _LOCKED.discard(identity)
        os.close(fd)

    return release


FilePath = Path | str
"""Path of a file; a str is cheaper, since creating a ``Path`` costs as much as opening a file."""


class FileStat(NamedTuple):
    """Size and modification time of one file."""

    size: int
    modified_ns: int


class DirEntry(NamedTuple):
    """One name in a directory, with what ``stat`` returns for it."""

    name: str
    is_dir: bool
    size: int
    modified_ns: int


class DiskUsage(NamedTuple):
    """Space of the disk that holds a path, in bytes."""

    used: int
    usable: int
    """Bytes available to programs without special rights."""
    size: int = 0
    """Bytes of the whole disk, including what only root may use."""

    @property
    def percent(self) -> int:
        """Percentage in use, rounded up, as Java computes it."""
        whole = self.used + self.usable
        return -(-self.used * 100 // whole) if whole else 0


class DiskFile(Protocol):
    """One open file; positions and sizes are bytes."""

    def pread(self, size: int, pos: int) -> bytes:
        """Return up to ``size`` bytes from ``pos`` on; fewer only at the end of the file."""

    def read_into(self, view: memoryview, pos: int) -> int:
        """Fill ``view`` from ``pos`` on; return the bytes read, fewer only at the file's end."""

    def parts(self, parts: list[tuple[int, int]], base: int) -> bytes | None:
        """Return several parts of the file joined; None if they may not all be in memory.

        Args:
            parts: (start, end) of each part, each ``base`` more than its position in the file;
                it is None as well if one lies before the first or after the last part.
            base: the number to subtract from each start and end.
        """

    def begin_read(self, size: int, pos: int) -> Callable[[], bytes]:
        """Start ``pread`` in the background; the returned function waits for its result."""

    def pwrite(self, data: bytes | bytearray | memoryview, pos: int) -> None:
        """Write all of ``data`` at ``pos`` or raise ``OSError``."""

    def fdatasync(self) -> None:
        """Write content and size to the disk, and return when they are there."""

    def allocate(self, size: int) -> None:
        """Make the file ``size`` bytes long, with every block reserved."""

    def truncate(self, size: int) -> None:
        """Cut the file to ``size`` bytes, or extend it with a hole."""

    def size(self) -> int:
        """Return the length of the file."""

    def next_data(self, pos: int) -> int | None:
        """Return the first position >= ``pos`` that may not be zero, or None if all are zero."""

    def drop_cache(self) -> None:
        """Drop clean pages from the page cache, so that the next read comes from the disk."""

    def read_ahead(self, *, on: bool) -> None:
        """Allow reads to fetch more than was requested, or prevent it."""

    def is_ours_alone(self) -> bool:
        """Return whether no other process has the file open or mapped; False if unknown."""

    def close(self) -> None:
        """Close the descriptor."""


class Disk(Protocol):
    """Operations on files by path; each may raise ``OSError``."""

    def open(self, path: FilePath, *, create: bool = False, size: int = 0) -> DiskFile:
        """Open for reading and writing.

        Args:
            path: the file.
            create: create the file if it is absent.
            size: how long a new file should be from the moment it has its name. Not every file
                system can do that, so ask for its size.
        """

    def stat(self, path: FilePath) -> FileStat | None:
        """Return size and time of a file or directory, or None if it does not exist."""

    def list(self, path: FilePath) -> list[str]:
        """Return the sorted names in a directory, [] if it does not exist."""

    def scan(self, path: FilePath) -> Sequence[DirEntry]:
        """Return the names in a directory, sorted, each with what ``stat`` returns for it.

        The result is empty if there is no directory. It is far cheaper than ``list`` and ``stat``.
        """

    def is_dir(self, path: FilePath) -> bool:
        """Return whether the path is a directory."""

    def mkdir(self, path: FilePath) -> None:
        """Create a directory and its parents."""

    def rename(self, source: Path, target: Path) -> None:
        """Rename ``source`` to ``target``, replacing it."""

    def unlink(self, path: FilePath) -> None:
        """Remove a file name."""

    def rmdir(self, path: Path) -> None:
        """Remove an empty directory."""

    def usage(self, path: Path) -> DiskUsage:
        """Return how full the disk is that holds the path."""

    def fsync_dir(self, path: FilePath) -> None:
        """Write the names in a directory to the disk, and return when they are there."""

    def sync_all(self, path: Path) -> bool:
        """Sync the whole file system that holds ``path``.

        Returns False if the system cannot do that or would not report errors.
        """

    def lock(self, path: Path) -> Callable[[], None]:
        """Lock byte 0 of a file as Java does; return a function that releases the lock.

        Raises:
            StoreLocked: another process, or this one, holds the lock.
        """


class RealFile:
    """A ``DiskFile`` of the real file system."""

    __slots__ = ("_can_tell", "_fd", "_mapped", "parts")

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._can_tell = True
        self._mapped = MappedFile(fd)
        self.parts = self._mapped.parts

    def pread(self, size: int, pos: int) -> bytes:
        if MODE.no_wait and self._can_tell:
            view = memoryview(bytearray(size))
            return bytes(view[: self.read_into(view, pos)])
        data = os.pread(self._fd, size, pos)
        if len(data) == size or not data:
            return data
        parts = [data]
        got = len(data)
        while got < size and (data := os.pread(self._fd, size - got, pos + got)):
            parts.append(data)
            got += len(data)
        return b"".join(parts)

    def read_into(self, view: memoryview, pos: int) -> int:
        if MODE.no_wait and self._can_tell:
            count = self._read_cached(view, pos)
            if count is not None:
                return count
        got = count = os.preadv(self._fd, [view], pos)
        while count and got < len(view):
            count = os.preadv(self._fd, [view[got:]], pos + got)
            got += count
        return got

    def begin_read(self, size: int, pos: int) -> Callable[[], bytes]:
        return _read_in_thread(lambda: self.pread(size, pos))

    def _read_cached(self, view: memoryview, pos: int) -> int | None:
        """Fill ``view`` from the page cache; None if the file system cannot tell what is cached.

        Raises:
            ColdRead: not all of the bytes are in the page cache.
        """
        size = len(view)
        try:
            count = os.preadv(self._fd, [view], pos, os.RWF_NOWAIT)
        except BlockingIOError:
            raise ColdRead(self._fd, size, pos) from None
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
                raise
            self._can_tell = False
            return None
        if count < size and pos + count < self.size():
            raise ColdRead(self._fd, size, pos)
        return count

    def pwrite(self, data: bytes | bytearray | memoryview, pos: int) -> None:
        written = os.pwrite(self._fd, data, pos)
        if written == len(data):
            return
        with memoryview(data) as view:
            while written < len(view):
                count = os.pwrite(self._fd, view[written:], pos + written)
                if count == 0:
                    raise OSError(errno.EIO, "pwrite wrote nothing")
                written += count

    def fdatasync(self) -> None:
        os.fdatasync(self._fd)

    def fileno(self) -> int:
        """Return the descriptor, for a thread that syncs it."""
        return self._fd

    def allocate(self, size: int) -> None:
        os.posix_fallocate(self._fd, 0, size)

    def truncate(self, size: int) -> None:
        os.ftruncate(self._fd, size)

    def size(self) -> int:
        return os.fstat(self._fd).st_size

    def next_data(self, pos: int) -> int | None:
        try:
            return os.lseek(self._fd, pos, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return None
            if error.errno in (errno.EINVAL, errno.EOPNOTSUPP):
                return pos if pos < self.size() else None
            raise

    def drop_cache(self) -> None:
        os.posix_fadvise(self._fd, 0, 0, os.POSIX_FADV_DONTNEED)

    def read_ahead(self, *, on: bool) -> None:
        advice = os.POSIX_FADV_NORMAL if on else os.POSIX_FADV_RANDOM
        os.posix_fadvise(self._fd, 0, 0, advice)

    def is_ours_alone(self) -> bool:
        # The kernel grants a write lease only to the holder of a file's only descriptor.
        try:
            fcntl.fcntl(self._fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
            fcntl.fcntl(self._fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        except OSError:
            return False
        return True

    def close(self) -> None:
        self._mapped.close()
        os.close(self._fd)


def _new_file(path: FilePath, size: int) -> int:
    """Return the descriptor of a new file that has its size when it gets its name.

    Raises:
        OSError: the file is there, or the file system cannot do this.
    """
    fd = os.open(os.path.dirname(path), os.O_RDWR | os.O_CLOEXEC | os.O_TMPFILE, 0o644)
    try:
        os.ftruncate(fd, size)
        # Python calls linkat(2), which can follow this link, only with a descriptor.
        os.link(f"/proc/self/fd/{fd}", path, src_dir_fd=fd)
    except OSError:
        os.close(fd)
        raise
    return fd


class RealDisk:
    """The ``Disk`` of this machine."""

    def open(self, path: FilePath, *, create: bool = False, size: int = 0) -> DiskFile:
        if create and size:
            with contextlib.suppress(OSError):
                return RealFile(_new_file(path, size))
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        return RealFile(os.open(path, flags, 0o644))

    def stat(self, path: FilePath) -> FileStat | None:
        try:
            status = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return FileStat(status.st_size, status.st_mtime_ns)

    def list(self, path: FilePath) -> list[str]:
        try:
            return sorted(os.listdir(path))
        except FileNotFoundError:
            return []

    def scan(self, path: FilePath) -> Sequence[DirEntry]:
        listed = []
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    mode, _, _, _, _, _, size, _, _, _ = stat = entry.stat()
                    is_dir = S_ISDIR(mode)
                    listed.append(DirEntry(entry.name, is_dir, size, stat.st_mtime_ns))
        except (FileNotFoundError, NotADirectoryError):
            return ()
        return sorted(listed) if len(listed) > 1 else listed

    def is_dir(self, path: FilePath) -> bool:
        return os.path.isdir(path)

    def mkdir(self, path: FilePath) -> None:
        # A ``Path`` would keep the names of thousands of queues in memory permanently.
        os.makedirs(path, exist_ok=True)

    def rename(self, source: Path, target: Path) -> None:
        source.replace(target)

    def unlink(self, path: FilePath) -> None:
        os.unlink(path)

    def rmdir(self, path: Path) -> None:
        path.rmdir()

    def usage(self, path: Path) -> DiskUsage:
        filesystem = os.statvfs(path)
        used = (filesystem.f_blocks - filesystem.f_bfree) * filesystem.f_frsize
        size = filesystem.f_blocks * filesystem.f_frsize
        return DiskUsage(used, filesystem.f_bavail * filesystem.f_frsize, size)

    def fsync_dir(self, path: FilePath) -> None:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def sync_all(self, path: Path) -> bool:
        # Kernels before 5.8 do not report writeback errors from syncfs.
        release = re.match(r"(\d+)\.(\d+)", os.uname().release)
        if release is None or (int(release[1]), int(release[2])) < (5, 8):
            return False
        call = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
        if call is None:
            return False
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if call(fd):
                code = ctypes.get_errno()
                raise OSError(code, os.strerror(code), str(path))
        finally:
            os.close(fd)
        return True

    def lock(self, path: Path) -> Callable[[], None]:
        return lock_file(path)


def open_files_max(most: int) -> int:
    """Return how many files one cache of open files may hold.

    Args:
        most: the result in a process that may open 4,096 files or more; other processes get
            proportionally less, so that the store stays within a quarter of the limit.
    """
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return most if limit == resource.RLIM_INFINITY else max(4, min(most, most * limit // 4096))


def read_file(disk: Disk, path: Path) -> bytes | None:
    """Return the content of a small file, or None if it does not exist.

    Raises:
        OSError: the disk could not read it.
    """
    status = disk.stat(path)
    if status is None:
        return None
    file = disk.open(path)
    try:
        return file.pread(status.size, 0)
    finally:
        file.close()
