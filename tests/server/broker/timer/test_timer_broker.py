"""Timer messages on a running broker, over the wire."""

import time
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from mqserver.store.timer.timer_files import TimerFlush
from remoting.codes import LaterCode, RequestCode, ResponseCode, SerializeType
from remoting.command import Command
from remoting.headers import RecallMessage, RecallMessageResponse
from remoting.recall import RecallHandle
from storefmt.formats.message import Record
from storefmt.formats.timer import TimerCheckpoint
from storefmt.names import TIMER_TOPIC
from tests.server.broker.desk import TOPIC, Desk, HeldBack, running, send, with_topic
from tests.waiting import eventually, until

FILES = ("timerwheel", "timerlog", "config/timercheck", "config/timermetrics")


@pytest.fixture
def desk(tmp_path: Path) -> AbstractAsyncContextManager[Desk]:
    """Run a broker that has the topic."""
    return with_topic(tmp_path)


def soon(ms: int) -> str:
    return str(time.time_ns() // 1_000_000 + ms)


async def delivered(desk: Desk, count: int) -> list[Record]:
    """Return the messages of the topic once there are so many."""
    return await eventually(desk.messages, lambda found: len(found) == count)


async def entered(desk: Desk, count: int) -> None:
    """Wait until so many messages have entered the wheel."""
    await until(lambda: desk.app.broker.timer.queue_offset >= count)


async def recall(desk: Desk, handle: str, *, topic: str = TOPIC) -> Command:
    return await desk.ask(
        LaterCode.RECALL_MESSAGE,
        RecallMessage(producer_group="PG", topic=topic, recall_handle=handle),
    )


@pytest.mark.parametrize("serialize", [SerializeType.JSON, SerializeType.ROCKETMQ])
@pytest.mark.parametrize("sync", [False, True], ids=["async", "sync"])
async def test_each_property_delivers_at_its_time(
    tmp_path: Path, serialize: SerializeType, *, sync: bool
) -> None:
    async with with_topic(tmp_path, sync=sync) as desk:
        asked = {
            b"at": f"TIMER_DELIVER_MS\x01{soon(1_000)}",
            b"sec": "TIMER_DELAY_SEC\x011",
            b"ms": "TIMER_DELAY_MS\x01900",
        }
        sent_ms = time.time_ns() // 1_000_000
        for body, properties in asked.items():
            answer = await desk.ask(
                RequestCode.SEND_MESSAGE_V2,
                send(properties=f"{properties}\x02UNIQ_KEY\x01{body.decode()}"),
                body=body,
                serialize=serialize,
            )
            assert answer.code == 0, answer
            assert answer.ext["recallHandle"]
        found = await delivered(desk, 3)

    assert {record.body for record in found} == set(asked)
    for record in found:
        assert 900 <= record.store_ms - sent_ms < 5_000
        named = record.properties
        assert named["REAL_TOPIC"] == TOPIC
        assert int(named["TIMER_OUT_MS"]) <= int(named["TIMER_DEQUEUE_MS"]) <= record.store_ms


async def test_recalled_message_is_not_delivered_and_the_others_are(desk: Desk) -> None:
    at = f"TIMER_DELIVER_MS\x01{soon(1_500)}\x02UNIQ_KEY\x01"
    answers = [await desk.send(body, properties=at + body.decode()) for body in (b"a", b"b", b"c")]
    answer = await recall(desk, answers[1].ext["recallHandle"])
    found = await delivered(desk, 2)
    # The slot is delivered as a whole, so nothing more comes of it.
    waits = desk.app.broker.timer.metrics.counts()

    assert answer.code == ResponseCode.SUCCESS
    assert answer.header(RecallMessageResponse).msg_id == "b"
    assert [record.body for record in found] == [b"a", b"c"]
    assert waits[TOPIC] <= 0


@pytest.mark.parametrize(
    ("handle", "topic", "code", "remark"),
    [
        ("nonsense", TOPIC, 604, "recall handle is invalid"),
        (RecallHandle(TOPIC, "broker-a", "99", "u").encode(), "other", 17,
         "recall failed, the topic[other] not exist"),
        (RecallHandle("other", "broker-a", "99", "u").encode(), TOPIC, 604,
         "recall failed, topic not match"),
        (RecallHandle(TOPIC, "broker-b", "99", "u").encode(), TOPIC, 604,
         "recall failed, broker service not available"),
        (RecallHandle(TOPIC, "broker-a", "99", "u").encode(), TOPIC, 604,
         "recall failed, timestamp invalid"),
    ],
)  # fmt: skip
async def test_recall_with_a_wrong_handle_is_refused_as_in_java(
    desk: Desk, handle: str, topic: str, code: int, remark: str
) -> None:
    answer = await recall(desk, handle, topic=topic)

    assert (answer.code, answer.remark) == (code, remark)


async def test_recall_that_is_switched_off_is_refused(tmp_path: Path) -> None:
    async with with_topic(tmp_path, recall_message_enable=False) as desk:
        answer = await recall(desk, "any")

    assert answer.code == ResponseCode.NO_PERMISSION
    assert answer.remark == "recall failed, operation is forbidden"


async def test_delay_beyond_the_maximum_is_refused_with_the_text_of_java(desk: Desk) -> None:
    answer = await desk.send(properties="TIMER_DELAY_SEC\x01259201")

    assert answer.code == ResponseCode.MESSAGE_ILLEGAL
    assert answer.remark.startswith("timer message illegal, the delay time should not be bigger")


async def test_nothing_of_a_timer_exists_before_the_first_message(tmp_path: Path) -> None:
    async with with_topic(tmp_path) as desk:
        for properties in ("KEYS\x01k", "TIMER_DELIVER_MS\x015", "DELAY\x011"):
            assert (await desk.send(properties=properties)).code == 0
        assert desk.app.broker.topics.get(TIMER_TOPIC) is None
    assert not (tmp_path / "consumequeue" / TIMER_TOPIC).exists()
    assert [name for name in FILES if (tmp_path / name).exists()] == []

    async with running(tmp_path) as desk:
        assert (await desk.send(properties="TIMER_DELAY_SEC\x01100")).code == 0
        assert desk.app.broker.topics.get(TIMER_TOPIC) is not None
        await entered(desk, 1)
    assert [name for name in FILES if (tmp_path / name).exists()] == list(FILES)


async def test_a_timer_flush_that_runs_when_the_broker_stops_is_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushes = HeldBack(monkeypatch, TimerFlush)
    async with with_topic(tmp_path) as desk:
        await desk.send(properties="TIMER_DELAY_SEC\x01100")
        await entered(desk, 1)
        await flushes.let_go_during_the_stop()

    data = (tmp_path / "config/timercheck").read_bytes()
    assert TimerCheckpoint.decode(data).queue_offset == 1


async def test_pending_messages_outlive_a_stop(tmp_path: Path) -> None:
    async with with_topic(tmp_path) as desk:
        await desk.send(properties="TIMER_DELAY_SEC\x011")
        await desk.send(properties="TIMER_DELAY_SEC\x01100")
        await entered(desk, 2)

    data = (tmp_path / "config/timercheck").read_bytes()
    assert TimerCheckpoint.decode(data).queue_offset == 2
    async with running(tmp_path) as desk:
        found = await delivered(desk, 1)
        answer = await desk.ask(LaterCode.GET_TIMER_CHECK_POINT)
        metrics = await desk.ask(LaterCode.GET_TIMER_METRICS)

    assert found[0].body == b"hello"
    assert TimerCheckpoint.decode(answer.body).queue_offset == 2
    assert b'"timingCount":{"T":{"count":1,' in metrics.body


async def test_delay_level_goes_before_a_time(desk: Desk) -> None:
    await desk.send(properties=f"DELAY\x011\x02TIMER_DELIVER_MS\x01{soon(100_000)}")
    (found,) = await delivered(desk, 1)

    assert "TIMER_DELIVER_MS" not in found.properties


async def test_no_client_may_send_to_the_topic_of_the_timer(desk: Desk) -> None:
    answer = await desk.send(topic=TIMER_TOPIC)

    assert answer.code == ResponseCode.NO_PERMISSION
