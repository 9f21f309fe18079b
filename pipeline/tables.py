"""The tables of ``rocketmq_store`` and how a store is cut into splits.

    commitlog   a row a message (``storefmt.columns`` owns the columns and the decoding)
    damage      a row a stretch of bytes that is no good record

Rule: a split is a range of log offsets within one file; a record belongs to the split in
which it starts, so the splits of a store give every record once. Files and sizes are read
once, at planning: what a live broker appends later is not part of the answer.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa

from pipeline.errors import BadOption
from storefmt.columns import BYTES_MAX, DEFAULT_COLUMNS, ROWS_MAX, SCHEMA, iter_batches
from storefmt.errors import NotAStore
from storefmt.paths import StorePaths
from storefmt.scan import Damage, LogFile, log_files

COMMITLOG: Final = "commitlog"
DAMAGE: Final = "damage"
SPLIT_SIZE: Final = 256 << 20
DAMAGE_SCHEMA: Final = pa.schema(
    [
        pa.field("file", pa.string()),
        pa.field("commit_log_offset", pa.int64()),
        pa.field("length", pa.int64()),
        pa.field("kind", pa.string()),
        pa.field("detail", pa.string()),
    ]
)
_DEFAULTS: Final[dict[str, tuple[str, ...]]] = {
    COMMITLOG: DEFAULT_COLUMNS,
    DAMAGE: tuple(DAMAGE_SCHEMA.names),
}


class Split(NamedTuple):
    """Log offsets ``start`` up to ``end`` (bytes) of one commit log file."""

    path: str
    start: int
    end: int


class Reading(NamedTuple):
    """How a table is read; sizes in bytes."""

    table: str = COMMITLOG
    columns: tuple[str, ...] = DEFAULT_COLUMNS
    split_size: int = SPLIT_SIZE
    rows_max: int = ROWS_MAX
    bytes_max: int = BYTES_MAX
    check_crc: bool = False
    fail_on_damage: bool = False


def default_columns(table: str) -> tuple[str, ...]:
    """Return the columns that a table has unless others are named.

    Raises:
        BadOption: there is no such table.
    """
    if table not in _DEFAULTS:
        raise BadOption(f"no table {table!r}; there are {', '.join(_DEFAULTS)}")
    return _DEFAULTS[table]


def schema_of(table: str, columns: Sequence[str]) -> Any:
    """Return the Arrow schema of some columns of a table, in this order.

    Raises:
        BadOption: there is no such table or column.
    """
    default_columns(table)
    whole = SCHEMA if table == COMMITLOG else DAMAGE_SCHEMA
    unknown = [name for name in columns if name not in whole.names]
    if unknown:
        raise BadOption(
            f"table {table} has no column {', '.join(unknown)}; it has {', '.join(whole.names)}"
        )
    return pa.schema([whole.field(name) for name in columns])


def plan(directory: Path, split_size: int = SPLIT_SIZE) -> list[Split]:
    """Cut the commit log below a store directory into splits.

    Raises:
        NotAStore: there is no commit log.
        OSError: a file cannot be read.
    """
    commitlog = StorePaths(directory).commitlog
    if not commitlog.is_dir():
        raise NotAStore(
            f"{directory} holds no commitlog folder; name the directory that has it "
            "(storePathRootDir in broker.conf)"
        )
    splits: list[Split] = []
    for path in log_files(commitlog):
        with LogFile(path) as file:
            # A preallocated file is gigabytes of holes: a split starts where data does.
            pos = file.data_after(0)
            while pos < file.size:
                end = min(pos + split_size, file.size)
                splits.append(Split(str(path), file.base + pos, file.base + end))
                pos = file.data_after(end)
    return splits


def read(split: Split, reading: Reading) -> Iterator[Any]:
    """Yield the rows of a split as Arrow record batches with ``reading.columns``.

    Raises:
        RecordDamaged: there is damage, and ``reading.fail_on_damage``.
    """
    if reading.table == DAMAGE:
        yield from _read_damage(split, reading)
        return
    yield from iter_batches(
        [Path(split.path)],
        columns=reading.columns,
        start=split.start,
        end=split.end,
        rows_max=reading.rows_max,
        bytes_max=reading.bytes_max,
        check_crc=reading.check_crc,
        # What is skipped here is a row of the table damage.
        on_damage=None if reading.fail_on_damage else lambda *_: None,
    )


def _read_damage(split: Split, reading: Reading) -> Iterator[Any]:
    found: list[dict[str, object]] = []
    base = int(Path(split.path).name)

    def note(file_name: str, damage: Damage) -> None:
        found.append(
            {
                "file": file_name,
                "commit_log_offset": base + damage.pos,
                "length": damage.size,
                "kind": str(damage.error.kind),
                "detail": str(damage.error),
            }
        )

    columns = ("commit_log_offset", "store_size")
    for batch in iter_batches(
        [Path(split.path)],
        columns=(*columns, "crc_ok") if reading.check_crc else columns,
        start=split.start,
        end=split.end,
        check_crc=reading.check_crc,
        on_damage=note,
    ):
        if reading.check_crc:
            found += _bad_bodies(Path(split.path).name, batch)
    if found:
        schema = schema_of(DAMAGE, reading.columns)
        yield pa.RecordBatch.from_pylist(found, schema=schema)


def _bad_bodies(file_name: str, batch: Any) -> Iterator[dict[str, object]]:
    """Yield a damage row for each record whose body does not match its CRC."""
    if batch.column("crc_ok").true_count == batch.num_rows:
        return
    for row in batch.to_pylist():
        if not row["crc_ok"]:
            yield {
                "file": file_name,
                "commit_log_offset": row["commit_log_offset"],
                "length": row["store_size"],
                "kind": "bad_crc",
                "detail": "the body does not match its crc",
            }
