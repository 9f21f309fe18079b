"""The queries that every producer and consumer offers, against a fake broker; group names."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from mqclient.admin.queries import Queries
from mqclient.client.instance import MQClient
from mqclient.consumer.lite_pull_consumer import LitePullConsumer
from mqclient.consumer.pull_consumer import PullConsumer
from mqclient.consumer.push_consumer import PushConsumer
from mqclient.errors import BadRequest, NoRoute
from mqclient.producer.producer import Producer
from remoting.bodies import MessageQueue
from remoting.codes import RequestCode
from remoting.headers import (
    GetEarliestMsgStoretimeResponse,
    GetMaxOffsetResponse,
    GetMinOffsetResponse,
    SearchOffsetResponse,
)
from tests.mqclient.fake import FakeServer

_T = TypeVar("_T")
QUEUE = MessageQueue("T", "broker-0", 1)
WHO: list[Callable[[MQClient], Queries]] = [
    Producer,
    lambda client: PushConsumer(client, "G"),
    lambda client: LitePullConsumer(client, "G"),
    lambda client: PullConsumer(client, "G"),
]


@pytest.mark.parametrize("name", ["", "a group", "g" * 256, "gruppe/ä"])
@pytest.mark.parametrize("kind", [Producer, PushConsumer, LitePullConsumer, PullConsumer])
def test_a_group_name_that_is_not_allowed_is_refused_before_anything_is_asked(
    kind: Callable[[MQClient, str], Queries], name: str
) -> None:
    with pytest.raises(BadRequest, match="group name"):
        kind(MQClient("127.0.0.1:9"), name)


@pytest.mark.parametrize("kind", [PushConsumer, LitePullConsumer])
def test_a_topic_name_that_is_not_allowed_is_not_subscribed_to(
    kind: type[PushConsumer] | type[LitePullConsumer],
) -> None:
    consumer = kind(MQClient("127.0.0.1:9"), "G")
    with pytest.raises(BadRequest, match="topic name"):
        consumer.subscribe("no topic")


def run(
    act: Callable[[FakeServer, Queries], Awaitable[_T]],
    who: Callable[[MQClient], Queries] = Producer,
    *,
    perm: int = 6,
) -> _T:
    async def go() -> _T:
        async with FakeServer() as fake:
            fake.route("T", queues=2, brokers=2, perm=perm)
            async with fake.client() as client:
                return await act(fake, who(client))

    return asyncio.run(go())


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize(("perm", "count"), [(6, 4), (4, 4), (2, 0)])
def test_the_queues_to_subscribe_to_are_the_readable_ones_in_order(
    who: Callable[[MQClient], Queries], perm: int, count: int
) -> None:
    queues = [MessageQueue("T", f"broker-{number // 2}", number % 2) for number in range(count)]

    assert run(lambda _, one: one.fetch_subscribe_message_queues("T"), who, perm=perm) == queues


def test_a_topic_nobody_has_has_no_queues_to_subscribe_to() -> None:
    with pytest.raises(NoRoute, match="Other"):
        run(lambda _, one: one.fetch_subscribe_message_queues("Other"))


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize(
    ("told", "stored_ms"), [(1_700_000_000_123, 1_700_000_000_123), (-1, None)]
)
def test_the_first_message_was_stored_then_or_there_is_none(
    who: Callable[[MQClient], Queries], told: int, stored_ms: int | None
) -> None:
    async def act(fake: FakeServer, one: Queries) -> int | None:
        code = RequestCode.GET_EARLIEST_MSG_STORETIME
        fake.say(code, header=GetEarliestMsgStoretimeResponse(timestamp=told))
        found = await one.earliest_msg_store_time(QUEUE)
        (asked,) = fake.asked_for(code)
        assert (asked.ext["topic"], asked.ext["queueId"]) == ("T", "1")
        return found

    assert run(act, who) == stored_ms


@pytest.mark.parametrize("who", WHO)
def test_offsets_are_asked_of_the_master_of_the_queue(who: Callable[[MQClient], Queries]) -> None:
    async def act(fake: FakeServer, one: Queries) -> tuple[int, int, int]:
        fake.say(RequestCode.GET_MIN_OFFSET, header=GetMinOffsetResponse(offset=3))
        fake.say(RequestCode.GET_MAX_OFFSET, header=GetMaxOffsetResponse(offset=50))
        fake.say(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, header=SearchOffsetResponse(offset=7))
        found = await one.search_offset(QUEUE, 1_700_000_000_000)
        (asked,) = fake.asked_for(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP)
        assert asked.ext["timestamp"] == "1700000000000"
        return await one.min_offset(QUEUE), await one.max_offset(QUEUE), found

    assert run(act, who) == (3, 50, 7)
