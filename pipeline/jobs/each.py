"""Calling a function for each of many items: in this process, or each in a task of Spark.

Rule: results return in the order of the items. From a task they return as JSON, so they consist of
numbers, texts, lists and dicts; a tuple returns as a list.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_T = TypeVar("_T")
Each = Callable[[Sequence[_T], Callable[[_T], Any]], list[Any]]


def each_on(spark: "SparkSession | None") -> Each[Any]:
    """Return a function that calls another one for each item, on Spark unless that is None."""
    if spark is None:
        return lambda items, act: [act(item) for item in items]
    session = spark

    def on_spark(items: Sequence[_T], act: Callable[[_T], Any]) -> list[Any]:
        if not items:
            return []
        wanted = list(items)

        def run(batches: Iterable[Any]) -> Iterator[Any]:
            for number in numbers(batches):
                done = [{"id": number, "result": json.dumps(act(wanted[number]))}]
                yield pa.RecordBatch.from_pylist(done)

        frame = numbered(session, len(wanted)).mapInArrow(run, "id long, result string")
        results = {row["id"]: json.loads(row["result"]) for row in frame.collect()}
        return [results[number] for number in range(len(wanted))]

    return on_spark


def numbered(spark: "SparkSession", count: int) -> "DataFrame":
    """Return a frame of the numbers up to ``count``, each in a task of its own."""
    return spark.range(0, count, 1, count)


def numbers(batches: Iterable[Any]) -> Iterator[int]:
    """Yield the numbers that a task got from ``numbered``."""
    for batch in batches:
        yield from batch.column("id").to_pylist()
