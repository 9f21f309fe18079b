"""Tables of a store as DataFrames, with the columns chosen before Spark reads.

import pipeline
pipeline.commitlog(spark, "/data/store", columns=["topic", "keys"]).where("topic = 'orders'")
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def commitlog(
    spark: "SparkSession",
    path: str,
    *,
    columns: Sequence[str] | None = None,
    options: Mapping[str, str] | None = None,
) -> "DataFrame":
    """Return the messages of a store, one row each, with these columns.

    Args:
        spark: a session with the sources registered (``pipeline.session``).
        path: the store directory.
        columns: the columns; by default all except properties_raw. Naming them is faster.
        options: further options of ``rocketmq_store``.
    """
    return table(spark, "commitlog", path, columns=columns, options=options)


def damage(
    spark: "SparkSession", path: str, *, options: Mapping[str, str] | None = None
) -> "DataFrame":
    """Return the ranges of bytes in a store's commit log that are no valid records, a row each."""
    return table(spark, "damage", path, options=options)


def table(
    spark: "SparkSession",
    name: str,
    path: str,
    *,
    columns: Sequence[str] | None = None,
    options: Mapping[str, str] | None = None,
) -> "DataFrame":
    """Return any table of a store, with these columns.

    Args:
        spark: a session with the sources registered (``pipeline.session``).
        name: one of ``pipeline.sources.store.tables.table_names()``.
        path: the store directory.
        columns: the columns; by default all, of the commit log all except properties_raw.
        options: further options of ``rocketmq_store``.
    """
    reader = spark.read.format("rocketmq_store").option("table", name)
    if columns is not None:
        reader = reader.option("columns", ",".join(columns))
    return reader.options(**(options or {})).load(path)
