"""Pops, acknowledgements and what comes again, over the wire of a broker."""

import asyncio
import time
from pathlib import Path

from remoting.codes import LaterCode
from remoting.headers import PollingInfo
from storefmt.config.tables import SubscriptionGroup
from tests.server.broker.desk import GROUP, TOPIC, Desk, running
from tests.server.broker.pop.popdesk import (
    ack,
    ask_pop,
    bodies,
    hidden_handle,
    hide,
    pop,
    popped_of,
)
from tests.waiting import eventually, until

REVIVE_LOG = "rmq_sys_REVIVE_LOG_TestCluster"
RETRY = f"%RETRY%{GROUP}_{TOPIC}"
SHORT_MS = 300


async def sent(desk: Desk, count: int, *, queues: int = 1, **changes: object) -> None:
    """Create the topic and send ``b"0"``, ``b"1"``, … round its queues."""
    await desk.create_topic(queues=queues)
    for number in range(count):
        answer = await desk.send(b"%d" % number, queue_id=number % queues, **changes)
        assert answer.code == 0, answer


def open_count(desk: Desk) -> int:
    return desk.app.broker.pops.revive.open_count


async def test_nothing_appears_before_the_first_pop(tmp_path: Path) -> None:
    async with running(tmp_path) as desk:
        await sent(desk, 1)
        await desk.pull()

        assert REVIVE_LOG not in desk.app.broker.topics.names()
        assert not desk.app.broker.store.has(REVIVE_LOG)
    assert not (tmp_path / "config" / "messageRequestMode.json").exists()
    assert "REVIVE" not in (tmp_path / "config" / "consumerOffset.json").read_text()


async def test_what_is_popped_is_hidden_and_what_is_acknowledged_is_gone(desk: Desk) -> None:
    await sent(desk, 5)
    first = await pop(desk, max_msg_nums=3)
    second = await pop(desk)
    third = await pop(desk)

    for one in first + second:
        assert (await ack(desk, one.handle)).code == 0
    await until(lambda: not open_count(desk), what="all pops closed")

    assert [bodies(first), bodies(second), third] == [[b"0", b"1", b"2"], [b"3", b"4"], []]


async def test_several_consumers_pop_one_queue_without_rebalance(desk: Desk) -> None:
    await sent(desk, 40)

    found = await asyncio.gather(*(pop(desk, max_msg_nums=10) for _ in range(6)))

    assert sorted((body for part in found for body in bodies(part)), key=int) == [
        b"%d" % number for number in range(40)
    ]


async def test_answer_of_a_pop_names_queues_as_5_4_0_does(desk: Desk) -> None:
    await sent(desk, 4)
    answer = await ask_pop(desk, max_msg_nums=3, invisible_time=6_000)
    empty = await ask_pop(desk, consumer_group="H", exp="other")

    assert (answer.code, answer.remark) == (0, "FOUND")
    places = {"startOffsetInfo": "0 0 0", "msgOffsetInfo": "0 0 0,1,2"}
    assert answer.ext.items() >= {**places, "invisibleTime": "6000", "restNum": "1"}.items()
    assert "orderCountInfo" not in answer.ext
    assert (empty.code, empty.remark) == (210, "NO_MESSAGE_IN_QUEUE")
    assert (empty.ext["startOffsetInfo"], empty.ext["msgOffsetInfo"]) == ("", "")


async def test_unacknowledged_message_comes_again_from_the_retry_topic(desk: Desk) -> None:
    await sent(desk, 3, properties="TAGS\x01A\x02KEYS\x01k")
    first = await pop(desk, invisible_time=SHORT_MS)
    await ack(desk, first[0].handle)
    await ack(desk, first[2].handle)

    (again,) = await eventually(lambda: pop(desk), bool)
    await ack(desk, again.handle)
    await until(lambda: not open_count(desk), what="the retry closed")

    record = again.record
    assert (record.topic, record.body, record.reconsume_times) == (TOPIC, b"1", 1)
    named = {"1ST_POP_TIME": str(first[0].handle.pop_time_ms), "ORIGIN_GROUP": GROUP}
    assert record.properties.items() >= {**named, "TAGS": "A", "KEYS": "k"}.items()
    assert again.handle.topic_kind == "1"
    assert await pop(desk) == []
    stored = await desk.messages(topic=RETRY)
    assert [(one.body, one.reconsume_times) for one in stored] == [(b"1", 1)]


async def test_message_is_given_out_as_often_as_its_group_says_then_it_is_a_dead_letter(
    desk: Desk,
) -> None:
    await sent(desk, 1)
    group = SubscriptionGroup(group_name=GROUP, retry_max_times=1)
    desk.app.broker.groups.put(group, now_ms=0)
    deliveries = 0
    while not desk.app.broker.store.max_offset(f"%DLQ%{GROUP}", 0):
        deliveries += len(await pop(desk, invisible_time=1))
        await asyncio.sleep(0.05)

    (dead,) = await desk.messages(topic=f"%DLQ%{GROUP}")

    assert deliveries == 2
    assert (dead.body, dead.properties["RETRY_TOPIC"]) == (b"0", TOPIC)
    await until(lambda: not open_count(desk), what="the last pop closed")


async def test_longer_hiding_keeps_a_message_away_and_its_old_handle_is_done(desk: Desk) -> None:
    await sent(desk, 1)
    (first,) = await pop(desk, invisible_time=SHORT_MS)
    answer = await hide(desk, first.handle, invisible_ms=60_000)
    handle = hidden_handle(first.handle, answer)
    await until(lambda: open_count(desk) == 1, what="the old checkpoint closed")
    await asyncio.sleep(2)

    assert await pop(desk) == []
    assert handle.pop_time_ms > first.handle.pop_time_ms
    await ack(desk, handle)
    await until(lambda: not open_count(desk), what="the new checkpoint closed")


async def test_hiding_for_no_time_gives_a_message_back(desk: Desk) -> None:
    await sent(desk, 1)
    (first,) = await pop(desk)
    await hide(desk, first.handle, invisible_ms=1)

    (again,) = await eventually(lambda: pop(desk), bool)

    assert (again.body, again.record.reconsume_times) == (b"0", 1)


async def test_held_pop_is_answered_by_the_next_message_or_at_its_time(desk: Desk) -> None:
    await sent(desk, 0)
    waiting = desk.app.broker.pops.popper.waiting
    pending = asyncio.create_task(ask_pop(desk, poll_time=30_000))
    await until(lambda: len(waiting) == 1, what="the pop held")
    info = await desk.ask(
        LaterCode.POLLING_INFO, PollingInfo(consumer_group=GROUP, topic=TOPIC, queue_id=-1)
    )
    await desk.send(b"now")
    (found,) = popped_of(await pending)
    began = time.monotonic()
    late = await ask_pop(desk, poll_time=200)

    assert found.body == b"now"
    assert info.ext == {"pollingNum": "1"}
    assert late.code == 210
    assert time.monotonic() - began >= 0.19
    assert not len(waiting)
