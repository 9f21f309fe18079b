"""Tables of a store as DataFrames, with the columns chosen before Spark reads.

import mqspark
mqspark.commitlog(spark, "/data/store", columns=["topic", "keys"]).where("topic = 'orders'")
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def commitlog(
    spark: "SparkSession",
    path: str | Sequence[str],
    *,
    columns: Sequence[str] | None = None,
    options: Mapping[str, str] | None = None,
) -> "DataFrame":
    """Return the messages of a store or several, one row each, with these columns.

    Args:
        spark: a session with the sources registered (``mqspark.session``).
        path: the store directory, or several; patterns and URIs, too.
        columns: the columns; by default all except properties_raw. Naming them is faster.
        options: further options of ``rocketmq_store``.
    """
    return table(spark, "commitlog", path, columns=columns, options=options)


def damage(
    spark: "SparkSession", path: str | Sequence[str], *, options: Mapping[str, str] | None = None
) -> "DataFrame":
    """Return the ranges of bytes in a store's commit log that are not valid records, a row each."""
    return table(spark, "damage", path, options=options)


def table(
    spark: "SparkSession",
    name: str,
    path: str | Sequence[str],
    *,
    columns: Sequence[str] | None = None,
    options: Mapping[str, str] | None = None,
) -> "DataFrame":
    """Return any table of a store, with these columns.

    Args:
        spark: a session with the sources registered (``mqspark.session``).
        name: one of ``mqspark.sources.store.tables.table_names()``.
        path: the store directory, or several; patterns and URIs, too.
        columns: the columns; by default all, of the commit log all except properties_raw.
        options: further options of ``rocketmq_store``.
    """
    reader = spark.read.format("rocketmq_store").option("table", name)
    if columns is not None:
        reader = reader.option("columns", ",".join(columns))
    frame = reader.options(**(options or {})).load(path if isinstance(path, str) else [*path])
    # Spark's plan of a Python source has columns and pushed filters, but no options.
    return frame.alias(f"{name} of {path if isinstance(path, str) else ', '.join(path)}")
