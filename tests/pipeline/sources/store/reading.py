"""What tests read of a store: all rows of a table, task by task, without Spark."""

from pathlib import Path
from typing import Any

from pipeline.sources.store.tables import Reading, default_columns, plan, read


def rows_of(directory: Path, reading: Reading) -> list[dict[str, Any]]:
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
        directory, Reading(**{"columns": default_columns(table), **options}, table=table)
    )
