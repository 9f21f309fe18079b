"""A disk in memory that forgets what was not synced, and fails when it is told to.

    write ──> volatile sectors ──fdatasync──> durable sectors
    create, rename, unlink ──> pending names ──fsync_dir──> durable names
    crash(seed): of everything that is not durable a random part survives, by 512 bytes

Rule: nothing here is more reliable than the worst file system that keeps POSIX: a new
file is durable only when its directory was synced, too. A crash is a new disk.
"""

import errno
import os
import random
from collections.abc import Callable
from pathlib import Path

from server.store.disk import DiskUsage, FileStat

SECTOR = 512


class PowerCut(BaseException):
    """The machine stopped here; not an error anybody could handle."""


class Inode:
    """Content of one file: what programs see, and what the disk has."""

    def __init__(self, content: bytes = b"") -> None:
        self.seen = bytearray(content)
        self.durable = bytes(content)
        self.modified = 0

    def after_crash(self, chance: random.Random) -> "Inode":
        """Return what is left of it."""
        size = chance.choice([len(self.seen), len(self.durable)])
        seen = bytes(self.seen[:size]).ljust(size, b"\0")
        durable = self.durable[:size].ljust(size, b"\0")
        if seen == durable:
            return Inode(seen)
        mood = chance.choice([0.1, 0.5, 0.9])
        parts = [
            seen[pos : pos + SECTOR] if chance.random() < mood else durable[pos : pos + SECTOR]
            for pos in range(0, size, SECTOR)
        ]
        return Inode(b"".join(parts))


class SimDisk:
    """All files of one machine; ``on_call`` sees every call and may raise."""

    def __init__(self) -> None:
        self.names: dict[Path, Inode] = {}
        self.durable_names: dict[Path, Inode] = {}
        self.directories: set[Path] = set()
        self.on_call: Callable[[str, Path], None] = lambda name, path: None
        self.clock = 0
        self.usage_now = DiskUsage(10, 90)

    def crash(self, seed: int) -> "SimDisk":
        """Return the disk as the next start of the machine finds it."""
        chance = random.Random(seed)
        after = SimDisk()
        after.directories = set(self.directories)
        left: dict[int, Inode] = {}
        for path in sorted(self.names.keys() | self.durable_names.keys()):
            new, old = self.names.get(path), self.durable_names.get(path)
            kept = new if new is old else chance.choice([new, old])
            if kept is not None:
                if id(kept) not in left:
                    left[id(kept)] = kept.after_crash(chance)
                after.names[path] = after.durable_names[path] = left[id(kept)]
        return after

    def call(self, name: str, path: Path) -> None:
        """Let the test look, or let the call fail."""
        self.clock += 1
        self.on_call(name, path)

    def open(self, path: Path, *, create: bool = False) -> "SimFile":
        if path not in self.names:
            if not create:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
            self.call("create", path)
            self.names[path] = Inode()
        return SimFile(self, path, self.names[path])

    def stat(self, path: Path) -> FileStat | None:
        if path in self.names:
            inode = self.names[path]
            return FileStat(len(inode.seen), inode.modified)
        return FileStat(0, 0) if path in self.directories else None

    def list(self, path: Path) -> list[str]:
        below = {other.name for other in self.names if other.parent == path}
        return sorted(below | {other.name for other in self.directories if other.parent == path})

    def is_dir(self, path: Path) -> bool:
        return path in self.directories

    def mkdir(self, path: Path) -> None:
        self.directories.update((path, *path.parents))

    def rename(self, source: Path, target: Path) -> None:
        self.call("rename", target)
        self.names[target] = self.names.pop(source)

    def unlink(self, path: Path) -> None:
        self.call("unlink", path)
        del self.names[path]

    def rmdir(self, path: Path) -> None:
        self.directories.discard(path)

    def usage(self, path: Path) -> DiskUsage:
        return self.usage_now

    def fsync_dir(self, path: Path) -> None:
        self.call("fsync_dir", path)
        for other in [other for other in self.durable_names if other.parent == path]:
            del self.durable_names[other]
        for other, inode in self.names.items():
            if other.parent == path:
                self.durable_names[other] = inode

    def lock(self, path: Path) -> Callable[[], None]:
        return lambda: None


class SimFile:
    """One open file of a ``SimDisk``."""

    def __init__(self, disk: SimDisk, path: Path, inode: Inode) -> None:
        self._disk = disk
        self._path = path
        self._inode = inode

    def _changed(self) -> None:
        self._inode.modified = self._disk.clock

    def pread(self, size: int, pos: int) -> bytes:
        return bytes(self._inode.seen[pos : pos + size])

    def pwrite(self, data: bytes | bytearray | memoryview, pos: int) -> None:
        try:
            self._disk.call("pwrite", self._path)
        except OSError:
            # A write that fails may have written a part.
            self._put(data[: len(data) * 3 // 4], pos)
            raise
        self._put(data, pos)

    def _put(self, data: bytes | bytearray | memoryview, pos: int) -> None:
        seen = self._inode.seen
        if len(seen) < pos:
            seen.extend(bytes(pos - len(seen)))
        seen[pos : pos + len(data)] = data
        self._changed()

    def fdatasync(self) -> None:
        self._disk.call("fdatasync", self._path)
        self._inode.durable = bytes(self._inode.seen)

    def allocate(self, size: int) -> None:
        self._disk.call("allocate", self._path)
        self._inode.seen.extend(bytes(max(size - len(self._inode.seen), 0)))
        self._changed()

    def truncate(self, size: int) -> None:
        self._disk.call("truncate", self._path)
        seen = self._inode.seen
        del seen[size:]
        seen.extend(bytes(size - len(seen)))
        self._changed()

    def size(self) -> int:
        return len(self._inode.seen)

    def next_data(self, pos: int) -> int | None:
        return pos if pos < len(self._inode.seen) else None

    def drop_cache(self) -> None:
        """Nothing to forget: what was not synced is decided at the crash."""

    def read_ahead(self, *, on: bool) -> None:
        """Memory needs none."""

    def close(self) -> None:
        """Closing makes nothing durable."""
