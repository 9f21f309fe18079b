"""The formats of an archive: our own manifests, a Delta table, or an Iceberg table.

    parquet    mqspark.archive.archive    manifests of our own; the only one that can be restored
    delta      mqspark.archive.delta      needs deltalake
    iceberg    mqspark.archive.iceberg    needs pyiceberg

Rule: tasks write the same Parquet files for each format. A format is where the driver commits their
names, and the positions behind them in the same transaction. An archive keeps its format.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, Protocol

from mqspark.archive.archive import DELTA, ICEBERG, PARQUET, Archive, format_of, locked
from mqspark.archive.manifests import ArchiveFile
from mqspark.errors import BadOption
from mqspark.places import StorageDir
from remoting.bodies import MessageQueue

FORMATS: Final = (PARQUET, DELTA, ICEBERG)


class ArchiveTable(Protocol):
    """What the archiver needs of a format."""

    place: StorageDir

    @property
    def hive_folders(self) -> bool:
        """Whether new files go to folders that are named as Hive names partitions."""
        ...

    @property
    def positions(self) -> dict[MessageQueue, int] | None:
        """The queue offsets at which reading goes on, None before the first commit."""
        ...

    @property
    def store_times(self) -> dict[MessageQueue, int]:
        """The store time (ms since 1970) of the message before each position, where known."""
        ...

    @property
    def commit_count(self) -> int:
        """The number of commits."""
        ...

    def mend(self, *, is_locked: bool) -> None:
        """Finish or remove what runs that died have left.

        Args:
            is_locked: whether no other process writes to the place.
        """
        ...

    def commit(
        self,
        files: Sequence[ArchiveFile],
        positions: Mapping[MessageQueue, int],
        *,
        store_times: Mapping[MessageQueue, int] | None = None,
    ) -> int:
        """Commit files together with the positions behind them; return the commit's number.

        Args:
            files: the new files.
            positions: where reading goes on.
            store_times: the store time (ms since 1970) of the message before each position.

        Raises:
            BadArchive: another process committed since the archive was opened.
        """
        ...


def table_at(place: StorageDir, file_format: str | None) -> ArchiveTable:
    """Return the archive at a place.

    Args:
        place: where it is, or will be with its first commit.
        file_format: one of ``FORMATS``; None for that of the archive, or our own if it is new.

    Raises:
        BadOption: there is no such format, it needs another package, or the archive has another.
        BadArchive, OSError: the archive cannot be read.
    """
    if file_format is not None and file_format not in FORMATS:
        raise BadOption(f"there is no format {file_format!r}; there are {', '.join(FORMATS)}")
    existing = format_of(place)
    if file_format is not None and existing not in (None, file_format):
        raise BadOption(f"{place.uri} is an archive of format {existing}, not {file_format}")
    made = file_format or existing
    try:
        match made:
            case "delta":
                from mqspark.archive.delta import DeltaArchive

                return DeltaArchive(place)
            case "iceberg":
                from mqspark.archive.iceberg import IcebergArchive

                return IcebergArchive(place)
    except ModuleNotFoundError as error:
        text = f"format {made} needs {error.name}: pip install 'mqadmin[lake]'"
        raise BadOption(text) from error
    return Archive(place)


@contextmanager
def table_writer(place: StorageDir, file_format: str | None) -> Iterator[ArchiveTable]:
    """Yield the archive at a place, to which only this process of the machine writes.

    Raises:
        BadOption, BadArchive, OSError: as ``table_at``, or another process writes to it.
    """
    with locked(place) as is_locked:
        table = table_at(place, file_format)
        table.mend(is_locked=is_locked)
        yield table
