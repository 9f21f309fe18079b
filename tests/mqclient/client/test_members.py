"""The members of a client, and which of them answers a broker's request."""

import asyncio

import pytest

from mqclient.consumer.listener.listeners import ConsumeConcurrentlyStatus
from mqclient.consumer.push_consumer import PushConsumer
from mqclient.errors import BadRequest
from mqclient.producer.producer import Producer
from mqclient.producer.transaction_producer import TransactionProducer
from remoting.codes import RequestCode, ResponseCode
from remoting.command import Command
from remoting.headers import CheckTransactionState, GetConsumerRunningInfo
from tests.mqclient.fake import NOW_MS, FakeServer, record, serving
from tests.waiting import until

OK = ConsumeConcurrentlyStatus.CONSUME_SUCCESS


class Listener:
    def __init__(self, asked: list[str], name: str) -> None:
        self.asked, self.name = asked, name

    async def execute_local_transaction(self, message: object, arg: object) -> None:
        return None

    async def check_local_transaction(self, message: object) -> None:
        self.asked.append(self.name)


async def test_a_check_goes_to_the_group_its_message_names() -> None:
    asked: list[str] = []

    async with FakeServer() as fake, fake.client() as client:
        fake.route()
        for name in ("one", "two"):
            producer = TransactionProducer(client, name, Listener(asked, name))  # type: ignore[arg-type]
            await producer.start()
        header = CheckTransactionState(tran_state_table_offset=1, commit_log_offset=2)
        for name in ("two", "one", "three"):
            body = record("T", b"x", properties=f"PGROUP\x01{name}\x02")
            request = Command.request(
                RequestCode.CHECK_TRANSACTION_STATE, header, body=body, oneway=True
            )
            await client.members.answer("a:1", request)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        assert asked == ["two", "one"]


async def test_a_start_that_is_given_up_leaves_no_member() -> None:
    async with serving() as (fake, client):
        fake.say(RequestCode.UNREGISTER_CLIENT)
        consumer = PushConsumer(client, "G")
        consumer.subscribe("T")
        consumer.register_message_listener(lambda messages, context: OK)
        start = asyncio.ensure_future(consumer.start())
        # No answer comes to this one.
        await until(lambda: bool(fake.asked_for(RequestCode.HEART_BEAT)))
        start.cancel()
        with pytest.raises(asyncio.CancelledError):
            await start
        assert client.members.consumers == {}
        (left,) = fake.asked_for(RequestCode.UNREGISTER_CLIENT)
        assert left.ext["consumerGroup"] == "G"


async def test_a_request_for_a_group_that_is_not_here_says_so() -> None:
    async with FakeServer() as fake, fake.client() as client:
        fake.route()
        header = GetConsumerRunningInfo(consumer_group="other", client_id="c", jstack_enable=False)
        request = Command.request(RequestCode.GET_CONSUMER_RUNNING_INFO, header)
        answer = await client.members.answer("a:1", request)
        assert answer.code == ResponseCode.SYSTEM_ERROR
        assert "other" in (answer.remark or "")


async def test_a_second_member_of_a_group_is_refused_and_its_end_leaves_the_first_alone() -> None:
    async with FakeServer() as fake, fake.client() as client:
        fake.route()
        first, second = (PushConsumer(client, "G") for _ in range(2))
        for each in (first, second):
            each.register_message_listener(lambda messages, context: OK)
        async with first:
            await first.start()
            with pytest.raises(BadRequest, match="already"):
                async with second:
                    await second.start()
            assert client.members.consumers == {"G": first}
        assert client.members.consumers == {}


async def test_one_heartbeat_names_every_member() -> None:
    async with FakeServer() as fake, fake.client() as client:
        fake.route()
        await Producer(client, "P").start()
        consumer = PushConsumer(client, "C")
        consumer.register_message_listener(lambda messages, context: OK)
        consumer.subscribe("T", "A || B")
        await consumer.start()
        said = client.members.heartbeat_data()
        assert [each.group_name for each in said.producer_data_set] == ["P"]
        (data,) = said.consumer_data_set
        wanted = {each.topic: each.sub_string for each in data.subscription_data_set}
        assert wanted == {"T": "A || B", "%RETRY%C": "*"}
        await consumer.shutdown()


@pytest.mark.parametrize("kind", [Producer, PushConsumer])
async def test_nobody_joins_a_closed_client(
    fake: FakeServer, kind: type[Producer] | type[PushConsumer]
) -> None:
    async with fake.client() as client:
        pass
    member = kind(client, "G")
    if isinstance(member, PushConsumer):
        member.register_message_listener(lambda messages, context: OK)
    with pytest.raises(BadRequest, match="closed"):
        await member.start()


async def test_heartbeats_go_on_while_no_name_server_answers() -> None:
    now_ms = NOW_MS
    async with serving(clock_ms=lambda: now_ms) as (fake, client):
        fake.take_members()
        async with Producer(client, "P") as producer:
            await producer.queues("T")
            client.namesrv_addresses[:] = ["127.0.0.1:1"]
            now_ms += 600_000
            assert await client.members.addresses() == [fake.address]
            await client.members.heartbeat()
            assert len(fake.asked_for(RequestCode.HEART_BEAT)) == 1
