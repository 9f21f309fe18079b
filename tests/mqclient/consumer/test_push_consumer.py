"""Push consumers against the embedded broker: both kinds, retries, sharing, offsets."""

import asyncio
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from mqclient.admin.admin import Admin
from mqclient.client.client_settings import ClientSettings
from mqclient.client.instance import MQClient
from mqclient.consumer.consumer_settings import PushSettings
from mqclient.consumer.listener.listeners import (
    ConsumeConcurrentlyContext,
    ConsumeOrderlyContext,
    ConsumeOrderlyStatus,
)
from mqclient.consumer.listener.listeners import ConsumeConcurrentlyStatus as Status
from mqclient.consumer.pull import pull_message_service
from mqclient.consumer.pull.pull_message_service import PullMessageService
from mqclient.consumer.push_consumer import PushConsumer
from mqclient.consumer.state.process_queue import ProcessQueue
from mqclient.errors import BadRequest, BrokerRefused
from mqclient.message import Message, MessageExt
from mqclient.producer.producer import Producer
from mqserver.pytest_plugin import RocketMQ
from remoting.bodies import ConsumeFromWhere, MessageModel
from tests.waiting import eventually, until

FROM_FIRST = PushSettings(consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET)
OK = Status.CONSUME_SUCCESS


async def send(client: MQClient, topic: str, count: int, *, tags: str | None = None) -> None:
    producer = Producer(client)
    for number in range(count):
        await producer.send(Message(topic, b"%d" % number, tags=tags))


def collect(consumer: PushConsumer, bodies: list[bytes]) -> None:
    """Have the consumer add the body of every message to ``bodies``."""

    @consumer.concurrently
    async def listen(messages: list[MessageExt], context: ConsumeConcurrentlyContext) -> Status:
        bodies.extend(message.body for message in messages)
        return OK


async def test_concurrent_listener_gets_every_message_and_positions_follow(
    client: MQClient,
) -> None:
    await send(client, "PushAll", 50, tags="A")
    await send(client, "PushAll", 7, tags="B")
    bodies: list[bytes] = []
    async with PushConsumer(client, "push-all", FROM_FIRST) as consumer:
        consumer.subscribe("PushAll", "A")
        collect(consumer, bodies)
        await consumer.start()
        await until(lambda: len(bodies) == 50)
    assert sorted(map(int, bodies)) == list(range(50))
    async with PushConsumer(client, "push-all", FROM_FIRST) as again:
        again.subscribe("PushAll", "A")
        collect(again, bodies)
        await again.start()
        await send(client, "PushAll", 1, tags="A")
        await until(lambda: len(bodies) == 51)


async def test_plain_function_runs_in_a_thread_and_a_failed_message_comes_again(
    client: MQClient,
) -> None:
    await send(client, "PushRetry", 3)
    seen: list[tuple[bytes, int, str]] = []
    async with PushConsumer(client, "push-retry", FROM_FIRST) as consumer:
        consumer.subscribe("PushRetry")

        @consumer.concurrently
        def listen(messages: list[MessageExt], context: ConsumeConcurrentlyContext) -> Status:
            (message,) = messages
            seen.append((message.body, message.reconsume_times, message.topic))
            context.delay_level = 1
            if message.body == b"1" and message.reconsume_times == 0:
                raise ValueError("not yet")
            return OK

        await consumer.start()
        await until(lambda: (b"1", 1, "PushRetry") in seen)
    assert sorted(body for body, times, _ in seen if times == 0) == [b"0", b"1", b"2"]


async def test_orderly_listener_keeps_the_order_of_each_queue_through_failures(
    client: MQClient,
) -> None:
    await send(client, "PushOrder", 40)
    done: dict[int, list[int]] = {}
    failed: set[bytes] = set()
    settings = replace(FROM_FIRST, suspend_current_queue_time_ms=10)
    async with PushConsumer(client, "push-order", settings) as consumer:
        consumer.subscribe("PushOrder")

        @consumer.orderly
        async def listen(
            messages: list[MessageExt], context: ConsumeOrderlyContext
        ) -> ConsumeOrderlyStatus:
            (message,) = messages
            if int(message.body) % 7 == 0 and message.body not in failed:
                failed.add(message.body)
                return ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT
            done.setdefault(message.queue_id, []).append(message.queue_offset)
            return ConsumeOrderlyStatus.SUCCESS

        await consumer.start()
        await until(lambda: sum(map(len, done.values())) == 40)
    assert all(offsets == list(range(len(offsets))) for offsets in done.values())


async def test_two_members_share_the_queues_and_one_takes_over(rocketmq: RocketMQ) -> None:
    async with (
        MQClient(rocketmq.namesrv, timeout_s=60) as one,
        MQClient(rocketmq.namesrv, timeout_s=60) as two,
    ):
        await send(one, "PushShare", 4)
        first = PushConsumer(one, "push-share", FROM_FIRST)
        second = PushConsumer(two, "push-share", FROM_FIRST)
        for consumer in (first, second):
            consumer.subscribe("PushShare")
            consumer.register_message_listener(lambda messages, context: OK)
            await consumer.start()

        def queues(consumer: PushConsumer) -> list[int]:
            return [each.queue_id for each in consumer.assignment() if each.topic == "PushShare"]

        await until(lambda: len(queues(first)) == len(queues(second)) == 2)
        assert sorted(queues(first) + queues(second)) == [0, 1, 2, 3]
        await second.shutdown()
        await until(lambda: queues(first) == [0, 1, 2, 3])
        await first.shutdown()


async def test_start_without_a_listener_or_twice_is_refused(client: MQClient) -> None:
    consumer = PushConsumer(client, "push-bad")
    with pytest.raises(BadRequest, match="no listener"):
        await consumer.start()
    consumer.register_message_listener(lambda messages, context: OK)
    await consumer.start()
    with pytest.raises(BadRequest, match="second start"):
        await consumer.start()
    await consumer.shutdown()


async def test_a_suspended_consumer_gets_its_queues_and_no_message_until_it_is_resumed(
    rocketmq: RocketMQ, monkeypatch: pytest.MonkeyPatch
) -> None:
    got: list[bytes] = []
    turns: Counter[ProcessQueue] = Counter()
    turn = PullMessageService._turn

    async def counted(pulls: PullMessageService, held: ProcessQueue) -> float:
        turns[held] += 1
        return await turn(pulls, held)

    monkeypatch.setattr(pull_message_service, "SUSPENDED_S", 0.001)
    monkeypatch.setattr(PullMessageService, "_turn", counted)

    async with MQClient(rocketmq.namesrv, timeout_s=60) as client:
        await send(client, "PushSuspended", 5)
        async with PushConsumer(client, "push-suspended", FROM_FIRST) as consumer:
            consumer.subscribe("PushSuspended")
            collect(consumer, got)
            with pytest.raises(BadRequest, match="does not run"):
                consumer.suspend()
            await consumer.start()
            consumer.suspend()
            # Four queues and that of the retry topic, which may come later: each is looked
            # at again and again.
            await until(lambda: sum(count >= 10 for count in turns.values()) == 5)
            assert len(consumer.assignment()) == 5
            assert got == []
            consumer.resume()
            await until(lambda: len(got) >= 5)
    assert set(got) == {b"%d" % number for number in range(5)}


@pytest.mark.parametrize(
    ("count", "said"), [(0, "1 to 1000"), (1001, "1 to 1000"), (20, "does not run")]
)
async def test_a_pool_of_that_size_is_refused_before_the_start(count: int, said: str) -> None:
    async with MQClient("127.0.0.1:9") as client:
        with pytest.raises(BadRequest, match=said):
            PushConsumer(client, "push-pool").update_core_pool_size(count)


async def test_a_smaller_pool_still_gets_every_message(rocketmq: RocketMQ) -> None:
    got: list[bytes] = []

    async with MQClient(rocketmq.namesrv, timeout_s=60) as client:
        await send(client, "PushPool", 8)
        consumer = PushConsumer(client, "push-pool", FROM_FIRST)
        consumer.subscribe("PushPool")
        collect(consumer, got)
        await consumer.start()
        consumer.update_core_pool_size(1)
        await until(lambda: len(got) >= 8)
        await consumer.shutdown()
    assert set(got) == {b"%d" % number for number in range(8)}


async def test_broadcast_gives_all_to_each_member_which_goes_on_after_a_restart(
    rocketmq: RocketMQ, tmp_path: Path
) -> None:
    settings = replace(
        FROM_FIRST,
        message_model=MessageModel.BROADCASTING,
        await_termination_ms_when_shutdown=60_000,
    )

    async def listens(name: str | None, count: int, group: str = "push-cast") -> list[bytes]:
        bodies: list[bytes] = []
        names = ClientSettings(instance_name=name)
        async with (
            MQClient(rocketmq.namesrv, names, timeout_s=60) as client,
            PushConsumer(client, group, settings, local_dir=tmp_path) as consumer,
        ):
            consumer.subscribe("PushCast")
            collect(consumer, bodies)
            await consumer.start()
            await until(lambda: len(bodies) >= count)
        return sorted(bodies)

    async with MQClient(rocketmq.namesrv, timeout_s=60) as client:
        await send(client, "PushCast", 6)
        both = await asyncio.gather(listens("one", 6), listens("two", 6))
        assert both == [[b"%d" % i for i in range(6)]] * 2
        # Without a name a member is the same after a restart, too.
        for group in ("push-cast", "push-cast-2"):
            assert await listens(None, 6, group) == both[0]
        await Producer(client).send(Message("PushCast", b"later"))
        for group in ("push-cast", "push-cast-2"):
            assert await listens(None, 1, group) == [b"later"]
        assert await listens("one", 1) == [b"later"]


async def test_a_broadcasting_member_that_got_nothing_goes_on_where_it_began(
    rocketmq: RocketMQ, tmp_path: Path
) -> None:
    got: list[bytes] = []

    def member(client: MQClient) -> PushConsumer:
        settings = PushSettings(message_model=MessageModel.BROADCASTING)
        consumer = PushConsumer(client, "push-cast-last", settings, local_dir=tmp_path)
        consumer.subscribe("PushCastLast")
        collect(consumer, got)
        return consumer

    async with MQClient(rocketmq.namesrv, timeout_s=60) as client:
        producer = Producer(client)
        used = (await producer.send(Message("PushCastLast", b"before"))).queue
        queue = replace(used, queue_id=(used.queue_id + 1) % 4)
        async with member(client) as first:
            await first.start()
            await until(lambda: queue in first.assignment())
        await producer.send(Message("PushCastLast", b"meanwhile"), queue=queue)
        async with member(client) as second:
            await second.start()
            await until(lambda: b"meanwhile" in got)


async def test_an_expression_the_broker_cannot_read_is_refused_at_the_start(
    client: MQClient,
) -> None:
    await send(client, "PushSql", 1)
    await eventually(Admin(client).topic_list, lambda topics: "PushSql" in topics)
    async with PushConsumer(client, "push-sql") as consumer:
        consumer.subscribe("PushSql", "a >", kind="SQL92")
        consumer.register_message_listener(lambda messages, context: OK)
        with pytest.raises(BrokerRefused, match="PushSql"):
            await consumer.start()
        assert client.members.heartbeat_data().consumer_data_set == []
        async with PushConsumer(client, "push-sql") as another:
            another.subscribe("PushSql")
            another.register_message_listener(lambda messages, context: OK)
            await another.start()
            # Nor does the end of the one that failed end the other.
            await consumer.shutdown()
            assert list(client.members.consumers) == ["push-sql"]


async def test_without_a_name_server_it_starts_and_consumes_nothing() -> None:
    async with (
        MQClient("127.0.0.1:1", timeout_s=0.2) as client,
        PushConsumer(client, "push-alone") as consumer,
    ):
        consumer.subscribe("T")
        consumer.register_message_listener(lambda messages, context: OK)
        await consumer.start()
        assert consumer.assignment() == []


def test_a_listener_that_cannot_be_called_is_refused() -> None:
    consumer = PushConsumer(MQClient("127.0.0.1:1"), "G")
    with pytest.raises(BadRequest, match="cannot be called"):
        consumer.register_message_listener(None)  # type: ignore[arg-type]
