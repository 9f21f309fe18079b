"""What a stream has not read yet, from Spark's progress."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import mqspark
from mqserver.pytest_plugin import RocketMQ
from tests.mqspark.livetopics import fill, make
from tests.mqspark.streams import run_to_end


@pytest.mark.parametrize("as_text", [True, False])
def test_the_backlog_is_what_lies_between_two_offsets(as_text: bool) -> None:
    end = {"T@a@0": [5, 1_795_233_600_000], "T@a@1": 7}
    latest = {"T@a@0": [9, 1_795_233_700_000], "T@a@1": 7, "T@a@2": 3}
    texts = [str(one).replace("'", '"') if as_text else one for one in (end, latest)]

    found = mqspark.backlog({"sources": [{"endOffset": texts[0], "latestOffset": texts[1]}]})

    assert found == {"T@a@0": 4, "T@a@1": 0, "T@a@2": 0}


def test_there_is_none_before_the_first_batch_or_without_offsets() -> None:
    assert mqspark.backlog(None) == {}
    assert mqspark.backlog({"sources": [{"endOffset": "7", "latestOffset": None}]}) == {}


@pytest.mark.spark
def test_spark_reports_the_backlog_of_a_limited_stream(
    spark: SparkSession, rocketmq_broker: RocketMQ, tmp_path: Path
) -> None:
    pair = rocketmq_broker
    make(pair.namesrv, "Behind")
    fill(pair.namesrv, "Behind", 30)
    stream = spark.readStream.format("rocketmq").options(
        namesrv=pair.namesrv,
        subscribe="Behind",
        startingOffsets="earliest",
        columns="queue_offset",
        maxOffsetsPerTrigger="12",
    )
    query = stream.load().writeStream.format("noop").trigger(availableNow=True)
    query = run_to_end(query.option("checkpointLocation", str(tmp_path)).start)

    left = [sum(mqspark.backlog(each).values()) for each in query.recentProgress]

    assert left[:3] == [18, 6, 0]
