"""A disk in memory that forgets what was not synced, and fails when it is told to.

    write ──> un-synced sectors ──fdatasync──> on the disk
    create, rename, unlink, mkdir ──> un-synced names ──fsync_dir──> on the disk
    doubts() ──> one choice for each un-synced sector, length and name ──> crash_as(choice)

Rule: nothing here is more reliable than the worst file system that keeps POSIX. A sector
of 512 bytes that was written and not synced holds anything it held since its last sync,
each one for itself; a name is on the disk once its directory was synced, and its
directory's name once that one's parent was. A rename is done whole or not at all. A crash
is a new disk: content is shared until one of the two writes, so that a state costs little.
"""

import errno
import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path

from mqserver.store.disk.disk import DirEntry, DiskUsage, FilePath, FileStat
from tests.server.store.simfiles import Change, Directory, Inode


class PowerCut(BaseException):
    """The machine stopped here, which the program under test cannot handle."""


def _ignore(name: str, path: Path) -> None:
    """Allow every call."""


def refusing(
    *names: str, code: int = errno.ENOSPC, folder: str = ""
) -> Callable[[str, Path], None]:
    """Return an ``on_call`` that refuses calls.

    Args:
        names: the calls; all if there are none.
        code: number of the error, by default that of a full disk.
        folder: the calls are refused only below a directory of this name.
    """

    def refuse(name: str, path: Path) -> None:
        if (not names or name in names) and (not folder or folder in path.parts):
            raise OSError(code, os.strerror(code), str(path))

    return refuse


class SimDisk:
    """All files of one machine; ``on_call`` sees every call before it is done, and may raise."""

    def __init__(self) -> None:
        self.on_call: Callable[[str, Path], None] = _ignore
        self.clock = 0
        self.usage_now = DiskUsage(10, 90)
        self._root = Directory()
        self._directories: dict[str, Directory] = {"/": self._root}

    # Crashes.

    def cut_power_at(self, clock: int) -> None:
        """Raise ``PowerCut`` at the call with which ``clock`` is reached, and at later ones."""

        def stop(name: str, path: Path) -> None:
            if self.clock >= clock:
                raise PowerCut

        self.on_call = stop

    def _reachable(self) -> tuple[list[Directory], list[Inode]]:
        """Return the directories and files that are there, or were at the last sync."""
        directories: dict[Directory, None] = {self._root: None}
        inodes: dict[Inode, None] = {}
        waiting = [self._root]
        while waiting:
            directory = waiting.pop()
            changed = (change.entry for change in directory.changes)
            for entry in (*directory.synced.values(), *changed):
                if isinstance(entry, Inode):
                    inodes[entry] = None
                elif entry is not None and entry not in directories:
                    directories[entry] = None
                    waiting.append(entry)
        return list(directories), list(inodes)

    def doubts(self) -> list[int]:
        """Return how many states each un-synced part may have; the last one is the present one."""
        directories, inodes = self._reachable()
        found = [2 for directory in directories for _ in directory.changes]
        for inode in inodes:
            found += inode.doubts()
        return found

    def crash_as(self, choice: Sequence[int]) -> "SimDisk":
        """Return the disk as the next start of the machine finds it.

        Args:
            choice: one number for each of ``doubts``, below it.
        """
        numbers = iter(choice)
        directories, inodes = self._reachable()
        names = {directory: directory.names_after(numbers) for directory in directories}
        left = {inode: inode.after_crash(numbers) for inode in inodes}
        after = SimDisk()
        after.clock, after.usage_now = self.clock, self.usage_now
        waiting = [("/", self._root, after._root)]
        while waiting:
            path, before, made = waiting.pop()
            for name, entry in names[before].items():
                if isinstance(entry, Inode):
                    made.now[name] = left[entry]
                else:
                    child = Directory()
                    made.now[name] = after._directories[_join(path, name)] = child
                    waiting.append((_join(path, name), entry, child))
            made.synced = dict(made.now)
        return after

    def crash(self, seed: int) -> "SimDisk":
        """Return a disk on which a random part of what was not synced survived."""
        chance = random.Random(seed)
        mood = chance.choice([0.1, 0.5, 0.9])
        return self.crash_as(
            [
                count - 1 if chance.random() < mood else chance.randrange(count - 1)
                for count in self.doubts()
            ]
        )

    def kept(self) -> "SimDisk":
        """Return a copy on which everything survived."""
        return self.crash_as([count - 1 for count in self.doubts()])

    def files(self) -> dict[str, bytes]:
        """Return the content of every file by its path."""
        return {
            _join(path, name): bytes(entry.seen)
            for path, directory in self._directories.items()
            for name, entry in directory.now.items()
            if isinstance(entry, Inode)
        }

    def fingerprint(self) -> int:
        """Return a hash of all names and contents."""
        return hash(
            tuple(
                (path, name, bytes(entry.seen) if isinstance(entry, Inode) else b"")
                for path, directory in self._directories.items()
                for name, entry in sorted(directory.now.items(), key=lambda item: item[0])
            )
        )

    # The operations of a ``Disk``.

    def call(self, name: str, path: FilePath) -> None:
        """Count a call, which the test may observe or refuse."""
        self.clock += 1
        self.on_call(name, path if isinstance(path, Path) else Path(path))

    def _find(self, path: FilePath) -> "Inode | Directory | None":
        parent, _, name = str(path).rpartition("/")
        directory = self._directories.get(parent or "/")
        return None if directory is None else directory.now.get(name)

    def _parent(self, path: FilePath) -> tuple[Directory, str]:
        parent, _, name = str(path).rpartition("/")
        directory = self._directories.get(parent or "/")
        if directory is None:
            raise _missing(path)
        return directory, name

    def open(self, path: FilePath, *, create: bool = False, size: int = 0) -> "SimFile":
        """Open a file as a file system does that creates every file empty."""
        found = self._find(path)
        if found is None:
            if not create:
                raise _missing(path)
            self.call("create", path)
            directory, name = self._parent(path)
            found = Inode(modified=self.clock)
            directory.change(Change(name, found))
        if isinstance(found, Directory):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        return SimFile(self, path, found)

    def stat(self, path: FilePath) -> FileStat | None:
        found = self._find(path)
        if isinstance(found, Inode):
            return FileStat(len(found.seen), found.modified)
        return None if found is None else FileStat(0, 0)

    def list(self, path: FilePath) -> list[str]:
        found = self._directories.get(str(path))
        return [] if found is None else sorted(found.now)

    def scan(self, path: FilePath) -> Sequence[DirEntry]:
        found = self._directories.get(str(path))
        return sorted(
            DirEntry(name, False, len(entry.seen), entry.modified)
            if isinstance(entry, Inode)
            else DirEntry(name, True, 0, 0)
            for name, entry in (() if found is None else found.now.items())
        )

    def is_dir(self, path: FilePath) -> bool:
        return str(path) in self._directories

    def mkdir(self, path: FilePath) -> None:
        path = Path(path)
        if str(path) in self._directories:
            return
        self.mkdir(path.parent)
        parent, name = self._parent(path)
        made = Directory()
        if parent is self._root:
            # The store's own directory: who set up the machine made it durable.
            parent.now[name] = parent.synced[name] = made
        else:
            self.call("mkdir", path)
            parent.change(Change(name, made))
        self._directories[str(path)] = made

    def rename(self, source: Path, target: Path) -> None:
        self.call("rename", target)
        directory, name = self._parent(target)
        assert source.parent == target.parent, "one directory sync must do for both names"
        directory.change(Change(name, directory.now[source.name], source.name))
        if str(source) not in self._directories:
            return
        moved = [path for path in self._directories if Path(path).is_relative_to(source)]
        for path in moved:
            below = target / Path(path).relative_to(source)
            self._directories[str(below)] = self._directories.pop(path)

    def unlink(self, path: FilePath) -> None:
        self.call("unlink", path)
        directory, name = self._parent(path)
        if name not in directory.now:
            raise _missing(path)
        directory.change(Change(name, None))

    def rmdir(self, path: Path) -> None:
        directory, name = self._parent(path)
        gone = self._directories[str(path)]
        if gone.now:
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), str(path))
        self.call("rmdir", path)
        directory.change(Change(name, None))
        del self._directories[str(path)]

    def usage(self, path: Path) -> DiskUsage:
        return self.usage_now

    def fsync_dir(self, path: FilePath) -> None:
        self.call("fsync_dir", path)
        self._directories[str(path)].sync()

    def sync_all(self, path: Path) -> bool:
        return False

    def lock(self, path: Path) -> Callable[[], None]:
        """Create the lock file as the real disk does; nobody else ever holds the lock."""
        file = self.open(path, create=True)
        if file.pread(5, 0) != b"lock":
            file.pwrite(b"lock", 0)
            file.fdatasync()
        return lambda: None


class SimFile:
    """One open file of a ``SimDisk``."""

    __slots__ = ("_disk", "_inode", "_path")

    def __init__(self, disk: SimDisk, path: FilePath, inode: Inode) -> None:
        self._disk = disk
        self._path = path
        self._inode = inode

    def pread(self, size: int, pos: int) -> bytes:
        return bytes(self._inode.seen[pos : pos + size])

    def begin_read(self, size: int, pos: int) -> Callable[[], bytes]:
        # There is no thread, so that every run reads the same.
        data = self.pread(size, pos)
        return lambda: data

    def read_into(self, view: memoryview, pos: int) -> int:
        data = self.pread(len(view), pos)
        view[: len(data)] = data
        return len(data)

    def parts(self, parts: Sequence[tuple[int, int]], base: int) -> bytes | None:
        return None

    def pwrite(self, data: bytes | bytearray | memoryview, pos: int) -> None:
        try:
            self._disk.call("pwrite", self._path)
        except OSError:
            # A write that fails may have written a part.
            self._inode.write(data[: len(data) * 3 // 4], pos)
            raise
        self._inode.write(data, pos)
        self._inode.modified = self._disk.clock

    def fdatasync(self) -> None:
        self._disk.call("fdatasync", self._path)
        self._inode.sync()

    def allocate(self, size: int) -> None:
        self._disk.call("allocate", self._path)
        if size > len(self._inode.seen):
            self.resize(size)

    def truncate(self, size: int) -> None:
        self._disk.call("truncate", self._path)
        self.resize(size)

    def resize(self, size: int) -> None:
        """Set the length of the file without counting a call."""
        self._inode.resize(size)
        self._inode.modified = self._disk.clock

    def size(self) -> int:
        return len(self._inode.seen)

    def next_data(self, pos: int) -> int | None:
        return pos if pos < len(self._inode.seen) else None

    def drop_cache(self) -> None:
        """Do nothing: the crash decides what becomes of what was not synced."""

    def read_ahead(self, *, on: bool) -> None:
        """Do nothing, since everything is in memory."""

    def is_ours_alone(self) -> bool:
        return True

    def close(self) -> None:
        """Closing makes nothing durable."""


def _join(path: str, name: str) -> str:
    return f"/{name}" if path == "/" else f"{path}/{name}"


def _missing(path: FilePath) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
