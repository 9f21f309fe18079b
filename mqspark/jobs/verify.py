"""``verify``: everything that is wrong with stores, as ``store verify`` reports it.

    parts of logs ──a task for some parts of a store──> checked windows (CRC, fields, queue entries)
    windows, by store and in log order ──a task for each store──> its report, with all else checked

Rule: both engines run ``storefmt.offline.verify`` and return its report. Nothing is read before the
frame is asked for its rows, except the names and sizes of files.
"""

import sys
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from itertools import count, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from mqspark.schemas import schema, struct_of
from mqspark.sources.store.reading import SPLIT_SIZE
from mqspark.sources.store.spread import TaskRows, keep_modules, one_batch, sorted_once, spread
from mqspark.sources.store.stores import open_store
from storefmt.offline.verify.bulk import Bulk, Window
from storefmt.offline.verify.bulk_entries import MarkedEntries
from storefmt.offline.verify.findings import Report
from storefmt.offline.verify.parallel_verify import (
    LOG_PART_SIZE,
    LogPart,
    bulk_of,
    check_part,
    log_parts,
)
from storefmt.offline.verify.store import verify as verify_store
from storefmt.offline.views.store_view import StoreView

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
SCHEMA: Final = schema(
    store=pa.string(),
    ok=pa.bool_(),
    files=pa.int64(),
    records=pa.int64(),
    bytes=pa.int64(),
    seconds=pa.float64(),
    findings=pa.list_(pa.field("element", FINDING)),
)
_MARKED: Final = pa.struct(
    [
        pa.field("topic", pa.string()),
        pa.field("queue_id", pa.int32()),
        pa.field("first", pa.int64()),
        pa.field("more", pa.binary()),
    ]
)
_WINDOWS: Final = schema(
    store=pa.int32(),
    number=pa.int32(),
    pos=pa.int64(),
    starts=pa.binary(),
    plain=pa.binary(),
    odd_neighbours=pa.bool_(),
    marked=pa.list_(pa.field("element", _MARKED)),
)
_Place = tuple[int, int]
"""A part of a log: the offset at which its file starts, and the first byte in the file."""
_NO_PART: Final[tuple[int, Iterator[Any]]] = (sys.maxsize, iter(()))
PIECES_A_TASK: Final = SPLIT_SIZE // LOG_PART_SIZE


def verify(spark: "SparkSession", paths: Sequence[str], *, deep: bool = False) -> "DataFrame":
    """Return a frame with a row for each store, see ``SCHEMA``, in the order of their paths."""
    tasks = [task for number, path in enumerate(paths) for task in _tasks(number, path, deep)]
    by_store: list[list[_Place]] = [[] for _ in paths]
    for task in tasks:
        by_store[task.store] += task.places
    # Every worker gets those of all stores, so they are no objects.
    places = [np.array(some, dtype=np.int64).reshape(-1, 2) for some in by_store]

    def combine(batches: Iterable[Any]) -> Iterator[Any]:
        rows = (row for batch in batches for row in batch.to_pylist())
        for number, windows in groupby(rows, key=itemgetter("store")):
            with open_store(paths[number]) as store:
                checking = partial(_received, windows, list(map(tuple, places[number].tolist())))
                report = verify_store(store, deep=deep, checking=checking)
            yield one_batch(SCHEMA, [_row(paths[number], report)])
        keep_modules()

    windows = spread(spark, TaskRows(_checked, tasks, _WINDOWS))
    in_order = windows.repartition("store").sortWithinPartitions("store", "number", "pos")
    return sorted_once(in_order.mapInArrow(combine, struct_of(SCHEMA)), "store")


def verify_local(paths: Sequence[str], *, deep: bool = False) -> Any:
    """Return the same as a ``pyarrow.Table``, by processes of this machine where it pays."""
    rows = []
    for path in paths:
        with open_store(path) as store:
            rows.append(_row(path, verify_store(store, deep=deep, jobs=None)))
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def is_damaged(rows: Sequence[dict[str, Any]]) -> bool:
    """Return whether any store has an error or a warning."""
    return not all(row["ok"] for row in rows)


def _row(path: str, report: Report) -> dict[str, Any]:
    row = {"store": path, **asdict(report)}
    for finding in row["findings"]:
        finding.update(severity=finding["severity"].value, offset=finding["pos"])
    return row


class _Pieces(NamedTuple):
    """The parts of a store's log that one task checks; ``first`` is the number of the first."""

    store: int
    directory: str
    deep: bool
    first: int
    pieces: tuple[LogPart, ...]
    places: tuple[_Place, ...]


def _tasks(store_number: int, directory: str, deep: bool) -> list[_Pieces]:
    with open_store(directory) as store:
        parts = list(log_parts(store))
        places = [_place(store, part) for part in parts]
    # Without a part there is one task, which says that there is a store.
    ends = [(first, first + PIECES_A_TASK) for first in range(0, len(parts) or 1, PIECES_A_TASK)]
    return [
        _Pieces(
            store_number, directory, deep, first, tuple(parts[first:end]), tuple(places[first:end])
        )
        for first, end in ends
    ]


def _place(store: StoreView, part: LogPart) -> _Place:
    return store.log.spans[part.number].start, part.start


def _received(
    rows: Iterator[dict[str, Any]], places: list[_Place], parts: list[LogPart], bulk: Bulk
) -> Generator[list[Window], None, None]:
    """Yield the windows of each part of a log.

    A part has none if no task had it, because files have come or gone since the tasks were made.

    Args:
        rows: windows in the order of their numbers, which are those of ``places``.
        places: where the parts of the tasks are.
        parts: the parts of the log now.
        bulk: knows the log.
    """
    by_part = groupby(rows, key=itemgetter("number"))
    numbers = {place: number for number, place in enumerate(places)}
    number, group = next(by_part, _NO_PART)
    for part in parts:
        wanted = numbers.get(_place(bulk.matching.store, part))
        while wanted is not None and number < wanted:
            number, group = next(by_part, _NO_PART)
        yield [_window(row) for row in group if row["pos"] is not None] if number == wanted else []


def _checked(task: _Pieces) -> Iterator[Any]:
    with open_store(task.directory) as store:
        bulk = bulk_of(store.tree, task.deep)
        with bulk.matching.store:
            for number, piece, place in zip(count(task.first), task.pieces, task.places):
                # A file may have been removed since the tasks were made.
                is_there = piece.number < len(store.log.spans) and _place(store, piece) == place
                windows = check_part(bulk, piece) if is_there else []
                if rows := [_window_row(task.store, number, window) for window in windows]:
                    yield one_batch(_WINDOWS, rows)
    yield one_batch(_WINDOWS, [{"store": task.store, "number": task.first, "pos": None}])


def _window_row(store: int, number: int, window: Window) -> dict[str, Any]:
    return {
        "store": store,
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
            MarkedEntries(
                (each["topic"], each["queue_id"]),
                each["first"],
                np.frombuffer(each["more"], dtype=np.uint16),
            )
            for each in row["marked"]
        ],
    )
