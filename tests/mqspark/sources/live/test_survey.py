"""What becomes of queues that were read: as they were, renewed, gone, or away."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from mqclient.errors import NoRoute
from mqserver.pytest_plugin import RocketMQ
from mqspark.errors import DataLost
from mqspark.sources.live.offsets import StreamPositions
from mqspark.sources.live.options import LiveReadOptions, Use, live_settings
from mqspark.sources.live.queues import ask_brokers, batch_tasks, span
from mqspark.sources.live.read import read_ranges
from mqspark.sources.live.source import StreamReader
from mqspark.sources.live.survey import survey
from tests.mqspark.livetopics import delete, fill, make, make_anew

AWAY = "broker broker-b is not registered; its queues are read when it is back"


def streamed(pair: RocketMQ, **options: str) -> LiveReadOptions:
    return live_settings(
        {"namesrv": pair.namesrv, "startingOffsets": "earliest", "columns": "queue_offset"}
        | options,
        use=Use.STREAM,
    )


def batch(reader: StreamReader, start: Mapping[str, Any]) -> tuple[int, Mapping[str, Any]]:
    """Read one batch; return the number of rows, and where it ends."""
    end = reader.latestOffset(start, None)
    parts = [part for task in reader.partitions(start, end) for part in reader.read(task)]
    return sum(part.num_rows for part in parts), end


@pytest.mark.parametrize("count", [15, 24, 30], ids=["fewer", "as many", "more"])
def test_a_stream_sees_that_a_topic_was_made_anew(
    rocketmq_broker_fresh: RocketMQ, count: int
) -> None:
    pair = rocketmq_broker_fresh
    make(pair.namesrv, "Orders")
    fill(pair.namesrv, "Orders", 24)
    strict, lenient = (
        streamed(pair, subscribe="Orders", failOnDataLoss=word) for word in ("true", "false")
    )
    reader = StreamReader(strict)
    rows, read = batch(reader, reader.initialOffset())
    assert rows == 24
    make_anew(pair.namesrv, "Orders", count)

    with pytest.raises(DataLost, match="made anew"):
        reader.latestOffset(read, None)
    # A new process plans the batch again that another one had planned.
    start = StreamReader(strict).initialOffset()
    with pytest.raises(DataLost, match="made anew"):
        StreamReader(strict).partitions(dict.fromkeys(start, 0), read)
    assert StreamReader(lenient).partitions(dict.fromkeys(start, 0), read) == []

    reader = StreamReader(lenient)
    back = batch(reader, read)
    rows, end = batch(reader, back[1])
    assert (back[0], rows) == (0, count)
    assert batch(reader, end) == (0, end)


def test_offsets_of_an_earlier_version_are_believed(rocketmq_broker_fresh: RocketMQ) -> None:
    pair = rocketmq_broker_fresh
    make(pair.namesrv, "Orders")
    fill(pair.namesrv, "Orders", 9)
    reader = StreamReader(streamed(pair, subscribe="Orders"))
    read = {f"Orders@broker-a@{queue}": 3 for queue in range(3)}

    assert batch(reader, read) == (0, read)
    fill(pair.namesrv, "Orders", 3)
    rows, end = batch(reader, read)

    assert rows == 3
    assert sorted(StreamPositions.of(end).positions.values()) == [4, 4, 4]
    assert len(StreamPositions.of(end).store_times) == 3
    assert StreamPositions.of(end).kept() == end


def test_a_limited_batch_ends_at_a_message_whose_time_is_kept(
    rocketmq_broker_fresh: RocketMQ,
) -> None:
    pair = rocketmq_broker_fresh
    make(pair.namesrv, "Orders")
    fill(pair.namesrv, "Orders", 30)
    live = streamed(pair, subscribe="Orders", maxOffsetsPerTrigger="6")
    live = live._replace(columns=("queue_id", "queue_offset", "store_timestamp"))
    reader = StreamReader(live)

    end = reader.latestOffset(reader.initialOffset(), reader.getDefaultReadLimit())

    at = StreamPositions.of(end)
    (task,) = reader.partitions(reader.initialOffset(), end)
    rows = [row for part in read_ranges(live, task.value) for row in part.to_pylist()]
    assert len(rows) == 6
    for queue, position in at.positions.items():
        (last,) = (
            row["store_timestamp"]
            for row in rows
            if (row["queue_id"], row["queue_offset"]) == (queue.queue_id, position - 1)
        )
        assert at.store_times[queue] == int(last.timestamp() * 1000)


def test_without_failing_a_deleted_topic_leaves_the_others_to_be_read(
    rocketmq_broker_fresh: RocketMQ,
) -> None:
    pair = rocketmq_broker_fresh
    for topic in ("Orders", "Clicks"):
        make(pair.namesrv, topic)
        fill(pair.namesrv, topic, 9)
    strict, lenient = (
        streamed(pair, subscribe="Orders,Clicks", failOnDataLoss=word) for word in ("true", "false")
    )
    reader = StreamReader(lenient)
    rows, read = batch(reader, reader.initialOffset())
    assert rows == 18
    delete(pair.namesrv, "Clicks")
    fill(pair.namesrv, "Orders", 3)

    with pytest.raises(DataLost, match="Clicks@broker-a@0 is not there any more"):
        StreamReader(strict).latestOffset(read, None)
    reader.prepareForTriggerAvailableNow()
    rows, read = batch(reader, read)
    assert rows == 3
    make(pair.namesrv, "Clicks")
    fill(pair.namesrv, "Clicks", 12, seed=2)
    reader = StreamReader(lenient)
    _, entered = batch(reader, read)
    rows, _ = batch(reader, entered)
    assert rows == 12


@pytest.mark.parametrize("word", ["true", "false"])
def test_a_broker_that_is_away_is_no_loss(
    rocketmq_broker_fresh: RocketMQ, caplog: pytest.LogCaptureFixture, word: str
) -> None:
    pair = rocketmq_broker_fresh
    make(pair.namesrv, "Orders")
    fill(pair.namesrv, "Orders", 9)
    live = streamed(pair, subscribe="Orders", failOnDataLoss=word, retryTimeoutMs="0")
    reader = StreamReader(live)
    _, read = batch(reader, reader.initialOffset())
    # Another broker had queues of the topic, and is not registered now.
    with_other = {**read, "Orders@broker-b@0": [7, 1_795_233_600_000]}
    fill(pair.namesrv, "Orders", 3)

    rows, end = batch(reader, with_other)
    batch(reader, end)

    assert rows == 3
    assert caplog.messages.count(AWAY) == 1
    assert end["Orders@broker-b@0"] == [7, 1_795_233_600_000]
    other = StreamPositions.of({"Orders@broker-b@0": 7})
    gone = live._replace(wanted=live.wanted._replace(topics=("Nowhere",)))
    with pytest.raises(NoRoute):
        ask_brokers(gone, lambda client, live: survey(client, live, other.positions, {}))


@pytest.mark.parametrize("count", [24, 30])
def test_saved_offsets_of_a_batch_show_that_a_topic_was_made_anew(
    rocketmq_broker_fresh: RocketMQ, count: int
) -> None:
    pair = rocketmq_broker_fresh
    make(pair.namesrv, "Orders")
    fill(pair.namesrv, "Orders", 24)
    seen = ask_brokers(streamed(pair, subscribe="Orders"), span)
    saved = {
        "Orders": {
            "broker-a": {str(queue.queue_id): [8, there.last_ms] for queue, there in seen.items()}
        }
    }

    def rows(word: str) -> int:
        options = {"startingOffsets": json.dumps(saved), "failOnDataLoss": word}
        live = live_settings(
            {"namesrv": pair.namesrv, "subscribe": "Orders"} | options, use=Use.BATCH
        )
        tasks = ask_brokers(live, batch_tasks)
        return sum(part.num_rows for task in tasks for part in read_ranges(live, task))

    fill(pair.namesrv, "Orders", 3, seed=3)
    assert rows("true") == 3
    make_anew(pair.namesrv, "Orders", count)

    with pytest.raises(DataLost, match="at 8, but message 7 is another one now"):
        rows("true")
    assert rows("false") == count
