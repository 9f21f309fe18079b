"""An archive that is an Iceberg table, written by ``pyiceberg`` without a JVM.

    DIR/metadata/v7.metadata.json    commit 7: schema, snapshots, positions
        metadata/version-hint.text   7, for readers that look for the newest
        metadata/…avro               the manifests of snapshots
        data/…                       the same Parquet files as in every archive
        lock                         held while a process writes (on this machine only)

Rule: the table needs no catalog: as in Iceberg's Hadoop catalog the newest ``vN.metadata.json``
counts, and a commit creates the next one, whole or not at all. It has the new snapshot and the
properties ``rocketmq.positions`` and ``rocketmq.store-times`` (the store time of the message before
each position), so files and positions count at once. pyiceberg would try a refused
commit again upon the newer table, and so archive twice: here a refused commit is an error.

Source: Iceberg table spec, "File System Tables".
"""

import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
from pyiceberg import types
from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.io import load_file_io
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.metadata import TableMetadataUtil, new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.table.update import update_table_metadata
from pyiceberg.transforms import DayTransform, IdentityTransform

from mqspark.archive.archive import ARCHIVE_COLUMNS
from mqspark.archive.manifests import ArchiveFile, positions_json, positions_of
from mqspark.errors import BadArchive
from mqspark.places import StorageDir
from mqspark.sources.live.table import live_schema
from remoting.bodies import MessageQueue
from storefmt.config.foreign_json import read_json

_POSITIONS: Final = "rocketmq.positions"
_STORE_TIMES: Final = "rocketmq.store-times"
_HINT: Final = "metadata/version-hint.text"
_NAME: Final = re.compile(r"v([0-9]{1,18})\.metadata\.json")
_PROPERTIES: Final = {
    "format-version": "2",
    # Old metadata and many manifests would make each commit slower than the last.
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "100",
    "commit.manifest-merge.enabled": "true",
}
_TYPES: Final = {
    pa.string(): types.StringType(),
    pa.binary(): types.BinaryType(),
    pa.int32(): types.IntegerType(),
    pa.int64(): types.LongType(),
    pa.timestamp("us", "UTC"): types.TimestamptzType(),
}


class IcebergArchive:
    """One archive, as its newest metadata describes it.

    Args:
        place: where it is; the first commit makes the table.

    Raises:
        BadArchive: the metadata cannot be read.
        OSError: the place cannot be read.
    """

    def __init__(self, place: StorageDir) -> None:
        self.place = place
        numbers = [
            int(match[1])
            for name in place.names("metadata", suffix=".metadata.json")
            if (match := _NAME.fullmatch(name))
        ]
        self.commit_count = max(numbers, default=0)
        self._metadata: Any = None
        if self.commit_count:
            data = place.read(f"metadata/v{self.commit_count}.metadata.json")
            try:
                self._metadata = TableMetadataUtil.parse_raw(data.decode())
            except (ValueError, RecursionError) as error:
                raise BadArchive(
                    f"{place.uri}: v{self.commit_count}.metadata.json cannot be read: {error}"
                ) from error

    @property
    def hive_folders(self) -> bool:
        """Return false: readers find the values of partitions elsewhere."""
        return False

    @property
    def positions(self) -> dict[MessageQueue, int] | None:
        """The queue offsets at which reading goes on, None before the first commit."""
        return self._queues_of(_POSITIONS)

    @property
    def store_times(self) -> dict[MessageQueue, int]:
        """The store time (ms since 1970) of the message before each position, where known."""
        return self._queues_of(_STORE_TIMES) or {}

    def _queues_of(self, name: str) -> dict[MessageQueue, int] | None:
        """Return the numbers by queue of a property, or None without it.

        Raises:
            BadArchive: the property has another form.
        """
        text = None if self._metadata is None else self._metadata.properties.get(name)
        try:
            return None if text is None else positions_of(read_json(text))
        except (ValueError, TypeError, AttributeError) as error:
            raise BadArchive(f"{self.place.uri}: property {name}: {error}") from error

    def commit(
        self,
        files: Sequence[ArchiveFile],
        positions: Mapping[MessageQueue, int],
        *,
        store_times: Mapping[MessageQueue, int] | None = None,
    ) -> int:
        """Commit files together with the positions behind them; return the metadata's number.

        Raises:
            BadArchive: another process committed since this archive was opened.
            OSError: the metadata cannot be written.
        """
        if self._metadata is None:
            self.create(_new_table(self.place))
        root = self.place.absolute()
        with self._opened().transaction() as transaction:
            with transaction.update_schema() as update:
                update.union_by_name(_schema())
            transaction.set_properties(
                {
                    _POSITIONS: json.dumps(positions_json(positions)),
                    _STORE_TIMES: json.dumps(positions_json(store_times or {})),
                }
            )
            if files:
                # The names are unique, so there is no need to look for them in the whole table.
                transaction.add_files(
                    [f"{root}/{file.path}" for file in files], check_duplicate_files=False
                )
        return self.commit_count

    def create(self, metadata: Any) -> str:
        """Make the next metadata file, and return its address.

        Raises:
            BadArchive: another process made it.
            OSError: it cannot be written.
        """
        name = f"metadata/v{self.commit_count + 1}.metadata.json"
        try:
            self.place.create(name, metadata.model_dump_json().encode())
        except FileExistsError as error:
            raise BadArchive(
                f"{self.place.uri}: {name} is there already, another process writes to it"
            ) from error
        self._metadata, self.commit_count = metadata, self.commit_count + 1
        self._write_version_hint()
        return f"{self.place.absolute()}/{name}"

    def mend(self, *, is_locked: bool) -> None:
        """Say which metadata is the newest, which a run that died may have left undone.

        Raises:
            OSError: it cannot be written.
        """
        if self.commit_count:
            self._write_version_hint()

    def _write_version_hint(self) -> None:
        self.place.replace(_HINT, str(self.commit_count).encode())

    def _opened(self) -> Table:
        root = self.place.absolute()
        where = f"{root}/metadata/v{self.commit_count}.metadata.json"
        io = load_file_io(_storage(), where)
        return Table(("archive",), self._metadata, where, io, _Folder(self))


class _Folder(NoopCatalog):
    """The catalog of one table in a folder, through which pyiceberg commits."""

    def __init__(self, archive: IcebergArchive) -> None:
        super().__init__("folder")
        self._archive = archive

    def commit_table(self, table: Table, requirements: Any, updates: Any) -> CommitTableResponse:
        for requirement in requirements:
            requirement.validate(table.metadata)
        metadata = update_table_metadata(
            table.metadata, updates, metadata_location=table.metadata_location
        )
        where = self._archive.create(metadata)
        return CommitTableResponse.model_validate(
            {"metadata": metadata, "metadata-location": where}
        )


def _new_table(place: StorageDir) -> Any:
    schema = _schema()
    topic, time = (schema.find_field(name).field_id for name in ("topic", "store_timestamp"))
    spec = PartitionSpec(
        PartitionField(topic, 1_000, IdentityTransform(), "topic"),
        PartitionField(time, 1_001, DayTransform(), "day"),
    )
    return new_table_metadata(
        schema, spec, UNSORTED_SORT_ORDER, place.absolute(), dict(_PROPERTIES)
    )


def _schema() -> Schema:
    """Return the columns of an archive; numbers are given by place, keys and values behind them."""
    columns = live_schema(ARCHIVE_COLUMNS)
    fields = []
    for number, field in enumerate(columns, start=1):
        inner = len(columns) + 2 * number
        if pa.types.is_list(field.type):
            kind: Any = types.ListType(inner, _TYPES[field.type.value_type], element_required=False)
        elif pa.types.is_map(field.type):
            kind = types.MapType(
                inner,
                _TYPES[field.type.key_type],
                inner + 1,
                _TYPES[field.type.item_type],
                value_required=False,
            )
        else:
            kind = _TYPES[field.type]
        fields.append(types.NestedField(number, field.name, kind, required=False))
    return Schema(*fields)


def _storage() -> dict[str, str]:
    """Return how to reach S3: keys and address are in the environment, as for every place."""
    endpoint = os.environ.get("AWS_ENDPOINT_URL", "")
    return {"s3.endpoint": endpoint} if endpoint else {}
