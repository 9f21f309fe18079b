"""The buffer between pulls and polls: a batch is done after the next poll or a commit."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mqclient.consumer.consumer_settings import PushSettings
from mqclient.consumer.pull.poll_buffer import PollBuffer
from mqclient.consumer.state.consumer_state import ConsumerState
from mqclient.consumer.state.process_queue import ProcessQueue
from mqclient.message import read_messages
from remoting.bodies import MessageQueue
from tests.mqclient.consuming import QUEUE, consuming, filled
from tests.mqclient.fake import NOW_MS, FakeServer, record

Scene = tuple[ConsumerState, PollBuffer, ProcessQueue]


@asynccontextmanager
async def polling(*, auto_commit: bool = True) -> AsyncIterator[Scene]:
    async with FakeServer() as fake, fake.client() as client:
        inside = consuming(client, PushSettings(consume_message_batch_max_size=2))
        polled = PollBuffer(inside, auto_commit=auto_commit)
        held, new = filled([b"0", b"1", b"2", b"3", b"4"])
        polled.submit(held, new)
        yield inside, polled, held


async def test_stopping_in_the_middle_of_a_batch_does_not_commit_it() -> None:
    async with polling() as (inside, polled, _):
        await polled.next(wait_s=0)
        polled.commit(with_last=False)
        assert inside.offsets.known(QUEUE) is None
        await polled.next(wait_s=0)
        polled.commit(with_last=False)
        assert inside.offsets.known(QUEUE) == 2


async def test_a_commit_by_hand_counts_the_last_batch() -> None:
    async with polling() as (inside, polled, _):
        await polled.next(wait_s=0)
        polled.commit()
        assert inside.offsets.known(QUEUE) == 2


async def test_a_queue_given_up_commits_what_was_done_and_gives_nothing_more() -> None:
    async with polling() as (inside, polled, held):
        await polled.next(wait_s=0)
        await polled.next(wait_s=0)
        held.dropped = True
        assert await polled.release(held)
        assert inside.offsets.known(QUEUE) == 2
        assert await polled.next(wait_s=0) == []


async def test_without_auto_commit_a_queue_given_up_commits_nothing() -> None:
    async with polling(auto_commit=False) as (inside, polled, held):
        await polled.next(wait_s=0)
        await polled.next(wait_s=0)
        await polled.release(held)
        assert inside.offsets.known(QUEUE) is None


async def test_a_sought_position_is_not_overwritten_by_the_batch_before() -> None:
    async with polling() as (inside, polled, held):
        await polled.next(wait_s=0)
        held.dropped = True
        polled.start_over(ProcessQueue(QUEUE, next_offset=0, now_ms=NOW_MS))
        polled.commit()
        assert inside.offsets.known(QUEUE) == 0


async def test_an_empty_pull_counts_with_the_batch_before_it() -> None:
    async with polling() as (inside, polled, held):
        for _ in range(3):
            await polled.next(wait_s=0)
        polled.skip_to(held, 9)
        polled.commit(with_last=False)
        assert inside.offsets.known(QUEUE) == 4
        assert await polled.next(wait_s=0) == []
        polled.commit(with_last=False)
        assert inside.offsets.known(QUEUE) == 9


async def test_two_polls_at_once_keep_a_batch_each() -> None:
    async with polling() as (inside, polled, _):
        while await polled.next(wait_s=0):
            continue
        polled.commit()
        other = MessageQueue("T", "broker-0", 1)
        waiting = [asyncio.ensure_future(polled.next(wait_s=60)) for _ in range(2)]
        await asyncio.sleep(0)
        for queue in (QUEUE, other):
            fresh = ProcessQueue(queue, next_offset=5, now_ms=NOW_MS)
            data = record("T", b"x", queue_offset=5)
            polled.submit(
                fresh, fresh.put_messages(read_messages(data, broker_name="b", address="a:1"))
            )
        assert [len(batch) for batch in await asyncio.gather(*waiting)] == [1, 1]
        polled.commit(with_last=False)
        assert (inside.offsets.known(QUEUE), inside.offsets.known(other)) == (5, None)


async def test_a_queue_begun_anew_has_no_position_of_before() -> None:
    async with polling() as (inside, polled, held):
        await polled.next(wait_s=0)
        held.dropped = True
        polled.commit()
        assert inside.offsets.known(QUEUE) is None


async def test_a_paused_queue_keeps_its_messages_for_later() -> None:
    async with polling() as (inside, polled, _):
        inside.paused.add(QUEUE)
        assert await polled.next(wait_s=0) == []
        inside.paused.clear()
        got = [await polled.next(wait_s=0) for _ in range(3)]
        assert [[m.body for m in part] for part in got] == [[b"0", b"1"], [b"2", b"3"], [b"4"]]


async def test_one_message_at_a_time_counts_alone() -> None:
    async with polling() as (inside, polled, _):
        bodies = [(await polled.next(wait_s=0, count_max=1))[0].body for _ in range(3)]
        polled.commit(with_last=False)
        assert bodies == [b"0", b"1", b"2"]
        assert inside.offsets.known(QUEUE) == 2
        polled.commit()
        assert inside.offsets.known(QUEUE) == 3
        rest = await polled.next(wait_s=0)
        assert [message.body for message in rest] == [b"3"]


async def test_stopping_ends_a_wait_for_messages() -> None:
    async with polling() as (_, polled, held):
        held.dropped = True
        waiting = asyncio.ensure_future(polled.next(wait_s=3600))
        await asyncio.sleep(0)
        await polled.stop(wait_s=0)
        assert await waiting == []
