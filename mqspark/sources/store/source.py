"""``rocketmq_store``: an offline store directory as tables in Spark.

    spark.read.format("rocketmq_store").option("table", "commitlog").load(DIR)

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

from pyspark.sql.datasource import DataSource, DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType

from mqspark.errors import BadOption
from mqspark.places import Storage, using_storage
from mqspark.schemas import STORE, STORE_COLUMN, struct_of
from mqspark.sources.projection import projected_columns
from mqspark.sources.store.conditions import from_spark
from mqspark.sources.store.options import given_values, reading_of, storage_of
from mqspark.sources.store.reading import ReadOptions
from mqspark.sources.store.spread import keep_modules
from mqspark.sources.store.stores import fixed_part
from mqspark.sources.store.tables import plan_all, read_of, schema_of


class StoreReader(DataSourceReader):
    """Reads a table of one store or several, which ``paths`` name as ``stores_of`` takes them."""

    def __init__(self, paths: Sequence[str], reading: ReadOptions, storage: Storage) -> None:
        self._paths = paths
        self._reading = reading
        self._storage = storage

    def partitions(self) -> Sequence[InputPartition]:
        """Return the tasks; called once, on the driver."""
        with self._reached():
            return [InputPartition(task) for task in plan_all(self._paths, self._reading)]

    def read(self, partition: InputPartition | None) -> Iterator[Any]:
        """Yield the rows of a task as Arrow batches; called on a worker."""
        # Spark turns an empty list of tasks into one partition without a task.
        if partition is not None and partition.value is not None:
            with self._reached():
                yield from read_of(partition.value, self._reading)
        keep_modules()

    def _reached(self) -> ExitStack:
        stack = ExitStack()
        for path in self._paths:
            stack.enter_context(using_storage(fixed_part(path), self._storage))
        return stack


class PushingReader(StoreReader):
    """Also takes Spark's filters. It is a separate class because Spark refuses every reader that
    can take filters if the session does not allow pushing them."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - Spark's
        """Keep the filters that workers can apply; return those that Spark has to apply."""
        left = []
        for each in filters:
            condition = from_spark(each, STORE[self._reading.table])
            if condition is None:
                left.append(each)
            else:
                where = (*self._reading.where, condition)
                self._reading = self._reading._replace(where=where)
        return left


class RocketmqStore(DataSource):
    """The data source behind ``format("rocketmq_store")``."""

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


def _paths_of(options: Mapping[str, str]) -> list[str]:
    """Return what ``load`` was given: one path or several."""
    paths = [options["path"]] if "path" in options else json.loads(options.get("paths", "[]"))
    if not paths:
        raise BadOption("rocketmq_store needs a store directory: .load(DIR)")
    return [str(path) for path in paths]
