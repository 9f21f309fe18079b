"""Every reader that the docs name sees the same rows, whatever was done to an archive before."""

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest
from deltalake import DeltaTable, QueryBuilder
from deltalake.schema import Field, PrimitiveType
from pyiceberg.table import StaticTable
from pyiceberg.types import StringType

from mqspark.archive.archive import opened
from mqspark.archive.tables import table_at, table_writer
from mqspark.jobs.maintain import compact, expire
from mqspark.places import StorageDir
from remoting.bodies import MessageQueue
from tests.mqspark.archive.test_upkeep import DAY_MS, rows, written

QUEUES = {topic: MessageQueue(topic, "broker-a", 0) for topic in ("T", "%RETRY%g|x")}
DAY = datetime.date(1970, 1, 2)
NOON = datetime.datetime(1970, 1, 1, 12, tzinfo=datetime.UTC)

Counts = tuple[int, ...]
"""The rows: all, of a topic, stored at noon of the first day or later, of the second day."""
Reader = Callable[[str], Counts]


def polars_counts(frame: pl.LazyFrame, *, has_day: bool = True) -> Counts:
    time = pl.col("store_timestamp")
    conditions = [pl.lit(True), pl.col("topic") == "%RETRY%g|x", time >= NOON]
    conditions.append(pl.col("day") == DAY if has_day else time.dt.date() == DAY)
    return tuple(frame.filter(each).collect().height for each in conditions)


def arrow_counts(source: Any, *, has_day: bool = True) -> Counts:
    time = pc.field("store_timestamp")
    conditions = [pc.scalar(True), pc.field("topic") == "%RETRY%g|x", time >= NOON]
    conditions.append(pc.field("day") == DAY if has_day else time.cast(pa.date32()) == DAY)
    return tuple(source.to_table(filter=each).num_rows for each in conditions)


def sql_counts(count: Callable[[str], int], *, has_day: bool = True) -> Counts:
    day = "day" if has_day else "cast(store_timestamp at time zone 'UTC' as date)"
    return tuple(
        count(where)
        for where in (
            "true",
            "topic = '%RETRY%g|x'",
            "store_timestamp >= timestamptz '1970-01-01 12:00:00Z'",
            f"{day} = date '1970-01-02'",
        )
    )


def duckdb_count(relation: Any) -> Callable[[str], int]:
    return lambda where: relation.filter(where).aggregate("count(*)").fetchall()[0][0]


def deltalake_count(uri: str) -> Callable[[str], int]:
    query = QueryBuilder().register("t", DeltaTable(uri))

    def count(where: str) -> int:
        where = where.replace("timestamptz '", "timestamp '")
        return pa.table(query.execute(f"select 1 from t where {where}")).num_rows

    return count


def pyiceberg_counts(uri: str) -> Counts:
    table = StaticTable.from_metadata(uri)
    first, last = (f"store_timestamp {sign} '{day}T00:00:00+00:00'" for sign, day in BOUNDS)
    noon = "store_timestamp >= '1970-01-01T12:00:00+00:00'"
    where = ("topic = '%RETRY%g|x'", noon, f"{first} and {last}")
    return (
        table.scan().count(),
        *(table.scan(row_filter=each).to_arrow().num_rows for each in where),
    )


BOUNDS = ((">=", "1970-01-02"), ("<", "1970-01-03"))
READERS: dict[str, dict[str, Reader]] = {
    "delta": {
        "polars": lambda uri: polars_counts(pl.scan_delta(uri)),
        "duckdb": lambda uri: sql_counts(
            duckdb_count(duckdb.from_arrow(DeltaTable(uri).to_pyarrow_dataset()))
        ),
        "pyarrow": lambda uri: arrow_counts(DeltaTable(uri).to_pyarrow_dataset()),
        "deltalake": lambda uri: sql_counts(deltalake_count(uri)),
    },
    "iceberg": {
        "polars": lambda uri: polars_counts(
            pl.scan_iceberg(StaticTable.from_metadata(uri)), has_day=False
        ),
        "duckdb": lambda uri: sql_counts(
            duckdb_count(StaticTable.from_metadata(uri).scan().to_duckdb("t").table("t")),
            has_day=False,
        ),
        "pyarrow": lambda uri: arrow_counts(
            ds.dataset(StaticTable.from_metadata(uri).scan().to_arrow()), has_day=False
        ),
        "pyiceberg": pyiceberg_counts,
    },
    "parquet": {
        "polars": lambda uri: polars_counts(pl.scan_parquet(opened(uri).paths()), has_day=False),
        "duckdb": lambda uri: sql_counts(
            duckdb_count(duckdb.read_parquet(opened(uri).paths())), has_day=False
        ),
        "pyarrow": lambda uri: arrow_counts(ds.dataset(opened(uri).paths()), has_day=False),
    },
}


def compacted(uri: str, kind: str) -> None:
    """Make one file of those of a topic and day; of Delta only in one partition."""
    if kind == "delta":
        DeltaTable(uri).optimize.compact(partition_filters=[("topic", "=", "T")])
    else:
        assert list(compact(uri))


def expired(uri: str, kind: str) -> None:
    """Take out what was stored on the first day."""
    if kind == "delta":
        table = DeltaTable(uri)
        table.delete("day < '1970-01-02'")
        table.vacuum(0, dry_run=False, enforce_retention_duration=False, full=True)
    else:
        assert expire(uri, before_ms=DAY_MS)


def widened(uri: str, kind: str) -> None:
    """Add a column, as a later version or another program may."""
    if kind == "delta":
        DeltaTable(uri).alter.add_columns([Field("colour", PrimitiveType("string"))])
    else:
        with table_writer(StorageDir(uri), None) as archive:
            archive._opened().update_schema().add_column("colour", StringType()).commit()


CHANGES = {"compacted": compacted, "expired": expired, "widened": widened}
ALL = (16, 8, 12, 8)
ROWS: dict[tuple[str, str], Counts] = {
    **{(kind, "as written"): (12, 6, 8, 4) for kind in READERS},
    ("delta", "compacted"): ALL,
    ("delta", "expired"): (8, 4, 8, 8),
    ("delta", "widened"): ALL,
    ("iceberg", "widened"): ALL,
    ("parquet", "compacted"): ALL,
    ("parquet", "expired"): (8, 4, 8, 8),
}


@pytest.mark.parametrize(
    ("kind", "state", "reader"),
    [(kind, state, reader) for kind, state in ROWS for reader in READERS[kind]],
)
def test_each_reader_sees_the_same_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, state: str, reader: str
) -> None:
    monkeypatch.setenv("POLARS_ICEBERG_PLANNER", "pyiceberg")
    uri, place = str(tmp_path / "archive"), StorageDir(str(tmp_path / "archive"))
    fill(place, kind, [1, DAY_MS - 1, DAY_MS])
    if state in CHANGES:
        CHANGES[state](uri, kind)
        fill(place, kind, [DAY_MS + 1])

    counts = READERS[kind][reader](uri)

    assert counts == ROWS[kind, state]


def fill(place: StorageDir, kind: str, times_ms: list[int | None]) -> None:
    """Commit twice the messages of these times in each topic."""
    for start in (0, 10):
        with table_writer(place, kind) as archive:
            files = [
                file
                for topic in QUEUES
                for file in written(
                    place,
                    rows(times_ms, start=start, topic=topic),
                    topic=topic,
                    hive_folders=archive.hive_folders,
                )
            ]
            archive.commit(files, dict.fromkeys(QUEUES.values(), start + len(times_ms)))


def test_a_delta_archive_of_an_earlier_version_is_written_on_as_it_is(tmp_path: Path) -> None:
    uri, place = str(tmp_path / "archive"), StorageDir(str(tmp_path / "archive"))
    table_at(place, "delta").commit(written(place, rows([1, DAY_MS])), {QUEUES["T"]: 2})

    fill(place, "delta", [DAY_MS])

    assert "day=" not in "".join(DeltaTable(uri).file_uris())
    assert pl.scan_delta(uri).collect().height == 6
    assert [read(uri) for read in READERS["delta"].values()][1:] == [(6, 2, 5, 5)] * 3
    # Rewriting all files names all folders as Hive does.
    DeltaTable(uri).optimize.z_order(["store_timestamp"])
    fill(place, "delta", [DAY_MS])
    assert [read(uri) for read in READERS["delta"].values()] == [(10, 4, 9, 9)] * 4
