"""The tables of ``rocketmq_store``: their columns, how they are planned and read.

    commitlog, damage            the commit log, by splits      (log_tables)
    consumequeue, index          entries, packed                (entry_tables)
    offsets, delay_offsets, topics, groups, index_files,
    files, checkpoint            small files, in one task       (state_tables)

Rule: a task is small and plain, so that Spark can send it to a worker; the task and the
``ReadOptions`` are enough to read it. Nothing is decoded here; ``storefmt`` does that.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa

from mqspark.errors import BadOption
from mqspark.schemas import COMMITLOG, DAMAGE, RECORDS, STORE, STORE_COLUMN
from mqspark.sources.store import entry_tables, log_tables, state_tables
from mqspark.sources.store.conditions import matching
from mqspark.sources.store.reading import ReadOptions
from mqspark.sources.store.stores import Paths, store_path, stores_of


class Table(NamedTuple):
    """How one table is planned and read; ``mqspark.schemas`` has its columns."""

    plan: Callable[[Path, ReadOptions], Sequence[Any]]
    read: Callable[[Any, ReadOptions], Iterator[Any]]


def _state(table: str, rows_of: Callable[..., Iterator[dict[str, Any]]]) -> Table:
    return Table(state_tables.plan_whole, state_tables.reads(table, rows_of))


_TABLES: Final = {
    COMMITLOG: Table(log_tables.plan_log, log_tables.read_log),
    DAMAGE: Table(log_tables.plan_log, log_tables.read_damage),
    "consumequeue": Table(entry_tables.plan_queues, entry_tables.read_queues),
    "index": Table(entry_tables.plan_index, entry_tables.read_index),
    "index_files": Table(state_tables.plan_whole, state_tables.read_headers),
    "offsets": _state("offsets", state_tables.offset_rows),
    "delay_offsets": _state("delay_offsets", state_tables.delay_offset_rows),
    "topics": _state("topics", state_tables.topic_rows),
    "groups": _state("groups", state_tables.group_rows),
    "files": Table(state_tables.plan_files, state_tables.read_files),
    "checkpoint": Table(state_tables.plan_whole, state_tables.read_checkpoint),
}
_UNLESS_NAMED: Final = {COMMITLOG: "properties_raw", "files": RECORDS}
"""The column of a table that is read only if it is named."""


def table_names() -> list[str]:
    """Return the names of all tables."""
    return list(_TABLES)


def default_columns(table: str) -> tuple[str, ...]:
    """Return the columns of a table if no others are named.

    Raises:
        BadOption: there is no such table.
    """
    _table(table)
    return tuple(name for name in STORE[table].names if name != _UNLESS_NAMED.get(table))


def schema_of(table: str, columns: Sequence[str]) -> Any:
    """Return the Arrow schema of some columns of a table, in this order.

    Raises:
        BadOption: there is no such table or column.
    """
    _table(table)
    fields = {STORE_COLUMN: pa.field(STORE_COLUMN, pa.string())}
    fields = {field.name: field for field in STORE[table]} | fields
    unknown = [name for name in columns if name not in fields]
    if unknown:
        raise BadOption(
            f"table {table} has no column {', '.join(unknown)}; it has {', '.join(fields)}"
        )
    return pa.schema([fields[name] for name in columns])


def plan(directory: str | Path, reading: ReadOptions | None = None) -> Sequence[Any]:
    """Return the tasks that together read a table of a store; without ``reading`` the commit log.

    Raises:
        BadOption: there is no such table.
        NotAStore: ``directory`` is not a store directory.
        OSError: a file cannot be read.
    """
    reading = reading or ReadOptions()
    return _table(reading.table).plan(store_path(directory), reading)


def read(task: Any, reading: ReadOptions) -> Iterator[Any]:
    """Yield the rows of a task as Arrow record batches with ``reading.columns``.

    Raises:
        StoreError: there is damage, and ``reading.fail_on_damage`` is true.
    """
    table = _table(reading.table)
    if not reading.where:
        yield from table.read(task, reading)
        return
    needed = dict.fromkeys((*reading.columns, *(each.column for each in reading.where)))
    for batch in table.read(task, reading._replace(columns=tuple(needed))):
        rows = matching(batch, reading.where)
        if rows.num_rows:
            yield rows.select(list(reading.columns))


class StoreTask(NamedTuple):
    """A task of one of several stores."""

    store: str
    task: Any


def plan_all(paths: Paths, reading: ReadOptions | None = None) -> list[StoreTask]:
    """Return the tasks that together read a table of the stores that ``paths`` name.

    Raises:
        NotAStore, BadOption, OSError: as ``stores_of`` and ``plan``.
    """
    return [StoreTask(store, task) for store in stores_of(paths) for task in plan(store, reading)]


def read_of(task: StoreTask, reading: ReadOptions) -> Iterator[Any]:
    """Yield the rows of a task as ``read`` does; ``reading.columns`` may have ``store``."""
    columns = reading.columns
    if STORE_COLUMN not in columns:
        yield from read(task.task, reading)
        return
    # Some other column has to say how many rows there are.
    bare = [name for name in columns if name != STORE_COLUMN] or STORE[reading.table].names[:1]
    schema = schema_of(reading.table, columns)
    for batch in read(task.task, reading._replace(columns=tuple(bare))):
        named = pa.repeat(pa.scalar(task.store), batch.num_rows)
        arrays = [named if name == STORE_COLUMN else batch.column(name) for name in columns]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _table(name: str) -> Table:
    if name not in _TABLES:
        raise BadOption(f"no table {name!r}; there are {', '.join(_TABLES)}")
    return _TABLES[name]
