"""``rocketmq_store``: an offline store directory as tables in Spark.

    spark.read.format("rocketmq_store").option("table", "commitlog").load(DIR)

Options: ``table`` (see ``tables.py``), ``layout`` (auto, file, batchcq, dledger; see
``reading.Layout``), ``columns`` (names with commas), ``splitBytes``,
``batchRows``, ``batchBytes``, ``checkCrc`` (true, false), ``onDamage`` (skip, fail),
``decompress`` (true: bodies as their producers gave them),
``pushdown`` (true: workers apply Spark's filters; wants a session that allows it, as
``pipeline.session`` does), and for the table commitlog ``topics`` (names with commas),
``topicsPattern`` (an RE2 expression that the whole name matches),
``storage.endpoint``, ``storage.region``, ``storage.anonymous``, ``storage.accessKey`` and
``storage.secretKey`` (of S3; what is not given is the environment's),
``startTime``, ``endTime`` (epoch ms, both included), ``startOffset``, ``endOffset`` (bytes of
log), ``bodyMatches`` (an RE2 expression).

Rule: Spark prunes no columns of a Python source, so the columns are chosen before it reads:
with ``columns``, with ``.schema("topic string, store_size int")``, or with
``pipeline.frames.commitlog``. Unknown options are refused by name. Rows leave as Arrow batches made
by ``storefmt.arrow.columns``; nothing is decoded here.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from pyspark.sql.datasource import DataSource, DataSourceReader, Filter, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from pipeline.errors import BadOption
from pipeline.places import Storage, is_s3, reached_by
from pipeline.sources.projection import projected
from pipeline.sources.store.conditions import Condition, from_spark, time_of
from pipeline.sources.store.log_tables import check_expression
from pipeline.sources.store.spread import keep_modules
from pipeline.sources.store.tables import (
    COMMITLOG,
    DAMAGE,
    SPLIT_SIZE,
    Layout,
    Reading,
    default_columns,
    plan,
    read,
    schema_of,
    table_names,
)
from storefmt.arrow.columns import BYTES_MAX, ROWS_MAX

# Spark lower-cases the names of options; these are the spellings shown to people.
_OPTIONS: Final = (
    "path",
    "table",
    "layout",
    "columns",
    "splitBytes",
    "batchRows",
    "batchBytes",
    "checkCrc",
    "onDamage",
    "decompress",
    "bodyMatches",
    "pushdown",
    "topics",
    "topicsPattern",
    "startTime",
    "endTime",
    "startOffset",
    "endOffset",
    "storage.endpoint",
    "storage.region",
    "storage.anonymous",
    "storage.accessKey",
    "storage.secretKey",
)
_LAYOUTS: Final = {
    Layout.AUTO: tuple(table_names()),
    Layout.FILE: tuple(table_names()),
    Layout.BATCHCQ: ("consumequeue",),
    Layout.DLEDGER: (COMMITLOG, DAMAGE),
}
_NO_YES: Final = {"false": False, "true": True}
_BOUNDS: Final = {
    "startTime": ("store_timestamp", ">="),
    "endTime": ("store_timestamp", "<="),
    "startOffset": ("commit_log_offset", ">="),
    "endOffset": ("commit_log_offset", "<"),
}


def reading_of(options: Mapping[str, str]) -> Reading:
    """Return how the options of a load read a table.

    Raises:
        BadOption: an option is unknown, or has an invalid value.
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
    _choice(options, "pushdown", _NO_YES)
    decompress = _choice(options, "decompress", _NO_YES)
    if decompress and table != COMMITLOG:
        raise BadOption(f"option decompress is for table {COMMITLOG}, not {table}")
    return Reading(
        table=table,
        layout=_layout(options, table),
        columns=columns,
        split_size=_number(options, "splitBytes", SPLIT_SIZE),
        rows_max=_number(options, "batchRows", ROWS_MAX),
        bytes_max=_number(options, "batchBytes", BYTES_MAX),
        check_crc=_choice(options, "checkCrc", _NO_YES),
        fail_on_damage=_choice(options, "onDamage", {"skip": False, "fail": True}),
        where=_conditions(options, table),
        body_matches=_expression(options, table),
        decompress=decompress,
    )


def _conditions(options: Mapping[str, str], table: str) -> tuple[Condition, ...]:
    names = [name for name in ("topics", "topicsPattern", *_BOUNDS) if name in options]
    if names and table != COMMITLOG:
        raise BadOption(f"option {names[0]} is for table {COMMITLOG}, not {table}")
    found = []
    for name in names:
        if name == "topics":
            topics = tuple(topic.strip() for topic in options[name].split(","))
            found.append(Condition("topic", "in", topics))
            continue
        if name == "topicsPattern":
            check_expression(options[name])
            found.append(Condition("topic", "matches", options[name]))
            continue
        column, test = _BOUNDS[name]
        number = _number(options, name, 0, least=0)
        value = time_of(number) if column == "store_timestamp" else number
        found.append(Condition(column, test, value))
    return tuple(found)


def _layout(options: Mapping[str, str], table: str) -> Layout:
    text = options.get("layout", Layout.AUTO.value).lower()
    known = [each.value for each in Layout]
    if text not in known:
        raise BadOption(f"option layout is {text!r}, expected {' or '.join(known)}")
    layout = Layout(text)
    if table not in _LAYOUTS[layout]:
        raise BadOption(f"layout {text} has no table {table}; it has {', '.join(_LAYOUTS[layout])}")
    return layout


def storage_of(options: Mapping[str, str], where: str) -> Storage:
    """Return the options for a store on S3.

    Raises:
        BadOption: the store is not on S3, or options contradict each other.
    """
    given = [name for name in _OPTIONS if name.startswith("storage.") and name in options]
    if given and not is_s3(where):
        raise BadOption(f"option {given[0]} is for a store on s3://, not for {where}")
    storage = Storage(
        endpoint=options.get("storage.endpoint", ""),
        region=options.get("storage.region", ""),
        anonymous=_choice(options, "storage.anonymous", _NO_YES),
        access_key=options.get("storage.accessKey", ""),
        secret_key=options.get("storage.secretKey", ""),
    )
    if bool(storage.access_key) != bool(storage.secret_key):
        raise BadOption("options storage.accessKey and storage.secretKey go together")
    if storage.anonymous and storage.access_key:
        raise BadOption("options storage.anonymous and storage.accessKey contradict each other")
    if storage.endpoint and "://" not in storage.endpoint:
        raise BadOption(
            f"option storage.endpoint is {storage.endpoint!r}, expected http://HOST:PORT"
        )
    return storage


def _expression(options: Mapping[str, str], table: str) -> str:
    text = options.get("bodyMatches", "")
    if text and table != COMMITLOG:
        raise BadOption(f"option bodyMatches is for table {COMMITLOG}, not {table}")
    check_expression(text)
    return text


def _number(options: Mapping[str, str], name: str, default: int, *, least: int = 1) -> int:
    text = options.get(name, str(default))
    if not text.isdecimal() or int(text) < least:
        raise BadOption(f"option {name} is {text!r}, expected a whole number above {least - 1}")
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

    def __init__(self, directory: str, reading: Reading, storage: Storage) -> None:
        self._directory = directory
        self._reading = reading
        self._storage = storage

    def partitions(self) -> Sequence[InputPartition]:
        """Return the tasks; called once, on the driver."""
        with reached_by(self._directory, self._storage):
            # Spark turns an empty list into one partition without a task.
            return [StoreTask(task) for task in plan(self._directory, self._reading)]

    def read(self, partition: InputPartition | None) -> Iterator[Any]:
        """Yield the rows of a task as Arrow batches; called on a worker."""
        keep_modules()
        if isinstance(partition, StoreTask):
            with reached_by(self._directory, self._storage):
                yield from read(partition.task, self._reading)


class PushingReader(StoreReader):
    """Also takes Spark's filters. It is a separate class because Spark refuses every reader that
    can take filters if the session does not allow pushing them."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - Spark's
        """Keep the filters that workers can apply; return those that Spark has to apply."""
        schema = schema_of(self._reading.table, default_columns(self._reading.table))
        left = []
        for each in filters:
            condition = from_spark(each, schema)
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
        """Return the columns that the options ask for."""
        reading = reading_of(self.options)
        return from_arrow_schema(schema_of(reading.table, reading.columns))

    def reader(self, schema: StructType) -> StoreReader:
        """Return a reader of the columns of ``schema``, which a user may have given.

        Raises:
            BadOption: an option is wrong, or there is no store directory.
        """
        if "path" not in self.options:
            raise BadOption("rocketmq_store needs a store directory: .load(DIR)")
        reading = reading_of(self.options)
        columns = projected(schema, partial(schema_of, reading.table))
        kind = PushingReader if _choice(self.options, "pushdown", _NO_YES) else StoreReader
        where = self.options["path"]
        storage = storage_of(self.options, where)
        return kind(where, reading._replace(columns=columns), storage)
