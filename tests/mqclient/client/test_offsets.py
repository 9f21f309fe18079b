"""Offsets of one queue: the requests, their addressee, and queues that have no offset."""

import pytest

from mqclient.client import offsets
from mqclient.errors import BrokerRefused, NotFound
from remoting.bodies import MessageQueue
from remoting.codes import RequestCode
from remoting.headers import GetMaxOffsetResponse, GetMinOffsetResponse
from tests.mqclient.fake import FakeServer

QUEUE = MessageQueue("T", "broker-0", 1)


async def test_ends_are_asked_of_the_master(fake: FakeServer) -> None:
    fake.route("T")
    fake.say(RequestCode.GET_MIN_OFFSET, header=GetMinOffsetResponse(offset=2))
    fake.say(RequestCode.GET_MAX_OFFSET, header=GetMaxOffsetResponse(offset=9))
    async with fake.client() as client:
        assert await offsets.min_offset(client, QUEUE) == 2
        assert await offsets.max_offset(client, QUEUE) == 9
    (request,) = fake.asked_for(RequestCode.GET_MAX_OFFSET)
    assert request.ext == {"topic": "T", "queueId": "1", "bname": "broker-0"}


async def test_only_not_found_means_no_offset(fake: FakeServer) -> None:
    for code in (22, 17, 1):
        fake.say(RequestCode.QUERY_CONSUMER_OFFSET, code)
    async with fake.client() as client:

        async def ask() -> int | None:
            return await offsets.committed(client, QUEUE, group="G", address=fake.address)

        assert await ask() is None
        with pytest.raises(NotFound):
            await ask()
        with pytest.raises(BrokerRefused):
            await ask()
