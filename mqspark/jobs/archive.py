"""``archive``: copies what live topics have now into Parquet files, each message exactly once.

    positions of the last manifest --> where the topics end now, fixed at the start
        batch by batch: tasks --> files --> one manifest (``mqspark.archive.archive``)

Rule: the driver alone decides what counts, by one atomic file; tasks write files and return their
names. If a run is killed at any moment, the next run continues, and reads again what has no
manifest. Both engines write the same rows; Spark sends each task's plan and gets back names, so no
message passes through the JVM. Retention must be longer than the longest pause between runs:
messages that the broker has removed are an error unless ``failOnDataLoss`` is false.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa

from mqspark.archive.archive import ARCHIVE_COLUMNS, opened
from mqspark.archive.manifests import ArchiveFile, file_of
from mqspark.archive.tables import ArchiveTable, table_at, table_writer
from mqspark.archive.write import FORMER, read_rows, write_task
from mqspark.jobs.each import run_each
from mqspark.places import StorageDir
from mqspark.schemas import schema, struct_of
from mqspark.sources.live.options import LiveReadOptions, Use, live_settings
from mqspark.sources.live.plan import Ends, Task, next_positions, ranges_of, tasks_of
from mqspark.sources.live.queues import (
    Positions,
    ask_brokers,
    check_filter,
    next_batch_end,
    report,
    starting,
    store_times_at,
)
from mqspark.sources.live.survey import Survey, survey
from mqspark.sources.live.table import live_schema
from mqspark.sources.store.spread import TaskRows, spread
from remoting.bodies import MessageQueue

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LOG = logging.getLogger(__name__)

BATCH_OFFSETS: Final = 5_000_000
"""The messages between two commits, unless maxOffsetsPerTrigger sets another number."""
TASK_OFFSETS: Final = 200_000
"""The messages of a task, unless maxRecordsPerPartition sets another number."""

_ARCHIVED: Final = schema(
    commit=pa.int64(),
    topic=pa.string(),
    broker=pa.string(),
    messages=pa.int64(),
    size=pa.int64(),
    path=pa.string(),
)

Write = Callable[[StorageDir, LiveReadOptions, Sequence[Task], bool], Iterable[ArchiveFile]]
"""Writes the files of tasks, into folders that are named as Hive names partitions if the last
argument is true; each of the two engines has such a function."""


class Archived(NamedTuple):
    """One file that was committed; ``commit`` numbers the manifests from 1."""

    commit: int
    topic: str
    broker: str
    messages: int
    size: int
    path: str


def archive(
    spark: "SparkSession", path: str, *, kind: str | None = None, **options: str
) -> "DataFrame":
    """Archive what topics have now; return a frame with the files that were committed.

    Args:
        path: the archive; it is made if it does not exist.
        kind: its format (parquet, delta, iceberg); None for that which it has, or parquet.
        options: those of ``mqspark.sources.live.options``, as ``namesrv`` and ``subscribe``; the
            starting options apply to queues that the archive does not know yet.

    Raises:
        BadOption: an option is wrong.
        BadArchive: the path is not an archive, or another process writes to it.
        DataLost: a broker no longer has messages that were to be read.
        ClientError: a broker does not answer.
    """
    rows = list(archiving(path, options, write=write_on_spark(spark), kind=kind))
    return spark.createDataFrame(_table(rows))


def archive_local(path: str, *, kind: str | None = None, **options: str) -> Any:
    """Do the same in this process; return a ``pyarrow.Table`` with the files."""
    return _table(list(archiving(path, options, write=write_here, kind=kind)))


def archived(
    spark: "SparkSession",
    path: str,
    *,
    topics: Sequence[str] | None = None,
    columns: Sequence[str] = ARCHIVE_COLUMNS,
) -> "DataFrame":
    """Return the messages that an archive has now.

    Spark's own reader reads files on this machine; pyarrow in the workers reads all others.

    Args:
        spark: the session.
        path: the archive.
        topics: the topics to read, None for all.
        columns: the columns to read.

    Raises:
        BadArchive: there is none.
        BadOption: a column does not exist.
    """
    from pyspark.sql.functions import coalesce

    archive_ = opened(path)
    schema = struct_of(live_schema(columns))
    files = archive_.files(topics=topics)
    if not files:
        return spark.createDataFrame([], schema)
    if archive_.place.directory is not None:
        whole = struct_of(live_schema(ARCHIVE_COLUMNS))
        for former, name in FORMER.items():
            whole = whole.add(former, whole[name].dataType)
        paths = [archive_.place.path(file.path) for file in files]
        former_of = {name: former for former, name in FORMER.items()}
        return (
            spark.read.schema(whole)
            .parquet(*paths)
            .select(
                *(
                    coalesce(name, former_of[name]).alias(name) if name in former_of else name
                    for name in columns
                )
            )
        )
    read = partial(read_rows, archive_.place, columns=list(columns))
    return spread(spark, TaskRows(read, files, live_schema(columns)))


def archiving(
    path: str, options: Mapping[str, str], *, write: Write, kind: str | None = None
) -> Iterator[Archived]:
    """Archive, and yield each file once it is committed.

    Args:
        path: the archive.
        options: as ``archive``.
        write: writes the files of tasks.
        kind: the format, see ``mqspark.archive.tables.table_at``.

    Raises:
        BadOption, BadArchive, DataLost, ClientError: as ``archive``.
    """
    live = live_settings(options, use=Use.ARCHIVE)
    with table_writer(StorageDir(path), kind) as target:
        positions, reached, ends = _ends(target, live)
        while True:
            batch = next_batch_end(
                live, positions, reached, max_offsets=live.max_offsets or BATCH_OFFSETS
            )
            tasks = tasks_of(
                ranges_of(positions, batch),
                min_partitions=live.min_partitions,
                max_records=live.max_records or TASK_OFFSETS,
            )
            if tasks or batch != target.positions:
                files = list(write(target.place, live, tasks, target.hive_folders))
                yield from _committed(target, live, files, batch, ends)
            positions = batch
            if positions == reached:
                return


def explain_archive(path: str, options: Mapping[str, str], *, kind: str | None = None) -> str:
    """Return what a run would do now, as text; ``kind`` is as for ``archiving``.

    Raises:
        BadOption, BadArchive, DataLost, ClientError: as ``archive``.
    """
    live = live_settings(options, use=Use.ARCHIVE)
    target = table_at(StorageDir(path), kind)
    positions, reached, _ = _ends(target, live)
    ranges = ranges_of(positions, reached)
    total = sum(range_.end - range_.start for range_ in ranges)
    tasks = tasks_of(
        ranges,
        min_partitions=live.min_partitions,
        max_records=live.max_records or TASK_OFFSETS,
    )
    batches = -(-total // (live.max_offsets or BATCH_OFFSETS))
    return (
        f"archive: {total} messages of {len(ranges)} queues in {len(tasks)} tasks and about "
        f"{batches} commits, after {target.commit_count}"
    )


def _ends(
    target: ArchiveTable, live: LiveReadOptions
) -> tuple[Positions, Positions, dict[MessageQueue, Ends]]:
    """Return where a run begins, where the queues end now, and the queues that are there.

    The end is fixed at the start, so that the run also ends for a topic that is always written to.
    """
    positions, times = target.positions, target.store_times
    if positions is None:
        positions, ends = ask_brokers(live, starting)
        seen = Survey(ends)
    else:
        last = positions
        seen = ask_brokers(live, lambda client, live: survey(client, live, last, times))
    ask_brokers(live, lambda client, live: check_filter(client, live, seen.found))
    fails = live.fail_on_data_loss
    reached = next_positions(
        positions, seen.found, fail_on_loss=fails, away=seen.away, renewed=seen.renewed
    )
    for text in seen.warnings(positions):
        LOG.warning("%s", text)
    entered = {
        queue: offset
        for queue, offset in reached.items()
        if offset < positions.get(queue, offset + 1)
    }
    if entered:
        # Queues that are new, or made anew, have positions now, from which they are read.
        positions = positions | entered
        reached = next_positions(positions, seen.found, fail_on_loss=fails, away=seen.away)
    return positions, reached, seen.found


def _committed(
    target: ArchiveTable,
    live: LiveReadOptions,
    files: list[ArchiveFile],
    batch: Positions,
    ends: dict[MessageQueue, Ends],
) -> Iterator[Archived]:
    times = {queue: ms for queue, ms in target.store_times.items() if queue not in ends}
    times |= ask_brokers(live, lambda client, _: store_times_at(client, batch, ends))
    number = target.commit(files, batch, store_times=times)
    if live.report_group:
        # These offsets are for display only: nothing is read from them, so a failure is ignored.
        ask_brokers(live, lambda client, _: report(client, live.report_group, dict(batch)))
    for file in files:
        yield Archived(number, file.topic, file.broker, file.rows, file.size, file.path)


def write_here(
    place: StorageDir, live: LiveReadOptions, tasks: Sequence[Task], hive_folders: bool
) -> Iterator[ArchiveFile]:
    """Write the files of tasks in this process."""
    for task in tasks:
        yield from write_task(place, live, task, hive_folders=hive_folders)


def write_on_spark(spark: "SparkSession") -> Write:
    """Return a function that writes files on a cluster, whose workers must see the same place."""

    def write(
        place: StorageDir, live: LiveReadOptions, tasks: Sequence[Task], hive_folders: bool
    ) -> Iterator[ArchiveFile]:
        def work(task: Task) -> list[dict[str, Any]]:
            files = write_task(place, live, task, hive_folders=hive_folders)
            return [file._asdict() for file in files]

        parts = run_each(spark, tasks, work)
        for files in parts:
            yield from map(file_of, files)

    return write


def _table(rows: Sequence[Archived]) -> Any:
    return pa.Table.from_pylist([row._asdict() for row in rows], schema=_ARCHIVED)
