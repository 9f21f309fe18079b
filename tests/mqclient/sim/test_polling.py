"""Lite pull consumers in simulated time: messages that are not done are polled again."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine

import pytest

from mqclient.consumer.consumer_settings import LitePullSettings
from mqclient.consumer.lite_pull_consumer import LitePullConsumer
from mqclient.errors import BadRequest, ClientError
from mqclient.message import MessageExt
from remoting.bodies import ConsumeFromWhere, MessageQueue
from remoting.codes import RequestCode, ResponseCode
from remoting.command import Command
from tests.mqclient.sim.clock import SimLoop, run
from tests.mqclient.sim.network import SimClient
from tests.mqclient.sim.world import GROUP, TAG, TOPIC, Kind, World

QUEUE = MessageQueue(TOPIC, "a", 0)
AT_WORK_S = 26.0
"""Longer than a broker holds a pull: one comes back empty meanwhile."""


def play(act: Callable[[World], Coroutine[object, object, None]], *, queues: int = 1) -> None:
    loop = SimLoop()

    async def go() -> None:
        world = World(loop, 1, kind=Kind.POLLED, brokers=1, queues=queues)
        for number in range(3):
            world.brokers["a"].put(TOPIC, 0, b"%d" % number, TAGS=TAG)
        await act(world)

    run(go(), loop)


def polling(world: World, name: str, *, auto_commit: bool = True) -> LitePullConsumer:
    settings = LitePullSettings(
        consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET, auto_commit=auto_commit
    )
    return LitePullConsumer(SimClient(world.network, name), GROUP, settings)


def position(world: World) -> int | None:
    return world.brokers["a"].positions.get((GROUP, QUEUE))


async def given(consumer: LitePullConsumer) -> list[MessageExt]:
    async with asyncio.timeout(100):
        while not (batch := await consumer.poll()):
            pass
        return batch


async def begun(consumer: LitePullConsumer) -> None:
    """Start a consumer, which is given the three messages."""
    await consumer.start()
    assert len(await given(consumer)) == 3


@pytest.mark.parametrize("auto_commit", [True, False])
def test_a_batch_at_work_when_its_owner_fails_is_given_again(auto_commit: bool) -> None:
    async def act(world: World) -> None:
        with contextlib.suppress(OSError):
            async with polling(world, "m0", auto_commit=auto_commit) as consumer:
                consumer.subscribe(TOPIC)
                await begun(consumer)
                await asyncio.sleep(AT_WORK_S)
                raise OSError("the database is away")
        assert position(world) is None
        async with polling(world, "m1", auto_commit=auto_commit) as consumer:
            consumer.subscribe(TOPIC)
            await begun(consumer)
            await consumer.commit()
            assert position(world) == 3

    play(act)


@pytest.mark.parametrize("auto_commit", [True, False])
def test_a_queue_that_goes_to_another_member_takes_no_position_past_the_work(
    auto_commit: bool,
) -> None:
    async def act(world: World) -> None:
        consumers = [polling(world, f"m{n}", auto_commit=auto_commit) for n in range(3)]
        for consumer in consumers:
            consumer.subscribe(TOPIC)
        await begun(consumers[1])
        await asyncio.sleep(AT_WORK_S)
        # By its name this one is first, and gets the only queue.
        await begun(consumers[0])
        assert consumers[1].assignment() == []
        assert position(world) is None
        await consumers[1].commit()
        assert position(world) is None
        for consumer in consumers:
            await consumer.shutdown()

    play(act)


def test_messages_of_others_behind_a_batch_are_passed_with_it_and_not_before() -> None:
    async def act(world: World) -> None:
        async with polling(world, "m0") as consumer:
            consumer.subscribe(TOPIC, TAG)
            await begun(consumer)
            world.brokers["a"].put(TOPIC, 0, b"for others", TAGS="others")
            await asyncio.sleep(AT_WORK_S)
            assert await consumer.poll(0) == []
            await consumer.commit()
            assert position(world) == 4

    play(act)


def test_queues_assigned_anew_keep_what_is_done_and_give_the_rest_again() -> None:
    async def act(world: World) -> None:
        async with polling(world, "m0") as consumer:
            await consumer.assign([QUEUE])
            await begun(consumer)
            await consumer.assign([])
            await consumer.commit()
            assert position(world) is None
            await consumer.assign([QUEUE])
            assert len(await given(consumer)) == 3
            assert await consumer.poll(0) == []
            await consumer.assign([])
            # The position is told one way.
            await asyncio.sleep(1.0)
            assert position(world) == 3

    play(act)


def test_a_seek_does_not_take_back_a_queue_that_was_given_away_meanwhile() -> None:
    async def act(world: World) -> None:
        serve = world.network.servers["a:10911"]

        async def slow(client: SimClient, request: Command) -> Command | None:
            if request.code == RequestCode.GET_MAX_OFFSET:
                await asyncio.sleep(2.0)
            return await serve(client, request)

        world.network.servers["a:10911"] = slow
        first, second = polling(world, "m0"), polling(world, "m1")
        for consumer in (first, second):
            consumer.subscribe(TOPIC)
        await begun(second)
        seek = asyncio.ensure_future(second.seek(QUEUE, 0))
        await asyncio.sleep(0.5)
        await first.start()
        with pytest.raises(BadRequest, match="not this consumer's now"):
            await seek
        assert (first.assignment(), second.assignment()) == ([QUEUE], [])
        await first.shutdown()
        await second.shutdown()

    play(act)


def test_a_member_that_cannot_begin_its_queues_leaves_again() -> None:
    async def act(world: World) -> None:
        serve = world.network.servers["a:10911"]

        async def refusing(client: SimClient, request: Command) -> Command | None:
            if request.code == RequestCode.QUERY_CONSUMER_OFFSET:
                return request.response(ResponseCode.SYSTEM_ERROR, remark="not now")
            return await serve(client, request)

        world.network.servers["a:10911"] = refusing
        consumer = polling(world, "m0")
        await consumer.assign([QUEUE])
        with pytest.raises(ClientError, match="not now"):
            await consumer.start()
        assert not consumer.is_running
        assert world.brokers["a"].members[GROUP] == {}
        world.network.servers["a:10911"] = serve
        async with polling(world, "m0") as another:
            await another.assign([QUEUE])
            await begun(another)

    play(act)
