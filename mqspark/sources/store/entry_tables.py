"""The tables made of entries of fixed size: consume queues and index files.

    consumequeue  a row for each entry; small files share a partition, so 50,000 queues need few
    index         a row for each entry

Rule: planning lists names and reads only the last file of each queue. A part is a few numbers, and
the worker that gets it reads the file (``storefmt.arrow.queue_columns``).
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mqspark.packing import packed
from mqspark.sources.store.reading import ReadOptions, StoreLayout
from storefmt.arrow.columns_decode import timestamps
from storefmt.arrow.queue_columns import (
    BatchPart,
    IndexPart,
    QueuePart,
    batch_queue_batches,
    index_batches,
    queue_batches,
)
from storefmt.formats.consumequeue import BATCH_ENTRY, ENTRY_SIZE
from storefmt.formats.index import ENTRY
from storefmt.offline.views.storedir import StoreDir
from storefmt.offline.views.tree import FileSpan

_P = TypeVar("_P", QueuePart | BatchPart, IndexPart)
PACK_SIZE: Final = 64 << 20
"""The bytes of entries in one partition."""


QueueParts = tuple[QueuePart | BatchPart, ...]
"""The parts of queues that one task reads."""
IndexParts = tuple[IndexPart, ...]
"""The parts of index files that one task reads."""


def plan_queues(directory: Path, reading: ReadOptions) -> list[QueueParts]:
    """Return tasks for the entries of all queues, those of batch consume queues (5.x) last.

    Raises:
        NotAStore: ``directory`` is not a store directory.
    """
    size_max = min(PACK_SIZE, reading.split_size)
    parts: list[QueuePart | BatchPart] = []
    with StoreDir.open(directory) as store:
        if reading.layout is not StoreLayout.BATCHCQ:
            store.need_queues()
            for key in store.queues():
                parts += _queue_parts(store, *key, size_max)
        if reading.layout is not StoreLayout.FILE:
            for (topic, queue_id), spans in sorted(store.tree.batch_queues.items()):
                parts += _batch_parts(topic, queue_id, spans, size_max)
    return _packed(parts, ENTRY_SIZE, size_max)


def plan_index(directory: Path, reading: ReadOptions) -> list[IndexParts]:
    """Return tasks for the entries of all index files.

    A file whose number of slots cannot be determined has no rows here; ``verify`` reports it.

    Raises:
        NotAStore: ``directory`` is not a store directory.
    """
    size_max = min(PACK_SIZE, reading.split_size)
    room = max(1, size_max // ENTRY.size)
    with StoreDir.open(directory) as store:
        parts = [
            IndexPart(
                view.span.path,
                view.shape.slot_count,
                view.header.begin_ms,
                first,
                min(first + room, view.entry_count),
            )
            for view in store.index_files
            if view.shape is not None
            for first in range(1, view.entry_count, room)
        ]
    return _packed(parts, ENTRY.size, size_max)


def read_queues(task: QueueParts, reading: ReadOptions) -> Iterator[Any]:
    """Yield the entries of a task's queues as Arrow batches."""
    for part in task:
        columns, rows_max = reading.columns, reading.rows_max
        if isinstance(part, BatchPart):
            yield from batch_queue_batches(part, columns=columns, rows_max=rows_max)
        else:
            yield from queue_batches(part, columns=columns, rows_max=rows_max)


def read_index(task: IndexParts, reading: ReadOptions) -> Iterator[Any]:
    """Yield the entries of a task's index files as Arrow batches."""
    for part in task:
        yield from index_batches(part, columns=reading.columns, rows_max=reading.rows_max)


def batch_of(schema: Any, columns: Iterable[str], rows: list[dict[str, Any]]) -> Any:
    """Return rows, whose times are in ms, as one batch."""
    arrays, fields = [], []
    for name in columns:
        field = schema.field(name)
        values = [row.get(name) for row in rows]
        if pa.types.is_timestamp(field.type):
            numbers = np.array([value or 0 for value in values], dtype=np.int64)
            times = timestamps(numbers)
            missing = pa.array([not value for value in values], pa.bool_())
            arrays.append(pc.if_else(missing, pa.scalar(None, field.type), times))
        else:
            arrays.append(pa.array(values, field.type))
        fields.append(field)
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def _queue_parts(store: StoreDir, topic: str, queue_id: int, size_max: int) -> Iterator[QueuePart]:
    view = store.queue(topic, queue_id)
    room = max(1, size_max // ENTRY_SIZE)
    for span in view.files:
        low, high = view.range_of(span)
        for first in range(low, high, room):
            end = min(first + room, high)
            yield QueuePart(span.path, topic, queue_id, low, first, end)


def _batch_parts(
    topic: str, queue_id: int, spans: Iterable[FileSpan], size_max: int
) -> Iterator[BatchPart]:
    room = max(1, size_max // BATCH_ENTRY.size)
    for span in spans:
        count = span.size // BATCH_ENTRY.size
        for first in range(0, count, room):
            yield BatchPart(span.path, topic, queue_id, first, min(first + room, count))


def _packed(parts: Iterable[_P], entry_size: int, size_max: int) -> list[tuple[_P, ...]]:
    return list(packed(parts, lambda part: (part.end - part.first) * entry_size, size_max=size_max))
