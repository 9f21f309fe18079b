"""All rows of a table of a store, read task by task, without Spark."""

from pathlib import Path
from typing import Any

from mqspark.sources.store.reading import ReadOptions
from mqspark.sources.store.tables import default_columns, plan, read


def rows_of(directory: Path, reading: ReadOptions) -> list[dict[str, Any]]:
    """Return the rows of a reading, in the order of its tasks."""
    return [
        row
        for task in plan(directory, reading)
        for batch in read(task, reading)
        for row in batch.to_pylist()
    ]


def rows(directory: Path, table: str = "commitlog", **options: Any) -> list[dict[str, Any]]:
    """Return the rows of a table with the columns that it has by default."""
    return rows_of(
        directory, ReadOptions(**{"columns": default_columns(table), **options}, table=table)
    )
