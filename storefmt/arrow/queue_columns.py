"""Consume queues and index files as Arrow columns, by numpy views of their entries.

    queue part  file, queue offsets first..end  -> topic, queue_id, queue_offset, log offset, …
    index part  file, entries first..end        -> slot, key hash, log offset, time, previous

Rule: the bytes are those of ``formats.consumequeue`` and ``formats.index``; no object is
made for an entry. A part is small and plain, so that it can be sent to another process.

Source: store/ConsumeQueue.java, store/index/IndexFile.java.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from storefmt.arrow.columns_decode import timestamps
from storefmt.formats import layout
from storefmt.formats.consumequeue import BATCH_ENTRY, CQ_ENTRY, FILLER, FILLER_SIZE
from storefmt.formats.index import ENTRY, entry_pos
from storefmt.store_file import StoreFile

QUEUE_SCHEMA: Final = pa.schema(
    [
        pa.field("topic", pa.string()),
        pa.field("queue_id", pa.int32()),
        pa.field("queue_offset", pa.int64()),
        pa.field("log_offset", pa.int64()),
        pa.field("size", pa.int32()),
        pa.field("tags_code", pa.int64()),
        pa.field("file", pa.string()),
        pa.field("kind", pa.string()),
        pa.field("batch_num", pa.int16()),
        pa.field("store_timestamp", pa.timestamp("us", "UTC")),
    ]
)
"""``kind`` is cq, or bcq for a batch consume queue (5.x): an entry is a record of ``batch_num``
messages, the first of which has ``queue_offset``. The last two columns are null for cq."""
INDEX_SCHEMA: Final = pa.schema(
    [
        pa.field("file", pa.string()),
        pa.field("slot", pa.int32()),
        pa.field("position", pa.int32()),
        pa.field("key_hash", pa.int32()),
        pa.field("log_offset", pa.int64()),
        pa.field("store_timestamp", pa.timestamp("us", "UTC")),
        pa.field("prev_position", pa.int32()),
    ]
)
_CQ: Final = np.dtype(layout.CONSUME_QUEUE_ENTRY.numpy_fields())
_BCQ: Final = np.dtype(layout.BATCH_QUEUE_ENTRY.numpy_fields())
_INDEX: Final = np.dtype(layout.INDEX_ENTRY.numpy_fields())
_FILLER: Final = np.frombuffer(FILLER, dtype=_CQ)[0]
assert _CQ.itemsize == CQ_ENTRY.size
assert _BCQ.itemsize == BATCH_ENTRY.size
assert _INDEX.itemsize == ENTRY.size


class QueuePart(NamedTuple):
    """Entries of one consume queue file: queue offsets ``first`` up to ``end``."""

    path: Path
    topic: str
    queue_id: int
    base: int
    """Queue offset of the file's first entry."""
    first: int
    end: int


class BatchPart(NamedTuple):
    """Entries of one batch consume queue file: the ``first`` up to ``end`` of the file."""

    path: Path
    topic: str
    queue_id: int
    first: int
    end: int


class IndexPart(NamedTuple):
    """Entries of one index file: numbers ``first`` up to ``end``, 1 is the first."""

    path: Path
    slot_count: int
    begin_ms: int
    """Store time that the entries' seconds count from."""
    first: int
    end: int


_Rows = npt.NDArray[np.void]
_Offsets = npt.NDArray[np.int64]
_QueueColumn = Callable[[_Rows, QueuePart | BatchPart, _Offsets], Any]
_QUEUE_COLUMNS: Final[dict[str, _QueueColumn]] = {
    "topic": lambda rows, part, offsets: _same(part.topic, len(rows)),
    "queue_id": lambda rows, part, offsets: np.full(len(rows), part.queue_id, np.int32),
    "queue_offset": lambda rows, part, offsets: offsets,
    "log_offset": lambda rows, part, offsets: rows["log_offset"].astype(np.int64),
    "size": lambda rows, part, offsets: rows["size"].astype(np.int32),
    "tags_code": lambda rows, part, offsets: rows["tags_code"].astype(np.int64),
    "file": lambda rows, part, offsets: _same(part.path.name, len(rows)),
    "kind": lambda rows, part, offsets: _same("cq", len(rows)),
    "batch_num": lambda rows, part, offsets: pa.nulls(len(rows), pa.int16()),
    "store_timestamp": lambda rows, part, offsets: pa.nulls(len(rows), pa.timestamp("us", "UTC")),
}
_BATCH_COLUMNS: Final[dict[str, _QueueColumn]] = {
    **_QUEUE_COLUMNS,
    "kind": lambda rows, part, offsets: _same("bcq", len(rows)),
    "batch_num": lambda rows, part, offsets: rows["message_count"].astype(np.int16),
    "store_timestamp": lambda rows, part, offsets: timestamps(rows["store_ms"].astype(np.int64)),
}
_INDEX_COLUMNS: Final[dict[str, Callable[[_Rows, IndexPart, int], Any]]] = {
    "file": lambda rows, part, first: _same(part.path.name, len(rows)),
    "slot": lambda rows, part, first: rows["key_hash"].astype(np.int64) % part.slot_count,
    "position": lambda rows, part, first: np.arange(first, first + len(rows)),
    "key_hash": lambda rows, part, first: rows["key_hash"].astype(np.int32),
    "log_offset": lambda rows, part, first: rows["log_offset"].astype(np.int64),
    "store_timestamp": lambda rows, part, first: timestamps(
        rows["time_diff_s"].astype(np.int64) * 1000 + part.begin_ms
    ),
    "prev_position": lambda rows, part, first: rows["previous"].astype(np.int32),
}


def queue_batches(part: QueuePart, *, columns: Sequence[str], rows_max: int) -> Iterator[Any]:
    """Yield the entries of a part, including unwritten ones between written entries.

    The fillers of a queue that starts late do not count as entries.
    """
    pos = (part.first - part.base) * _CQ.itemsize
    for first, rows in _slices(part, _CQ, pos, rows_max):
        kept = np.arange(len(rows))
        if (rows["size"] == FILLER_SIZE).any():
            kept = np.flatnonzero(rows != _FILLER)
            rows = rows[kept]
        values = [_QUEUE_COLUMNS[name](rows, part, first + kept) for name in columns]
        yield _batch(QUEUE_SCHEMA, columns, values)


def batch_queue_batches(part: BatchPart, *, columns: Sequence[str], rows_max: int) -> Iterator[Any]:
    """Yield the entries of a part that are in use."""
    for _, rows in _slices(part, _BCQ, part.first * _BCQ.itemsize, rows_max):
        used = (rows["size"] != 0) | (rows["log_offset"] != 0) | (rows["message_count"] != 0)
        rows = rows[used]
        offsets = rows["base_queue_offset"].astype(np.int64)
        values = [_BATCH_COLUMNS[name](rows, part, offsets) for name in columns]
        yield _batch(QUEUE_SCHEMA, columns, values)


def index_batches(part: IndexPart, *, columns: Sequence[str], rows_max: int) -> Iterator[Any]:
    """Yield the entries of a part, in the order in which they were written."""
    pos = entry_pos(part.first, slot_count=part.slot_count)
    for first, rows in _slices(part, _INDEX, pos, rows_max):
        values = [_INDEX_COLUMNS[name](rows, part, first) for name in columns]
        yield _batch(INDEX_SCHEMA, columns, values)


def _slices(
    part: QueuePart | BatchPart | IndexPart, dtype: "np.dtype[np.void]", pos: int, rows_max: int
) -> Iterator[tuple[int, _Rows]]:
    """Yield (number of the first, entries) of slices of a part, which begins at byte ``pos``."""
    with closing(StoreFile(part.path)) as file:
        for first in range(part.first, part.end, rows_max):
            size = min(rows_max, part.end - first) * dtype.itemsize
            data = file.read(pos + (first - part.first) * dtype.itemsize, size)
            yield first, np.frombuffer(data[: len(data) - len(data) % dtype.itemsize], dtype=dtype)


def _same(text: str, count: int) -> Any:
    return pa.array([text], pa.string()).take(pa.array(np.zeros(count, np.int32)))


def _batch(schema: Any, columns: Sequence[str], values: list[Any]) -> Any:
    fields = [schema.field(name) for name in columns]
    arrays = [pa.array(value).cast(field.type) for field, value in zip(fields, values, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))
