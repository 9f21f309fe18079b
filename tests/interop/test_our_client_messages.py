"""Messages of all kinds between Python and Java, through the real servers and ours."""

import base64
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from mqclient.blocking.client import BlockingClient
from mqclient.consumer.listener.listeners import (
    ConsumeConcurrentlyContext,
    ConsumeConcurrentlyStatus,
)
from mqclient.message import Message, MessageExt
from mqclient.producer.producer import Producer
from mqclient.producer.producer_settings import ProducerSettings
from mqclient.producer.transaction_producer import LocalTransactionState
from storefmt.formats.sysflag import Compression
from tests.interop.kit.our_clients import FROM_FIRST, blocking, listening, make_topic
from tests.interop.kit.servers import Servers, Side, running_pair
from tests.interop.kit.toolbox import Toolbox, body_of, spec_of
from tests.waiting import wait

BODY = "Zürich 中文 ".encode() * 700
QUICK = {"transactionCheckInterval": "1500", "transactionTimeOut": "4000"}
PROPERTIES = {"i": "1", "born": "here", "Zürich": "中文"}


@pytest.fixture
def topic(request: pytest.FixtureRequest, servers: Servers) -> str:
    """Return a topic of this test alone, with four queues."""
    name = f"{request.function.__name__[5:35]}_{uuid.uuid4().hex[:6]}"
    make_topic(servers, name, 4)
    return name


def spec_for(servers: Servers, topic: str, **more: object) -> dict[str, object]:
    return spec_of(servers, topic, **{"group": f"J_{topic}", **more})


def test_java_reads_our_messages_of_every_kind(
    toolbox: Toolbox, servers: Servers, topic: str
) -> None:
    spec = spec_for(servers, topic, subscription="*", count=7)
    with blocking(servers) as client:
        for kind in Compression:
            producer = Producer(client.mq, "P", ProducerSettings(compress_type=kind))
            message = Message(topic, BODY, tags=kind.name, keys=["a", "b"], properties=PROPERTIES)
            client.run(producer.send(message))
        producer = Producer(client.mq, "P")
        client.run(producer.send_batch([Message(topic, b"b%d" % i, tags="batch") for i in (1, 2)]))
        client.run(producer.send(Message(topic, b"late", tags="late", delay_level=1)))
        client.run(producer.send_oneway(Message(topic, b"oneway", tags="oneway")))
        got = toolbox.start("PushConsumer", spec).messages(7)

    assert {line["tags"]: body_of(line) for line in got if line["tags"] != "batch"} == {
        **{kind.name: BODY for kind in Compression},
        "late": b"late",
        "oneway": b"oneway",
    }
    assert sorted(body_of(line) for line in got if line["tags"] == "batch") == [b"b1", b"b2"]
    for line in got:
        if line["tags"] in Compression.__members__:
            assert line["keys"] == "a b"
            assert PROPERTIES.items() <= line["properties"].items()


def test_we_read_java_messages_of_every_kind(
    toolbox: Toolbox, servers: Servers, topic: str
) -> None:
    words = [
        {
            "bodyBase64": base64.b64encode(BODY).decode(),
            "tags": "big",
            "keys": "a b",
            "flag": 7,
            "properties": PROPERTIES,
        },
        {"body": "late", "tags": "late", "delay": 1},
        {"body": "small", "tags": "small"},
    ]
    with listening(servers, f"G_{topic}", topic, "big || late || small") as ours:
        toolbox.run("Producer", spec_for(servers, topic, mode="sync", messages=words))
        toolbox.run(
            "Producer", spec_for(servers, topic, mode="batch", messages=[words[2], words[2]])
        )
        toolbox.run(
            "Producer",
            spec_for(servers, topic, mode="sync", messages=[{"body": "no", "tags": "other"}]),
        )
        wait(lambda: len(ours.got) == 5, what="five messages")
        by_tag = {message.tags: message for message in ours.got}

    big = by_tag["big"]
    assert (big.body, big.keys, big.record.flag) == (BODY, ["a", "b"], 7)
    assert PROPERTIES.items() <= dict(big.properties).items()
    assert big.record.sys_flag & 1
    assert (by_tag["late"].body, by_tag["late"].topic) == (b"late", topic)


def test_java_bodies_of_every_compression_are_read(
    toolbox: Toolbox, servers: Servers, topic: str
) -> None:
    words = {"bodyBase64": base64.b64encode(BODY).decode()}
    with listening(servers, f"G_{topic}", topic) as ours:
        for kind in Compression:
            messages = [{**words, "tags": kind.name}]
            spec = spec_for(servers, topic, mode="sync", messages=messages, compress=kind.name)
            toolbox.run("Producer", spec)
        wait(lambda: len(ours.got) == len(Compression), what="a message of each kind")

    assert {message.tags: message.body for message in ours.got} == {
        kind.name: BODY for kind in Compression
    }
    flags = {message.tags: message.record.sys_flag for message in ours.got}
    assert flags == {kind.name: 1 | kind for kind in Compression}


def test_a_sharding_key_goes_to_the_queue_java_chooses(
    toolbox: Toolbox, servers: Servers, topic: str
) -> None:
    keys = ["order-1", "order-2", "中文", "", "a", "polygenelubricants", "x" * 50, "zz"]
    words = [{"body": key or "-", "shard": key} for key in keys]
    java = toolbox.run("Producer", spec_for(servers, topic, mode="sync", messages=words))
    with blocking(servers) as client:
        producer = Producer(client.mq)
        ours = [
            client.run(producer.send(Message(topic, b"x"), sharding_key=key)).queue.queue_id
            for key in keys
        ]

    assert ours == [line["queueId"] for line in java]


def test_questions_and_replies_cross_both_ways(
    toolbox: Toolbox, servers: Servers, topic: str
) -> None:
    replier = toolbox.start("Replier", spec_for(servers, topic))
    replier.until("started")
    with blocking(servers) as client:
        reply = client.request(Message(topic, b"from python"), timeout_s=60)
    replier.stop()
    assert reply.body == b"reply to from python"

    other = f"{topic}_b"
    make_topic(servers, other, 1)
    with BlockingClient(servers.namesrv.address, timeout_s=60) as client:

        def answer(
            messages: list[MessageExt], context: ConsumeConcurrentlyContext
        ) -> ConsumeConcurrentlyStatus:
            client.run(Producer(client.mq).reply(messages[0], messages[0].body.upper()))
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

        with client.push_consumer(f"R_{topic}", answer, {other: "*"}, settings=FROM_FIRST):
            spec = spec_for(servers, other, mode="sync", timeoutMs=60_000, bodies=["from java"])
            (line,) = toolbox.run("Requester", spec, timeout_s=90)
    assert body_of(line) == b"FROM JAVA"


@pytest.fixture
def quick(side: Side, tmp_path: Path) -> Iterator[Servers]:
    """Yield a pair whose broker soon asks about half messages."""
    with running_pair(side, tmp_path / "store", settings=QUICK) as servers:
        yield servers


def test_java_sees_what_our_transactions_commit(toolbox: Toolbox, quick: Servers) -> None:
    topic = "OurTransactions"
    make_topic(quick, topic, 1)
    asked: list[str] = []

    class Decides:
        def execute_local_transaction(self, message: Message, arg: object) -> LocalTransactionState:
            return LocalTransactionState[str(arg)]

        def check_local_transaction(self, message: MessageExt) -> LocalTransactionState:
            asked.append(message.body.decode())
            return LocalTransactionState.COMMIT_MESSAGE

    with blocking(quick) as client, client.transaction_producer("OurTx", Decides()) as producer:
        for arg in ("COMMIT_MESSAGE", "ROLLBACK_MESSAGE", "UNKNOW"):
            producer.send_message_in_transaction(Message(topic, arg.encode()), arg)
        job = toolbox.start("PushConsumer", spec_for(quick, topic, subscription="*", linger=True))
        wanted = {base64.b64encode(body).decode() for body in (b"COMMIT_MESSAGE", b"UNKNOW")}
        lines = job.every("body", wanted) + job.stop()

    # A broker under load may ask twice, and what is committed twice is delivered twice.
    assert {line["body"] for line in lines if line["event"] == "message"} == wanted
    assert set(asked) == {"UNKNOW"}
