"""Our gRPC endpoint in front of the real name servers and brokers of 5.4.0 and of 4.9.7.

The client is that of ``tests/server/proxy``. The official clients in five languages talk to the
same endpoint elsewhere; here are the parts of a broker that only the real one can prove.
"""

import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import grpc.aio
import pytest

from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from mqclient.errors import NoRoute
from mqserver.embedded import EmbeddedAddresses
from mqserver.proxy.endpoint import Endpoint
from mqserver.proxy.protocol.codes import Code, MessageType, TransactionResolution
from mqserver.proxy.protocol.definitions import Message, Resource
from mqserver.proxy.protocol.requests import (
    EndTransactionRequest,
    RecallMessageRequest,
    RecallMessageResponse,
    Response,
)
from mqserver.proxy.proxy_config import ProxyConfig
from mqserver.runtime.clock import SystemClock
from tests.interop.kit.servers import Broker, JavaSide, Namesrv, Servers, running_pair
from tests.server.proxy.client import Bench, Client, consumer, message, producer
from tests.waiting import eventually

QUICK = {
    "transactionCheckInterval": "3000",
    "transactionTimeOut": "3000",
    "transactionOpBatchInterval": "100",
    "timerWheelEnable": "true",
    "recallMessageEnable": "true",
}


@pytest.fixture(scope="module")
def pair(five: JavaSide, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """Yield a name server and a broker of 5.4.0."""
    with running_pair(five, tmp_path_factory.mktemp("grpc") / "store", settings=QUICK) as found:
        yield found


@asynccontextmanager
async def in_front_of(pair: Servers) -> AsyncIterator[Bench]:
    """Run our endpoint in front of the pair."""
    namesrv = pair.namesrv.address
    config = ProxyConfig(grpc_server_port=0, bind_address="127.0.0.1", namesrv_addr=namesrv)
    endpoint = Endpoint(config, SystemClock())
    at = EmbeddedAddresses(namesrv, pair.broker.address, "", f"127.0.0.1:{await endpoint.start()}")
    try:
        async with grpc.aio.insecure_channel(at.grpc) as channel, MQClient(namesrv) as admin:
            yield Bench(at, channel, admin)
    finally:
        await endpoint.stop()


async def received(client: Client, topic: str, group: str, count: int) -> list[Message]:
    """Receive and acknowledge until there are so many messages."""
    found: list[Message] = []
    while len(found) < count:
        for part in await client.receive(topic, group):
            if part.message is not None and part.message.system_properties is not None:
                handle = part.message.system_properties.receipt_handle or ""
                acked = await client.ack(topic, group, handle)
                assert acked.status is not None
                assert acked.status.code is Code.OK
                found.append(part.message)
    return found


async def ready(desk: Bench, topic: str, kind: str = "") -> str:
    """Create a topic and wait until the name server has its route."""
    await desk.topic(topic, kind)

    async def has_route() -> bool:
        try:
            await desk.admin.route(topic, fresh=True)
        except NoRoute:
            return False
        return True

    await eventually(has_route, bool, timeout_s=90)
    return topic


async def test_normal_and_ordered_messages_cross_a_real_broker(pair: Servers) -> None:
    async with in_front_of(pair) as desk:
        client = desk.client()
        for topic, kind, system in (
            ("GrpcNormal", "", {}),
            ("GrpcOrdered", "FIFO", {"message_group": "g"}),
        ):
            await ready(desk, topic, kind)
            async with client.telemetry(consumer(f"G{topic}", topic)):
                await client.receive(topic, f"G{topic}")
                for number in range(3):
                    sent = await client.send(
                        message(topic, b"%d" % number, message_id=f"{topic}{number}", **system)
                    )
                    assert sent.status is not None
                    assert sent.status.code is Code.OK
                found = await received(client, topic, f"G{topic}", 3)

            assert sorted(each.body for each in found) == [b"0", b"1", b"2"]


async def test_a_delayed_message_comes_later_or_is_recalled(pair: Servers) -> None:
    async with in_front_of(pair) as desk:
        client, topic = desk.client(), await ready(desk, "GrpcDelay", "DELAY")
        async with client.telemetry(consumer("GDelay", topic)):
            await client.receive(topic, "GDelay")
            now_ms = time.time_ns() // 1_000_000
            await client.send(
                message(topic, b"soon", message_id="SOON", delivery_timestamp=now_ms + 4_000)
            )
            late = await client.send(
                message(topic, b"late", message_id="LATE", delivery_timestamp=now_ms + 60_000)
            )
            request = RecallMessageRequest(
                topic=Resource(name=topic), recall_handle=late.entries[0].recall_handle
            )
            recalled = await client.ask("RecallMessage", request, RecallMessageResponse)
            (found,) = await received(client, topic, "GDelay", 1)

    assert found.body == b"soon"
    assert time.time_ns() // 1_000_000 >= now_ms + 4_000
    assert recalled.status is not None
    assert (recalled.status.message, recalled.message_id) == ("OK", "LATE")


async def test_a_forgotten_transaction_is_asked_about(pair: Servers) -> None:
    async with in_front_of(pair) as desk:
        client, topic = desk.client(), await ready(desk, "GrpcTransaction", "TRANSACTION")
        async with (
            client.telemetry(producer(topic)) as telemetry,
            desk.client("c").telemetry(consumer("GTransaction", topic)),
        ):
            await desk.client("c").receive(topic, "GTransaction")
            await client.send(
                message(topic, b"half", message_type=MessageType.TRANSACTION, message_id="HALF")
            )
            asked = (await telemetry.next()).recover_orphaned_transaction_command
            assert asked is not None
            done = await client.ask(
                "EndTransaction",
                EndTransactionRequest(
                    topic=Resource(name=topic),
                    message_id="HALF",
                    transaction_id=asked.transaction_id,
                    resolution=TransactionResolution.COMMIT,
                ),
                Response,
            )
            (found,) = await received(desk.client("c"), topic, "GTransaction", 1)

    assert done.status is not None
    assert done.status.code is Code.OK
    assert asked.transaction_id.endswith(" HALF")
    assert found.body == b"half"


async def test_a_broker_of_4_9_takes_messages_and_gives_none(
    java_namesrv: Namesrv, java_broker: Broker
) -> None:
    async with in_front_of(Servers("java", java_namesrv, java_broker)) as desk:
        client, topic = desk.client(), await ready(desk, "GrpcOld")
        async with client.telemetry(consumer("GOld", topic)):
            sent = await client.send(message(topic, b"x"))
            (told, _) = await client.receive(topic, "GOld")

        async def stored_count() -> int:
            stats = await Admin(desk.admin).topic_stats(topic)
            return sum(at.max_offset for at in stats.values())

        await eventually(stored_count, lambda count: count == 1)

    assert sent.status is not None
    assert told.status is not None
    assert (sent.status.code, told.status.code) == (Code.OK, Code.NOT_IMPLEMENTED)
