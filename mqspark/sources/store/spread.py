"""Tasks over parts of stores, run on a cluster or in this process: the same core for both engines.

    tasks ──one row a task──> work(task) on a worker ──Arrow batches──> DataFrame
                           └─ or here, one after the other ──────────> pyarrow.Table

Rule: a task is small and plain and names files; its work is a function of a module, so that a
worker can import it. Work that writes a file does so under another name and renames it at the end,
since Spark may run a task twice and keeps the rows of one run. The places of damage that a task
passes over, and machines without kernels, come back with an accumulator (``skipped``), which Spark
Connect does not have.
"""

import gc
import platform
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import pyarrow as pa

from mqspark.schemas import struct_of
from mqspark.sources.store.skipped import collect_notes, collecting, note_slow
from storefmt.arrow.columns import has_kernel

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Task = TypeVar("Task")
PARTITIONS_MAX: Final = 2000
"""More tasks than this share partitions: each costs Spark some 20 ms and a part of the plan."""


class TaskRows(NamedTuple):
    """Rows that are not computed yet: the tasks, the work for each, and the resulting columns."""

    work: Callable[[Any], Iterator[Any]]
    tasks: Sequence[Any]
    schema: Any


def spread(spark: "SparkSession", rows: TaskRows) -> "DataFrame":
    """Return the rows as a frame that Spark computes, task by task."""
    from pyspark import serializers

    work, tasks = rows.work, list(rows.tasks)
    count = max(1, min(len(tasks), PARTITIONS_MAX))
    # Every worker gets all of this, and unpacks what its own partition has.
    packing: Any = serializers.CloudPickleSerializer
    packing = packing()
    packed = [
        packing.dumps(tasks[len(tasks) * n // count : len(tasks) * (n + 1) // count])
        for n in range(count)
    ]
    skipped, context = collecting(), context_of(spark)
    places = None if skipped is None or context is None else skipped.accumulator(context)

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        with collect_notes() as passed:
            if not has_kernel():
                note_slow(platform.node())
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    for task in packing.loads(packed[number]):
                        yield from work(task)
        if places is not None and passed.here:
            places.add(passed.here)
        keep_modules()

    numbers = spark.range(0, count, 1, count)
    return numbers.mapInArrow(run, struct_of(rows.schema))


def sorted_once(frame: "DataFrame", *order: Any) -> "DataFrame":
    """Return the rows of a frame in an order, in one partition.

    Spark's ``orderBy`` computes a frame twice, first to find out where to divide its rows: a log
    would be read twice.
    """
    return frame.repartition(1).sortWithinPartitions(*order)


@cache
def keep_modules() -> None:
    """Keep the modules of this worker out of every later garbage collection.

    Call it at the end of a task, since pyspark imports pandas for the first rows. Spark's workers
    collect after each task, and each time would traverse numpy, pandas, pyarrow and pyspark in
    vain, which takes 12 to 20 ms.
    """
    gc.freeze()


def context_of(spark: "SparkSession") -> Any:
    """Return the context of a session, None for one of Spark Connect."""
    try:
        return spark.sparkContext
    except Exception:
        # Spark Connect refuses the attribute with errors of its own.
        return None


def gather(rows: TaskRows) -> Any:
    """Return the rows as a ``pyarrow.Table``, computed in this process."""
    if not has_kernel():
        note_slow(platform.node())
    batches = [batch for task in rows.tasks for batch in rows.work(task)]
    return pa.Table.from_batches(batches, schema=rows.schema)


def frame_of(spark: "SparkSession", table: Any) -> "DataFrame":
    """Return a frame of the rows of ``table``."""
    # Spark reads an Arrow table up to its first empty chunk, and loses the rows behind it.
    whole = table.combine_chunks()
    return spark.createDataFrame(whole, schema=struct_of(whole.schema))


def one_batch(schema: Any, rows: Sequence[dict[str, Any]]) -> Any:
    """Return plain rows as one Arrow batch."""
    return pa.RecordBatch.from_pylist(list(rows), schema=schema)
