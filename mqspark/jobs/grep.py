"""``grep``: messages whose body has a match of an expression (RE2).

Rule: bodies are searched where they are read; only hits leave the worker. An excerpt is the text
around the first match, in which bytes that are not UTF-8 become replacement characters. Compressed
bodies are decompressed first. Both engines return the same rows, by store and log offset.
"""

import re
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pyarrow.compute as pc

from mqspark.schemas import COMMITLOG
from mqspark.sources.store.conditions import ms_of
from mqspark.sources.store.log_tables import check_expression
from mqspark.sources.store.reading import ReadOptions
from mqspark.sources.store.spread import TaskRows, gather, sorted_once, spread
from mqspark.sources.store.stores import Paths
from mqspark.sources.store.tables import plan_all, read_of, schema_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS: Final = (
    "store",
    "topic",
    "queue_id",
    "queue_offset",
    "log_offset",
    "unique_key",
    "store_timestamp",
    "body",
)
AROUND: Final = 40
"""Bytes of the excerpt before and after the start of a match."""
MASK: Final = "***"


def grep(spark: "SparkSession", paths: Paths, *, pattern: str) -> "DataFrame":
    """Return a frame with the messages that match, body and all, by store and log offset."""
    return sorted_once(spread(spark, _rows(paths, pattern)), "store", "log_offset")


def grep_local(paths: Paths, *, pattern: str) -> Any:
    """Return the same as a ``pyarrow.Table``, in this process.

    Raises:
        BadOption: the expression is invalid.
    """
    hits = gather(_rows(paths, pattern))
    return hits.sort_by([("store", "ascending"), ("log_offset", "ascending")])


def _rows(paths: Paths, pattern: str) -> TaskRows:
    check_expression(pattern)
    reading = ReadOptions(columns=COLUMNS, body_matches=pattern, decompress=True)
    return TaskRows(
        partial(read_of, reading=reading), plan_all(paths, reading), schema_of(COMMITLOG, COLUMNS)
    )


def rows_of(table: Any, *, pattern: str, mask: bool = False) -> list[dict[str, Any]]:
    """Return a row for each message that matches, of an Arrow table of either engine.

    Args:
        mask: excerpts have ``***`` for whatever matches.
    """
    bodies = table.column("body")
    starts = pc.find_substring_regex(bodies, pattern)
    if mask:
        # Mask before cutting: half a match would no longer match, and would be shown.
        bodies = pc.replace_substring_regex(bodies, pattern, MASK)
    rows: list[dict[str, Any]] = table.drop_columns(["body"]).to_pylist()
    for row, body, start in zip(rows, bodies.to_pylist(), starts.to_pylist(), strict=True):
        row["store_ms"] = ms_of(row.pop("store_timestamp"))
        row["excerpt"] = _excerpt(body, start)
    return rows


def _excerpt(body: bytes, start: int) -> str:
    part = body[max(0, start - AROUND) : start + AROUND].decode("utf-8", "replace")
    return re.sub(r"\s+", " ", part)
