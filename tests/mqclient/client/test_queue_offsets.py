"""Offsets of one queue: the requests, their addressee, and queues that have no offset."""

from collections.abc import Awaitable, Callable

import pytest

from mqclient.client import queue_offsets
from mqclient.client.instance import MQClient
from mqclient.errors import BrokerRefused, NoRoute, NotFound
from remoting.bodies import MessageQueue
from remoting.codes import RequestCode
from remoting.header import Header
from remoting.headers import (
    GetEarliestMsgStoretimeResponse,
    GetMaxOffsetResponse,
    GetMinOffsetResponse,
    QueryConsumerOffsetResponse,
    SearchOffsetResponse,
    UpdateConsumerOffsetResponse,
)
from tests.mqclient.fake import FakeServer

QUEUE = MessageQueue("T", "broker-0", 1)


async def test_ends_are_asked_of_the_master(fake: FakeServer) -> None:
    fake.route("T")
    fake.say(RequestCode.GET_MIN_OFFSET, header=GetMinOffsetResponse(offset=2))
    fake.say(RequestCode.GET_MAX_OFFSET, header=GetMaxOffsetResponse(offset=9))
    async with fake.client() as client:
        assert await queue_offsets.min_offset(client, QUEUE) == 2
        assert await queue_offsets.max_offset(client, QUEUE) == 9
    (request,) = fake.asked_for(RequestCode.GET_MAX_OFFSET)
    assert request.ext == {"topic": "T", "queueId": "1", "bname": "broker-0"}


Call = Callable[[MQClient], Awaitable[object]]
AT_A_SLAVE: dict[str, tuple[RequestCode, Header, Call]] = {
    "min offset": (
        RequestCode.GET_MIN_OFFSET,
        GetMinOffsetResponse(offset=2),
        lambda client: queue_offsets.min_offset(client, QUEUE),
    ),
    "max offset": (
        RequestCode.GET_MAX_OFFSET,
        GetMaxOffsetResponse(offset=9),
        lambda client: queue_offsets.max_offset(client, QUEUE),
    ),
    "offset at a time": (
        RequestCode.SEARCH_OFFSET_BY_TIMESTAMP,
        SearchOffsetResponse(offset=3),
        lambda client: queue_offsets.search_offset(client, QUEUE, timestamp_ms=5),
    ),
    "first store time": (
        RequestCode.GET_EARLIEST_MSG_STORETIME,
        GetEarliestMsgStoretimeResponse(timestamp=7),
        lambda client: queue_offsets.earliest_store_ms(client, QUEUE),
    ),
    "a group's offset": (
        RequestCode.QUERY_CONSUMER_OFFSET,
        QueryConsumerOffsetResponse(offset=4),
        lambda client: queue_offsets.committed(client, QUEUE, group="G"),
    ),
    "commit": (
        RequestCode.UPDATE_CONSUMER_OFFSET,
        UpdateConsumerOffsetResponse(),
        lambda client: queue_offsets.commit(client, QUEUE, group="G", queue_offset=5),
    ),
}


@pytest.mark.parametrize("has_master", [True, False])
@pytest.mark.parametrize(("code", "header", "call"), AT_A_SLAVE.values(), ids=AT_A_SLAVE.keys())
async def test_slave_is_asked_while_the_name_server_has_no_master(
    fake: FakeServer, code: RequestCode, header: Header, call: Call, has_master: bool
) -> None:
    async with FakeServer() as slave:
        fake.route("T", slaves={1: slave.address}, has_master=has_master)
        asked, other = (fake, slave) if has_master else (slave, fake)
        asked.say(code, header=header)
        async with fake.client() as client:
            await call(client)

    assert len(asked.asked_for(code)) == 1
    assert other.asked_for(code) == []


async def test_offset_goes_to_the_master_as_soon_as_a_name_server_has_it_again(
    fake: FakeServer,
) -> None:
    code = RequestCode.UPDATE_CONSUMER_OFFSET
    async with FakeServer() as slave:
        fake.route("T", slaves={1: slave.address}, has_master=False)
        for server in (fake, slave):
            server.say(code, header=UpdateConsumerOffsetResponse())
        async with fake.client() as client:
            await queue_offsets.commit(client, QUEUE, group="G", queue_offset=1)
            fake.route("T", slaves={1: slave.address})
            await queue_offsets.commit(client, QUEUE, group="G", queue_offset=2)

    assert [one.ext["commitOffset"] for one in slave.asked_for(code)] == ["1"]
    assert [one.ext["commitOffset"] for one in fake.asked_for(code)] == ["2"]


async def test_slave_is_asked_while_no_name_server_answers(fake: FakeServer) -> None:
    fake.route("T", slaves={1: fake.address}, has_master=False)
    fake.say(RequestCode.GET_MAX_OFFSET, header=GetMaxOffsetResponse(offset=9))
    async with fake.client() as client:
        await client.route("T")
        fake.drop(RequestCode.GET_ROUTEINFO_BY_TOPIC)

        assert await queue_offsets.max_offset(client, QUEUE) == 9


async def test_queue_without_any_broker_has_no_route(fake: FakeServer) -> None:
    fake.route("T", has_master=False)
    async with fake.client() as client:
        with pytest.raises(NoRoute, match="broker broker-0"):
            await queue_offsets.max_offset(client, QUEUE)


async def test_locks_and_pops_are_for_the_master_alone(fake: FakeServer) -> None:
    fake.route("T", slaves={1: fake.address}, has_master=False)
    async with fake.client() as client:
        with pytest.raises(NoRoute):
            await client.master_of(QUEUE)


async def test_only_not_found_means_no_offset(fake: FakeServer) -> None:
    for code in (22, 17, 1):
        fake.say(RequestCode.QUERY_CONSUMER_OFFSET, code)
    async with fake.client() as client:

        async def ask() -> int | None:
            return await queue_offsets.committed(client, QUEUE, group="G", address=fake.address)

        assert await ask() is None
        with pytest.raises(NotFound):
            await ask()
        with pytest.raises(BrokerRefused):
            await ask()
