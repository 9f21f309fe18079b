"""Calling a function for each of many items: in this process, or in tasks of Spark.

Rule: results return in the order of the items. From a task they return as JSON, so they consist of
numbers, texts, lists and dicts; a tuple returns as a list.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pyarrow as pa

from mqspark.schemas import schema
from mqspark.sources.store.spread import TaskRows, one_batch, spread

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_T = TypeVar("_T")
_DONE: Final = schema(number=pa.int64(), result=pa.string())


def run_each(
    spark: "SparkSession | None", items: Sequence[_T], act: Callable[[_T], Any]
) -> list[Any]:
    """Return what ``act`` returns for each item, on Spark unless ``spark`` is None."""
    if spark is None:
        return [act(item) for item in items]
    if not items:
        return []

    def run(item: tuple[int, _T]) -> Iterator[Any]:
        yield one_batch(_DONE, [{"number": item[0], "result": json.dumps(act(item[1]))}])

    table = spread(spark, TaskRows(run, list(enumerate(items)), _DONE)).toArrow()
    return [json.loads(text) for text in table.sort_by("number").column("result").to_pylist()]
