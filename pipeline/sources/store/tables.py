"""The tables of ``rocketmq_store``: their columns, how they are planned and read.

    commitlog, damage            the commit log, by splits      (log_tables)
    consumequeue, index          entries, packed                (entry_tables)
    index_files                  headers                        (entry_tables)
    offsets, delay_offsets, topics, groups, files, checkpoint   (state_tables)

Rule: a task is small and plain, so that Spark can send it to a worker; the task and the ``Reading``
are enough to read it. Nothing is decoded here; ``storefmt`` does that.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa

from pipeline.errors import BadOption
from pipeline.sources.store import entry_tables, log_tables, state_tables
from pipeline.sources.store.conditions import wanted
from pipeline.sources.store.log_tables import DAMAGE, DAMAGE_SCHEMA, Split
from pipeline.sources.store.reading import COMMITLOG, SPLIT_SIZE, Layout, Reading
from pipeline.sources.store.stores import located
from storefmt.arrow.columns import DEFAULT_COLUMNS, SCHEMA
from storefmt.arrow.queue_columns import INDEX_SCHEMA, QUEUE_SCHEMA

__all__ = [
    "COMMITLOG",
    "DAMAGE",
    "SPLIT_SIZE",
    "Layout",
    "Reading",
    "Split",
    "default_columns",
    "plan",
    "read",
    "schema_of",
    "table_names",
]


class Table(NamedTuple):
    """One table."""

    schema: Any
    plan: Callable[[Path, Reading], Sequence[Any]]
    read: Callable[[Any, Reading], Iterator[Any]]


def _state(schema: Any, rows_of: Callable[..., Iterator[dict[str, Any]]]) -> Table:
    return Table(schema, state_tables.plan_whole, state_tables.reads(schema, rows_of))


_TABLES: Final = {
    COMMITLOG: Table(SCHEMA, log_tables.plan_log, log_tables.read_log),
    DAMAGE: Table(DAMAGE_SCHEMA, log_tables.plan_log, log_tables.read_damage),
    "consumequeue": Table(QUEUE_SCHEMA, entry_tables.plan_queues, entry_tables.read_queues),
    "index": Table(INDEX_SCHEMA, entry_tables.plan_index, entry_tables.read_index),
    "index_files": Table(
        entry_tables.INDEX_FILES_SCHEMA, entry_tables.plan_headers, entry_tables.read_headers
    ),
    "offsets": _state(state_tables.OFFSETS_SCHEMA, state_tables.offset_rows),
    "delay_offsets": _state(state_tables.DELAY_OFFSETS_SCHEMA, state_tables.delay_offset_rows),
    "topics": _state(state_tables.TOPICS_SCHEMA, state_tables.topic_rows),
    "groups": _state(state_tables.GROUPS_SCHEMA, state_tables.group_rows),
    "files": Table(state_tables.FILES_SCHEMA, state_tables.plan_files, state_tables.read_files),
    "checkpoint": Table(
        state_tables.CHECKPOINT_SCHEMA, state_tables.plan_whole, state_tables.read_checkpoint
    ),
}

_DEFAULTS: Final = {COMMITLOG: DEFAULT_COLUMNS, "files": state_tables.FILES_COLUMNS}
"""The default columns of tables with expensive columns, which are read only if they are named."""


def table_names() -> list[str]:
    """Return the names of all tables."""
    return list(_TABLES)


def default_columns(table: str) -> tuple[str, ...]:
    """Return the columns of a table if no others are named.

    Raises:
        BadOption: there is no such table.
    """
    return _DEFAULTS.get(table) or tuple(_table(table).schema.names)


def schema_of(table: str, columns: Sequence[str]) -> Any:
    """Return the Arrow schema of some columns of a table, in this order.

    Raises:
        BadOption: there is no such table or column.
    """
    whole = _table(table).schema
    unknown = [name for name in columns if name not in whole.names]
    if unknown:
        raise BadOption(
            f"table {table} has no column {', '.join(unknown)}; it has {', '.join(whole.names)}"
        )
    return pa.schema([whole.field(name) for name in columns])


def plan(directory: str | Path, reading: Reading | None = None) -> Sequence[Any]:
    """Return the tasks that together read a table of a store; without ``reading`` the commit log.

    Raises:
        BadOption: there is no such table.
        NotAStore: ``directory`` is not a store directory.
        OSError: a file cannot be read.
    """
    reading = reading or Reading()
    return _table(reading.table).plan(located(directory), reading)


def read(task: Any, reading: Reading) -> Iterator[Any]:
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
        found = wanted(batch, reading.where)
        if found.num_rows:
            yield found.select(list(reading.columns))


def _table(name: str) -> Table:
    if name not in _TABLES:
        raise BadOption(f"no table {name!r}; there are {', '.join(_TABLES)}")
    return _TABLES[name]
