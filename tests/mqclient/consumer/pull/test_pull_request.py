"""Which member of a broker a pull goes to: the suggested one, or the one that the user names."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from mqclient.client.instance import MQClient
from mqclient.consumer.consumer_settings import LitePullSettings
from mqclient.consumer.lite_pull_consumer import LitePullConsumer
from mqclient.consumer.pull.pull_request import PullApi, PullRequest
from mqclient.consumer.subscription import Subscription
from remoting.bodies import MessageQueue
from remoting.codes import RequestCode
from remoting.headers import QueryConsumerOffsetResponse
from tests.mqclient.fake import FakeServer, pulled
from tests.waiting import until

QUEUE = MessageQueue("T", "broker-0", 1)
SLAVE_ID = 1


@asynccontextmanager
async def master_and_slave() -> AsyncIterator[tuple[MQClient, FakeServer, FakeServer]]:
    """Run a scene with one broker: a master, which suggests its slave, and the slave."""
    async with FakeServer() as master, FakeServer() as slave:
        master.route("T", slaves={SLAVE_ID: slave.address})
        for server, suggested in ((master, SLAVE_ID), (slave, 0)):
            header = pulled(5, max_offset=5, suggested=suggested)
            server.say(RequestCode.PULL_MESSAGE, 19, header=header)
            server.take_members()
        async with master.client(timeout_s=60.0) as client:
            yield client, master, slave


def pulls(server: FakeServer) -> int:
    return len(server.asked_for(RequestCode.PULL_MESSAGE))


async def pull(puller: PullApi) -> None:
    await puller.pull(PullRequest(QUEUE, 5, Subscription.parse("*"), 32))


async def test_the_next_pull_goes_where_the_broker_suggests() -> None:
    async with master_and_slave() as (client, master, slave):
        puller = PullApi(client, "G")
        for counts in ((1, 0), (1, 1), (2, 1)):
            await pull(puller)

            assert (pulls(master), pulls(slave)) == counts


@pytest.mark.parametrize(("broker_id", "counts"), [(0, (2, 0)), (SLAVE_ID, (0, 2)), (7, (2, 0))])
async def test_a_named_member_is_asked_whatever_is_suggested(
    broker_id: int, counts: tuple[int, int]
) -> None:
    async with master_and_slave() as (client, master, slave):
        puller = PullApi(client, "G", broker_id=broker_id)

        await pull(puller)
        await pull(puller)

        assert (pulls(master), pulls(slave)) == counts


async def test_a_polling_consumer_pulls_from_the_member_it_is_told() -> None:
    settings = LitePullSettings(connect_broker_by_user=True, default_broker_id=SLAVE_ID)

    async with master_and_slave() as (client, master, slave):
        master.say(RequestCode.QUERY_CONSUMER_OFFSET, header=QueryConsumerOffsetResponse(offset=5))
        async with LitePullConsumer(client, "G", settings) as consumer:
            await consumer.assign([QUEUE])
            await consumer.start()
            await until(lambda: pulls(slave) >= 3)

        assert pulls(master) == 0


def test_without_being_told_the_member_number_means_nothing() -> None:
    assert LitePullSettings(default_broker_id=SLAVE_ID).broker_id is None
    assert LitePullSettings(connect_broker_by_user=True).broker_id == 0
