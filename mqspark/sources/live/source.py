"""``rocketmq``: topics of live brokers in Spark, as batch, as stream, and as a sink.

    spark.read.format("rocketmq").option("namesrv", N).option("subscribe", "orders").load()
    spark.readStream.format("rocketmq")… .option("maxOffsetsPerTrigger", 100_000).load()
    frame.write.format("rocketmq").option("namesrv", N).option("topic", "copy").save(mode="append")

Options are those of ``options.py``, rows those of ``table.py`` beside this file.

Rule: two positions fix a batch of a stream before anything is read, so reading it again returns the
same rows; offsets that brokers keep are for display only. A reader exists in two processes at once
and keeps no state except the end of an AvailableNow run, that the brokers have read the filter,
that it has planned a batch, and its warnings. Brokers return old messages in small answers, so use
``rocketmq_store`` for history.
"""

import logging
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from mqclient.consumer.subscription import TAG
from mqspark.errors import BadOption
from mqspark.schemas import struct_of
from mqspark.shipping import with_code
from mqspark.sources.live.offsets import StreamOffsets, StreamPositions
from mqspark.sources.live.options import (
    LiveReadOptions,
    SinkSettings,
    Use,
    live_settings,
    sink_settings,
)
from mqspark.sources.live.plan import Ends, Range, next_positions, ranges_of, tasks_of
from mqspark.sources.live.queues import (
    Positions,
    StoreTimes,
    ask_brokers,
    ask_patiently,
    batch_tasks,
    check_filter,
    next_batch_end,
    report,
    starting,
    store_times_at,
)
from mqspark.sources.live.read import read_ranges
from mqspark.sources.live.survey import Survey, span_of_known, survey
from mqspark.sources.live.table import live_schema
from mqspark.sources.live.write import check_columns, send_rows
from mqspark.sources.projection import projected_columns
from remoting.bodies import MessageQueue

try:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadMaxBytes,
        ReadMaxRows,
        SupportsTriggerAvailableNow,
    )

    HAS_LIMITS = True
except ImportError:
    # Before 4.2 a stream has no limits, and Spark calls nothing that needs these names.
    HAS_LIMITS = False
    SupportsTriggerAvailableNow = object  # type: ignore[misc, assignment]

LOG = logging.getLogger(__name__)


def _read_partition(live: LiveReadOptions, partition: InputPartition | None) -> Iterator[Any]:
    """Yield the rows of the task that a partition carries to a worker."""
    # Spark turns an empty list of tasks into one partition without a task.
    if partition is not None and partition.value is not None:
        yield from read_ranges(live, partition.value)


class BatchReader(DataSourceReader):
    """Reads topics between two positions that are found when the query is planned."""

    def __init__(self, live: LiveReadOptions) -> None:
        self._live = live

    def partitions(self) -> Sequence[InputPartition]:
        """Return the tasks; called once, on the driver."""
        return [InputPartition(task) for task in ask_brokers(self._live, batch_tasks)]

    def read(self, partition: InputPartition | None) -> Iterator[Any]:
        """Yield the rows of a task as Arrow batches; called on a worker."""
        yield from _read_partition(self._live, partition)


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads topics batch by batch, each between two positions that Spark keeps."""

    def __init__(self, live: LiveReadOptions) -> None:
        self._live = live
        self._goal: dict[MessageQueue, Ends] | None = None
        self._is_checked = live.filter_kind == TAG
        self._has_planned = False
        self._warnings: list[str] = []

    def __reduce__(self) -> tuple[Any, ...]:
        """Return a pickle that also finds the code where a stream of Spark Connect runs."""
        return with_code(type(self), self.__dict__)

    def _check_filter(self) -> None:
        """Ask the brokers about the filter, before this process plans its first batch.

        Raises:
            BadOption: a broker cannot read the expression.
        """
        if not self._is_checked:
            queue_ends = self._span()
            ask_patiently(self._live, lambda client, live: check_filter(client, live, queue_ends))
            self._is_checked = True

    def _span(self) -> dict[MessageQueue, Ends]:
        """Return the queues that are there; all topics have been known since the query began."""
        topics = set(self._live.wanted.topics)
        return ask_patiently(self._live, lambda client, live: span_of_known(client, live, topics))

    def _end_from(
        self, positions: StreamPositions, queue_ends: dict[MessageQueue, Ends] | None = None
    ) -> tuple[Positions, Survey]:
        """Return how far the stream could go from some offsets, and what became of its queues.

        Raises:
            DataLost: as ``next_positions``.
        """
        seen = ask_patiently(
            self._live,
            lambda client, live: survey(
                client, live, positions.positions, positions.store_times, queue_ends=queue_ends
            ),
        )
        end = next_positions(
            positions.positions,
            seen.found,
            fail_on_loss=self._live.fail_on_data_loss,
            away=seen.away,
            renewed=seen.renewed,
        )
        warnings = seen.warnings(positions.positions)
        for text in warnings:
            if text not in self._warnings:
                LOG.warning("%s", text)
        self._warnings = warnings
        return end, seen

    def initialOffset(self) -> StreamOffsets:  # noqa: N802
        """Return the offsets at which a new query begins."""
        positions, queue_ends = ask_brokers(self._live, starting)
        self._check_filter()
        return StreamPositions(positions, self._store_times(positions, queue_ends)).kept()

    def _store_times(
        self, positions: Positions, queue_ends: dict[MessageQueue, Ends]
    ) -> StoreTimes:
        return ask_patiently(
            self._live, lambda client, _: store_times_at(client, positions, queue_ends)
        )

    def getDefaultReadLimit(self) -> Any:  # noqa: N802
        """Return the limit that the options set; if there are two, that of rows."""
        rows, size = self._live.max_offsets, self._live.max_bytes
        if rows is not None:
            return ReadMaxRows(rows)
        return ReadAllAvailable() if size is None else ReadMaxBytes(size)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Note where the topics end now; this run reads nothing later."""
        self._goal = self._span() or None

    def latestOffset(  # noqa: N802
        self, start: StreamOffsets | None = None, limit: Any = None
    ) -> StreamOffsets:
        """Return where the next batch ends: the ends of the queues, or what the limit admits.

        Raises:
            DataLost: as ``next_positions``.
        """
        self._check_filter()
        if start is None:
            return self.reportLatestOffset()
        old = StreamPositions.of(start)
        end, seen = self._end_from(old, self._goal)
        self._has_planned = True
        if limit is not None and not isinstance(limit, ReadAllAvailable):
            # A run of Trigger.Once is one batch, whatever the options set.
            end = next_batch_end(self._live, old.positions, end, max_offsets=self._live.max_offsets)
        kept = {
            queue: time_ms
            for queue, time_ms in old.store_times.items()
            if end[queue] == old.positions[queue] and queue not in seen.renewed
        }
        moved = {
            queue: offset for queue, offset in end.items() if offset != old.positions.get(queue)
        }
        return StreamPositions(end, kept | self._store_times(moved, seen.found)).kept()

    def reportLatestOffset(self) -> StreamOffsets:  # noqa: N802
        """Return where the topics end now, for the progress of the query."""
        queue_ends = self._span()
        positions = {queue: there.high for queue, there in queue_ends.items()}
        return StreamPositions(positions, self._store_times(positions, queue_ends)).kept()

    def partitions(self, start: StreamOffsets, end: StreamOffsets) -> Sequence[InputPartition]:
        """Return the tasks between two positions.

        Raises:
            DataLost: as ``next_positions``.
        """
        # After a restart the batch that was not finished is planned before anything else is asked.
        self._check_filter()
        live = self._live
        first, last = StreamPositions.of(start), StreamPositions.of(end)
        ranges = ranges_of(first.positions, last.positions)
        if ranges and not self._has_planned:
            # Before Spark 4.2 it never is: ``latestOffset`` does not get the start of the batch.
            ranges = self._still_there(ranges, last if HAS_LIMITS else first)
        self._has_planned = HAS_LIMITS
        tasks = tasks_of(ranges, min_partitions=live.min_partitions, max_records=live.max_records)
        return [InputPartition(task) for task in tasks]

    def _still_there(self, ranges: list[Range], positions: StreamPositions) -> list[Range]:
        """Return the ranges of queues that are still those that a batch was planned for.

        Raises:
            DataLost: as ``next_positions``.
        """
        _, seen = self._end_from(positions)
        there = set(seen.found) | seen.away
        if HAS_LIMITS:
            # The next batch begins with their first message.
            there -= seen.renewed
        return [each for each in ranges if each.queue in there]

    def read(self, partition: InputPartition | None) -> Iterator[Any]:
        """Yield the rows of a task as Arrow batches; called on a worker."""
        yield from _read_partition(self._live, partition)

    def commit(self, end: StreamOffsets) -> None:
        """Set the offsets of ``reportGroup``, which lag behind and are for display only."""
        group, reached = self._live.report_group, StreamPositions.of(end).positions
        if group:
            for failure in ask_brokers(
                self._live, lambda client, _: report(client, group, reached)
            ):
                LOG.warning("offsets of %s are not reported: %s", group, failure)

    def stop(self) -> None:
        """Do nothing, since no connection outlives a call."""


class BatchWriter(DataSourceArrowWriter):
    """Sends the rows of a frame."""

    def __init__(self, sink: SinkSettings) -> None:
        self._sink = sink
        self._query = uuid.uuid4().hex

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        """Send the rows of one task; called on a worker."""
        send_rows(self._sink, iterator, run_id=f"{self._query}/0/{_partition_id()}")
        return WriterCommitMessage()


class StreamWriter(DataSourceStreamArrowWriter):
    """Sends the rows of each batch of a stream; a repeated batch has the same ids."""

    def __init__(self, sink: SinkSettings) -> None:
        self._sink = sink

    def __reduce__(self) -> tuple[Any, ...]:
        """Return a pickle that also finds the code where a stream of Spark Connect runs."""
        return with_code(type(self), self.__dict__)

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        """Send the rows of one task of one batch; called on a worker."""
        query, batch = (
            _local_property(name) for name in ("sql.streaming.queryId", "streaming.sql.batchId")
        )
        send_rows(self._sink, iterator, run_id=f"{query}/{batch}/{_partition_id()}")
        return WriterCommitMessage()

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Do nothing, since the messages are already stored."""

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Do nothing: sent messages cannot be taken back; the next try repeats their ids."""


class Rocketmq(DataSource):
    """The data source behind ``format("rocketmq")``."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Return a pickle that also finds the code where Spark plans streams."""
        return with_code(type(self), self.__dict__)

    @classmethod
    def name(cls) -> str:
        """Return the format's name."""
        return "rocketmq"

    def schema(self) -> StructType:
        """Return the columns that the options ask for."""
        return struct_of(live_schema(live_settings(self.options, use=Use.SCHEMA).columns))

    def reader(self, schema: StructType) -> BatchReader:
        """Return a reader of the columns of ``schema``, which a user may have given."""
        live = live_settings(self.options, use=Use.BATCH)
        return BatchReader(live._replace(columns=projected_columns(schema, live_schema)))

    def streamReader(self, schema: StructType) -> StreamReader:  # noqa: N802
        """Return a stream reader of the columns of ``schema``.

        Raises:
            BadOption: an option is wrong, or this Spark is too old for limits of a trigger.
        """
        live = live_settings(self.options, use=Use.STREAM)
        if (live.max_offsets or live.max_bytes) and not HAS_LIMITS:
            raise BadOption("limits of a trigger (max…PerTrigger) need Spark 4.2 or later")
        return StreamReader(live._replace(columns=projected_columns(schema, live_schema)))

    def writer(self, schema: StructType, overwrite: bool) -> BatchWriter:
        """Return a writer of a frame's rows.

        Raises:
            BadOption: an option is wrong, or the mode is overwrite.
        """
        if overwrite:
            raise BadOption('a topic cannot be overwritten; write with .mode("append")')
        return BatchWriter(self._sink(schema))

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:  # noqa: N802
        """Return a writer of a stream's batches; ``overwrite`` is the output mode complete.

        Raises:
            BadOption: an option is wrong, or the output mode is complete.
        """
        if overwrite:
            raise BadOption('a topic cannot be overwritten; write with .outputMode("append")')
        return StreamWriter(self._sink(schema))

    def _sink(self, schema: StructType) -> SinkSettings:
        sink = sink_settings(self.options)
        types = {field.name: field.dataType.simpleString() for field in schema.fields}
        check_columns(types, sink)
        return sink


def _partition_id() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    return context.partitionId() if context is not None else 0


def _local_property(name: str) -> str:
    from pyspark import TaskContext

    context = TaskContext.get()
    return (context.getLocalProperty(name) if context is not None else None) or "none"
