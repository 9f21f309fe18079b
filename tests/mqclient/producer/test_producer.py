"""Sends: the request on the wire, the broker that it goes to, and what follows a failure."""

import asyncio
import math
import threading
import zlib
from datetime import UTC, datetime

import pytest

from mqclient.errors import BadRequest, BrokerRefused, ClientError, NoRoute, TimedOut, Unreachable
from mqclient.message import BODY_SIZE_MAX, Message
from mqclient.producer import send_request
from mqclient.producer.producer import Producer
from mqclient.producer.producer_settings import ProducerSettings
from mqclient.producer.send_request import THREAD_SIZE, MessagePacker
from mqclient.producer.send_result import SendStatus
from remoting.bodies import MessageQueue
from remoting.codes import RequestCode, ResponseCode
from remoting.command import Command
from storefmt.formats.batch import split_batch
from storefmt.formats.msgid import UniqueIds
from storefmt.formats.sysflag import Compression, inflate
from tests.mqclient.fake import NOW_MS, STORED, serving
from tests.waiting import until

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
AS_JAVA = ProducerSettings(retry_backoff_ms=0)
SOON = ProducerSettings(retry_backoff_ms=1)


async def test_message_travels_in_the_fields_of_java() -> None:
    async with serving() as (fake, client):
        fake.say(RequestCode.SEND_MESSAGE_V2, header=STORED)
        message = Message("T", b"hello", tags="A", keys="k", flag=9)
        queue = MessageQueue("T", "broker-0", 1)

        result = await Producer(client, "PG").send(message, queue=queue)

        (request,) = fake.asked_for(RequestCode.SEND_MESSAGE_V2)
        assert request.ext == {
            "a": "PG",
            "b": "T",
            "c": "TBW102",
            "d": "4",
            "e": "1",
            "f": "0",
            "g": str(NOW_MS),
            "h": "9",
            "i": f"KEYS\x01k\x02UNIQ_KEY\x01{result.unique_key}\x02WAIT\x01true\x02TAGS\x01A",
            "j": "0",
            "k": "false",
            "m": "false",
            "n": "broker-0",
        }
        assert request.body == b"hello"
        assert (result.status, result.offset_msg_id) == (SendStatus.SEND_OK, STORED.msg_id)
        assert result.msg_id == result.unique_key
        assert (result.queue, result.queue_offset) == (queue, 5)


@pytest.mark.parametrize(("size", "sys_flag"), [(4095, "0"), (4096, "769")])
async def test_large_body_is_compressed(size: int, sys_flag: str) -> None:
    async with serving() as (fake, client):
        fake.say(RequestCode.SEND_MESSAGE_V2, header=STORED)
        await Producer(client).send(Message("T", b"z" * size))
        request = fake.asked_for(RequestCode.SEND_MESSAGE_V2)[0]

    assert request.ext["f"] == sys_flag
    assert len(zlib.decompress(request.body) if sys_flag != "0" else request.body) == size


@pytest.mark.parametrize("size", [THREAD_SIZE, THREAD_SIZE + 1])
@pytest.mark.parametrize("how", ["send", "send_async", "send_soon", "send_oneway"])
async def test_a_body_over_256_kib_is_compressed_in_a_thread(
    monkeypatch: pytest.MonkeyPatch, size: int, how: str
) -> None:
    threads: list[threading.Thread] = []

    def compress(body: bytes, level: int) -> bytes:
        threads.append(threading.current_thread())
        return zlib.compress(body, level)

    monkeypatch.setitem(send_request._COMPRESSORS, Compression.ZLIB, compress)
    async with serving() as (fake, client):
        fake.say(RequestCode.SEND_MESSAGE_V2, header=STORED)
        producer = Producer(client)
        await producer.send(Message("T", b"connect"))
        sent = getattr(producer, how)(Message("T", b"z" * size))
        if how != "send_async":
            sent = await sent
        if how in ("send_async", "send_soon"):
            await sent
        await until(lambda: len(fake.asked_for(RequestCode.SEND_MESSAGE_V2)) == 2)
        request = fake.asked_for(RequestCode.SEND_MESSAGE_V2)[1]

    assert [thread is threading.main_thread() for thread in threads] == [size == THREAD_SIZE]
    assert request.ext["f"] == "769"
    assert zlib.decompress(request.body) == b"z" * size


async def test_batch_travels_as_one_body() -> None:
    async with serving() as (fake, client):
        fake.say(RequestCode.SEND_BATCH_MESSAGE, header=STORED)
        batch = [Message("T", b"a", tags="A", flag=1), Message("T", b"b" * 5000)]

        result = await Producer(client).send_batch(batch)

        (request,) = fake.asked_for(RequestCode.SEND_BATCH_MESSAGE)
        entries = split_batch(request.body)
        ids = result.unique_key.split(",")
        assert [(e.flag, e.body) for e in entries] == [(1, b"a"), (0, b"b" * 5000)]
        assert (
            entries[0].properties == f"UNIQ_KEY\x01{ids[0]}\x02WAIT\x01true\x02TAGS\x01A".encode()
        )
        assert ids[1] in entries[1].properties.decode()
        assert (request.ext["m"], request.ext["i"], request.ext["f"]) == (
            "true",
            "WAIT\x01true",
            "0",
        )


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (10, SendStatus.FLUSH_DISK_TIMEOUT),
        (11, SendStatus.SLAVE_NOT_AVAILABLE),
        (12, SendStatus.FLUSH_SLAVE_TIMEOUT),
    ],
)
async def test_stored_but_not_safe_is_a_result(code: int, status: SendStatus) -> None:
    async with serving() as (fake, client):
        fake.say(RequestCode.SEND_MESSAGE_V2, code, header=STORED)
        assert (await Producer(client).send(Message("T", b"x"))).status is status


async def test_failed_send_goes_to_another_broker() -> None:
    async with serving(brokers=2) as (fake, client):
        fake.say(RequestCode.SEND_MESSAGE_V2, 14, remark="disk full")
        fake.drop(RequestCode.SEND_MESSAGE_V2)
        fake.say(RequestCode.SEND_MESSAGE_V2, header=STORED)
        await Producer(client).send(Message("T", b"x"))
        requests = fake.asked_for(RequestCode.SEND_MESSAGE_V2)
        assert len({request.ext["i"] for request in requests}) == 1
        brokers = [request.ext["n"] for request in requests]

    assert len(brokers) == 3
    assert brokers[0] == brokers[2] != brokers[1]


@pytest.mark.parametrize(("code", "count"), [(13, 1), (14, 3)])
async def test_refusal_is_tried_again_only_where_java_does(code: int, count: int) -> None:
    async with serving() as (fake, client):
        fake.say(RequestCode.SEND_MESSAGE_V2, code, remark="no")
        with pytest.raises(BrokerRefused) as refused:
            await Producer(client, settings=AS_JAVA).send(Message("T", b"x"))
        assert (refused.value.code, refused.value.remark) == (code, "no")
        assert len(fake.asked_for(RequestCode.SEND_MESSAGE_V2)) == count


@pytest.mark.parametrize(("code", "count"), [(13, 3), (14, 1)])
async def test_who_sends_says_which_refusals_are_tried_again(code: int, count: int) -> None:
    async with serving() as (fake, client):
        fake.say(RequestCode.SEND_MESSAGE_V2, code, remark="no")
        settings = ProducerSettings(retry_response_codes=frozenset({13}), retry_backoff_ms=0)
        with pytest.raises(BrokerRefused):
            await Producer(client, settings=settings).send(Message("T", b"x"))
        assert len(fake.asked_for(RequestCode.SEND_MESSAGE_V2)) == count


async def test_send_to_a_chosen_queue_is_tried_once_by_the_rule_of_java() -> None:
    async with serving() as (fake, client):
        fake.say(RequestCode.SEND_MESSAGE_V2, 14, remark="no")
        with pytest.raises(BrokerRefused):
            await Producer(client, settings=AS_JAVA).send(
                Message("T", b"x"), queue=MessageQueue("T", "broker-0", 0)
            )
        assert len(fake.asked_for(RequestCode.SEND_MESSAGE_V2)) == 1


@pytest.mark.parametrize("sharding_key", [None, "order-17"])
async def test_a_broker_that_restarts_gets_the_message_when_it_is_back(
    sharding_key: str | None,
) -> None:
    # It refuses connections, then sends: not recovered yet, without the topic, not the master yet.
    async with serving() as (fake, client):
        for _ in range(5):
            fake.drop(RequestCode.SEND_MESSAGE_V2)
        for code in (1, 17, 14):
            fake.say(RequestCode.SEND_MESSAGE_V2, code, remark="not yet")
        fake.say(RequestCode.SEND_MESSAGE_V2, header=STORED)

        producer = Producer(client, settings=SOON)
        await producer.send(Message("T", b"x"), sharding_key=sharding_key)

        requests = fake.asked_for(RequestCode.SEND_MESSAGE_V2)
        assert len(requests) == 9
        assert len({request.ext["i"] for request in requests}) == 1
        if sharding_key is not None:
            assert len({request.ext["e"] for request in requests}) == 1


async def test_each_further_attempt_asks_for_a_fresh_route() -> None:
    async with serving(brokers=2) as (fake, client):
        fake.drop(RequestCode.SEND_MESSAGE_V2)
        fake.say(RequestCode.SEND_MESSAGE_V2, 14, remark="not the master")
        fake.say(RequestCode.SEND_MESSAGE_V2, header=STORED)

        await Producer(client, settings=SOON).send(Message("T", b"x"))

        assert len(fake.asked_for(RequestCode.GET_ROUTEINFO_BY_TOPIC)) == 3


@pytest.mark.parametrize("is_async", [False, True], ids=["send", "send_async"])
@pytest.mark.parametrize(
    ("code", "route_count"), [(None, 2), (14, 2), (ResponseCode.MESSAGE_ILLEGAL, 1)]
)
async def test_after_a_send_that_failed_for_good_the_next_one_asks_for_a_fresh_route(
    code: int | None, route_count: int, is_async: bool
) -> None:
    once = ProducerSettings(
        retry_times_when_send_failed=0, retry_times_when_send_async_failed=0, retry_backoff_ms=1
    )
    async with serving() as (fake, client):
        producer = Producer(client, settings=once)
        fake.say(RequestCode.SEND_MESSAGE_V2, header=STORED)
        if code is None:
            fake.drop(RequestCode.SEND_MESSAGE_V2)
        else:
            fake.say(RequestCode.SEND_MESSAGE_V2, code, remark="no")
        fake.say(RequestCode.SEND_MESSAGE_V2, header=STORED)
        await producer.send(Message("T", b"x"))

        send = producer.send_async if is_async else producer.send
        with pytest.raises(ClientError):
            await send(Message("T", b"x"))
        await producer.send(Message("T", b"x"))

        assert len(fake.asked_for(RequestCode.GET_ROUTEINFO_BY_TOPIC)) == route_count


async def test_a_send_waits_for_a_master_while_the_route_has_a_slave_only() -> None:
    async with serving() as (fake, client):
        fake.say(RequestCode.SEND_MESSAGE_V2, header=STORED)
        slave = {1: fake.address}
        fake.route("T", slaves=slave, has_master=False)
        sending = asyncio.ensure_future(
            Producer(client, settings=SOON).send(Message("T", b"x"), sharding_key="k")
        )
        while len(fake.asked_for(RequestCode.GET_ROUTEINFO_BY_TOPIC)) < 3:
            await asyncio.sleep(0)
        assert not sending.done()
        fake.route("T", slaves=slave)

        assert (await sending).status is SendStatus.SEND_OK


async def test_time_limit_holds_for_all_tries_together() -> None:
    # None where the time was over before the connection was there.
    async with serving() as (fake, client):
        with pytest.raises(TimedOut):
            await Producer(client).send(Message("T", b"x"), timeout_s=0.05)
        assert len(fake.asked_for(RequestCode.SEND_MESSAGE_V2)) <= 1


async def test_missing_topic_goes_to_the_queues_of_the_template() -> None:
    async with serving() as (fake, client):
        fake.route("TBW102", queues=8)
        fake.say(RequestCode.SEND_MESSAGE_V2, header=STORED)
        await Producer(client).send(Message("New", b"x"))
        request = fake.asked_for(RequestCode.SEND_MESSAGE_V2)[0]

    assert request.ext["b"] == "New"
    assert 0 <= int(request.ext["e"]) < 4


async def test_what_the_template_promised_holds_while_no_name_server_answers() -> None:
    async with serving() as (fake, client):
        fake.route("TBW102")
        fake.say(RequestCode.SEND_MESSAGE_V2, header=STORED)
        producer = Producer(client)
        await producer.send(Message("New", b"x"))
        client.namesrv_addresses[:] = ["127.0.0.1:1"]
        await producer.send(Message("New", b"x"))
        with pytest.raises(Unreachable):
            await producer.send(Message("Never", b"x"))


async def test_without_template_a_missing_topic_has_no_route() -> None:
    async with serving() as (_, client):
        with pytest.raises(NoRoute) as missing:
            await Producer(client).send(Message("New", b"x"))
        assert missing.value.topic == "New"


async def test_oneway_is_marked_and_not_waited_for() -> None:
    async with serving() as (fake, client):
        came: asyncio.Future[Command] = asyncio.get_running_loop().create_future()
        fake.do(RequestCode.SEND_MESSAGE_V2, lambda request: came.set_result(request))
        unique_key = await Producer(client).send_oneway(Message("T", b"x"))
        request = await came

    assert request.is_oneway
    assert unique_key in request.ext["i"]


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (Message("bad/topic", b"x"), "not allowed"),
        (Message("..", b"x"), "not allowed"),
        (Message("T" * 128, b"x"), "128 characters"),
        (Message("", b"x"), "empty"),
        (Message("T", b""), "no body"),
        (Message("T", b"x" * (BODY_SIZE_MAX + 1)), "at most 4194304"),
        (Message("T", b"x", properties={"p": "v" * 32_767}), "at most 32767"),
        (Message("T", "x"), "is str, not bytes"),  # type: ignore[arg-type]
        (Message("T", b"x", properties={"p": 1}), "texts"),  # type: ignore[dict-item]
        (Message("T", b"x", tags=1), "texts"),  # type: ignore[arg-type]
        (Message("T", b"x", keys=[1]), "list of texts"),  # type: ignore[list-item]
        (Message(7, b"x"), "topic is 7, expected a text"),  # type: ignore[arg-type]
        (Message("T", b"x", flag="1"), "flag is '1', allowed are"),  # type: ignore[arg-type]
        (Message("T", b"x", flag=2**31), "flag is 2147483648, allowed are"),
        (Message("T", b"x", delay_level=99), "delay_level is 99, allowed are 0 to 18"),
        (Message("T", b"x", delay_level=-1), "delay_level is -1, allowed are 0 to 18"),
        (Message("T", b"x", delay_level="3"), "delay_level is '3'"),  # type: ignore[arg-type]
        (Message("T", b"x", delay_s=-1), "delay_s is -1, expected a number of seconds"),
        (Message("T", b"x", delay_s=math.inf), "delay_s is inf"),
        (Message("T", b"x", delay_s=math.nan), "delay_s is nan"),
        (Message("T", b"x", delay_s="5"), "delay_s is '5'"),  # type: ignore[arg-type]
        (Message("T", b"x", deliver_at=datetime(2030, 1, 1)), "with a time zone"),
        (Message("T", b"x", deliver_at=5), "deliver_at is 5"),  # type: ignore[arg-type]
        (Message("T", b"x", delay_level=1, delay_s=1), "exclude each other"),
    ],
)
async def test_message_that_cannot_be_sent_is_refused_here(message: Message, text: str) -> None:
    async with serving() as (fake, client):
        with pytest.raises(BadRequest) as refused:
            await Producer(client).send(message)
        assert fake.asked == []
        assert text in str(refused.value)


@pytest.mark.parametrize(
    ("batch", "text"),
    [
        ([], "without messages"),
        ((Message("T", b"x") for _ in "12"), "is a generator, not a list"),
        ([Message("T", b"x"), Message("U", b"x")], "message 1 of the batch is for topic U"),
        ([Message("%RETRY%g", b"x")], "retry topic"),
        ([Message("T", b"x", delay_level=1)], "message 0 of the batch has a delay"),
        ([Message("T", b"x", delay_s=1)], "message 0 of the batch has a delay"),
        ([Message("T", b"x", deliver_at=NOON)], "message 0 of the batch has a delay"),
        ([Message("T", b"x"), Message("T", b"x", wait_stored=False)], "wait_stored"),
        ([Message("T", b"x" * 3_000_000)] * 2, "send it in parts"),
    ],
)
async def test_batch_that_cannot_be_sent_is_refused_here(batch: list[Message], text: str) -> None:
    async with serving() as (_, client):
        with pytest.raises(BadRequest) as refused:
            await Producer(client).send_batch(batch)
        assert text in f"{refused.value} {refused.value.hint}"


async def test_queue_of_another_topic_and_bad_group_are_refused() -> None:
    async with serving() as (_, client):
        with pytest.raises(BadRequest, match="for a queue of topic U"):
            await Producer(client).send(Message("T", b"x"), queue=MessageQueue("U", "b", 0))
        with pytest.raises(BadRequest):
            Producer(client, "no good")


def test_any_number_of_messages_is_split_into_batches_that_fit() -> None:
    settings = ProducerSettings(max_message_size=1000)
    packing = MessagePacker(UniqueIds(bytes(4), pid=1, seed=1), settings)
    messages = [Message("T", bytes(200), tags="A") for _ in range(10)]

    parts = list(packing.split(messages))

    assert [message for part in parts for message in part] == messages
    assert all(len(packing.batch(part, now_ms=NOW_MS).body) <= 1000 for part in parts)
    assert len(parts) == 4


@pytest.mark.parametrize("kind", list(Compression))
def test_each_compression_is_what_the_flag_says(kind: Compression) -> None:
    packing = MessagePacker(
        UniqueIds(bytes(4), pid=1, seed=1), ProducerSettings(compress_type=kind)
    )
    body = b"compressible " * 1000

    out = packing.single(Message("T", body), now_ms=NOW_MS)

    assert len(out.body) < 1000
    assert inflate(out.body, out.sys_flag, size_max=1 << 20) == body
