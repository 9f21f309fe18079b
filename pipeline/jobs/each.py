"""Calling a function for each of many items: in this process, or in tasks of Spark.

Rule: results return in the order of the items. From a task they return as JSON, so they consist of
numbers, texts, lists and dicts; a tuple returns as a list.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pyarrow as pa

from pipeline.sources.store.spread import TaskRows, one_batch, spread

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_T = TypeVar("_T")
Each = Callable[[Sequence[_T], Callable[[_T], Any]], list[Any]]
_DONE: Final = pa.schema([pa.field("number", pa.int64()), pa.field("result", pa.string())])


def each_on(spark: "SparkSession | None") -> Each[Any]:
    """Return a function that calls another one for each item, on Spark unless that is None."""
    if spark is None:
        return lambda items, act: [act(item) for item in items]
    session = spark

    def on_spark(items: Sequence[_T], act: Callable[[_T], Any]) -> list[Any]:
        if not items:
            return []

        def run(item: tuple[int, _T]) -> Iterator[Any]:
            done = {"number": item[0], "result": json.dumps(act(item[1]))}
            yield one_batch(_DONE, [done])

        table = spread(session, TaskRows(run, list(enumerate(items)), _DONE)).toArrow()
        return [json.loads(text) for text in table.sort_by("number").column("result").to_pylist()]

    return on_spark
