"""Places for files: a directory of this machine, S3, or any file system that fsspec knows.

    /data/archive          this machine, or what it has mounted
    s3://bucket/archive    S3 through pyarrow; address and keys from the environment (AWS_…)
    webhdfs://host:9870/…  through fsspec

Rule: a file that ``create`` makes is there whole or not at all, and never replaces another. On this
machine a hard link ensures that, since the file system refuses to make it twice. Object stores
promise less (see ``create``), so only one process at a time may write to a place there.
"""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import pyarrow.fs as pafs

from mqspark.errors import BadOption

_S3: Final = ("s3", "s3a")
_PYARROW: Final = ("gs", "abfs", "abfss", "hdfs")
_ENDPOINT: Final = "AWS_ENDPOINT_URL"


class Storage(NamedTuple):
    """How to reach S3; an empty value is taken from the environment (AWS_…).

    Attributes:
        endpoint: the URL of a server that is not Amazon's.
        anonymous: whether to read without keys, as from a public bucket.
    """

    endpoint: str = ""
    region: str = ""
    anonymous: bool = False
    access_key: str = ""
    secret_key: str = ""


def is_s3(uri: str) -> bool:
    """Return whether a place is on S3."""
    return urlsplit(uri).scheme in _S3


@contextmanager
def using_storage(uri: str, storage: Storage) -> Iterator[None]:
    """Use ``storage`` for everything at and below ``uri`` in this process while the block runs."""
    root = uri.rstrip("/")
    before = _storages.get(root, Storage())
    _storages[root] = storage
    try:
        yield
    finally:
        _storages[root] = before


_storages: dict[str, Storage] = {}


def _storage_of(uri: str) -> Storage:
    while uri:
        if uri in _storages:
            return _storages[uri]
        uri = uri.rpartition("/")[0]
    return Storage()


class ListedFile(NamedTuple):
    """A file that was listed.

    Attributes:
        name: its path below the place.
        changed_ms: when it was written; None if the place does not tell it.
    """

    name: str
    size: int
    changed_ms: int | None


class StorageDir(NamedTuple):
    """A directory; plain and small, so that Spark can send it to workers.

    Attributes:
        uri: the URI or path, as it was given.
    """

    uri: str

    @property
    def directory(self) -> Path | None:
        """The directory on this machine, None where it is elsewhere."""
        return None if "://" in self.uri else Path(self.uri)

    def path(self, name: str) -> str:
        """Return the path of a file, as ``filesystem`` requires it."""
        if self.directory is not None:
            return str(self.directory / name)
        parts = urlsplit(self.uri)
        root = parts.path.strip("/")
        if parts.scheme in (*_S3, *_PYARROW):
            root = f"{parts.netloc}/{root}".strip("/")
        else:
            root = f"/{root}"
        return f"{root}/{name}" if name else root

    def absolute(self) -> str:
        """Return the address for a library that opens files itself."""
        return self.uri.rstrip("/") if self.directory is None else str(self.directory.absolute())

    def filesystem(self) -> Any:
        """Return the ``pyarrow.fs.FileSystem`` to open files with.

        Raises:
            BadOption: the scheme is unknown, or a package for it is missing.
        """
        if self.directory is not None:
            return pafs.LocalFileSystem()
        scheme = urlsplit(self.uri).scheme
        if scheme in _S3:
            storage = _storage_of(self.uri)
            return _s3(storage._replace(endpoint=storage.endpoint or os.environ.get(_ENDPOINT, "")))
        if scheme in _PYARROW:
            return pafs.FileSystem.from_uri(self.uri)[0]
        return _fsspec(self.uri, scheme)

    def names(self, folder: str, *, suffix: str) -> list[str]:
        """Return the sorted names of files with a suffix; none if the folder does not exist."""
        selector = pafs.FileSelector(self.path(folder), allow_not_found=True)
        infos = self.filesystem().get_file_info(selector)
        return sorted(
            info.base_name for info in infos if info.is_file and info.base_name.endswith(suffix)
        )

    def tree(self, folder: str, *, suffix: str) -> list[ListedFile]:
        """Return the files with a suffix in a folder and below, sorted; not those behind a link."""
        root = self.path("")
        selector = pafs.FileSelector(self.path(folder), allow_not_found=True, recursive=True)
        return sorted(
            ListedFile(
                info.path[len(root) :].lstrip("/"),
                info.size,
                None if info.mtime_ns is None else info.mtime_ns // 1_000_000,
            )
            for info in self.filesystem().get_file_info(selector)
            if info.is_file and info.path.endswith(suffix) and not self._is_linked(info.path)
        )

    def _is_linked(self, path: str) -> bool:
        # Files behind a link belong to somebody else.
        root = self.directory
        if root is None:
            return False
        below = Path(path).relative_to(root).parents
        return any((root / folder).is_symlink() for folder in below if folder != Path())

    def remove(self, name: str) -> None:
        """Remove a file, if it is there.

        Raises:
            OSError: it cannot be removed.
        """
        try:
            self.filesystem().delete_file(self.path(name))
        except FileNotFoundError:
            # Another run removed it.
            return

    def read(self, name: str) -> bytes:
        """Return the bytes of a whole file.

        Raises:
            OSError: it cannot be read.
        """
        with self.filesystem().open_input_stream(self.path(name)) as file:
            data: bytes = file.read()
            return data

    def create(self, name: str, data: bytes) -> None:
        """Write a new file, whole or not at all.

        On an object store two processes that do so at once may both succeed; the last one wins.

        Raises:
            FileExistsError: the file exists.
            OSError: it cannot be written.
        """
        if self.directory is not None:
            with _draft(self.directory / name, data) as draft:
                os.link(draft, self.directory / name)
            return
        filesystem, path = self.filesystem(), self.path(name)
        if filesystem.get_file_info(path).type != pafs.FileType.NotFound:
            raise FileExistsError(f"{self.uri}/{name} exists")
        with filesystem.open_output_stream(path) as file:
            file.write(data)

    def replace(self, name: str, data: bytes) -> None:
        """Write a file, whole or not at all, in the place of the one that was there.

        Raises:
            OSError: it cannot be written.
        """
        if self.directory is None:
            with self.writing(name) as file:
                file.write(data)
            return
        path = self.directory / name
        with _draft(path, data) as draft:
            draft.replace(path)

    @contextmanager
    def writing(self, name: str) -> Iterator[Any]:
        """Yield a file to write to, whose bytes are on the disk when the block ends.

        Raises:
            OSError: it cannot be written.
        """
        if self.directory is not None:
            path = self.directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            _sync_directory(path.parent)
            return
        filesystem, path_text = self.filesystem(), self.path(name)
        if urlsplit(self.uri).scheme not in _S3:
            filesystem.create_dir(path_text.rpartition("/")[0], recursive=True)
        with filesystem.open_output_stream(path_text) as file:
            yield file


@contextmanager
def _draft(path: Path, data: bytes) -> Iterator[Path]:
    """Yield a file beside ``path`` with the bytes, to be put in its place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with draft.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        yield draft
    finally:
        draft.unlink(missing_ok=True)
    _sync_directory(path.parent)


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@cache
def _s3(storage: Storage) -> Any:
    # It is made once, since each has connections of its own.
    given: dict[str, Any] = {
        "access_key": storage.access_key,
        "secret_key": storage.secret_key,
        "region": storage.region,
        "anonymous": storage.anonymous,
    }
    if storage.endpoint:
        parts = urlsplit(storage.endpoint)
        given |= {"endpoint_override": parts.netloc, "scheme": parts.scheme}
    return pafs.S3FileSystem(**{name: value for name, value in given.items() if value})


def _fsspec(uri: str, scheme: str) -> Any:
    try:
        from fsspec import filesystem
        from fsspec.utils import infer_storage_options
    except ImportError as error:
        raise BadOption(f"{uri} needs fsspec: pip install 'mqadmin[spark]'") from error
    options = {
        name: value
        for name, value in infer_storage_options(uri).items()
        if name in ("host", "port", "username", "password")
    }
    if "username" in options:
        options["user"] = options.pop("username")
    try:
        return pafs.PyFileSystem(pafs.FSSpecHandler(filesystem(scheme, **options)))
    except (ValueError, ImportError) as error:
        raise BadOption(f"{uri} cannot be opened: {error}") from error
