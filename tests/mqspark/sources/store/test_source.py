"""The data source in a real Spark session, against what Java wrote."""

import hashlib
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from mqspark.frames import commitlog, damage, table
from mqspark.sources.store.tables import table_names
from storefmt.arrow.columns import SCHEMA
from tests.golden import Golden
from tests.mqspark.sources.store.reading import rows

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def basic(golden: Golden) -> Path:
    return golden.store("basic")


def test_a_row_a_message_equal_to_what_java_decoded(
    spark: SparkSession, golden: Golden, basic: Path
) -> None:
    expected = [row for row in golden.jsonl("basic", "records") if row["kind"] == "msg"]

    frame = commitlog(spark, str(basic), columns=SCHEMA.names).orderBy("log_offset")
    rows = frame.toArrow().to_pylist()

    assert len(rows) == len(expected)
    for row, java in zip(rows, expected, strict=True):
        assert row["log_offset"] == java["physicOffset"]
        assert row["topic"] == java["topic"]
        assert (row["queue_id"], row["queue_offset"]) == (java["queueId"], java["queueOffset"])
        assert row["store_size"] == java["size"]
        assert row["body_size"] == java["bodyLen"]
        assert hashlib.sha256(row["body"]).hexdigest() == java["bodySha256"]
        assert dict(row["properties"]) == java["properties"]
        assert row["store_timestamp"].timestamp() * 1000 == pytest.approx(java["storeTimestamp"])
        assert f"{row['born_host']}:{row['born_port']}" == java["bornHost"]
        assert row["msg_id"] == java["msgId"]
        assert row["tags"] == java["properties"].get("TAGS")


def test_the_users_schema_is_the_projection(spark: SparkSession, basic: Path) -> None:
    reader = spark.read.format("rocketmq_store").schema("store_size int, topic string")

    frame = reader.load(str(basic))

    assert frame.columns == ["store_size", "topic"]
    assert frame.where("topic = 'clicks_v1'").count() == 750


def test_small_splits_give_the_same_rows(spark: SparkSession, basic: Path) -> None:
    options = {"splitBytes": "40000", "batchRows": "7", "batchBytes": "10000"}

    frame = commitlog(spark, str(basic), columns=["log_offset", "body"], options=options)

    assert frame.count() == 1420
    assert frame.select("log_offset").distinct().count() == 1420


def test_sql_can_name_the_source(spark: SparkSession, basic: Path) -> None:
    spark.sql(f"create temporary view log using rocketmq_store options (path '{basic}')")

    counted = spark.sql("select count(*), count(distinct topic) from log").collect()[0]

    assert counted[0] == 1420


def test_damage_is_a_table(spark: SparkSession, golden: Golden) -> None:
    store = golden.damaged("33-magic-wrong")

    rows = damage(spark, str(store)).collect()

    assert [row["kind"] for row in rows] == ["bad_magic"]
    assert commitlog(spark, str(store)).count() == 1419


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"spiltBytes": "1"}, "spiltbytes"),  # Spark hands options over in lower case
        ({"splitBytes": "many"}, "whole number"),
        ({"onDamage": "ignore"}, "skip or fail"),
        ({"decompress": "zlib"}, "false or true"),
        ({"decompress": "true", "table": "files"}, "is for table commitlog"),
        ({"columns": "topic,colour"}, "colour"),
        ({"table": "queues"}, "queues"),
    ],
)
def test_bad_options_are_refused_by_name(
    spark: SparkSession, basic: Path, options: dict[str, str], says: str
) -> None:
    reader = spark.read.format("rocketmq_store").options(**options)

    with pytest.raises(PySparkException, match=says):
        reader.load(str(basic)).count()


def test_a_plan_shows_path_table_columns_and_pushed_filters(
    spark: SparkSession, basic: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = {"pushdown": "true"}
    frame = commitlog(spark, str(basic), columns=["topic", "queue_id"], options=options)

    frame.where("topic = 'clicks_v1'").explain(mode="formatted")
    told = capsys.readouterr().out
    frame.explain(True)

    assert "EqualTo(topic,clicks_v1)" in told
    assert "struct<topic:string,queue_id:int>" in told
    assert f"commitlog of {basic}" in capsys.readouterr().out


def test_keys_of_a_storage_are_in_no_plan(spark: SparkSession) -> None:
    options = {"storage.accessKey": "me", "storage.secretKey": "hush"}

    frame = spark.read.format("rocketmq_store").options(**options).load("s3://stores/one")

    plan = frame._jdf.queryExecution()
    assert "hush" not in plan.analyzed().toString() + plan.optimizedPlan().toString()
    assert "rocketmq_store" in plan.analyzed().toString().lower()


def test_a_column_of_another_type_is_refused(spark: SparkSession, basic: Path) -> None:
    reader = spark.read.format("rocketmq_store").schema("store_size string")

    with pytest.raises(PySparkException, match="store_size is int"):
        reader.load(str(basic)).count()


@pytest.mark.parametrize("name", [name for name in table_names() if name != "damage"])
def test_every_table_is_in_spark_what_it_is_without(
    spark: SparkSession, basic: Path, name: str
) -> None:
    here = rows(basic, name)

    there = table(spark, name, str(basic)).toArrow().to_pylist()

    assert sorted(map(str, there)) == sorted(map(str, here))
