"""``rocketmq_store``: an offline store directory as tables in Spark.

    spark.read.format("rocketmq_store").option("table", "commitlog").load(DIR)

Options: ``table`` (see ``pipeline.tables``), ``columns`` (names with commas), ``splitBytes``,
``batchRows``, ``batchBytes``, ``checkCrc`` (true, false), ``onDamage`` (skip, fail),
``bodyMatches`` (an RE2 expression, table commitlog: other messages stay in the worker).

Rule: Spark prunes no columns of a Python source, so the columns are chosen before it reads:
with ``columns``, with ``.schema("topic string, store_size int")``, or with
``pipeline.commitlog``. Options that nobody reads are refused by name. Rows leave as Arrow
batches made by ``storefmt.columns``; there is no decoding here.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from pipeline.errors import BadOption
from pipeline.logtables import check_expression
from pipeline.tables import (
    COMMITLOG,
    SPLIT_SIZE,
    Reading,
    default_columns,
    plan,
    read,
    schema_of,
)
from storefmt.columns import BYTES_MAX, ROWS_MAX

# Spark lower-cases the names of options; these are the spellings shown to people.
_OPTIONS: Final = (
    "path",
    "table",
    "columns",
    "splitBytes",
    "batchRows",
    "batchBytes",
    "checkCrc",
    "onDamage",
    "bodyMatches",
)


def reading_of(options: Mapping[str, str]) -> Reading:
    """Return what the options of a load ask for.

    Raises:
        BadOption: an option is unknown, or has a value it cannot have.
    """
    known = {name.lower() for name in _OPTIONS}
    for name in options:
        if name.lower() not in known:
            raise BadOption(f"rocketmq_store has no option {name!r}; it has {', '.join(_OPTIONS)}")
    table = options.get("table", COMMITLOG)
    columns = default_columns(table)
    if "columns" in options:
        columns = tuple(name.strip() for name in options["columns"].split(",") if name.strip())
    schema_of(table, columns)
    return Reading(
        table=table,
        columns=columns,
        split_size=_number(options, "splitBytes", SPLIT_SIZE),
        rows_max=_number(options, "batchRows", ROWS_MAX),
        bytes_max=_number(options, "batchBytes", BYTES_MAX),
        check_crc=_choice(options, "checkCrc", {"false": False, "true": True}),
        fail_on_damage=_choice(options, "onDamage", {"skip": False, "fail": True}),
        body_matches=_expression(options, table),
    )


def _expression(options: Mapping[str, str], table: str) -> str:
    text = options.get("bodyMatches", "")
    if text and table != COMMITLOG:
        raise BadOption(f"option bodyMatches is for table {COMMITLOG}, not {table}")
    check_expression(text)
    return text


def _number(options: Mapping[str, str], name: str, default: int) -> int:
    text = options.get(name, str(default))
    if not text.isdecimal() or int(text) == 0:
        raise BadOption(f"option {name} is {text!r}, expected a whole number above 0")
    return int(text)


def _choice(options: Mapping[str, str], name: str, choices: Mapping[str, bool]) -> bool:
    """Return what one of two words means; the first is the default."""
    text = options.get(name, next(iter(choices))).lower()
    if text not in choices:
        raise BadOption(f"option {name} is {text!r}, expected {' or '.join(choices)}")
    return choices[text]


class StoreTask(InputPartition):
    """One task, as Spark ships it to a worker."""

    def __init__(self, task: Any) -> None:
        super().__init__(task)
        self.task = task


class StoreReader(DataSourceReader):
    """Reads a table of one store."""

    def __init__(self, directory: str, reading: Reading) -> None:
        self._directory = directory
        self._reading = reading

    def partitions(self) -> Sequence[InputPartition]:
        """Return the tasks; called once, on the driver."""
        # Spark turns an empty list into one partition without a task.
        return [StoreTask(task) for task in plan(Path(self._directory), self._reading)]

    def read(self, partition: InputPartition | None) -> Iterator[Any]:
        """Yield the rows of a task as Arrow batches; called on a worker."""
        if isinstance(partition, StoreTask):
            yield from read(partition.task, self._reading)


class RocketmqStore(DataSource):
    """The data source behind ``format("rocketmq_store")``."""

    @classmethod
    def name(cls) -> str:
        """Return the format's name."""
        return "rocketmq_store"

    def schema(self) -> StructType:
        """Return the columns that the options ask for."""
        reading = reading_of(self.options)
        return from_arrow_schema(schema_of(reading.table, reading.columns))

    def reader(self, schema: StructType) -> StoreReader:
        """Return a reader of the columns of ``schema``, which a user may have given."""
        if "path" not in self.options:
            raise BadOption("rocketmq_store needs a store directory: .load(DIR)")
        reading = reading_of(self.options)
        columns = tuple(schema.names)
        ours = from_arrow_schema(schema_of(reading.table, columns))
        for asked, given in zip(schema.fields, ours.fields, strict=True):
            if asked.dataType != given.dataType:
                raise BadOption(
                    f"column {given.name} is {given.dataType.simpleString()}, "
                    f"not {asked.dataType.simpleString()}"
                )
        return StoreReader(self.options["path"], reading._replace(columns=columns))
