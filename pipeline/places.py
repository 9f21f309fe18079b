"""Where files lie: a directory here, S3, or anything that fsspec knows.

    /data/archive          this machine, or what it has mounted
    s3://bucket/archive    S3 through pyarrow; address and keys from the environment (AWS_…)
    webhdfs://host:9870/…  through fsspec

Rule: a file that ``create`` makes is there whole or not at all, and never replaces another: here
by a hard link, which the file system refuses to make twice. Object stores promise less (see
``create``), so one process at a time writes to a place there.
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

from pipeline.errors import BadOption

_S3: Final = ("s3", "s3a")
_PYARROW: Final = ("gs", "abfs", "abfss", "hdfs")
_ENDPOINT: Final = "AWS_ENDPOINT_URL"


class Storage(NamedTuple):
    """How S3 is reached; what is empty is the environment's (AWS_…).

    Attributes:
        endpoint: a URL, as of a server that is not Amazon's.
        anonymous: without keys, as a public bucket is read.
    """

    endpoint: str = ""
    region: str = ""
    anonymous: bool = False
    access_key: str = ""
    secret_key: str = ""


def is_s3(uri: str) -> bool:
    """Return whether a place is one of S3."""
    return urlsplit(uri).scheme in _S3


@contextmanager
def reached_by(uri: str, storage: Storage) -> Iterator[None]:
    """Open what lies at and below ``uri`` this way while the block runs, in this process."""
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


class Place(NamedTuple):
    """A directory; plain and small, so that Spark can send it to workers.

    Attributes:
        uri: as it was given.
    """

    uri: str

    @property
    def directory(self) -> Path | None:
        """The directory on this machine, None where it is elsewhere."""
        return None if "://" in self.uri else Path(self.uri)

    def path(self, name: str) -> str:
        """Return the path of a file, as ``filesystem`` wants it."""
        if self.directory is not None:
            return str(self.directory / name)
        parts = urlsplit(self.uri)
        root = parts.path.strip("/")
        if parts.scheme in (*_S3, *_PYARROW):
            root = f"{parts.netloc}/{root}".strip("/")
        else:
            root = f"/{root}"
        return f"{root}/{name}" if name else root

    def filesystem(self) -> Any:
        """Return the ``pyarrow.fs.FileSystem`` to open files with.

        Raises:
            BadOption: nobody knows the scheme, or a package for it is missing.
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
        """Return the names of the files of a folder with a suffix, sorted; none without it."""
        selector = pafs.FileSelector(self.path(folder), allow_not_found=True)
        found = self.filesystem().get_file_info(selector)
        return sorted(
            info.base_name for info in found if info.is_file and info.base_name.endswith(suffix)
        )

    def read(self, name: str) -> bytes:
        """Return a whole file; raises OSError."""
        with self.filesystem().open_input_stream(self.path(name)) as file:
            data: bytes = file.read()
            return data

    def create(self, name: str, data: bytes) -> None:
        """Write a file that is not there yet, whole or not at all.

        On an object store two processes that do so at once may both succeed, and the last wins.

        Raises:
            FileExistsError: it is there.
            OSError: it cannot be written.
        """
        if self.directory is not None:
            _link_new(self.directory / name, data)
            return
        filesystem, path = self.filesystem(), self.path(name)
        if filesystem.get_file_info(path).type != pafs.FileType.NotFound:
            raise FileExistsError(f"{self.uri}/{name} exists")
        with filesystem.open_output_stream(path) as file:
            file.write(data)

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


def _link_new(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with draft.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)
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
    # Made once: each has connections of its own.
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
