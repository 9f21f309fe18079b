"""``rocketmq``: topics of live brokers in Spark, as batch, as stream, and as a sink.

    spark.read.format("rocketmq").option("namesrv", N).option("subscribe", "orders").load()
    spark.readStream.format("rocketmq")… .option("maxOffsetsPerTrigger", 100_000).load()
    frame.write.format("rocketmq").option("namesrv", N).option("topic", "copy").save(mode="append")

Options are those of ``options.py``, rows those of ``table.py`` beside this file.

Rule: two positions fix a batch of a stream before anything is read, so reading it again returns the
same rows; offsets that brokers keep are for display only. Stream offsets are
``{"topic@broker@queue": next queue offset}``. A reader exists in two processes at once and keeps no
state except the end of an AvailableNow run, and that the brokers have read the filter. Brokers
return old messages in small answers, so use ``rocketmq_store`` for history.
"""

import logging
import uuid
from collections.abc import Iterator, Mapping, Sequence
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
from mqspark.sources.live.options import (
    LiveReadOptions,
    SinkSettings,
    Use,
    live_settings,
    queue_of,
    queue_text,
    sink_settings,
)
from mqspark.sources.live.plan import Ends, next_positions, ranges_of, tasks_of
from mqspark.sources.live.queues import (
    Positions,
    ask,
    ask_patiently,
    batch_tasks,
    checked_span,
    next_batch_end,
    report,
    span,
    starting,
)
from mqspark.sources.live.read import read_ranges
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
        return [InputPartition(task) for task in ask(self._live, batch_tasks)]

    def read(self, partition: InputPartition | None) -> Iterator[Any]:
        """Yield the rows of a task as Arrow batches; called on a worker."""
        yield from _read_partition(self._live, partition)


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads topics batch by batch, each between two positions that Spark keeps."""

    def __init__(self, live: LiveReadOptions) -> None:
        self._live = live
        self._goal: dict[MessageQueue, Ends] | None = None
        self._is_checked = live.filter_kind == TAG

    def _check_filter(self) -> None:
        """Ask the brokers about the filter, before this process plans its first batch.

        Raises:
            BadOption: a broker cannot read the expression.
        """
        if not self._is_checked:
            ask_patiently(self._live, checked_span)
            self._is_checked = True

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """Return the offsets at which a new query begins."""
        self._check_filter()
        return _written(ask(self._live, starting))

    def getDefaultReadLimit(self) -> Any:  # noqa: N802
        """Return the limit that the options set; if there are two, that of rows."""
        rows, size = self._live.max_offsets, self._live.max_bytes
        if rows is not None:
            return ReadMaxRows(rows)
        return ReadAllAvailable() if size is None else ReadMaxBytes(size)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Note where the topics end now; this run reads nothing later."""
        self._goal = ask(self._live, span)

    def latestOffset(  # noqa: N802
        self, start: Mapping[str, int] | None = None, limit: Any = None
    ) -> dict[str, int]:
        """Return where the next batch ends: the ends of the queues, or what the limit admits.

        Raises:
            DataLost: as ``next_positions``.
        """
        self._check_filter()
        found = ask_patiently(self._live, span) if self._goal is None else self._goal
        if start is None:
            return _written({queue: there.high for queue, there in found.items()})
        known = _read(start)
        reached = next_positions(known, found, fail_on_loss=self._live.fail_on_data_loss)
        if limit is None or isinstance(limit, ReadAllAvailable):
            # A run of Trigger.Once is one batch, whatever the options set.
            return _written(reached)
        return _written(
            next_batch_end(self._live, known, reached, max_offsets=self._live.max_offsets)
        )

    def reportLatestOffset(self) -> dict[str, int]:  # noqa: N802
        """Return where the topics end now, for the progress of the query."""
        found = ask_patiently(self._live, span)
        return _written({queue: there.high for queue, there in found.items()})

    def partitions(
        self, start: Mapping[str, int], end: Mapping[str, int]
    ) -> Sequence[InputPartition]:
        """Return the tasks between two positions."""
        # After a restart the batch that was not finished is planned before anything else is asked.
        self._check_filter()
        live = self._live
        tasks = tasks_of(
            ranges_of(_read(start), _read(end)),
            min_partitions=live.min_partitions,
            max_records=live.max_records,
        )
        return [InputPartition(task) for task in tasks]

    def read(self, partition: InputPartition | None) -> Iterator[Any]:
        """Yield the rows of a task as Arrow batches; called on a worker."""
        yield from _read_partition(self._live, partition)

    def commit(self, end: Mapping[str, int]) -> None:
        """Set the offsets of ``reportGroup``, which lag behind and are for display only."""
        group = self._live.report_group
        if group:
            for failure in ask(self._live, lambda one, _: report(one, group, _read(end))):
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
        check_columns(schema.names, sink)
        return sink


def _written(positions_of: Positions) -> dict[str, int]:
    return {queue_text(queue): offset for queue, offset in sorted(positions_of.items())}


def _read(offsets: Mapping[str, int]) -> Positions:
    return {queue_of(text): int(offset) for text, offset in offsets.items()}


def _partition_id() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    return context.partitionId() if context is not None else 0


def _local_property(name: str) -> str:
    from pyspark import TaskContext

    context = TaskContext.get()
    return (context.getLocalProperty(name) if context is not None else None) or "none"
