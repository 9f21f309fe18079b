"""What the settings of a client change: its id, its timers, the port that it connects to."""

import pytest

from mqclient.blocking.client import BlockingClient
from mqclient.client.client_settings import ClientSettings
from mqclient.client.instance import MQClient, second_port
from mqclient.consumer.pull_consumer import PullConsumer
from mqclient.message import Message
from mqclient.producer.producer import Producer
from remoting.bodies import MessageQueue
from remoting.codes import RequestCode
from remoting.command import Command
from remoting.headers import (
    GetMaxOffsetResponse,
    UpdateConsumerOffset,
)
from tests.mqclient.fake import NOW_MS, STORED, FakeServer, pulled, serving
from tests.waiting import until

QUEUE = MessageQueue("T", "broker-0", 0)


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        (ClientSettings(client_ip="10.1.2.3", instance_name="one"), "10.1.2.3@one"),
        (
            ClientSettings(client_ip="10.1.2.3", instance_name="one", unit_name="u"),
            "10.1.2.3@one@u",
        ),
        (ClientSettings(client_ip="10.1.2.3", instance_name="one", unit_name=" "), "10.1.2.3@one"),
    ],
)
def test_client_id(settings: ClientSettings, name: str) -> None:
    assert MQClient("a:1", settings).client_id == name
    with BlockingClient("a:1", client_settings=settings) as client:
        assert client.mq.client_id == name


async def test_heartbeats_come_as_often_as_was_set() -> None:
    often = ClientSettings(heartbeat_broker_interval_ms=1)
    async with serving(settings=often) as (fake, client):
        fake.take_members()
        async with Producer(client) as producer:
            await producer.queues("T")
            await until(lambda: len(fake.asked_for(RequestCode.HEART_BEAT)) > 3)


async def test_a_route_is_asked_for_again_at_the_age_that_was_set() -> None:
    now_ms = NOW_MS
    settings = ClientSettings(poll_name_server_interval_ms=500)
    async with FakeServer() as fake:
        fake.route("T")
        async with fake.client(settings=settings, clock_ms=lambda: now_ms) as client:
            first = await client.route("T")
            now_ms += 499
            assert await client.route("T") is first
            assert len(fake.asked) == 1
            now_ms += 1
            await client.route("T")
            await until(lambda: len(fake.asked) == 2)


async def test_vip_channel_is_the_second_port_for_what_java_asks_there() -> None:
    """Compare with ``MixAll.brokerVIPChannel``, and who calls it."""

    def codes(fake: FakeServer) -> set[int]:
        return {command.code for command in fake.asked}

    def answer(*fakes: FakeServer) -> None:
        for fake in fakes:
            fake.take_members()
            fake.say(RequestCode.SEND_MESSAGE_V2, header=STORED)
            fake.say(RequestCode.GET_MAX_OFFSET, header=GetMaxOffsetResponse(offset=7))
            fake.say(RequestCode.PULL_MESSAGE, header=pulled(0))

    async def work(client: MQClient, first: FakeServer, second: FakeServer) -> None:
        async with Producer(client) as producer, PullConsumer(client, "G") as consumer:
            for _ in range(2):
                await producer.send(Message("T", b"x"))
            await client.members.heartbeat()
            assert await consumer.max_offset(QUEUE) == 7
            await consumer.pull(QUEUE, queue_offset=0)
            header = UpdateConsumerOffset(
                consumer_group="G", topic="T", queue_id=0, commit_offset=1
            )
            code = RequestCode.UPDATE_CONSUMER_OFFSET
            await client.invoke_oneway(first.address, Command.request(code, header, oneway=True))
            await until(lambda: code in codes(second))

    async with FakeServer() as first, FakeServer() as second:
        first.route("T")
        answer(first, second)
        # Under another name: the server is the broker, too, whose port is another one.
        namesrv = first.address.replace("127.0.0.1", "localhost")
        places = {second_port(first.address): second.address}
        vip = ClientSettings(vip_channel_enabled=True)
        async with MQClient(namesrv, vip, timeout_s=60, address_map=places) as client:
            await work(client, first, second)
    assert codes(first) == {
        RequestCode.GET_ROUTEINFO_BY_TOPIC,
        RequestCode.HEART_BEAT,
        RequestCode.PULL_MESSAGE,
        RequestCode.UNREGISTER_CLIENT,
    }
    assert codes(second) == {
        RequestCode.SEND_MESSAGE_V2,
        RequestCode.GET_MAX_OFFSET,
        RequestCode.UPDATE_CONSUMER_OFFSET,
    }


def test_second_port() -> None:
    assert second_port("10.0.0.1:10911") == "10.0.0.1:10909"
    assert second_port("nowhere") == "nowhere"
