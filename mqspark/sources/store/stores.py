"""Store directories wherever they lie: on this machine, on S3, behind webhdfs.

    store_path("/data/store")       a path of this machine
    store_path("s3://bucket/store") a path whose directory was just listed, with one request
         └─ commitlog/… ──ranges──> reads: 256 KiB for random access, 8 MiB ahead when a file is
                                    read sequentially

Rule: names and sizes of a remote store are those of its listing, so that one answer does not
contradict another; a worker that was sent a path of it asks about that file only. Nothing is copied
to this machine, and the bytes that are cached of all files together are bounded. Keys and addresses
come from the environment of driver and workers, and are in no plan (see ``mqspark.places``).
"""

import errno
import os
import re
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from glob import glob
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import unquote, urlsplit

import pyarrow.fs as pafs

from mqspark.places import StorageDir
from storefmt.errors import NotAStore, StoreError
from storefmt.offline.views.storedir import StoreDir
from storefmt.remote_file import RemotePath

READ_MIN: Final = 256 << 10
"""A file of this size or less is read with one request."""
AHEAD_SIZE: Final = 8 << 20
KEPT_SIZE_MAX: Final = 32 << 20
"""The bytes that all files of a process cache together."""
LISTINGS_MAX: Final = 64
_WILD: Final = re.compile(r"[*?\[]")


def store_path(where: str | Path) -> Path:
    """Return the path of a store directory; a remote directory is listed now.

    Raises:
        StoreError: it cannot be listed.
        BadOption: the scheme of its URI is unknown.
    """
    if isinstance(where, Path):
        return where
    where = _plain(where)
    if "://" not in where:
        return Path(where)
    path = StorePath(where.rstrip("/"))
    try:
        _listings[path] = _listed(path)
    except OSError as error:
        raise StoreError(f"{path}: {_first_line(error)}; is it there, and readable?") from error
    _listings.move_to_end(path)
    if len(_listings) > LISTINGS_MAX:
        _listings.popitem(last=False)
    return path


Paths = str | Sequence[str]
"""One path of stores, or several, as ``stores_of`` takes them."""


def stores_of(paths: Paths) -> list[str]:
    """Return the store directories that paths name, each once: ``file:///…`` is a path of this
    machine, and ``*``, ``?`` and ``[…]`` match the names of directories.

    Raises:
        NotAStore: nothing matches.
        StoreError, BadOption: as ``store_path``.
    """
    stores: dict[str, None] = {}
    for path in map(_plain, [paths] if isinstance(paths, str) else paths):
        matching = [path] if fixed_part(path) == path else sorted(_matching(path))
        if not matching:
            raise NotAStore(f"{path} matches no directory; give the storePathRootDir of brokers")
        stores |= dict.fromkeys(matching)
    return list(stores)


def fixed_part(path: str) -> str:
    """Return the part of a path in front of the first ``*``, ``?`` or ``[``, or all of it."""
    match = _WILD.search(path)
    if match is None or ("://" not in path and os.path.lexists(path)):
        return path
    return path[: match.start()].rpartition("/")[0] or ("/" if path.startswith("/") else ".")


def _plain(path: str) -> str:
    return unquote(urlsplit(path).path) if path.startswith("file:") else path


def _matching(path: str) -> Iterator[str]:
    if "://" not in path:
        yield from (name for name in glob(path) if os.path.isdir(name))
        return
    paths = [fixed_part(path)]
    for part in path.removeprefix(paths[0]).strip("/").split("/"):
        paths = [
            f"{candidate}/{name}"
            for candidate in paths
            for name in _directories(candidate)
            if fnmatchcase(name, part)
        ]
    yield from paths


def _directories(uri: str) -> list[str]:
    place = StorageDir(uri)
    selector = pafs.FileSelector(place.path(""), allow_not_found=True)
    try:
        infos = place.filesystem().get_file_info(selector)
    except OSError as error:
        raise StoreError(f"{uri}: {_first_line(error)}; is it there, and readable?") from error
    return [info.base_name for info in infos if info.type == pafs.FileType.Directory]


def open_store(where: str | Path) -> StoreDir:
    """Open a store directory.

    Raises:
        StoreError, BadOption: as ``store_path`` and ``StoreDir.open``.
    """
    return StoreDir.open(store_path(where))


def file_path(text: str) -> Path:
    """Return the path of one file of a store that a task names."""
    return StorePath(text) if "://" in text else Path(text)


class StorePath(RemotePath):
    """A file or directory of a remote store."""

    def size_of(self) -> int | None:
        """Return the size of a file, -1 for a directory, None if there is neither."""
        listing = self._listing()
        if listing is not None:
            return listing.sizes.get(self)
        place = StorageDir(str(self))
        info = place.filesystem().get_file_info(place.path(""))
        if info.type == pafs.FileType.NotFound:
            return None
        return int(info.size) if info.is_file else -1

    def children(self) -> Iterator[Self]:
        """Yield the files and directories in a directory of a listed store.

        Raises:
            FileNotFoundError: the listing has no such directory.
        """
        listing = self._listing()
        if listing is None or self not in listing.children:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self))
        for name in listing.children[self]:
            yield self / name

    def open_remote(self) -> "RemoteStoreFile":
        """Open the file."""
        return RemoteStoreFile(self)

    def _listing(self) -> "_Listing | None":
        for path in (self, *self.parents):
            listing = _listings.get(path)
            if listing is not None:
                return listing
        return None


class _Listing:
    """The files and directories below a directory, at one moment."""

    def __init__(self) -> None:
        self.sizes: dict[Path, int] = {}
        self.children: dict[Path, list[str]] = {}

    def add(self, path: Path, size: int, *, root: Path) -> None:
        """Add a file (or, with size -1, a directory) and every directory above it."""
        while path not in self.sizes:
            self.sizes[path] = size
            if size < 0:
                self.children.setdefault(path, [])
            if path == root:
                return
            self.children.setdefault(path.parent, []).append(path.name)
            path, size = path.parent, -1


_listings: OrderedDict[Path, _Listing] = OrderedDict()


def _listed(root: StorePath) -> _Listing:
    place, listing = StorageDir(str(root)), _Listing()
    base = place.path("")
    selector = pafs.FileSelector(base, recursive=True, allow_not_found=True)
    filesystem = place.filesystem()
    if filesystem.get_file_info(base).is_file:
        listing.add(root, 0, root=root)
        return listing
    for info in filesystem.get_file_info(selector):
        below = info.path.strip("/").removeprefix(base.strip("/")).strip("/")
        listing.add(root / below, int(info.size) if info.is_file else -1, root=root)
    return listing


class RemoteStoreFile:
    """One remote file, read by ranges.

    Raises:
        OSError: the file is gone, or the server does not answer; the error names the file.
    """

    def __init__(self, path: StorePath) -> None:
        self.path = path
        self._file: Any = None
        self._data = b""
        self._at = 0
        size = path.size_of()
        if size is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        if size < 0:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        self.size = size

    def read(self, pos: int, size: int) -> bytes:
        """Return ``size`` bytes at ``pos``, fewer only at the end."""
        end = min(pos + size, self.size)
        if not 0 <= pos < end:
            return b""
        behind = self._at + len(self._data)
        if not self._at <= pos <= end <= behind:
            goes_on = bool(self._data) and self._at <= pos <= behind
            least = AHEAD_SIZE if goes_on else READ_MIN
            self._keep(self._fetched(pos, min(max(size, least), self.size - pos)), pos)
        return self._data[pos - self._at : end - self._at]

    def close(self) -> None:
        """Release the cached bytes."""
        self._data = b""
        _kept.pop(id(self), None)
        if self._file is not None:
            self._file.close()
            self._file = None

    def _keep(self, data: bytes, pos: int) -> None:
        self._data, self._at = data, pos
        _kept[id(self)] = self
        _kept.move_to_end(id(self))
        while len(_kept) > 1 and sum(len(file._data) for file in _kept.values()) > KEPT_SIZE_MAX:
            _kept.popitem(last=False)[1]._data = b""

    def _fetched(self, pos: int, size: int) -> bytes:
        try:
            if self._file is None:
                place = StorageDir(str(self.path))
                self._file = place.filesystem().open_input_file(place.path(""))
            data: bytes = self._file.read_at(size, pos)
        except OSError as error:
            raise OSError(error.errno or errno.EIO, _first_line(error), str(self.path)) from error
        if len(data) < size:
            raise OSError(errno.EIO, f"{len(data)} bytes at {pos}, not {size}", str(self.path))
        return data


_kept: OrderedDict[int, RemoteStoreFile] = OrderedDict()
"""The files with cached bytes, the least recently used first."""


def _first_line(error: OSError) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
