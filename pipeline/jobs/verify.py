"""``verify``: everything that is wrong with stores, as ``store verify`` reports it.

    many stores   a task for each store
    one store     a task for each part of the log: workers check its windows (CRC, fields, queue
                  entries), and the driver combines them in log order

Rule: both engines and both ways run ``storefmt.offline.verify`` and return its report.
"""

from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from pipeline.sources.store.spread import Rows, fixed, gather, one_batch, spread
from pipeline.sources.store.stores import open_store
from storefmt.offline.verify.bulk import Bulk, Marked, Window
from storefmt.offline.verify.findings import Report
from storefmt.offline.verify.parallel_verify import (
    LOG_PART_SIZE,
    LogPart,
    bulk_of,
    check_part,
    log_parts,
)
from storefmt.offline.verify.store import verify as verify_store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FINDING: Final = pa.struct(
    [
        pa.field("kind", pa.string()),
        pa.field("severity", pa.string()),
        pa.field("file", pa.string()),
        pa.field("offset", pa.int64()),
        pa.field("field", pa.string()),
        pa.field("found", pa.string()),
        pa.field("expected", pa.string()),
        pa.field("hint", pa.string()),
        pa.field("size", pa.int64()),
        pa.field("count", pa.int64()),
    ]
)
SCHEMA: Final = pa.schema(
    [
        pa.field("store", pa.string()),
        pa.field("ok", pa.bool_()),
        pa.field("files", pa.int64()),
        pa.field("records", pa.int64()),
        pa.field("bytes", pa.int64()),
        pa.field("seconds", pa.float64()),
        pa.field("findings", pa.list_(pa.field("element", FINDING))),
    ]
)
_MARKED: Final = pa.struct(
    [
        pa.field("topic", pa.string()),
        pa.field("queue_id", pa.int32()),
        pa.field("first", pa.int64()),
        pa.field("more", pa.binary()),
    ]
)
_WINDOWS: Final = pa.schema(
    [
        pa.field("number", pa.int32()),
        pa.field("pos", pa.int64()),
        pa.field("starts", pa.binary()),
        pa.field("plain", pa.binary()),
        pa.field("odd_neighbours", pa.bool_()),
        pa.field("marked", pa.list_(pa.field("element", _MARKED))),
    ]
)
PIECES_A_TASK: Final = (256 << 20) // LOG_PART_SIZE
TASKS_AT_ONCE: Final = 64
"""The tasks whose windows are in the driver's memory together: those of 16 GiB of log, with some 11
bytes for each record."""


def verify(spark: "SparkSession", paths: Sequence[str], *, deep: bool = False) -> "DataFrame":
    """Return a frame with a row for each store, see ``SCHEMA``.

    A single store is verified right away.
    """
    if len(paths) != 1:
        return spread(spark, _rows(paths, deep))
    return fixed(spark, pa.Table.from_batches([_report_of(paths[0], deep, spark=spark)]))


def verify_local(paths: Sequence[str], *, deep: bool = False) -> Any:
    """Return the same as a ``pyarrow.Table``, by processes of this machine where it pays."""
    return gather(_rows(paths, deep, jobs=None))


def rows_of(table: Any, **_options: object) -> list[dict[str, Any]]:
    """Return the rows of an Arrow table of either engine."""
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def is_damaged(rows: Sequence[dict[str, Any]]) -> bool:
    """Return whether any store has an error or a warning."""
    return not all(row["ok"] for row in rows)


def steps(paths: Sequence[str]) -> str:
    """Return what is done for one store; empty for many, whose frame has a plan."""
    if len(paths) != 1:
        return ""
    with open_store(paths[0]) as store:
        count = len(list(log_parts(store)))
    return (
        f"judge {count} pieces of {LOG_PART_SIZE >> 20} MiB of the log, {PIECES_A_TASK} a task and "
        f"{TASKS_AT_ONCE} tasks at a time (CRC, fields, queue entries)\n"
        "walk the judged windows here, in log order; then queues, index, offsets and seals"
    )


class _Store(NamedTuple):
    directory: str
    deep: bool
    jobs: int | None


def _rows(paths: Sequence[str], deep: bool, *, jobs: int | None = 1) -> Rows:
    return Rows(_verified, [_Store(path, deep, jobs) for path in paths], SCHEMA)


def _verified(task: _Store) -> Iterator[Any]:
    yield _report_of(task.directory, task.deep, jobs=task.jobs)


def _report_of(
    path: str, deep: bool, *, jobs: int | None = 1, spark: "SparkSession | None" = None
) -> Any:
    with open_store(path) as store:
        checking = None if spark is None else _SparkChecking(spark, path)
        report = verify_store(store, deep=deep, jobs=jobs, checking=checking)
    return one_batch(SCHEMA, [_row(path, report)])


def _row(path: str, report: Report) -> dict[str, Any]:
    findings = [
        {
            "kind": finding.kind,
            "severity": finding.severity.value,
            "file": finding.file,
            "offset": finding.pos,
            "field": finding.field,
            "found": finding.found,
            "expected": finding.expected,
            "hint": finding.hint,
            "size": finding.size,
            "count": finding.count,
        }
        for finding in report.findings
    ]
    return {
        "store": path,
        "ok": report.ok,
        "files": report.files,
        "records": report.records,
        "bytes": report.bytes,
        "seconds": report.seconds,
        "findings": findings,
    }


class _Pieces(NamedTuple):
    """The parts of a store's log that one task checks; ``first`` is the number of the first."""

    directory: str
    deep: bool
    first: int
    pieces: tuple[LogPart, ...]


class _SparkChecking:
    """Lets Spark check the parts of a log, ``TASKS_AT_ONCE`` tasks at a time."""

    def __init__(self, spark: "SparkSession", directory: str) -> None:
        self._spark = spark
        self._directory = directory

    def __call__(self, todo: list[LogPart], bulk: Bulk) -> Generator[list[Window], None, None]:
        tasks = [
            _Pieces(self._directory, bulk.deep, at, tuple(todo[at : at + PIECES_A_TASK]))
            for at in range(0, len(todo), PIECES_A_TASK)
        ]
        for at in range(0, len(tasks), TASKS_AT_ONCE):
            some = tasks[at : at + TASKS_AT_ONCE]
            frame = spread(self._spark, Rows(_checked, some, _WINDOWS))
            found: dict[int, list[Window]] = {}
            for row in frame.toArrow().to_pylist():
                found.setdefault(row["number"], []).append(_window(row))
            for task in some:
                for number in range(task.first, task.first + len(task.pieces)):
                    windows = found.pop(number, [])
                    yield sorted(windows, key=lambda window: window.pos)


def _checked(task: _Pieces) -> Iterator[Any]:
    with open_store(task.directory) as store:
        bulk = bulk_of(store.tree, task.deep)
        with bulk.matching.store:
            for number, piece in enumerate(task.pieces, task.first):
                rows = [_window_row(number, window) for window in check_part(bulk, piece)]
                if rows:
                    yield one_batch(_WINDOWS, rows)


def _window_row(number: int, window: Window) -> dict[str, Any]:
    return {
        "number": number,
        "pos": window.pos,
        "starts": window.starts.tobytes(),
        "plain": window.plain.tobytes(),
        "odd_neighbours": window.odd_neighbours,
        "marked": [
            {"topic": key[0], "queue_id": key[1], "first": first, "more": more.tobytes()}
            for key, first, more in window.marked
        ],
    }


def _window(row: dict[str, Any]) -> Window:
    return Window(
        data=b"",
        pos=row["pos"],
        starts=np.frombuffer(row["starts"], dtype=np.int64),
        plain=np.frombuffer(row["plain"], dtype=bool),
        odd_neighbours=row["odd_neighbours"],
        marked=[
            Marked(
                (each["topic"], each["queue_id"]),
                each["first"],
                np.frombuffer(each["more"], dtype=np.uint16),
            )
            for each in row["marked"]
        ],
    )
