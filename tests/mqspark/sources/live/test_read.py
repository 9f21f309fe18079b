"""Reading a live broker without Spark: rows, starts and ends by time, filters, and lost data."""

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from mqclient.client.instance import MQClient
from mqclient.consumer.subscription import TopicSubscription
from mqserver.pytest_plugin import RocketMQ, running_pair
from mqspark.errors import BadOption, DataLost
from mqspark.jobs.archive import archive_local
from mqspark.schemas import LIVE
from mqspark.sources.live.options import LiveReadOptions, Use, live_settings
from mqspark.sources.live.plan import Range
from mqspark.sources.live.queues import ask_brokers, batch_tasks, span
from mqspark.sources.live.read import read_ranges
from mqspark.sources.live.source import StreamReader
from mqspark.sources.store.log_tables import plan_log, read_log
from mqspark.sources.store.reading import ReadOptions
from remoting.bodies import MessageQueue
from storefmt.arrow.columns import SCHEMA
from tests.mqspark.livetopics import fill, live, make

COUNT = 210


@pytest.fixture(scope="module")
def pair() -> Iterator[RocketMQ]:
    """Yield a pair with two filled topics."""
    environment = pytest.MonkeyPatch()
    environment.setenv("ROCKETMQ_enablePropertyFilter", "true")
    with running_pair() as started:
        environment.undo()
        for topic in ("Orders", "Other"):
            make(started.namesrv, topic)
            fill(started.namesrv, topic, COUNT)
        yield started


def read(asked: LiveReadOptions) -> pa.Table:
    batches = [b for task in ask_brokers(asked, batch_tasks) for b in read_ranges(asked, task)]
    schema = pa.schema([LIVE.field(name) for name in asked.columns])
    return pa.Table.from_batches(batches, schema=schema)


def test_rows_are_those_of_the_store(pair: RocketMQ) -> None:
    columns = tuple(name for name in SCHEMA.names if name != "file")
    reading = ReadOptions(columns=columns, check_crc=True, decompress=True)
    stored = pa.Table.from_batches(
        [batch for split in plan_log(pair.store, reading) for batch in read_log(split, reading)]
    )

    found = read(
        live(pair.namesrv, subscribe="Orders,Other", columns=",".join(columns), checkCrc="true")
    )

    assert found.num_rows == 2 * COUNT
    assert found.sort_by("log_offset").equals(stored.sort_by("log_offset"))


def test_every_row_says_where_it_came_from(pair: RocketMQ) -> None:
    rows = read(live(pair.namesrv, subscribePattern="Or.*s", minPartitions="7")).to_pylist()

    assert len(rows) == COUNT
    assert {row["topic"] for row in rows} == {"Orders"}
    assert {row["broker_name"] for row in rows} == {"broker-a"}
    assert {row["broker_address"] for row in rows} == {pair.broker}
    assert {row["cluster"] for row in rows} == {"DefaultCluster"}


def test_a_time_means_the_first_message_stored_then_or_later(pair: RocketMQ) -> None:
    columns = "queue_id,queue_offset,store_timestamp"
    rows = read(live(pair.namesrv, subscribe="Orders", columns=columns)).to_pylist()
    times = sorted({row["store_timestamp"] for row in rows})
    # The last half millisecond between two messages, too.
    for moment in (times[0], times[len(times) // 2], times[-3]):
        text = str(round(moment.timestamp() * 1000))
        later = read(
            live(
                pair.namesrv,
                subscribe="Orders",
                columns=columns,
                startingTimestamp=text,
                startingOffsetsByTimestampStrategy="latest",
            )
        ).to_pylist()
        sooner = read(
            live(pair.namesrv, subscribe="Orders", columns=columns, endingTimestamp=text)
        ).to_pylist()

        def key(row: dict[str, object]) -> tuple[object, ...]:
            return tuple(row.values())

        assert {*map(key, later)} == {key(row) for row in rows if row["store_timestamp"] >= moment}
        assert {*map(key, sooner)} == {key(row) for row in rows if row["store_timestamp"] < moment}


def test_a_time_after_the_last_message_is_an_error_or_the_end(pair: RocketMQ) -> None:
    late = {"subscribe": "Orders", "startingTimestamp": "99999999999999"}

    with pytest.raises(BadOption, match="Orders@broker-a@0 has no message at or after"):
        read(live(pair.namesrv, **late))
    latest = live(pair.namesrv, **late, startingOffsetsByTimestampStrategy="latest")
    assert read(latest).num_rows == 0


@pytest.mark.parametrize(
    ("expression", "kind", "wanted"),
    [
        ("TagA || 标签", "TAG", lambda row: row["tags"] in ("TagA", "标签")),
        ("colour = 'red'", "SQL92", lambda row: dict(row["properties"])["colour"] == "red"),
    ],
)
def test_a_filter_works_at_the_broker(pair: RocketMQ, expression: str, kind: str, wanted) -> None:
    rows = read(live(pair.namesrv, subscribe="Orders")).to_pylist()

    found = read(
        live(pair.namesrv, subscribe="Orders", filterExpression=expression, filterType=kind)
    ).to_pylist()

    assert [row["flag"] for row in found] == [row["flag"] for row in rows if wanted(row)]
    assert found


WRONG = {"subscribe": "Orders", "filterExpression": "colour >>> 3", "filterType": "SQL92"}


def test_a_filter_that_brokers_cannot_read_is_an_error_in_a_batch_and_an_archive(
    pair: RocketMQ, tmp_path: Path
) -> None:
    with pytest.raises(BadOption, match=r"filterExpression is 'colour >>> 3', which 127.* refuses"):
        read(live(pair.namesrv, **WRONG))
    with pytest.raises(BadOption, match="filterExpression is"):
        archive_local(str(tmp_path), namesrv=pair.namesrv, **WRONG)


def test_a_filter_that_brokers_cannot_read_is_an_error_in_a_stream(pair: RocketMQ) -> None:
    asked = live_settings({"namesrv": pair.namesrv, **WRONG}, use=Use.STREAM)
    at = {"Orders@broker-a@0": 0}

    for first_call in (
        lambda reader: reader.initialOffset(),
        lambda reader: reader.latestOffset(at),
        lambda reader: reader.partitions(at, {"Orders@broker-a@0": 5}),
    ):
        with pytest.raises(BadOption, match="filterExpression is 'colour >>> 3'"):
            first_call(StreamReader(asked))


def test_the_filter_of_a_stream_is_checked_once(
    pair: RocketMQ, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks: list[str] = []
    check_at = TopicSubscription.check_at

    async def counted(self: TopicSubscription, client: MQClient, address: str, **more: str) -> None:
        checks.append(address)
        await check_at(self, client, address, **more)

    monkeypatch.setattr(TopicSubscription, "check_at", counted)
    good = {**WRONG, "filterExpression": "colour = 'red'"}
    reader = StreamReader(live_settings({"namesrv": pair.namesrv, **good}, use=Use.STREAM))

    at = reader.initialOffset()
    reader.partitions(at, reader.latestOffset(at))

    assert checks == [pair.broker]


def test_messages_that_are_not_there_are_an_error_or_passed_over(pair: RocketMQ) -> None:
    asked = live(pair.namesrv, subscribe="Orders", columns="queue_offset")
    queue = MessageQueue("Orders", "broker-a", 0)
    end = ask_brokers(asked, span)[queue].high
    beyond = [Range(queue, end - 5, end + 5)]

    with pytest.raises(DataLost, match=rf"Orders@broker-a@0: messages {end} up to {end + 5}"):
        list(read_ranges(asked, beyond))
    lenient = asked._replace(fail_on_data_loss=False)
    assert sum(batch.num_rows for batch in read_ranges(lenient, beyond)) == 5


def test_a_start_beyond_the_end_of_a_queue_is_lost_data(pair: RocketMQ) -> None:
    def offsets(first: int) -> dict[str, str]:
        tree = {"Orders": {"broker-a": {"0": first, "1": 0, "2": 0}}}
        return {"subscribe": "Orders", "startingOffsets": json.dumps(tree)}

    end = ask_brokers(live(pair.namesrv, subscribe="Orders"), span)[
        MessageQueue("Orders", "broker-a", 0)
    ]
    said = f"Orders@broker-a@0 at {end.high + 1}, which ends at {end.high}.*failOnDataLoss=false"

    assert read(live(pair.namesrv, **offsets(end.high))).num_rows == COUNT - end.high
    with pytest.raises(DataLost, match=said):
        read(live(pair.namesrv, **offsets(end.high + 1)))
    given = {"namesrv": pair.namesrv, **offsets(end.high + 1)}
    stream = StreamReader(live_settings(given, use=Use.STREAM))
    with pytest.raises(DataLost, match=said):
        stream.initialOffset()
    lenient = live(pair.namesrv, **offsets(end.high + 1), failOnDataLoss="false")
    assert read(lenient).num_rows == COUNT - end.high


def test_offsets_must_name_every_queue_and_no_other(pair: RocketMQ) -> None:
    for text, said in (
        ('{"Orders": {"broker-a": {"0": 5}}}', "do not name Orders@broker-a@1"),
        ('{"Orders": {"broker-x": {"0": 5}}}', "name Orders@broker-x@0, which is not read"),
    ):
        with pytest.raises(BadOption, match=said):
            read(live(pair.namesrv, subscribe="Orders", startingOffsets=text))
