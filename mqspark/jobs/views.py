"""``views``: a SQL view of every table of stores, and one of the commit log that is cheap to scan.

    views(spark, "/data/store", prefix="a_")
    spark.sql("select topic, count(*) from a_headers group by topic")

Rule: a view reads nothing before it is queried, and then what its table has at that time. Spark
prunes no columns of a Python source, so ``headers`` leaves bodies and properties out.
"""

import json
import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from mqspark.errors import BadOption
from mqspark.schemas import COMMITLOG, DAMAGE, STORE_COLUMN, schema
from mqspark.sources.store.spread import frame_of
from mqspark.sources.store.stores import Paths, store_path, stores_of
from mqspark.sources.store.tables import default_columns, table_names
from storefmt.paths import StorePaths

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA: Final = schema(view=pa.string(), statement=pa.string())
HEADERS: Final = "headers"
_LARGE: Final = ("body", "properties")
_PREFIX: Final = re.compile(r"\w*", re.ASCII)


def views(spark: "SparkSession", paths: Paths, *, prefix: str = "") -> "DataFrame":
    """Make the views in a session, and return a frame of their names and statements.

    Args:
        prefix: how the names of the views begin, to tell those of several stores apart.

    Raises:
        BadOption: the prefix has other characters than letters, digits and ``_``.
    """
    made = views_local(paths, prefix=prefix)
    for statement in made.column("statement").to_pylist():
        spark.sql(statement)
    return frame_of(spark, made)


def views_local(paths: Paths, *, prefix: str = "") -> Any:
    """Return the same as a ``pyarrow.Table``, for any session that runs the statements."""
    if not _PREFIX.fullmatch(prefix):
        raise BadOption(f"option prefix is {prefix!r}, expected letters, digits and _")
    stores = [each if "://" in each else os.path.abspath(each) for each in stores_of(paths)]
    rows = []
    for view, options in _views(stores):
        given = ", ".join(f"{name} {_quoted(value)}" for name, value in options.items())
        statement = (
            f"create or replace temporary view `{prefix}{view}` "
            f"using rocketmq_store options ({given})"
        )
        rows.append({"view": prefix + view, "statement": statement})
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def _views(stores: Sequence[str]) -> Sequence[tuple[str, dict[str, str]]]:
    several = len(stores) > 1
    where = {"paths": json.dumps(stores)} if several else {"path": stores[0]}
    # A store of DLedger has no other tables.
    plain = all(StorePaths(store_path(store)).commitlog.is_dir() for store in stores)
    tables = table_names() if plain else [COMMITLOG, DAMAGE]
    columns = [name for name in default_columns(COMMITLOG) if name not in _LARGE]
    columns = [STORE_COLUMN, *columns] if several else columns
    headers = {"table": COMMITLOG, **where, "columns": ",".join(columns)}
    return [(HEADERS, headers), *((name, {"table": name, **where}) for name in tables)]


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
