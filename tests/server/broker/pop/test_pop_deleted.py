"""Pops of topics and groups that are deleted and made again, and of groups that are reset."""

from pathlib import Path

from mqserver.broker.pop.checkpoints import PopCheckpoint, PopKey
from mqserver.broker.pop.retry_topics import pop_retry_topics
from mqserver.broker.pop.revive import STEP_PUTS_MAX
from remoting.codes import RequestCode
from remoting.headers import DeleteSubscriptionGroup, DeleteTopic
from tests.server.broker.desk import GROUP, TOPIC, Desk, running
from tests.server.broker.pop.popdesk import Popped, ack, bodies, hide, pop
from tests.server.broker.pop.test_pop import open_count, sent
from tests.server.broker.pop.test_pop_restart import Ahead
from tests.waiting import eventually, until

SHORT_MS = 300_000
RETRY = f"%RETRY%{GROUP}_{TOPIC}"


async def make_again(desk: Desk, *, count: int = 4) -> None:
    """Delete the topic, make it again, reset the group, and send other messages."""
    answer = await desk.ask(RequestCode.DELETE_TOPIC_IN_BROKER, DeleteTopic(topic=TOPIC))
    assert answer.code == 0, answer
    await desk.create_topic()
    await desk.commit(0)
    await sent(desk, count)


async def popped(desk: Desk, count: int, *, invisible_ms: int = SHORT_MS) -> list[Popped]:
    await sent(desk, count)
    found = await pop(desk, invisible_time=invisible_ms)
    assert len(found) == count
    await until(lambda: open_count(desk) > 0, what="the checkpoint read")
    return found


async def nothing_comes_again(desk: Desk, clock: Ahead) -> None:
    """Let the time of every pop pass, and see that nothing is revived."""
    clock.ahead_ms += 2 * SHORT_MS
    await until(lambda: not open_count(desk), what="all pops closed")
    assert await pop(desk) == []


async def test_messages_of_a_topic_made_again_were_not_popped(tmp_path: Path) -> None:
    clock = Ahead()
    async with running(tmp_path, clock=clock) as desk:
        await popped(desk, 4)
        await make_again(desk)

        for one in await pop(desk):
            await ack(desk, one.handle)

        await nothing_comes_again(desk, clock)


async def test_start_remembers_that_deletion_ended_the_pops(tmp_path: Path) -> None:
    clock = Ahead()
    async with running(tmp_path, clock=clock) as desk:
        await popped(desk, 4)
        await make_again(desk)
    async with running(tmp_path, clock=clock) as desk:
        await until(lambda: desk.app.broker.pops.revive.is_caught_up, what="caught up")
        assert open_count(desk) == 0
        for one in await pop(desk):
            await ack(desk, one.handle)

        await nothing_comes_again(desk, clock)


async def test_checkpoint_older_than_a_message_does_not_revive_it(tmp_path: Path) -> None:
    """The topic was deleted by somebody who did not end the pops, such as a 5.4.0 broker."""
    clock = Ahead()
    async with running(tmp_path, clock=clock) as desk:
        revive = desk.app.broker.pops.revive
        await desk.create_topic()
        key = PopKey(TOPIC, GROUP, 0, 0, clock.now_ms())
        revive.put_checkpoint(PopCheckpoint(key, SHORT_MS, (0, 1)), 0, now_ms=clock.now_ms())
        await desk.heartbeat()
        await sent(desk, 2)
        for one in await pop(desk):
            await ack(desk, one.handle)

        await nothing_comes_again(desk, clock)


async def test_old_handles_do_nothing_to_the_messages_of_a_topic_made_again(
    tmp_path: Path,
) -> None:
    clock = Ahead()
    async with running(tmp_path, clock=clock) as desk:
        (old,) = await popped(desk, 1)
        clock.ahead_ms += 10
        await make_again(desk, count=1)

        answer = await hide(desk, old.handle, invisible_ms=SHORT_MS)
        late = await ack(desk, old.handle)
        (new,) = await pop(desk, invisible_time=SHORT_MS)
        await until(lambda: open_count(desk) == 1, what="the checkpoint read")

        assert (answer.code, late.code) == (208, 0)
        assert "deleted and created again" in str(answer.remark)
        await ack(desk, new.handle)
        await nothing_comes_again(desk, clock)


async def test_late_acknowledgement_in_order_passes_no_message_of_a_topic_made_again(
    tmp_path: Path,
) -> None:
    clock = Ahead()
    async with running(tmp_path, clock=clock) as desk:
        await sent(desk, 1)
        (old,) = await pop(desk, order=True)
        clock.ahead_ms += 10
        await make_again(desk, count=1)

        await ack(desk, old.handle)

        assert bodies(await pop(desk, order=True)) == [b"0"]


async def test_retry_topic_goes_with_its_topic_and_with_its_group(tmp_path: Path) -> None:
    clock = Ahead()
    async with running(tmp_path, clock=clock) as desk:
        topics = desk.app.broker.topics
        await popped(desk, 2)
        clock.ahead_ms += 2 * SHORT_MS
        await until(lambda: topics.get(RETRY) is not None, what="messages revived")
        await make_again(desk, count=1)
        assert topics.get(RETRY) is None
        again = await pop(desk, invisible_time=SHORT_MS)
        clock.ahead_ms += 2 * SHORT_MS
        await until(lambda: topics.get(RETRY) is not None, what="messages revived")

        assert [one.record.reconsume_times for one in again] == [0]
        await delete_group(desk)
        assert topics.get(RETRY) is None


async def delete_group(desk: Desk, *, with_offsets: bool = True) -> None:
    header = DeleteSubscriptionGroup(group_name=GROUP, remove_offset=with_offsets)
    answer = await desk.ask(RequestCode.DELETE_SUBSCRIPTIONGROUP, header)
    assert answer.code == 0, answer


async def test_group_made_again_without_its_offsets_reads_each_message_once(
    tmp_path: Path,
) -> None:
    clock = Ahead()
    async with running(tmp_path, clock=clock) as desk:
        await popped(desk, 3)
        await delete_group(desk)
        assert open_count(desk) == 0
    async with running(tmp_path, clock=clock) as desk:
        await desk.heartbeat()
        first = await eventually(lambda: pop(desk), bool)
        for one in first:
            await ack(desk, one.handle)

        assert len(first) == 3
        await nothing_comes_again(desk, clock)


async def test_group_made_again_with_its_offsets_gets_what_it_had_popped(tmp_path: Path) -> None:
    clock = Ahead()
    async with running(tmp_path, clock=clock) as desk:
        await popped(desk, 3)
        await delete_group(desk, with_offsets=False)
        await desk.heartbeat()
        assert await pop(desk) == []
        clock.ahead_ms += 2 * SHORT_MS

        async def three() -> list[Popped]:
            found.extend(await pop(desk))
            return found

        found: list[Popped] = []
        await eventually(three, lambda got: len(got) >= 3)
        assert [one.record.reconsume_times for one in found] == [1, 1, 1]


async def test_reset_to_before_popped_messages_gives_each_of_them_once(tmp_path: Path) -> None:
    clock = Ahead()
    async with running(tmp_path, clock=clock) as desk:
        await popped(desk, 4)
        await desk.commit(2)
        again = await pop(desk)
        for one in again:
            await ack(desk, one.handle)
        clock.ahead_ms += 2 * SHORT_MS
        revived = await eventually(lambda: pop(desk), bool)
        for one in revived:
            await ack(desk, one.handle)

        assert bodies(again) == [b"2", b"3"]
        # Those before the new offset come again as ever: nothing else would give them.
        assert sorted(bodies(revived) + bodies(await pop(desk))) == [b"0", b"1"]


async def test_fewer_queues_and_more_again_keep_what_was_popped(tmp_path: Path) -> None:
    clock = Ahead()
    async with running(tmp_path, clock=clock) as desk:
        await desk.create_topic(queues=2)
        await desk.heartbeat()
        await desk.send(b"far", queue_id=1)
        assert bodies(await pop(desk, invisible_time=SHORT_MS)) == [b"far"]
        await desk.create_topic(queues=1)
        await desk.create_topic(queues=2)
        clock.ahead_ms += 2 * SHORT_MS

        assert bodies(await eventually(lambda: pop(desk), bool)) == [b"far"]


async def test_a_retry_topic_that_may_be_of_others_stays(tmp_path: Path) -> None:
    async with running(tmp_path) as desk:
        broker = desk.app.broker
        for topic in ("b", "a_b", "%RETRY%g_a_b", "%RETRY%g_b"):
            broker.topics.create_for_group(topic, queue_count=1, now_ms=0)
        for group in ("g", "g_a", "g_b"):
            broker.groups.find(group, now_ms=0)

        # Group g of topic a_b, or group g_a of topic b; and the pulling group g_b.
        assert pop_retry_topics(broker.topics, broker.groups, topic="b") == []
        broker.groups.delete("g_a", now_ms=0)
        broker.groups.delete("g_b", now_ms=0)
        broker.topics.delete("b", now_ms=0)
        assert pop_retry_topics(broker.topics, broker.groups, topic="a_b") == ["%RETRY%g_a_b"]
        assert pop_retry_topics(broker.topics, broker.groups, topic="b") == ["%RETRY%g_b"]


async def test_resets_over_more_pops_than_a_step_end_each_once(tmp_path: Path) -> None:
    count = 3 * STEP_PUTS_MAX
    clock = Ahead()
    async with running(tmp_path, clock=clock) as desk:
        await sent(desk, count)
        for _ in range(count):
            assert len(await pop(desk, max_msg_nums=1, invisible_time=SHORT_MS)) == 1
        await until(lambda: open_count(desk) == count, what="the checkpoints read")

        # The second reset comes while what the first one ended is written.
        await desk.commit(50)
        await desk.commit(20)
        await until(lambda: open_count(desk) == 20, what="the pops behind the offset ended")
        again: list[Popped] = []
        while found := await pop(desk):
            again += found
            for one in found:
                await ack(desk, one.handle)

        assert bodies(again) == [b"%d" % number for number in range(20, count)]
        await until(lambda: open_count(desk) == 20, what="acknowledgements read")


async def test_topic_with_more_pops_than_a_step_is_deleted_at_once(tmp_path: Path) -> None:
    count = 3 * STEP_PUTS_MAX
    clock = Ahead()
    async with running(tmp_path, clock=clock) as desk:
        await sent(desk, count)
        for _ in range(count):
            assert len(await pop(desk, max_msg_nums=1, invisible_time=SHORT_MS)) == 1
        await until(lambda: open_count(desk) == count, what="the checkpoints read")

        await desk.commit(50)
        answer = await desk.ask(RequestCode.DELETE_TOPIC_IN_BROKER, DeleteTopic(topic=TOPIC))
        assert (answer.code, open_count(desk)) == (0, 0)
        await desk.create_topic()
        await desk.commit(0)
        await sent(desk, 4)
        for one in await pop(desk):
            await ack(desk, one.handle)

        await nothing_comes_again(desk, clock)
    async with running(tmp_path, clock=clock) as desk:
        await until(lambda: desk.app.broker.pops.revive.is_caught_up, what="caught up")
        assert open_count(desk) == 0
