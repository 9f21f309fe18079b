"""Pops in order: one batch of a queue is out at a time."""

import asyncio
from pathlib import Path

from mqserver.broker.pop.order import Ack, OrderedQueues
from tests.server.broker.desk import GROUP, TOPIC, Desk, running
from tests.server.broker.pop.popdesk import Popped, ack, ask_pop, bodies, hide, pop, popped_of
from tests.server.broker.pop.test_pop import open_count, sent
from tests.waiting import until

PLACE = "T", "G", 0


async def ordered(desk: Desk, attempt: str | None = None, **changes: object) -> list[Popped]:
    return await pop(desk, order=True, attempt_id=attempt, **changes)


async def test_queue_is_blocked_until_its_batch_is_acknowledged(desk: Desk) -> None:
    await sent(desk, 5)
    first = await ordered(desk, "a", max_msg_nums=3)
    blocked = await ask_pop(desk, order=True, attempt_id="b")
    for one in first[:2]:
        await ack(desk, one.handle)
    still = await ordered(desk, "c")
    await ack(desk, first[2].handle)
    second = await ordered(desk, "d")

    assert bodies(first) == [b"0", b"1", b"2"]
    assert first[0].handle.is_ordered
    assert (blocked.code, blocked.ext["restNum"], blocked.ext["reviveQid"]) == (210, "0", "999")
    assert blocked.ext["orderCountInfo"] == ""
    assert still == []
    assert bodies(second) == [b"3", b"4"]
    # No checkpoint is needed.
    assert not open_count(desk)
    assert not desk.app.broker.store.has("rmq_sys_REVIVE_LOG_TestCluster")


async def test_same_attempt_gets_the_same_batch_again(desk: Desk) -> None:
    await sent(desk, 3)
    first = await ask_pop(desk, order=True, attempt_id="a", max_msg_nums=2)
    same = await ask_pop(desk, order=True, attempt_id="a", max_msg_nums=2)

    assert bodies(popped_of(same)) == bodies(popped_of(first)) == [b"0", b"1"]
    assert first.ext["orderCountInfo"] == same.ext["orderCountInfo"] == "0 0 0"


async def test_batch_whose_time_is_over_comes_again_and_is_counted(desk: Desk) -> None:
    await sent(desk, 3)
    await ack(desk, (await ordered(desk, "a", invisible_time=300))[0].handle)
    again = await ask_pop(desk, order=True, attempt_id="b", poll_time=30_000)

    assert bodies(popped_of(again)) == [b"1", b"2"]
    assert again.ext["orderCountInfo"] == "0 qo0%1 1;0 qo0%2 1;0 0 1"


async def test_acknowledgement_wakes_the_pop_that_waits_for_the_queue(desk: Desk) -> None:
    await sent(desk, 2)
    (first,) = await ordered(desk, "a", max_msg_nums=1)
    waiting = desk.app.broker.pops.popper.waiting
    pending = asyncio.create_task(ask_pop(desk, order=True, attempt_id="b", poll_time=60_000))
    await until(lambda: len(waiting) == 1, what="the pop held")
    await ack(desk, first.handle)

    assert bodies(popped_of(await pending)) == [b"1"]


async def test_longer_hiding_keeps_a_queue_blocked(desk: Desk) -> None:
    await sent(desk, 1)
    (first,) = await ordered(desk, "a", invisible_time=300)
    answer = await hide(desk, first.handle, invisible_ms=60_000)
    await asyncio.sleep(0.5)

    assert await ordered(desk, "b") == []
    assert int(answer.ext["popTime"]) == first.handle.pop_time_ms
    assert int(answer.ext["invisibleTime"]) >= 60_000


async def test_message_that_the_batch_does_not_have_is_refused(desk: Desk) -> None:
    await sent(desk, 3)
    first = await ordered(desk, "a", max_msg_nums=2)

    answer = await ack(desk, first[0].handle, offset=2)

    assert answer.code == 13
    assert (answer.remark or "").startswith(
        f"offset is illegal, key:{TOPIC}@{GROUP}@0, old:0, commit:2, next:-1, /127.0.0.1:"
    )


async def test_unacknowledged_batch_comes_again_after_a_start(tmp_path: Path) -> None:
    async with running(tmp_path) as desk:
        await sent(desk, 3)
        first = await ordered(desk, "a")
        await ack(desk, first[0].handle)
    async with running(tmp_path) as desk:
        # A message behind one that is not acknowledged does not pass it.
        late = await ack(desk, first[2].handle)
        again = await ordered(desk, "b")

        assert late.code == 0
        assert bodies(again) == [b"1", b"2"]


def test_batch_is_free_when_the_last_of_its_messages_is_visible() -> None:
    queues = OrderedQueues()
    queues.give_out(PLACE, [5, 7], attempt_id="a", invisible_ms=100, now_ms=1_000)
    queues.hide(PLACE, 7, pop_time_ms=1_000, visible_ms=5_000)

    assert queues.blocked_until(PLACE, "b", now_ms=1_050) == 5_000
    assert queues.acknowledge(PLACE, 7, pop_time_ms=1_000, group_offset=5) == (Ack.TAKEN, 5)
    assert queues.blocked_until(PLACE, "b", now_ms=1_050) == 1_100
    assert queues.blocked_until(PLACE, "b", now_ms=1_100) is None
    assert queues.acknowledge(PLACE, 5, pop_time_ms=1_000, group_offset=5) == (Ack.TAKEN, 8)


def test_acknowledgement_of_a_former_batch_changes_nothing() -> None:
    queues = OrderedQueues()
    queues.give_out(PLACE, [5], attempt_id="a", invisible_ms=100, now_ms=1_000)
    queues.give_out(PLACE, [5], attempt_id="b", invisible_ms=100, now_ms=2_000)

    assert queues.acknowledge(PLACE, 5, pop_time_ms=1_000, group_offset=5) == (Ack.STALE, -1)
    queues.drop(topic="T")
    assert queues.blocked_until(PLACE, "c", now_ms=2_001) is None
