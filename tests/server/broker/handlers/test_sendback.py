"""Messages sent back and delayed messages, over the wire and with a clock moved by hand."""

from pathlib import Path

import pytest

from mqserver.runtime.clock import read_together
from remoting.codes import RequestCode
from remoting.command import Command
from remoting.headers import ConsumerSendMsgBack
from storefmt.config.tables import DelayOffsets
from storefmt.formats.msgid import parse_offset_id
from tests.server.broker.desk import GROUP, TOPIC, Desk, running, with_topic
from tests.server.doubles import FakeClock
from tests.waiting import until

START_MS = 1_700_000_000_000


async def pass_time(desk: Desk, clock: FakeClock, ms: int) -> int:
    """Move the clock and let the delay service look; return how many it delivered."""
    clock.ms += ms
    count = desk.app.broker.delay.deliver(read_together(clock))
    desk.app.broker.group_commit.commit()
    await until(lambda: not desk.app.broker.group_commit.is_writing)
    return count


async def test_delayed_message_is_not_seen_before_its_time_and_then_in_its_topic(
    tmp_path: Path,
) -> None:
    clock = FakeClock(START_MS)

    async with running(tmp_path, clock=clock) as desk:
        await desk.create_topic(queues=2)
        answer = await desk.send(b"later", properties="DELAY\0012\2TAGS\1A\2WAIT\1true", queue_id=1)
        (waiting,) = await desk.messages(topic="SCHEDULE_TOPIC_XXXX", queue_id=1)
        assert await pass_time(desk, clock, 4_999) == 0
        assert await desk.messages(queue_id=1) == []
        assert await pass_time(desk, clock, 1) == 1
        (delivered,) = await desk.messages(queue_id=1, subscription="A")

    assert (answer.code, answer.ext["queueId"]) == (0, "1")
    assert waiting.properties == {
        "REAL_TOPIC": TOPIC,
        "REAL_QID": "1",
        "DELAY": "2",
        "TAGS": "A",
        "WAIT": "true",
        "CLUSTER": "TestCluster",
    }
    assert (delivered.body, delivered.topic, delivered.queue_id) == (b"later", TOPIC, 1)
    assert delivered.properties_raw == waiting.properties_raw
    assert delivered.born_ms == waiting.born_ms
    assert delivered.store_ms == START_MS + 5_000


@pytest.mark.parametrize("jump_ms", [3_600_000, -3_600_000, 30 * 86_400_000])
async def test_delayed_message_comes_at_its_true_time_though_the_clock_is_set(
    tmp_path: Path, jump_ms: int
) -> None:
    clock = FakeClock(START_MS)

    async with with_topic(tmp_path, clock=clock) as desk:
        await desk.send(b"before", properties="DELAY\0012")
        assert await pass_time(desk, clock, 1_000) == 0
        clock.jump(jump_ms)
        await desk.send(b"after", properties="DELAY\0012")
        assert [await pass_time(desk, clock, ms) for ms in (0, 3_999, 1, 999, 1)] == [0, 0, 1, 0, 1]
        assert await desk.bodies() == [b"before", b"after"]


@pytest.mark.parametrize(("level", "queue"), [("99", 17), ("18", 17), ("1", 0)])
async def test_level_above_the_last_is_cut_to_it(desk: Desk, level: str, queue: int) -> None:
    await desk.send(properties=f"DELAY\1{level}")
    (waiting,) = await desk.messages(topic="SCHEDULE_TOPIC_XXXX", queue_id=queue)

    assert waiting.properties["DELAY"] == str(queue + 1)


async def test_level_zero_is_no_delay(desk: Desk) -> None:
    await desk.send(properties="DELAY\0010")

    assert [record.properties["DELAY"] for record in await desk.messages()] == ["0"]


async def test_delay_survives_a_restart_and_nothing_is_delivered_twice(tmp_path: Path) -> None:
    clock = FakeClock(START_MS)

    async with running(tmp_path, clock=clock) as desk:
        for at in range(3):
            await desk.send(b"m%d" % at, properties="DELAY\0011")
            clock.ms += 500
        # The broker looks by itself, too, and may have delivered the first one already.
        await pass_time(desk, clock, 0)
        assert await desk.bodies() == [b"m0", b"m1"]
    text = (tmp_path / "config" / "delayOffset.json").read_text()
    assert DelayOffsets.decode(text).offsets == {1: 2}

    async with running(tmp_path, clock=clock) as desk:
        assert [await pass_time(desk, clock, ms) for ms in (0, 60_000)] == [0, 1]
        assert await desk.bodies() == [b"m0", b"m1", b"m2"]


def send_back(sent: Command, **changes: object) -> ConsumerSendMsgBack:
    _, log_offset = parse_offset_id(sent.ext["msgId"])
    fields: dict[str, object] = {
        "offset": log_offset,
        "group": GROUP,
        "delay_level": 0,
        "origin_topic": TOPIC,
        "max_reconsume_times": 16,
        **changes,
    }
    return ConsumerSendMsgBack(**fields)  # type: ignore[arg-type]


async def test_message_given_back_comes_again_in_the_retry_topic(tmp_path: Path) -> None:
    clock = FakeClock(START_MS)

    async with running(tmp_path, clock=clock) as desk:
        sent = await desk.send(b"again", properties="KEYS\1k\2TAGS\1A")
        answer = await desk.ask(RequestCode.CONSUMER_SEND_MSG_BACK, send_back(sent))
        assert [await pass_time(desk, clock, ms) for ms in (9_999, 1)] == [0, 1]
        (retried,) = await desk.messages(topic="%RETRY%G")

    assert answer.code == 0
    assert (retried.body, retried.reconsume_times) == (b"again", 1)
    origin = {"RETRY_TOPIC": TOPIC, "ORIGIN_MESSAGE_ID": sent.ext["msgId"]}
    waited = {"DELAY": "3", "WAIT": "false", "REAL_TOPIC": "%RETRY%G", "REAL_QID": "0"}
    assert retried.properties.items() >= {**origin, **waited}.items()


@pytest.mark.parametrize("changes", [{"max_reconsume_times": 0}, {"delay_level": -1}])
async def test_message_tried_often_enough_goes_to_the_dead_letter_topic(
    desk: Desk, changes: dict[str, object]
) -> None:
    header = send_back(await desk.send(b"dead"), **changes)
    assert (await desk.ask(RequestCode.CONSUMER_SEND_MSG_BACK, header)).code == 0
    (dead,) = await desk.messages(topic="%DLQ%G")

    assert (dead.body, dead.reconsume_times, dead.properties["DELAY"]) == (b"dead", 1, "0")


@pytest.mark.parametrize(
    ("changes", "code", "text"),
    [
        ({"offset": 123_456_789}, 1, "look message by offset failed, 123456789"),
        ({"offset": -1}, 1, "look message by offset failed, -1"),
        ({"group": "a/b"}, 26, "subscription group not exist, a/b"),
        ({"group": "g" * 125}, 1, "longer than topic max length"),
    ],
)
async def test_bad_send_backs_are_refused(
    desk: Desk, changes: dict[str, object], code: int, text: str
) -> None:
    header = send_back(await desk.send(), **changes)
    answer = await desk.ask(RequestCode.CONSUMER_SEND_MSG_BACK, header)

    assert answer.code == code
    assert text in (answer.remark or "")
