"""gRPC clients of our own broker: routes, messages, receipt handles, transactions, refusals."""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from mqclient.admin.admin import Admin
from mqclient.errors import NoRoute
from mqserver.proxy.clients.transactions import decode_transaction_id
from mqserver.proxy.context import ALGORITHM, FAILED, signature_of
from mqserver.proxy.protocol.codes import (
    AddressScheme,
    ClientType,
    Code,
    MessageType,
    TransactionResolution,
    TransactionSource,
)
from mqserver.proxy.protocol.definitions import Address, Endpoints, Message, Resource
from mqserver.proxy.protocol.requests import (
    ChangeInvisibleDurationRequest,
    ChangeInvisibleDurationResponse,
    EndTransactionRequest,
    ForwardToDeadLetterQueueRequest,
    HeartbeatRequest,
    NotifyClientTerminationRequest,
    QueryAssignmentRequest,
    QueryAssignmentResponse,
    QueryRouteRequest,
    QueryRouteResponse,
    ReceiveMessageResponse,
    Response,
    TelemetryCommand,
    ThreadStackTrace,
    VerifyMessageResult,
)
from mqserver.runtime.typed_config import Value
from remoting.codes import RequestCode
from remoting.command import Command
from remoting.header import Header
from remoting.headers import ConsumeMessageDirectly, GetConsumerRunningInfo
from remoting.receipt import decode_receipt
from storefmt.config.tables import SubscriptionGroup
from tests.server.proxy.client import (
    QUICK,
    Bench,
    Client,
    bench,
    consumer,
    message,
    producer,
    receive_request,
)
from tests.waiting import eventually, until

DAY_MS = 86_400_000


def status(found: Response) -> tuple[Code, str]:
    return found.status.code, found.status.message


def messages_in(parts: list[ReceiveMessageResponse]) -> list[Message]:
    return [part.message for part in parts if part.message is not None]


def handle_of(found: Message) -> str:
    return found.system_properties.receipt_handle


@pytest.fixture
def desk(tmp_path: Path) -> AbstractAsyncContextManager[Bench]:
    """Return an endpoint in front of a broker of its own, which runs for the time of a test."""
    return bench(tmp_path, *QUICK)


@asynccontextmanager
async def consuming(desk: Bench) -> AsyncIterator[Client]:
    """Yield a consumer of topic T whose group G begins behind what is there."""
    await desk.topic("T")
    client = desk.client()
    async with client.telemetry(consumer("G", "T")):
        await client.receive("T", "G")
        yield client


async def hide(client: Client, found: Message, ms: int) -> ChangeInvisibleDurationResponse:
    """Change the invisible time of a message that group G received."""
    request = ChangeInvisibleDurationRequest(
        group=Resource(name="G"),
        topic=Resource(name="T"),
        receipt_handle=handle_of(found),
        invisible_duration=ms,
    )
    return await client.ask("ChangeInvisibleDuration", request, ChangeInvisibleDurationResponse)


async def ask_broker(desk: Bench, code: int, header: Header | None = None) -> Command:
    return await desk.admin.invoke(desk.at.broker, Command.request(code, header))


async def route(client: Client, topic: str) -> QueryRouteResponse:
    request = QueryRouteRequest(
        topic=Resource(name=topic),
        endpoints=Endpoints(
            scheme=AddressScheme.IPv4, addresses=[Address(host="127.0.0.1", port=1)]
        ),
    )
    return await client.ask("QueryRoute", request, QueryRouteResponse)


async def test_a_route_names_the_proxy_and_the_types_of_messages(desk: Bench) -> None:
    await desk.topic("Ordered", "FIFO", queues=2)

    found = await route(desk.client(), "Ordered")

    assert status(found) == (Code.OK, "OK")
    assert [queue.id for queue in found.message_queues] == [0, 1]
    for queue in found.message_queues:
        assert queue.accept_message_types == [MessageType.FIFO]
        (address,) = queue.broker.endpoints.addresses
        assert f"{address.host}:{address.port}" == desk.at.grpc


async def test_a_consumer_is_assigned_brokers(desk: Bench) -> None:
    await desk.topic("T", queues=4)
    request = QueryAssignmentRequest(topic=Resource(name="T"), group=Resource(name="G"))

    found = await desk.client().ask("QueryAssignment", request, QueryAssignmentResponse)

    assert [each.message_queue.id for each in found.assignments if each.message_queue] == [-1]


async def test_large_messages_and_batches_are_stored(desk: Bench) -> None:
    await desk.topic("T")
    client = desk.client()
    batch = [message("T", b"%d" % number, message_id=f"id{number}") for number in range(1_200)]

    large = await client.send(message("T", b"x" * 3_000_000))
    many = await client.send(*batch)

    assert status(large) == status(many) == (Code.OK, "OK")
    assert (large.entries[0].offset, many.entries[0].offset) == (0, 1)
    async with client.telemetry(consumer("G", "T")):
        (found, *_) = messages_in(await client.receive("T", "G", batch_size=1))
    assert found.body == b"x" * 3_000_000


async def test_settings_of_producer_and_consumer_come_back_completed(desk: Bench) -> None:
    await desk.topic("T")
    async with desk.client("p").telemetry(producer("T")) as telemetry:
        sent = telemetry.settings
    async with desk.client("c").telemetry(consumer("G", "T")) as telemetry:
        received = telemetry.settings

    assert sent.publishing.max_body_size == 4 << 20
    assert sent.publishing.validate_message_type
    assert sent.backoff_policy.max_attempts == 3
    assert received.subscription.fifo is False
    assert received.subscription.long_polling_timeout == 20_000
    assert received.backoff_policy.max_attempts == 17
    assert received.backoff_policy.customized_backoff.next[:3] == [1_000, 5_000, 10_000]


async def test_a_message_is_received_acknowledged_and_does_not_come_again(desk: Bench) -> None:
    await desk.topic("T")
    client = desk.client()
    async with client.telemetry(consumer("G", "T")):
        nothing = await client.receive("T", "G")
        sent = await client.send(message("T", b"one", tag="A", keys=["k1", "k2"], born_timestamp=5))
        parts = await client.receive("T", "G")
        (found,) = messages_in(parts)
        acked = await client.ack("T", "G", handle_of(found))
        again = await client.ack("T", "G", handle_of(found))

    assert status(nothing[0]) == (Code.MESSAGE_NOT_FOUND, "no new message")
    assert nothing[-1].delivery_timestamp is not None
    assert status(sent) == (Code.OK, "OK")
    assert status(parts[0]) == (Code.OK, "OK")
    system = found.system_properties
    assert (found.body, system.tag, system.keys) == (b"one", "A", ["k1", "k2"])
    assert (system.message_id, system.born_timestamp) == (sent.entries[0].message_id, 5)
    assert (system.delivery_attempt, system.queue_offset) == (1, 0)
    assert found.user_properties == {}
    assert status(acked) == (Code.OK, "OK")
    assert again.status is not None


async def test_a_message_that_is_hidden_anew_has_another_handle(desk: Bench) -> None:
    async with consuming(desk) as client:
        await client.send(message("T"))
        (found,) = messages_in(await client.receive("T", "G"))
        changed = await hide(client, found, 50_000)
        acked = await client.ack("T", "G", changed.receipt_handle)

    assert status(changed) == (Code.OK, "OK")
    assert decode_receipt(changed.receipt_handle).invisible_ms == 50_000
    assert status(acked) == (Code.OK, "OK")


async def dead_count(desk: Bench) -> int:
    """Return how many dead letters group G has."""
    try:
        stats = await Admin(desk.admin).topic_stats("%DLQ%G")
    except NoRoute:
        return 0  # Its name server does not know the new topic yet.
    return sum(at.max_offset for at in stats.values())


async def test_a_given_up_message_is_a_dead_letter(desk: Bench) -> None:
    async with consuming(desk) as client:
        await client.send(message("T"))
        (found,) = messages_in(await client.receive("T", "G"))
        request = ForwardToDeadLetterQueueRequest(
            group=Resource(name="G"), topic=Resource(name="T"), receipt_handle=handle_of(found)
        )
        done = await client.ask("ForwardMessageToDeadLetterQueue", request, Response)

    assert status(done)[0] is Code.OK
    assert await eventually(lambda: dead_count(desk)) == 1


async def test_what_a_client_never_acknowledges_comes_again_and_is_a_dead_letter_then(
    desk: Bench,
) -> None:
    group, attempts = SubscriptionGroup("G", retry_max_times=1), []
    await Admin(desk.admin).create_group(desk.at.broker, group)
    async with consuming(desk) as client:
        await client.send(message("T"))
        while len(attempts) < 2:
            for found in messages_in(await client.receive("T", "G")):
                attempts.append(found.system_properties.delivery_attempt)
                # The least time that a client may receive for is longer than a test shall take.
                await hide(client, found, 1)

        await eventually(lambda: dead_count(desk))
        last = messages_in(await client.receive("T", "G"))

    assert attempts == [1, 2]
    assert last == []


async def test_messages_of_a_stream_that_is_cut_come_back_soon(desk: Bench) -> None:
    async with consuming(desk) as client:
        # The broker holds this pop; its client is gone when a message comes.
        cut = client.receiving(receive_request("T", "G", hidden_ms=600_000))
        await asyncio.sleep(0)
        reading = asyncio.ensure_future(cut.read())
        await until(lambda: not reading.done())
        await asyncio.sleep(0.5)
        cut.cancel()
        await client.send(message("T", b"kept"))
        found: list[Message] = []
        while not found:
            found = messages_in(await client.receive("T", "G"))

    assert [each.body for each in found] == [b"kept"]


@pytest.mark.parametrize(
    ("kind", "sent", "text"),
    [
        ("", {"message_group": "g"}, "the expected type is NORMAL, but actual type is FIFO"),
        ("FIFO", {}, "the expected type is FIFO, but actual type is NORMAL"),
        ("TRANSACTION", {}, "the expected type is TRANSACTION, but actual type is NORMAL"),
        ("DELAY", {}, "the expected type is DELAY, but actual type is NORMAL"),
    ],
)
async def test_a_message_of_the_wrong_type_is_refused(
    desk: Bench, kind: str, sent: dict[str, str], text: str
) -> None:
    await desk.topic("T", kind)

    code, told = status(await desk.client().send(message("T", **sent)))

    assert code is Code.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE
    assert told.endswith(f"TopicMessageType validate failed, {text}")


async def test_what_a_message_may_not_be_is_refused(desk: Bench) -> None:
    await desk.topic("T")
    await desk.topic("D", "DELAY")
    client, late = desk.client(), int(time.time() * 1000) + 3 * DAY_MS
    wrong = [
        (message("T", b""), Code.MESSAGE_BODY_EMPTY),
        (message("T", bytes((4 << 20) + 1)), Code.MESSAGE_BODY_TOO_LARGE),
        (message("T", tag="a|b"), Code.ILLEGAL_MESSAGE_TAG),
        (message("T", keys=[" "]), Code.ILLEGAL_MESSAGE_KEY),
        (message("T", message_id=""), Code.ILLEGAL_MESSAGE_ID),
        (message("T", message_group="g" * 64), Code.ILLEGAL_MESSAGE_GROUP),
        (message("D", delivery_timestamp=late), Code.ILLEGAL_DELIVERY_TIME),
        (message("a b"), Code.ILLEGAL_TOPIC),
        (message("TBW102"), Code.ILLEGAL_TOPIC),
        (message("NoSuchTopic"), Code.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE),
    ]
    for each, code in wrong:
        assert status(await client.send(each))[0] is code
    assert status(await client.send()) == (Code.MESSAGE_CORRUPTED, "no message to send")
    code, told = status(await route(client, "NoSuchTopic"))
    assert code is Code.TOPIC_NOT_FOUND
    assert "No topic route info in name server for the topic: NoSuchTopic" in told


@pytest.mark.parametrize(
    ("handle", "text"),
    [
        ("forged", "1 words instead of 8 or 9"),
        ("0 1000 60000 0 0 broker-a 0 0 0", "receipt handle is expired"),
        ("0 99999999999999 60000 0 0 other 0 0 0", "cannot find broker other"),
    ],
)
async def test_a_forged_or_expired_handle_is_refused(desk: Bench, handle: str, text: str) -> None:
    await desk.topic("T")

    found = await desk.client().ack("T", "G", handle)

    assert status(found) == (Code.INVALID_RECEIPT_HANDLE, "INVALID_RECEIPT_HANDLE")
    (entry,) = found.entries
    assert text in entry.status.message


@pytest.mark.parametrize("count", [1, 2, 200, 2_000])
async def test_each_entry_of_an_acknowledgement_is_answered(desk: Bench, count: int) -> None:
    await desk.topic("T")

    found = await desk.client().ack("T", "G", *["forged"] * count)

    assert len(found.entries) == count
    assert {entry.status.code for entry in found.entries} == {Code.INVALID_RECEIPT_HANDLE}


async def test_a_call_without_a_client_id_or_a_kind_of_client_is_refused(desk: Bench) -> None:
    await desk.topic("T")

    beat = await desk.client().ask("Heartbeat", HeartbeatRequest(), Response)
    nobody = await route(desk.client(""), "T")

    assert status(beat)[0] is Code.UNRECOGNIZED_CLIENT_TYPE
    assert status(nobody) == (Code.CLIENT_ID_REQUIRED, "client id cannot be empty")


async def test_a_restarted_endpoint_serves_clients_whose_settings_it_does_not_know(
    desk: Bench,
) -> None:
    await desk.topic("T")
    # No stream of this client was ever open: it is as unknown as after a restart.
    client, group = desk.client("unknown"), Resource(name="G")
    await client.send(message("T", b"1"), message("T", b"2"))
    found: list[Message] = []
    while len(found) < 2:
        found += messages_in(await client.receive("T", "G"))
    beat = await client.ask(
        "Heartbeat", HeartbeatRequest(group=group, client_type=ClientType.PUSH_CONSUMER), Response
    )
    hidden = await hide(client, found[0], 20_000)
    acked = await client.ack("T", "G", hidden.receipt_handle)
    given_up = await client.ask(
        "ForwardMessageToDeadLetterQueue",
        ForwardToDeadLetterQueueRequest(
            group=group, topic=Resource(name="T"), receipt_handle=handle_of(found[1])
        ),
        Response,
    )
    assigned = await client.ask(
        "QueryAssignment",
        QueryAssignmentRequest(topic=Resource(name="T"), group=group),
        QueryAssignmentResponse,
    )
    goodbye = await client.ask(
        "NotifyClientTermination", NotifyClientTerminationRequest(group=group), Response
    )

    answers = (beat, hidden, acked, given_up, assigned, goodbye)
    assert [status(each)[0] for each in answers] == [Code.OK] * 6


async def test_a_transaction_is_committed_or_asked_about(desk: Bench) -> None:
    await desk.topic("T", "TRANSACTION")
    client = desk.client()
    async with (
        client.telemetry(producer("T")) as telemetry,
        desk.client("c").telemetry(consumer("G", "T")),
    ):
        await desk.client("c").receive("T", "G")
        sent = [
            await client.send(
                message("T", body, message_type=MessageType.TRANSACTION, message_id=f"ID{body!r}")
            )
            for body in (b"committed", b"forgotten")
        ]
        ids = [each.entries[0].transaction_id for each in sent]
        done = await client.ask("EndTransaction", end(ids[0]), Response)
        asked = (await telemetry.next()).recover_orphaned_transaction_command
        source = TransactionSource.SOURCE_SERVER_CHECK
        last = await client.ask("EndTransaction", end(asked.transaction_id, source), Response)
        found: list[Message] = []
        while len(found) < 2:
            found += messages_in(await desk.client("c").receive("T", "G"))
        unknown = await client.ask("EndTransaction", end("nobody's"), Response)

    assert [status(each) for each in (done, last)] == [(Code.OK, "OK")] * 2
    named = decode_transaction_id(asked.transaction_id)
    assert named is not None
    assert (named.unique_key, asked.message.body) == ("IDb'forgotten'", b"forgotten")
    assert {each.body for each in found} == {b"committed", b"forgotten"}
    assert status(unknown)[1].endswith("cannot found transaction data")


async def test_a_transaction_is_committed_after_a_restart_of_the_endpoint(tmp_path: Path) -> None:
    async with bench(tmp_path) as desk:
        await desk.topic("T", "TRANSACTION")
        half = message("T", b"half", message_type=MessageType.TRANSACTION, message_id="HALF")
        sent = await desk.client().send(half)
    transaction_id = sent.entries[0].transaction_id

    async with bench(tmp_path) as desk:
        client = desk.client("c")
        async with client.telemetry(consumer("G", "T")):
            await client.receive("T", "G")
            done = await client.ask("EndTransaction", end(transaction_id), Response)
            found = messages_in(await client.receive("T", "G"))

    assert status(done) == (Code.OK, "OK")
    assert [(each.body, each.system_properties.message_id) for each in found] == [(b"half", "HALF")]


def end(
    transaction_id: str, source: TransactionSource = TransactionSource.SOURCE_CLIENT
) -> EndTransactionRequest:
    return EndTransactionRequest(
        topic=Resource(name="T"),
        message_id="id",
        transaction_id=transaction_id,
        resolution=TransactionResolution.COMMIT,
        source=source,
    )


async def test_a_consumer_is_a_member_of_its_group_until_it_says_goodbye(desk: Bench) -> None:
    await desk.topic("T")
    admin = Admin(desk.admin)
    client = desk.client("grpc-client")
    async with client.telemetry(consumer("G", "T", ClientType.PUSH_CONSUMER)):
        members = (await admin.consumer_connection(desk.at.broker, "G")).connection_set
        beat = await client.ask("Heartbeat", HeartbeatRequest(group=Resource(name="G")), Response)
        gone = await client.ask(
            "NotifyClientTermination",
            NotifyClientTerminationRequest(group=Resource(name="G")),
            Response,
        )
    answer = await ask_broker(desk, RequestCode.GET_CONSUMER_LIST_BY_GROUP)

    assert [each.client_id for each in members] == ["grpc-client"]
    assert [status(each) for each in (beat, gone)] == [(Code.OK, "OK")] * 2
    assert answer.code != 0


async def test_a_broker_asks_a_client_for_its_threads_and_to_consume_a_message(desk: Bench) -> None:
    await desk.topic("T")
    client = desk.client("c")
    sent = await client.send(message("T", b"verified", message_id="UNIQUE"))
    assert sent.entries
    async with client.telemetry(consumer("G", "T", ClientType.PUSH_CONSUMER)) as telemetry:
        header = GetConsumerRunningInfo(consumer_group="G", client_id="c", jstack_enable=True)
        threads = asyncio.ensure_future(
            ask_broker(desk, RequestCode.GET_CONSUMER_RUNNING_INFO, header)
        )
        asked = (await telemetry.next()).print_thread_stack_trace_command
        trace = ThreadStackTrace(nonce=asked.nonce, thread_stack_trace="all stacks")
        await telemetry.write(TelemetryCommand(thread_stack_trace=trace))
        info = await threads
        offset_id = (await Admin(desk.admin).query_message("T", "UNIQUE"))[0].offset_msg_id
        named = ConsumeMessageDirectly(consumer_group="G", client_id="c", msg_id=offset_id)
        consumed = asyncio.ensure_future(
            ask_broker(desk, RequestCode.CONSUME_MESSAGE_DIRECTLY, named)
        )
        verified = (await telemetry.next()).verify_message_command
        await telemetry.write(
            TelemetryCommand(verify_message_result=VerifyMessageResult(nonce=verified.nonce))
        )
        result = await consumed

    assert b"all stacks" in info.body
    assert verified.message.body == b"verified"
    assert result.code == 0
    assert b"from gRPC client" in result.body


async def test_tls_clients_and_plain_ones_use_one_port(desk: Bench) -> None:
    host, _, port = desk.at.grpc.rpartition(":")
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])

    _, writer = await asyncio.open_connection(host, int(port), ssl=context)
    chosen = writer.get_extra_info("ssl_object").selected_alpn_protocol()
    writer.close()
    plain = await route(desk.client(), "NoSuchTopic")

    assert chosen == "h2"
    assert plain.status is not None


async def test_accounts_sign_their_calls(tmp_path: Path) -> None:
    conf = tmp_path / "home" / "conf"
    conf.mkdir(parents=True)
    (conf / "plain_acl.yml").write_text(
        "accounts:\n- {accessKey: RocketMQ, secretKey: '12345678', admin: true}\n"
        "- {accessKey: reader99, secretKey: '87654321', defaultTopicPerm: SUB}\n"
    )
    settings = [
        Value("aclEnable", "true", "test"),
        Value("rocketmqHome", str(tmp_path / "home"), "test"),
    ]

    def signed(key: str, secret: str) -> tuple[tuple[str, str], ...]:
        fields = f"Credential={key}, SignedHeaders=x-mq-date-time, Signature="
        text = f"{ALGORITHM} {fields}{signature_of(secret, 'now').upper()}"
        return (("x-mq-date-time", "now"), ("authorization", text))

    async with bench(tmp_path / "store", *settings) as desk:
        # The broker creates the topic on the first send, so its type is not known before.
        unsigned = await route(desk.client(), "TopicA")
        wrong = await route(desk.client(metadata=signed("RocketMQ", "wrong")), "TopicA")
        right = await route(desk.client(metadata=signed("RocketMQ", "12345678")), "TopicA")

    assert status(unsigned) == (Code.UNAUTHORIZED, FAILED)
    assert status(wrong) == (Code.UNAUTHORIZED, FAILED)
    assert status(right)[0] is Code.TOPIC_NOT_FOUND
