"""An archive that is a Delta table, written by ``deltalake`` without a JVM.

    DIR/_delta_log/…                            what counts: Delta's own transactions
        data/topic=orders/day=2026-11-28/…      the same Parquet files as in every archive
        lock                                    held while a process writes (on this machine only)

Polars takes topic and day from the folders' names. An archive of an earlier version, which has
``data/orders/2026-11-28/…``, is written on as it is until its files have been rewritten.

Rule: a commit is one Delta transaction, which adds the files and has two transaction identifiers
for each queue that moved. The version of ``rocketmq:topic@broker@queue`` is the position, that of
``rocketmq.store-time:topic@broker@queue`` the store time of the message before it (ms since 1970; 0
if it is not known). Delta keeps identifiers for as long as the table lives, and refuses the later
one of two concurrent transactions with the same identifier, so nothing is archived twice. The
property ``rocketmq.queues`` lists the queues, since identifiers can be looked up but not listed. It
is set before the first transaction of a queue; a queue without an identifier has no position yet.

Source: Delta Lake protocol, "Transaction Identifiers", "Add File and Remove File".
"""

import datetime
import json
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

import deltalake
import pyarrow as pa
from deltalake.exceptions import CommitFailedError
from deltalake.transaction import AddAction, CommitProperties, Transaction

from mqspark.archive.archive import ARCHIVE_COLUMNS
from mqspark.archive.manifests import NO_DAY, ArchiveFile
from mqspark.errors import BadArchive
from mqspark.places import StorageDir
from mqspark.sources.live.options import queue_of, queue_text
from mqspark.sources.live.table import live_schema
from remoting.bodies import MessageQueue
from storefmt.config.foreign_json import read_json

SCHEMA: Final = pa.schema([*live_schema(ARCHIVE_COLUMNS), pa.field("day", pa.date32())])
_PARTITIONS: Final = ["topic", "day"]
_APP: Final = "rocketmq:"
_TIME_APP: Final = "rocketmq.store-time:"
_QUEUES: Final = "rocketmq.queues"


class DeltaArchive:
    """One archive, as its Delta log describes it.

    Args:
        place: where it is; the first commit makes the table.

    Raises:
        OSError, DeltaError: the place cannot be read.
    """

    def __init__(self, place: StorageDir) -> None:
        self.place = place
        self._uri = place.absolute()
        self._table: Any = None
        if deltalake.DeltaTable.is_deltatable(self._uri, storage_options=_storage()):
            self._table = deltalake.DeltaTable(self._uri, storage_options=_storage())

    @property
    def hive_folders(self) -> bool:
        """Whether no file is left of an earlier version, which named folders otherwise.

        Polars reads partitions from folders, and fails if files of one table have both kinds.
        """
        if self._table is None:
            return True
        paths = pa.table(self._table.get_add_actions()).column("path").to_pylist()
        return all("topic=" in path for path in paths)

    @property
    def positions(self) -> dict[MessageQueue, int] | None:
        """The queue offsets at which reading goes on, None before the first commit."""
        return self._versions(_APP) or None

    @property
    def store_times(self) -> dict[MessageQueue, int]:
        """The store time (ms since 1970) of the message before each position, where known."""
        return {queue: time_ms for queue, time_ms in self._versions(_TIME_APP).items() if time_ms}

    def _versions(self, app: str) -> dict[MessageQueue, int]:
        return {
            queue_of(name): version
            for name in self._queues()
            if (version := self._table.transaction_version(app + name)) is not None
        }

    @property
    def commit_count(self) -> int:
        """The number of transactions."""
        return 0 if self._table is None else self._table.version() + 1

    def commit(
        self,
        files: Sequence[ArchiveFile],
        positions: Mapping[MessageQueue, int],
        *,
        store_times: Mapping[MessageQueue, int] | None = None,
    ) -> int:
        """Commit files together with the positions behind them; return the table's version.

        Raises:
            BadArchive: another process committed since this archive was opened.
            DeltaError: the log cannot be written.
        """
        self._prepare(positions)
        old_positions, times_known, times = (
            self.positions or {},
            self.store_times,
            store_times or {},
        )
        moved = [
            Transaction(app + queue_text(queue), version)
            for queue, offset in sorted(positions.items())
            if old_positions.get(queue) != offset or times.get(queue) != times_known.get(queue)
            for app, version in ((_APP, offset), (_TIME_APP, times.get(queue, 0)))
        ]
        try:
            self._table.create_write_transaction(
                [_added(file) for file in files],
                "append",
                self._table.schema(),
                _PARTITIONS,
                commit_properties=CommitProperties(app_transactions=moved),
            )
        except CommitFailedError as error:
            raise BadArchive(f"{self.place.uri}: {error}; another process writes to it") from error
        self._table.update_incremental()
        return int(self._table.version())

    def mend(self, *, is_locked: bool) -> None:
        """Do nothing: a Delta log is whole after each commit, and ``vacuum`` removes files."""

    def _queues(self) -> list[str]:
        if self._table is None:
            return []
        text = self._table.metadata().configuration.get(_QUEUES, "[]")
        try:
            queues = read_json(text)
            if not isinstance(queues, list) or not all(isinstance(each, str) for each in queues):
                raise ValueError("expected a list of texts")
        except ValueError as error:
            raise BadArchive(f"{self.place.uri}: property {_QUEUES}: {error}") from error
        return queues

    def _prepare(self, positions: Mapping[MessageQueue, int]) -> None:
        """Make the table, its columns and the list of its queues what this commit needs."""
        if self._table is None:
            self._table = deltalake.DeltaTable.create(
                self._uri, SCHEMA, partition_by=_PARTITIONS, storage_options=_storage()
            )
        stored = {field.name for field in self._table.schema().fields}
        missing = [
            field
            for field in deltalake.Schema.from_arrow(SCHEMA).fields
            if field.name not in stored
        ]
        if missing:
            self._table.alter.add_columns(missing)
        queues = self._queues()
        new = {queue_text(queue) for queue in positions} - set(queues)
        if new:
            listed = json.dumps(sorted({*queues, *new}))
            self._table.alter.set_table_properties({_QUEUES: listed}, raise_if_not_exists=False)


def _added(file: ArchiveFile) -> AddAction:
    without_time = file.rows if file.day == NO_DAY else 0
    stats: dict[str, Any] = {
        "numRecords": file.rows,
        "nullCount": {"store_timestamp": without_time},
    }
    if file.first_ms is not None and file.last_ms is not None:
        stats["minValues"] = {"store_timestamp": _time(file.first_ms)}
        stats["maxValues"] = {"store_timestamp": _time(file.last_ms)}
    return AddAction(
        file.path,
        file.size,
        {"topic": file.topic, "day": None if file.day == NO_DAY else file.day},
        time.time_ns() // 1_000_000,
        True,
        json.dumps(stats),
    )


def _time(time_ms: int) -> str:
    when = datetime.datetime.fromtimestamp(0, datetime.UTC) + datetime.timedelta(
        milliseconds=time_ms
    )
    return when.strftime("%Y-%m-%dT%H:%M:%S.") + f"{time_ms % 1_000:03}Z"


def _storage() -> dict[str, str]:
    """Return how to reach S3: keys and address are in the environment, as for every place."""
    endpoint = os.environ.get("AWS_ENDPOINT_URL", "")
    return {"allow_http": "true"} if endpoint.startswith("http://") else {}
