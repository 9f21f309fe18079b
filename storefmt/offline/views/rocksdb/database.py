"""One RocksDB directory, opened read-only through a directory of links.

    <store>/consumequeue/   CURRENT  MANIFEST-000005  000010.sst  000004.log  LOCK
                               | copied     | copied      | linked    | linked  (left out)
    <temporary directory>/  CURRENT  MANIFEST-000005  000010.sst  000004.log  + what RocksDB logs

Rule: nothing in the store is locked, created or changed. RocksDB itself never takes its lock for a
database that is opened read-only, but it writes a log beside the files, and the binding writes its
own settings there. So it gets a directory of its own. Once the database is open, it holds every
file open, and the directory is deleted.

A running broker may delete files while they are linked; then opening is tried again. Entries that
it has not written to files yet are not seen: they are in memory for a while, and the log has them.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from storefmt.errors import StoreError
from storefmt.offline.views.tree import ROCKSDB_MARK
from storefmt.remote_file import RemotePath

if TYPE_CHECKING:
    from rocksdict import Options

DEFAULT_FAMILY: Final = "default"
_LOCK: Final = "LOCK"
_COPIED: Final = (ROCKSDB_MARK, "MANIFEST-")
_TRIES: Final = 4


class RocksdbUnreadable(StoreError):
    """A part of the store is in RocksDB, which is not damaged and cannot be read from here."""


class RocksdbNotInstalled(RocksdbUnreadable):
    """A part of the store is in RocksDB, and the package that reads RocksDB is not installed.

    Args:
        what: the part, such as ``the consume queues``.
        where: its directories, relative to the store.
    """

    def __init__(self, what: str, where: str) -> None:
        super().__init__(
            f"{what} of this store are in RocksDB ({where}), and the package that reads RocksDB is "
            "not installed; install it with `pip install 'mqadmin[rocksdb]'`"
        )


def is_installed() -> bool:
    """Return whether RocksDB directories can be read here."""
    return find_spec("rocksdict") is not None


class Database:
    """The entries of one RocksDB directory, as they were when it was opened.

    Raises:
        RocksdbUnreadable: the package is missing, or the directory lies on another machine.
        StoreError: the directory cannot be opened.
    """

    def __init__(self, directory: Path, *, what: str) -> None:
        if not is_installed():
            raise RocksdbNotInstalled(what, directory.name)
        if isinstance(directory, RemotePath):
            raise RocksdbUnreadable(
                f"{directory}: RocksDB can only be read on this machine; copy the directory here, "
                "and read the copy"
            )
        self.directory = directory
        self._families: dict[str, Any] = {}
        for tries_left in reversed(range(_TRIES)):
            try:
                self._database = self._open()
                return
            except OSError as error:
                if not tries_left or not isinstance(error, FileNotFoundError):
                    raise StoreError(
                        f"{directory}: {error.strerror}; read it as its owner"
                    ) from error
            # The binding has no class of its own for errors of RocksDB.
            except Exception as error:
                if not tries_left:
                    raise StoreError(
                        f"{directory}: RocksDB cannot open it ({_first_line(error)}); try again "
                        "if a broker is running on it, or else read a slave or a backup"
                    ) from error

    def _open(self) -> Any:
        from rocksdict import AccessType, Rdict

        with tempfile.TemporaryDirectory(prefix="mqadmin-rocksdb-") as links:
            _link_files(self.directory, Path(links))
            options = _options()
            self.families: tuple[str, ...] = tuple(Rdict.list_cf(links, options))
            others = {name: _options() for name in self.families if name != DEFAULT_FAMILY}
            access = AccessType.read_only(False)
            return Rdict(links, options, others, access)

    def entries(
        self, family: str = DEFAULT_FAMILY, *, start: bytes = b"", prefix: bytes = b""
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yield (key, value) in the order of keys.

        Args:
            family: the column family; one that the database does not have is empty.
            start: the key to begin at, or the first one after it.
            prefix: the first key that does not begin with it ends the walk.
        """
        column = self._column(family)
        if column is None:
            return
        first = max(start, prefix)
        for key, value in column.items(from_key=first) if first else column.items():
            if not key.startswith(prefix):
                return
            yield key, value

    def last(self, prefix: bytes, *, family: str = DEFAULT_FAMILY) -> tuple[bytes, bytes] | None:
        """Return the last entry whose key begins with ``prefix``, or None."""
        column = self._column(family)
        if column is None:
            return None
        # No key of these databases has so many of these bytes after its prefix.
        entry = next(iter(column.items(backwards=True, from_key=prefix + b"\xff" * 16)), None)
        return entry if entry is not None and entry[0].startswith(prefix) else None

    def get(self, key: bytes, *, family: str = DEFAULT_FAMILY) -> bytes | None:
        """Return the value of a key, or None."""
        column = self._column(family)
        value: bytes | None = None if column is None else column.get(key)
        return value

    def close(self) -> None:
        """Release the files."""
        for column in self._families.values():
            column.close()
        self._families.clear()
        self._database.close()

    def _column(self, family: str) -> Any:
        if family == DEFAULT_FAMILY:
            return self._database
        if family not in self.families:
            return None
        if family not in self._families:
            self._families[family] = self._database.get_column_family(family)
        return self._families[family]


def _options() -> "Options":
    from rocksdict import Options

    options = Options(raw_mode=True)
    options.create_if_missing(False)
    options.set_max_open_files(-1)
    options.set_skip_stats_update_on_db_open(True)
    return options


def _link_files(source: Path, links: Path) -> None:
    """Link or copy the files of a database; links and pipes in it are left out."""
    with os.scandir(source) as entries:
        files = [
            entry.name
            for entry in entries
            if entry.name != _LOCK and entry.is_file(follow_symlinks=False)
        ]
    # A manifest grows, so it is copied first: the copy then names no file that comes later.
    for name in sorted(files, key=lambda name: not name.startswith(_COPIED)):
        if name.startswith(_COPIED):
            shutil.copyfile(source / name, links / name)
        else:
            os.symlink((source / name).absolute(), links / name)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
