"""Writing the messages of a task into Parquet files of an archive.

    Task --read_ranges--> batches --> one file a topic, broker and day --> ArchiveFile

Rule: a file has the rows of its ranges and no others, and a new unique name; whether it counts is
not decided here. A task that is tried again writes other files, and those of the first try stay
without a manifest. Rows go from the broker's answer to the file without an object for each row, and
never through the JVM. Without a filter the files of a task have exactly one row for each offset;
this is checked before they are returned.

Bodies are decompressed, unless ``decompress`` is false: their rows describe records that were
stored without compression, so that a store that is restored from them has such records.

The columns of a file are those of the version that wrote it. A reader gets the columns of its own
version: one that the file does not have is null, and types are widened.
"""

import datetime
import itertools
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any, Final, Self, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mqspark.archive.archive import ARCHIVE_COLUMNS
from mqspark.archive.manifests import NO_DAY, ArchiveFile, data_name
from mqspark.errors import DataLost
from mqspark.places import StorageDir
from mqspark.sources.inflated import inflate_bodies
from mqspark.sources.live.options import LiveReadOptions
from mqspark.sources.live.plan import Range, Task
from mqspark.sources.live.read import read_ranges
from mqspark.sources.live.table import live_schema
from storefmt.arrow.columns import ROWS_MAX

CODEC: Final = "zstd"
GROUP_BYTES: Final = 32 << 20
"""The most bytes of rows that a task keeps in memory, and so the size of a row group."""


def write_task(
    place: StorageDir, live: LiveReadOptions, task: Task, *, hive_folders: bool = False
) -> Iterator[ArchiveFile]:
    """Write the messages of a task, and yield each file once its bytes are on the disk.

    Args:
        place: the archive.
        live: the settings of the source.
        task: what to read.
        hive_folders: as for ``data_name``.

    Raises:
        DataLost, ClientError: as ``read_ranges``.
        OSError: a file cannot be written.
    """
    ours = live._replace(columns=ARCHIVE_COLUMNS)
    by_file = itertools.groupby(
        task, key=lambda range_: (range_.queue.topic, range_.queue.broker_name)
    )
    for (topic, broker), ranges in by_file:
        with DayFiles(place, topic, broker, hive_folders=hive_folders) as files:
            yield from _write(files, place, ours, topic, list(ranges))


def _write(
    files: "DayFiles",
    place: StorageDir,
    live: LiveReadOptions,
    topic: str,
    ranges: Sequence[Range],
) -> list[ArchiveFile]:
    for batch in read_ranges(live._replace(decompress=False), ranges):
        for part in plain_records(batch) if live.decompress else (batch,):
            files.add(part)
    written = files.finish()
    rows = sum(file.rows for file in written)
    row_count = sum(range_.end - range_.start for range_ in ranges)
    if rows != row_count and live.fail_on_data_loss and not live.filters:
        raise DataLost(
            f"{place.uri}: {rows} messages of {row_count} of topic {topic} were read; try again"
        )
    return written


def plain_records(batch: Any) -> Iterator[Any]:
    """Yield a batch as records without compression, which every reader of Parquet can use."""
    for part in inflate_bodies(batch, bytes_max=GROUP_BYTES, fail_on_damage=False):
        yield part.as_plain_records()


class DayFiles:
    """Writes rows of one topic and broker, each into the file of its day.

    All files together keep at most ``GROUP_BYTES`` of rows in memory: then the largest part of them
    becomes a row group.
    """

    def __init__(
        self, place: StorageDir, topic: str, broker: str, *, hive_folders: bool = False
    ) -> None:
        self._place, self._topic, self._broker = place, topic, broker
        self._hive_folders = hive_folders
        self._stack = ExitStack()
        self._files: dict[str, _DayFile] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def add(self, batch: Any) -> None:
        """Add a record batch with the columns of an archive.

        Raises:
            OSError: a file cannot be written.
        """
        days = batch.column("store_timestamp").cast(pa.date32())
        for day in pc.unique(days):
            is_of_day = pc.equal(days, day) if day.is_valid else pc.is_null(days)
            self._file(day.as_py()).add(batch.filter(is_of_day))
        while sum(file.waiting_size for file in self._files.values()) > GROUP_BYTES:
            max(self._files.values(), key=lambda file: file.waiting_size).flush()

    def finish(self) -> list[ArchiveFile]:
        """Close the files, whose bytes are then on the disk, and return them, the oldest first.

        Raises:
            OSError: a file cannot be written.
        """
        for file in self._files.values():
            file.finish()
        self._stack.close()
        return [self._files[day].described() for day in sorted(self._files)]

    def _file(self, day: datetime.date | None) -> "_DayFile":
        name = NO_DAY if day is None else day.isoformat()
        if name not in self._files:
            path = data_name(self._topic, name, uuid.uuid4().hex, hive_folders=self._hive_folders)
            out = self._stack.enter_context(self._place.writing(path))
            schema = live_schema(ARCHIVE_COLUMNS)
            parquet = self._stack.enter_context(pq.ParquetWriter(out, schema, compression=CODEC))
            self._files[name] = _DayFile(path, self._topic, self._broker, out, parquet)
        return self._files[name]


class _DayFile:
    """One file that is being written; ``waiting_size`` is the bytes of its rows in memory."""

    def __init__(self, path: str, topic: str, broker: str, out: Any, parquet: Any) -> None:
        self.waiting_size = 0
        self._path, self._topic, self._broker = path, topic, broker
        self._out, self._parquet = out, parquet
        self._waiting: list[Any] = []
        self._rows = self._size = 0
        self._queues: dict[int, tuple[int, int]] = {}
        self._extents: dict[str, tuple[int, int]] = {}

    def add(self, batch: Any) -> None:
        self._waiting.append(batch)
        self.waiting_size += batch.nbytes
        self._rows += batch.num_rows
        _widen(self._extents, "log", _ends(batch.column("log_offset")))
        _widen(self._extents, "us", _ends(batch.column("store_timestamp").cast(pa.int64())))
        queues, offsets = batch.column("queue_id"), batch.column("queue_offset")
        for queue_id in pc.unique(queues):
            low, high = _ends(offsets.filter(pc.equal(queues, queue_id))) or (0, 0)
            _widen(self._queues, queue_id.as_py(), (low, high + 1))

    def flush(self) -> None:
        if self._waiting:
            self._parquet.write_table(pa.Table.from_batches(self._waiting))
            self._waiting, self.waiting_size = [], 0

    def finish(self) -> None:
        self.flush()
        self._parquet.close()
        self._size = self._out.tell()

    def described(self) -> ArchiveFile:
        first, last = self._extents.get("log", (None, None))
        first_us, last_us = self._extents.get("us", (None, None))
        return ArchiveFile(
            path=self._path,
            topic=self._topic,
            broker=self._broker,
            ranges=tuple((queue, *self._queues[queue]) for queue in sorted(self._queues)),
            rows=self._rows,
            size=self._size,
            first_log_offset=first,
            last_log_offset=last,
            first_ms=None if first_us is None else first_us // 1_000,
            last_ms=None if last_us is None else last_us // 1_000,
        )


_K = TypeVar("_K")


def _ends(values: Any) -> tuple[int, int] | None:
    ends = pc.min_max(values).as_py()
    return None if ends["min"] is None else (ends["min"], ends["max"])


def _widen(extents: dict[_K, tuple[int, int]], key: _K, ends: tuple[int, int] | None) -> None:
    if ends is not None:
        low, high = extents.get(key, ends)
        extents[key] = min(low, ends[0]), max(high, ends[1])


FORMER: Final = {"commit_log_offset": "log_offset", "uniq_key": "unique_key"}
"""What columns are called that files of an earlier version have under another name."""


def stored_names(schema: Any) -> dict[str, str]:
    """Return by the name of each column the name that it has in a file of an archive."""
    return {FORMER.get(name, name): name for name in schema.names}


def read_rows(place: StorageDir, file: ArchiveFile, columns: Sequence[str]) -> Iterator[Any]:
    """Yield the messages of a file of an archive as record batches, in the order written.

    Raises:
        OSError: the file is gone, or it is not a Parquet file.
    """
    schema = live_schema(columns)
    with place.filesystem().open_input_file(place.path(file.path)) as source:
        parquet = pq.ParquetFile(source)
        names = stored_names(parquet.schema_arrow)
        stored = [name for name in columns if name in names]
        for batch in parquet.iter_batches(ROWS_MAX, columns=[names[name] for name in stored]):
            yield pa.RecordBatch.from_arrays(
                [
                    batch.column(names[field.name]).cast(field.type)
                    if field.name in stored
                    else pa.nulls(batch.num_rows, field.type)
                    for field in schema
                ],
                schema=schema,
            )
