"""Streams of the live source and sink in real Spark, with the real broker and with ours."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from mqclient.client.instance import MQClient
from mqclient.client.queue_offsets import committed
from mqspark.sources.live.write import DEDUP_PROPERTY
from remoting.bodies import MessageQueue
from tests.interop.kit.servers import Servers
from tests.mqspark.livetopics import fill, make, read_queues, run
from tests.waiting import eventually

pytestmark = [pytest.mark.spark, pytest.mark.java, pytest.mark.timeout(900)]
COUNT = 60


def test_a_stream_reads_everything_once_in_limited_batches(
    spark: SparkSession, servers: Servers, tmp_path: Path
) -> None:
    namesrv = servers.namesrv.address
    broker = make(namesrv, "Streamed")
    fill(namesrv, "Streamed", 50)
    out, checkpoint = str(tmp_path / "out"), str(tmp_path / "checkpoint")

    def turn(**limit: str) -> list[int]:
        reader = spark.readStream.format("rocketmq").options(
            namesrv=namesrv,
            subscribe="Streamed",
            startingOffsets="earliest",
            timeoutMs="60000",
            **limit,
            reportGroup="Reporters",
            columns="topic,queue_id,queue_offset,body",
        )
        writer = reader.load().writeStream.format("parquet").trigger(availableNow=True)
        query = writer.option("checkpointLocation", checkpoint).start(out)
        query.awaitTermination()
        return [progress["numInputRows"] for progress in query.recentProgress]

    first = turn(maxBytesPerTrigger="10000")
    fill(namesrv, "Streamed", 7, seed=1)
    second = turn(maxOffsetsPerTrigger="3")

    assert (sum(first), sum(second)) == (50, 7)
    # Some 600 bytes a message: neither all at once, nor one by one.
    assert 10 <= max(first) <= 30
    assert max(second) == 3
    rows = spark.read.parquet(out).select("queue_id", "queue_offset").collect()
    assert len(rows) == len(set(rows)) == 57
    # Positions of the run before are told to the broker at the next start.
    queue = MessageQueue("Streamed", broker, 0)

    async def reported(client: MQClient) -> int:
        async def told() -> int:
            return await committed(client, queue, group="Reporters") or 0

        return await eventually(told, lambda offset: offset > 0)

    assert run(namesrv, reported) >= 16


def test_a_batch_that_a_stream_sends_again_has_the_same_ids(
    spark: SparkSession, servers: Servers, tmp_path: Path
) -> None:
    namesrv = servers.namesrv.address
    make(namesrv, "StreamedFrom")
    fill(namesrv, "StreamedFrom", COUNT)
    make(namesrv, "Again")
    checkpoint = tmp_path / "checkpoint"

    def turn() -> None:
        source = spark.readStream.format("rocketmq").options(
            namesrv=namesrv, subscribe="StreamedFrom", startingOffsets="earliest", columns="body"
        )
        writer = source.load().writeStream.format("rocketmq").trigger(availableNow=True)
        writer.options(
            namesrv=namesrv,
            topic="Again",
            dedup="true",
            # No send is tried again only because the machine is busy.
            timeoutMs="60000",
            checkpointLocation=str(checkpoint),
        ).start().awaitTermination()

    turn()
    # As if the driver had died after the sends and before it noted them.
    for file in (checkpoint / "commits").iterdir():
        file.unlink()
    turn()

    records = read_queues(namesrv, "Again", total=2 * COUNT)
    ids = [record.properties[DEDUP_PROPERTY] for record in records]
    assert {ids.count(one) for one in ids} == {2}
    assert len({(one, record.body) for one, record in zip(ids, records, strict=True)}) == COUNT
