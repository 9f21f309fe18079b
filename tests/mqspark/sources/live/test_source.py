"""The live source and sink in a real Spark session, with one of our brokers."""

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from mqserver.pytest_plugin import RocketMQ
from mqspark.frames import commitlog
from mqspark.sources.live.write import DEDUP_PROPERTY
from storefmt.formats.sysflag import COMPRESSED
from tests.mqspark.livetopics import filled_pair, make

pytestmark = pytest.mark.spark
COUNT = 90
pair = filled_pair("Orders", COUNT)


def load(spark: SparkSession, pair: RocketMQ, topic: str = "Orders", **options: str) -> DataFrame:
    reader = spark.read.format("rocketmq").option("namesrv", pair.namesrv)
    return reader.option("subscribe", topic).options(**options).load()


def test_live_rows_equal_the_rows_of_the_store(spark: SparkSession, pair: RocketMQ) -> None:
    columns = [name for name in live_columns(spark, pair) if name not in ORIGIN]

    live = load(spark, pair).select(columns)
    stored = commitlog(spark, str(pair.store), columns=columns).where("topic = 'Orders'")

    by_place = "log_offset"
    assert live.orderBy(by_place).toArrow().equals(stored.orderBy(by_place).toArrow())
    assert live.unionByName(stored).count() == 2 * COUNT


ORIGIN = ("cluster", "broker_name", "broker_address")


def live_columns(spark: SparkSession, pair: RocketMQ) -> list[str]:
    return load(spark, pair).columns


def test_the_users_schema_is_the_projection(spark: SparkSession, pair: RocketMQ) -> None:
    reader = spark.read.format("rocketmq").schema("body_size int, broker_name string")

    frame = reader.options(namesrv=pair.namesrv, subscribe="Orders", minPartitions="5").load()

    assert frame.columns == ["body_size", "broker_name"]
    assert frame.rdd.getNumPartitions() > 3
    assert frame.where("broker_name = 'broker-a'").count() == COUNT


def test_errors_name_option_topic_and_address(spark: SparkSession, pair: RocketMQ) -> None:
    with pytest.raises(PySparkException, match="no option 'startingoffset'"):
        load(spark, pair, startingOffset="earliest")
    with pytest.raises(PySparkException, match="topic Nowhere has no route"):
        load(spark, pair, "Nowhere").count()
    nobody = RocketMQ.at(pair.addresses | {"namesrv": "127.0.0.1:1"})
    with pytest.raises(PySparkException, match=r"127\.0\.0\.1:1"):
        load(spark, nobody).count()


def test_frames_are_sent_with_everything_a_message_has(spark: SparkSession, pair: RocketMQ) -> None:
    make(pair.namesrv, "Sunk")
    frame = spark.range(40).select(
        fn.concat(fn.lit("body "), fn.col("id").cast("string")).alias("body"),
        fn.lit("TagA").alias("tags"),
        fn.array(fn.concat(fn.lit("k"), fn.col("id").cast("string"))).alias("keys"),
        fn.create_map(fn.lit("colour"), fn.lit("blau")).alias("properties"),
        (fn.col("id") % 3).cast("int").alias("queue_id"),
        fn.col("id").cast("int").alias("flag"),
    )

    frame.write.format("rocketmq").options(namesrv=pair.namesrv, topic="Sunk", dedup="true").mode(
        "append"
    ).save()

    rows = load(spark, pair, "Sunk").toArrow().to_pylist()
    assert sorted(row["body"] for row in rows) == sorted(b"body %d" % n for n in range(40))
    for row in rows:
        number = row["flag"]
        assert (row["tags"], row["keys"]) == ("TagA", [f"k{number}"])
        assert row["queue_id"] == number % 3
        assert dict(row["properties"])["colour"] == "blau"
    ids = {dict(row["properties"])[DEDUP_PROPERTY] for row in rows}
    assert len(ids) == 40
    assert len({one.split("/")[0] for one in ids}) == 1


def test_a_copy_of_a_topic_has_the_bodies_that_were_sent(
    spark: SparkSession, pair: RocketMQ
) -> None:
    long = "a long body " * 2_000
    for topic in ("Long", "Copied"):
        make(pair.namesrv, topic)
    frame = spark.range(5).select(fn.lit(long).alias("body"), fn.lit("A").alias("tags"))
    into = frame.write.format("rocketmq").options(namesrv=pair.namesrv, topic="Long")
    into.mode("append").save()

    stored = load(spark, pair, "Long", decompress="false")
    read = load(spark, pair, "Long")
    copy = read.write.format("rocketmq").options(namesrv=pair.namesrv, topic="Copied")
    copy.mode("append").save()
    raw = stored.write.format("rocketmq").options(namesrv=pair.namesrv, topic="Copied")
    raw.mode("append").save()

    assert {row.sys_flag & COMPRESSED for row in stored.select("sys_flag").collect()} == {1}
    for topic, count in (("Long", 5), ("Copied", 10)):
        columns = load(spark, pair, topic).select("body", "tags", "sys_flag").collect()
        assert len(columns) == count
        assert {(bytes(row.body), row.tags, row.sys_flag) for row in columns} == {
            (long.encode(), "A", 0)
        }


def test_what_a_topic_cannot_be_is_refused(spark: SparkSession, pair: RocketMQ) -> None:
    frame = spark.range(1).selectExpr("'x' as body", "1 as colour")
    writer = frame.write.format("rocketmq").options(namesrv=pair.namesrv, topic="Sunk")

    with pytest.raises(PySparkException, match="no column colour"):
        writer.mode("append").save()
    with pytest.raises(PySparkException, match="cannot be overwritten"):
        frame.select("body").write.format("rocketmq").options(
            namesrv=pair.namesrv, topic="Sunk"
        ).mode("overwrite").save()
