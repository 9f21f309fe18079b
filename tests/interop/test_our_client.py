"""Our producer and pull consumer against the real servers, and against ours."""

import asyncio
import base64

import pytest

from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from mqclient.consumer.pull.pull_request import PullStatus
from mqclient.consumer.pull_consumer import PullConsumer
from mqclient.errors import BrokerRefused, NoRoute, NotFound, Unreachable
from mqclient.message import Message
from mqclient.producer.producer import Producer
from mqclient.producer.send_result import SendStatus
from remoting.bodies import MessageQueue
from storefmt.config.tables import TopicConfig
from tests.interop.kit.our_clients import connected, read_queue, read_topic
from tests.interop.kit.servers import Broker, Servers
from tests.interop.kit.toolbox import Toolbox, body_of, spec_of
from tests.ports import free_ports
from tests.waiting import eventually

OURS = {"i": "1", "born": "ours", "Zürich": "中文"}


@pytest.fixture
def client(servers: Servers) -> MQClient:
    """Return a client of the servers, which is open for the time of a test."""
    return connected(servers.namesrv.address)


async def make_topic(client: MQClient, broker: Broker, topic: str, queues: int = 1) -> None:
    config = TopicConfig(topic, read_queue_nums=queues, write_queue_nums=queues)
    await Admin(client).create_topic(broker.address, config)


async def test_what_we_send_is_stored_as_what_java_sends(
    toolbox: Toolbox, servers: Servers, client: MQClient
) -> None:
    topic = "SameBytes"
    bodies = [b"hello", "Zürich 中文".encode(), bytes(range(256)) * 20, b"z" * 4096, b"z" * 4095]
    messages = [
        Message(topic, body, tags="TagA", keys=["k1", "k2"], flag=7, properties=OURS)
        for body in bodies
    ]
    words = [
        {
            "bodyBase64": base64.b64encode(body).decode(),
            "tags": "TagA",
            "keys": "k1 k2",
            "flag": 7,
            "properties": OURS,
            "broker": servers.broker.name,
            "queue": 0,
        }
        for body in bodies
    ]
    spec = spec_of(servers, topic, mode="sync", messages=words)

    await make_topic(client, servers.broker, topic)
    producer = Producer(client, "PG")
    queue = MessageQueue(topic, servers.broker.name, 0)
    sent = [await producer.send(message, queue=queue) for message in messages]
    assert [result.queue_offset for result in sent] == list(range(len(bodies)))
    await asyncio.to_thread(toolbox.run, "Producer", spec)
    stored = await read_queue(client, queue, 2 * len(bodies))
    assert [m.unique_key for m in stored[: len(sent)]] == [r.unique_key for r in sent]
    assert [m.offset_msg_id for m in stored[: len(sent)]] == [r.offset_msg_id for r in sent]
    assert [m.body for m in stored] == bodies * 2
    stored = [
        (
            m.record.body,
            m.record.flag,
            m.record.sys_flag,
            m.record.reconsume_times,
            list(m.properties),
            {name: value for name, value in m.properties.items() if name != "UNIQ_KEY"},
        )
        for m in stored
    ]

    assert stored[: len(bodies)] == stored[len(bodies) :]
    assert [row[2] for row in stored[: len(bodies)]] == [0, 0, 0x301, 0x301, 0]


async def test_batch_gets_neighbouring_offsets_and_java_bytes(
    toolbox: Toolbox, servers: Servers, client: MQClient
) -> None:
    topic = "BatchBytes"
    words = [{"body": f"b{i}", "tags": "T", "keys": f"k{i}"} for i in range(5)]
    spec = spec_of(servers, topic, mode="batch", messages=words)

    await make_topic(client, servers.broker, topic)
    batch = [Message(topic, w["body"].encode(), tags=w["tags"], keys=w["keys"]) for w in words]
    result = await Producer(client, "PG").send_batch(batch)
    (java,) = await asyncio.to_thread(toolbox.run, "Producer", spec)
    stored = await read_topic(client, topic, 10)

    assert result.status is SendStatus.SEND_OK
    assert result.queue_offset == 0
    assert java["queueOffset"] == 5
    assert [m.unique_key for m in stored[:5]] == result.unique_key.split(",")
    assert [m.offset_msg_id for m in stored[:5]] == result.offset_msg_id.split(",")
    assert [m.unique_key for m in stored[5:]] == java["msgId"].split(",")
    assert [m.queue_offset for m in stored] == list(range(10))
    shapes = [(m.body, m.record.sys_flag, list(m.properties), m.tags, m.keys) for m in stored]
    assert shapes[:5] == shapes[5:]


async def test_oneway_messages_arrive_and_a_missing_topic_is_made(
    servers: Servers, client: MQClient
) -> None:
    topic = "MadeByOneway"

    producer = Producer(client, "PG")
    keys = [await producer.send_oneway(Message(topic, b"x%d" % i)) for i in range(8)]
    admin = Admin(client)
    await eventually(admin.topic_list, lambda topics: topic in topics)

    stored = await read_topic(client, topic, 8)
    route = await admin.topic_route(topic)

    assert {m.unique_key for m in stored} == set(keys)
    assert [(q.broker_name, q.write_queue_nums, q.perm) for q in route.queue_datas] == [
        (servers.broker.name, 4, 6)
    ]


async def test_java_consumers_receive_what_we_send(
    toolbox: Toolbox, servers: Servers, client: MQClient
) -> None:
    topic = "ToJava"
    spec = spec_of(servers, topic, group="ToJavaGroup", subscription="TagA || TagB", count=20)

    await make_topic(client, servers.broker, topic, 4)
    producer = Producer(client)
    sent = {}
    for i in range(30):
        message = Message(topic, b"body %d" % i * 500, tags=f"Tag{'ABC'[i % 3]}")
        result = await producer.send(message)
        if i % 3 != 2:
            sent[result.unique_key] = message.body
    job = toolbox.start("PushConsumer", spec)
    got = job.messages(20)

    assert {line["msgId"]: body_of(line) for line in got} == sent
    assert {line["tags"] for line in got} == {"TagA", "TagB"}
    assert all(line["event"] != "message" for line in job.rest())


async def test_pull_statuses_are_those_of_java(servers: Servers, client: MQClient) -> None:
    topic = "PullStatuses"

    await make_topic(client, servers.broker, topic)
    producer, consumer = Producer(client), PullConsumer(client, "PullGroup")
    queue = MessageQueue(topic, servers.broker.name, 0)
    empty = await consumer.pull(queue, queue_offset=0)
    waiting = asyncio.create_task(consumer.pull(queue, queue_offset=0, suspend_ms=20_000))
    for tag in ("A", "B", "A", "C"):
        await producer.send(Message(topic, tag.encode(), tags=tag), queue=queue)
    woken = await waiting
    await read_queue(client, queue, 4)

    some = await consumer.pull(queue, queue_offset=0, subscription="A || C")
    first = await consumer.pull(queue, queue_offset=0, subscription="A", count_max=1)
    none = await consumer.pull(queue, queue_offset=0, subscription="X")
    end = await consumer.pull(queue, queue_offset=4)
    beyond = await consumer.pull(queue, queue_offset=99)

    assert (empty.status, empty.next_offset) == (PullStatus.NO_NEW_MSG, 0)
    assert woken.status is PullStatus.FOUND
    assert woken.messages[0].body == b"A"
    assert [m.body for m in some.messages] == [b"A", b"A", b"C"]
    assert (some.next_offset, some.min_offset, some.max_offset) == (4, 0, 4)
    assert ([m.body for m in first.messages], first.next_offset) == ([b"A"], 1)
    assert (none.status, none.next_offset) == (PullStatus.NO_MATCHED_MSG, 4)
    assert (end.status, end.next_offset) == (PullStatus.NO_NEW_MSG, 4)
    assert (beyond.status, beyond.next_offset) == (PullStatus.OFFSET_ILLEGAL, 4)


async def test_sql_expression_travels_with_the_pull(servers: Servers, client: MQClient) -> None:
    topic = "PullSql"

    await make_topic(client, servers.broker, topic)
    queue = MessageQueue(topic, servers.broker.name, 0)
    for age in (10, 20, 30):
        message = Message(topic, str(age).encode(), properties={"age": str(age)})
        await Producer(client).send(message, queue=queue)
    await read_queue(client, queue, 3)
    result = await PullConsumer(client, "SqlGroup").pull(
        queue, queue_offset=0, subscription="age > 15", expression_type="SQL92"
    )
    found = [m.body for m in result.messages]

    assert found == [b"20", b"30"]


async def test_refusals_carry_code_remark_and_address(servers: Servers, client: MQClient) -> None:
    topic = "Refusals"

    await make_topic(client, servers.broker, topic)
    await Producer(client).queues(topic)
    consumer = PullConsumer(client, "PullGroup")
    with pytest.raises(BrokerRefused) as queue_id:
        await consumer.pull(MessageQueue(topic, servers.broker.name, 77), queue_offset=0)
    with pytest.raises(NoRoute) as topic_name:
        await consumer.queues("NoSuchTopic")
    with pytest.raises(NoRoute) as broker_name:
        await consumer.pull(MessageQueue(topic, "no-such", 0), queue_offset=0)
    with pytest.raises(BrokerRefused) as system_topic:
        await Producer(client).send(
            Message("SCHEDULE_TOPIC_XXXX", b"x"),
            queue=MessageQueue("SCHEDULE_TOPIC_XXXX", servers.broker.name, 0),
        )

    assert (queue_id.value.code, queue_id.value.address) == (1, servers.broker.address)
    assert "queueId[77] is illegal" in queue_id.value.remark
    assert (topic_name.value.code, topic_name.value.exit_code) == (17, 3)
    assert broker_name.value.exit_code == 3
    assert system_topic.value.code == 16
    assert not isinstance(system_topic.value, NotFound)


def test_second_name_server_is_asked_when_the_first_is_down(servers: Servers) -> None:
    down = f"127.0.0.1:{free_ports(1)}"

    async def ask(namesrv: str) -> list[str]:
        async with MQClient(namesrv, timeout_s=60) as client:
            return list((await Admin(client).cluster_info()).broker_addr_table)

    assert asyncio.run(ask(f"{down};{servers.namesrv.address}")) == [servers.broker.name]
    with pytest.raises(Unreachable) as unreachable:
        asyncio.run(ask(down))
    assert unreachable.value.exit_code == 4
    assert down in str(unreachable.value)
