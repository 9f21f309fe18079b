"""Writing the messages of a task into Parquet files of an archive.

    Task --read_ranges--> batches --> one file a topic and broker --> ArchiveFile

Rule: a file has the rows of its ranges and no others, and a new unique name; whether it counts is
not decided here. A task that is tried again writes other files, and those of the first try stay
without a manifest. Rows go from the broker's answer to the file without an object for each row, and
never through the JVM. Without a filter a file has exactly one row for each offset; this is checked
before the file is returned.
"""

import itertools
import uuid
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.archive.archive import ARCHIVE_COLUMNS, ArchiveFile, data_name
from pipeline.errors import DataLost
from pipeline.places import Place
from pipeline.sources.live.options import Live
from pipeline.sources.live.plan import Range, Task
from pipeline.sources.live.read import read_ranges
from pipeline.sources.live.table import live_schema

CODEC: Final = "zstd"


def write_task(place: Place, live: Live, task: Task) -> Iterator[ArchiveFile]:
    """Write the messages of a task, and yield each file once its bytes are on the disk.

    Raises:
        DataLost, ClientError: as ``read_ranges``.
        OSError: a file cannot be written.
    """
    ours = live._replace(columns=ARCHIVE_COLUMNS)
    by_file = itertools.groupby(
        task.ranges, key=lambda one: (one.queue.topic, one.queue.broker_name)
    )
    for (topic, broker), ranges in by_file:
        yield _write(place, ours, topic, broker, list(ranges))


def _write(
    place: Place, live: Live, topic: str, broker: str, ranges: Sequence[Range]
) -> ArchiveFile:
    schema = live_schema(ARCHIVE_COLUMNS)
    name = data_name(topic, uuid.uuid4().hex)
    rows = 0
    lows: list[int] = []
    highs: list[int] = []
    with place.writing(name) as file:
        with pq.ParquetWriter(file, schema, compression=CODEC) as writer:
            for batch in read_ranges(live, ranges):
                writer.write_batch(batch)
                rows += batch.num_rows
                ends = pc.min_max(batch.column("commit_log_offset")).as_py()
                lows.append(ends["min"])
                highs.append(ends["max"])
        size = file.tell()
    wanted = sum(one.end - one.start for one in ranges)
    if rows != wanted and live.fail_on_data_loss and not live.filters:
        raise DataLost(f"{name}: {rows} messages of {wanted} were read; try again")
    return ArchiveFile(
        path=name,
        topic=topic,
        broker=broker,
        ranges=tuple((one.queue.queue_id, one.start, one.end) for one in ranges),
        rows=rows,
        size=size,
        first_log_offset=min(lows, default=None),
        last_log_offset=max(highs, default=None),
    )


def read_rows(place: Place, file: ArchiveFile, columns: Sequence[str]) -> Iterator[Any]:
    """Yield the messages of a file of an archive as record batches, in the order written.

    Raises:
        OSError: the file is gone, or it is not a Parquet file.
    """
    with place.filesystem().open_input_file(place.path(file.path)) as source:
        parquet = pq.ParquetFile(source)
        for group in range(parquet.num_row_groups):
            table = parquet.read_row_group(group, columns=list(columns)).select(list(columns))
            yield from table.cast(archive_schema(columns)).to_batches()


def archive_schema(columns: Sequence[str]) -> pa.Schema:
    """Return the Arrow schema of some columns.

    Raises:
        BadOption: a column does not exist.
    """
    return live_schema(columns)
