"""``rocketmq_store``: an offline store directory as tables in Spark.

    spark.read.format("rocketmq_store").option("table", "commitlog").load(DIR)
    spark.readStream.format("rocketmq_store").load(DIR)         new records (``stream.py``)

Options are those of ``options.py``, columns those of ``mqspark.schemas``.

Rule: Spark prunes no columns of a Python source, so the columns are chosen before it reads:
with ``columns``, with ``.schema("topic string, store_size int")``, or with
``mqspark.commitlog``. Unknown options are refused by name. Rows leave as Arrow batches made
by ``storefmt.arrow.columns``; nothing is decoded here.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    Filter,
    InputPartition,
)
from pyspark.sql.types import StructType

from mqspark.errors import BadOption
from mqspark.places import Storage, using_storage
from mqspark.schemas import STORE, STORE_COLUMN, struct_of
from mqspark.shipping import with_code
from mqspark.sources.projection import projected_columns
from mqspark.sources.store.conditions import from_spark
from mqspark.sources.store.options import given_values, reading_of, storage_of
from mqspark.sources.store.reading import ReadOptions
from mqspark.sources.store.spread import keep_modules
from mqspark.sources.store.stores import fixed_part, stores_of
from mqspark.sources.store.stream import (
    StoreOffsets,
    check_streamed,
    first_offsets,
    log_ends,
    next_offsets,
    tasks_between,
)
from mqspark.sources.store.tables import plan_all, read_of, schema_of

try:
    from pyspark.sql.streaming.datasource import ReadAllAvailable, SupportsTriggerAvailableNow
except ImportError:
    # Before 4.2 a stream has no limits, and Spark calls nothing that needs these names.
    SupportsTriggerAvailableNow = object  # type: ignore[misc, assignment]


class StoreReader(DataSourceReader):
    """Reads a table of one store or several, which ``paths`` name as ``stores_of`` takes them."""

    def __init__(self, paths: Sequence[str], reading: ReadOptions, storage: Storage) -> None:
        self.paths = paths
        self.reading = reading
        self._storage = storage

    def partitions(self) -> Sequence[InputPartition]:
        """Return the tasks; called once, on the driver."""
        with self.reached():
            return [InputPartition(task) for task in plan_all(self.paths, self.reading)]

    def read(self, partition: InputPartition | None) -> Iterator[Any]:
        """Yield the rows of a task as Arrow batches; called on a worker."""
        # Spark turns an empty list of tasks into one partition without a task.
        if partition is not None and partition.value is not None:
            with self.reached():
                yield from read_of(partition.value, self.reading)
        keep_modules()

    def reached(self) -> ExitStack:
        """Return a block in which the stores can be reached."""
        stack = ExitStack()
        for path in self.paths:
            stack.enter_context(using_storage(fixed_part(path), self._storage))
        return stack


class PushingReader(StoreReader):
    """Also takes Spark's filters. It is a separate class because Spark refuses every reader that
    can take filters if the session does not allow pushing them."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - Spark's
        """Keep the filters that workers can apply; return those that Spark has to apply."""
        left = []
        for each in filters:
            condition = from_spark(each, STORE[self.reading.table])
            if condition is None:
                left.append(each)
            else:
                where = (*self.reading.where, condition)
                self.reading = self.reading._replace(where=where)
        return left


class StoreStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads the records that logs have gained, batch by batch."""

    def __init__(self, paths: Sequence[str], reading: ReadOptions, storage: Storage) -> None:
        self._batch = StoreReader(paths, reading, storage)
        self._goal: StoreOffsets | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Return a pickle that also finds the code where a stream of Spark Connect runs."""
        return with_code(type(self), self.__dict__)

    def initialOffset(self) -> StoreOffsets:  # noqa: N802 - Spark's
        """Return the offsets at which a new query begins."""
        with self._batch.reached():
            return first_offsets(self._batch.paths, self._batch.reading)

    def getDefaultReadLimit(self) -> Any:  # noqa: N802 - Spark's
        """Return that a batch has no limit."""
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's
        """Note where the logs end now; this run reads nothing later."""
        self._goal = self._ends()

    def latestOffset(  # noqa: N802 - Spark's
        self, start: StoreOffsets | None = None, limit: Any = None
    ) -> StoreOffsets:
        """Return where the next batch ends.

        Raises:
            DataLost: as ``next_offsets``.
        """
        if start is None:
            return self._ends()
        with self._batch.reached():
            reached = next_offsets(self._batch.paths, start)
        if self._goal is None:
            return reached
        # Stores that have come since then enter with the next run.
        goal = self._goal
        return {
            store: max(start[store], min(reached[store], goal.get(store, end)))
            for store, end in reached.items()
            if store in start
        }

    def reportLatestOffset(self) -> StoreOffsets:  # noqa: N802 - Spark's
        """Return where the logs end now, for the progress of the query."""
        return self._ends()

    def _ends(self) -> StoreOffsets:
        with self._batch.reached():
            return {store: log_ends(store, 0)[1] for store in stores_of(self._batch.paths)}

    def partitions(self, start: StoreOffsets, end: StoreOffsets) -> Sequence[InputPartition]:
        """Return the tasks between two offsets of each log."""
        with self._batch.reached():
            return [InputPartition(task) for task in tasks_between(start, end, self._batch.reading)]

    def read(self, partition: InputPartition | None) -> Iterator[Any]:
        """Yield the rows of a task as Arrow batches; called on a worker."""
        yield from self._batch.read(partition)

    def commit(self, end: StoreOffsets) -> None:
        """Do nothing, since only Spark keeps the offsets."""

    def stop(self) -> None:
        """Do nothing, since no file stays open."""


class RocketmqStore(DataSource):
    """The data source behind ``format("rocketmq_store")``."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Return a pickle that also finds the code where Spark plans streams."""
        return with_code(type(self), self.__dict__)

    @classmethod
    def name(cls) -> str:
        """Return the format's name."""
        return "rocketmq_store"

    def schema(self) -> StructType:
        """Return the columns that the options ask for; of a list or a pattern also ``store``."""
        reading = reading_of(self.options)
        columns, paths = reading.columns, _paths_of(self.options)
        if "columns" not in self.options and (len(paths) > 1 or fixed_part(paths[0]) != paths[0]):
            columns = (STORE_COLUMN, *columns)
        return struct_of(schema_of(reading.table, columns))

    def reader(self, schema: StructType) -> StoreReader:
        """Return a reader of the columns of ``schema``, which a user may have given.

        Raises:
            BadOption: an option is wrong, or there is no store directory.
        """
        paths, reading = _paths_of(self.options), reading_of(self.options)
        columns = projected_columns(schema, partial(schema_of, reading.table))
        kind = PushingReader if given_values(self.options)["pushdown"] else StoreReader
        storage = storage_of(self.options, paths)
        return kind(paths, reading._replace(columns=columns), storage)

    def streamReader(self, schema: StructType) -> StoreStreamReader:  # noqa: N802 - Spark's
        """Return a stream reader of the columns of ``schema``.

        Raises:
            BadOption: an option is wrong, or the table cannot be read as a stream.
        """
        paths, reading = _paths_of(self.options), reading_of(self.options)
        check_streamed(reading)
        columns = projected_columns(schema, partial(schema_of, reading.table))
        storage = storage_of(self.options, paths)
        return StoreStreamReader(paths, reading._replace(columns=columns), storage)


def _paths_of(options: Mapping[str, str]) -> list[str]:
    """Return what ``load`` was given: one path or several."""
    paths = [options["path"]] if "path" in options else json.loads(options.get("paths", "[]"))
    if not paths:
        raise BadOption("rocketmq_store needs a store directory: .load(DIR)")
    return [str(path) for path in paths]
