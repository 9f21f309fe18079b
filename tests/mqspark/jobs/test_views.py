"""``views``: SQL over every table of one store or several; the statements escape their paths."""

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from mqspark.errors import BadOption
from mqspark.frames import table
from mqspark.jobs.views import views, views_local
from mqspark.sources.store.tables import default_columns, table_names
from tests.golden import Golden
from tests.storefmt.vectors import unpack


def names_of(*stores: Path, prefix: str = "") -> list[str]:
    return views_local([str(store) for store in stores], prefix=prefix).column("view").to_pylist()


def test_there_is_a_view_for_each_table_and_one_of_headers(basic: Path) -> None:
    assert names_of(basic, prefix="a_") == [f"a_{name}" for name in ("headers", *table_names())]


def test_a_store_of_dledger_has_the_views_of_its_log(tmp_path: Path) -> None:
    store = unpack("dledger", tmp_path)

    assert names_of(store) == ["headers", "commitlog", "damage"]


@pytest.mark.parametrize("prefix", ["a-", "a b", "x`; drop", "é"])
def test_a_prefix_that_is_no_part_of_a_name_is_refused(basic: Path, prefix: str) -> None:
    with pytest.raises(BadOption, match=r"option prefix is .*, expected letters, digits and _"):
        names_of(basic, prefix=prefix)


@pytest.mark.spark
def test_a_view_has_columns_and_rows_of_its_table(spark: SparkSession, basic: Path) -> None:
    # A path with whatever SQL could take for something else.
    store = basic.with_name("it's a \\'store\\n")
    shutil.copytree(basic, store)

    made = views(spark, str(store), prefix="v_").toArrow().column("view").to_pylist()

    assert len(made) == len(table_names()) + 1
    for name in table_names():
        assert tuple(spark.table(f"v_{name}").columns) == default_columns(name)
    headers = spark.table("v_headers")
    assert set(headers.columns) == {*default_columns("commitlog")} - {"body", "properties"}
    assert headers.count() == 1_420
    assert spark.table("v_files").count() == table(spark, "files", str(store)).count()


@pytest.mark.spark
def test_views_of_several_stores_name_the_store(spark: SparkSession, golden: Golden) -> None:
    stores = [str(golden.store(name)) for name in ("basic", "ipv6")]

    views(spark, stores, prefix="all_")

    for name in ("headers", "topics"):
        assert spark.table(f"all_{name}").columns[0] == "store"
    found = spark.sql("select distinct store from all_checkpoint").collect()
    assert sorted(row.store for row in found) == sorted(stores)
