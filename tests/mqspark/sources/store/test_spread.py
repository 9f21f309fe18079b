"""Tasks over parts of stores as frames of Spark."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from mqspark.sources.store.spread import TaskRows, one_batch, sorted_once, spread

SCHEMA: Final = pa.schema([pa.field("number", pa.int64())])


@pytest.mark.spark
def test_rows_in_order_are_computed_once(spark: SparkSession, tmp_path: Path) -> None:
    directory = str(tmp_path)

    # Workers do not know this module, and get a function that is inside of another with the task.
    def work(number: int) -> Iterator[Any]:
        with open(f"{directory}/{number}", "a") as file:
            file.write("here\n")
        yield one_batch(SCHEMA, [{"number": number}])

    frame = sorted_once(spread(spark, TaskRows(work, [3, 1, 2, 0], SCHEMA)), "number")
    found = frame.toArrow().column("number").to_pylist()

    assert found == [0, 1, 2, 3]
    assert [path.read_text() for path in tmp_path.iterdir()] == ["here\n"] * 4
