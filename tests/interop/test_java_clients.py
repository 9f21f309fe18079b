"""The real Java client through the real servers, and through ours."""

import asyncio
import base64
import random
import uuid
from collections.abc import Iterator

import pytest

from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from mqclient.consumer.pull_consumer import PullConsumer
from mqclient.errors import BrokerRefused
from tests.interop.kit.our_clients import make_topic, run
from tests.interop.kit.servers import JavaSide, Servers
from tests.interop.kit.toolbox import Line, Toolbox, alone, body_of, spec_of
from tests.waiting import eventually

Spec = dict[str, object]


def committed(servers: Servers, topic: str, group: str) -> dict[int, int]:
    async def act(client: MQClient) -> dict[int, int]:
        return (await Admin(client).all_consumer_offsets(servers.broker.address)).get(
            (topic, group), {}
        )

    return run(servers.namesrv.address, act)


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """Return a topic of this test alone."""
    return f"{request.function.__name__[5:40]}_{uuid.uuid4().hex[:6]}"


def sizes() -> Iterator[int]:
    """Yield body sizes around what is compressed and what fits into one answer."""
    chooser = random.Random(7)
    yield from (1, 4095, 4096, 70_000, 300_000)
    while True:
        yield chooser.randrange(1, 3_000)


def words(count: int) -> list[dict[str, object]]:
    chooser, some = random.Random(11), sizes()
    return [
        {
            "bodyBase64": base64.b64encode(chooser.randbytes(next(some))).decode(),
            "tags": f"Tag{'AB'[i % 2]}",
            "keys": f"key{i} even{i % 2}",
            "flag": i,
            "properties": {"n": str(i), "Zürich": "中文"},
        }
        for i in range(count)
    ]


def send(toolbox: Toolbox, servers: Servers, topic: str, mode: str, messages: object) -> list[Line]:
    sent = toolbox.run("Producer", spec_of(servers, topic, mode=mode, messages=messages))
    assert [line for line in sent if line["event"] == "refused"] == []
    return sent


def seen(line: Line) -> tuple[object, ...]:
    """Return what a consumer sees of a message and its producer gave."""
    properties = {name: line["properties"].get(name) for name in ("n", "Zürich")}
    return (
        base64.b64encode(body_of(line)).decode(),
        line["tags"],
        line["keys"],
        line["flag"],
        properties,
    )


def given(word: dict[str, object]) -> tuple[object, ...]:
    return (word["bodyBase64"], word["tags"], word["keys"], word["flag"], word["properties"])


@pytest.mark.parametrize("consume", ["pull", "lite"])
@pytest.mark.parametrize("mode", ["sync", "async", "oneway"])
def test_pull_gives_back_what_was_sent_in_order(
    toolbox: Toolbox, servers: Servers, topic: str, mode: str, consume: str
) -> None:
    messages = words(40)
    make_topic(servers, topic, 2)

    sent = send(toolbox, servers, topic, mode, messages)
    run(servers.namesrv.address, lambda client: _arrived(client, topic, 40))
    lines = toolbox.run("PullConsumer", spec_of(servers, topic, mode=consume, count=40))

    got = [line for line in lines if line["event"] == "message"]
    assert {line["msgId"] for line in got} == {line["msgId"] for line in sent}
    by_id = {line["msgId"]: messages[line["index"]] for line in sent}
    assert [seen(line) for line in got] == [given(by_id[line["msgId"]]) for line in got]
    for queue_id in (0, 1):
        offsets = [line["queueOffset"] for line in got if line["queueId"] == queue_id]
        assert offsets == list(range(len(offsets)))
    if mode == "oneway":
        return
    place = {line["msgId"]: (line["queueId"], line["queueOffset"]) for line in sent}
    assert {line["msgId"]: (line["queueId"], line["queueOffset"]) for line in got} == place
    assert {line["status"] for line in sent} == {"SEND_OK"}
    if mode == "sync":
        for queue_id in (0, 1):
            order = [line["index"] for line in sent if line["queueId"] == queue_id]
            received = [int(m["properties"]["n"]) for m in got if m["queueId"] == queue_id]
            assert received == order


async def _arrived(client: MQClient, topic: str, count: int) -> None:
    consumer = PullConsumer(client, "ARRIVED")

    async def total() -> int:
        return sum([await consumer.max_offset(q) for q in await consumer.queues(topic)])

    await eventually(total, lambda found: found == count)


def test_batch_arrives_whole_and_in_order(toolbox: Toolbox, servers: Servers, topic: str) -> None:
    messages = words(3) + [{"body": f"b{i}"} for i in range(20)]
    make_topic(servers, topic, 1)

    (sent,) = send(toolbox, servers, topic, "batch", messages)
    run(servers.namesrv.address, lambda client: _arrived(client, topic, 23))
    lines = toolbox.run("PullConsumer", spec_of(servers, topic, mode="pull"))

    got = [line for line in lines if line["event"] == "message"]
    assert sent["status"] == "SEND_OK"
    assert [line["msgId"] for line in got] == sent["msgId"].split(",")
    assert len(sent["offsetMsgId"].split(",")) == 23
    assert [line["queueOffset"] for line in got] == list(range(23))
    assert [seen(line) for line in got[:3]] == [given(word) for word in messages[:3]]
    assert [body_of(line) for line in got[3:]] == [f"b{i}".encode() for i in range(20)]


def test_waiting_push_consumer_gets_messages_as_they_come(
    toolbox: Toolbox, servers: Servers, topic: str
) -> None:
    make_topic(servers, topic, 4)
    job = toolbox.start("PushConsumer", spec_of(servers, topic, count=60, linger=True))
    job.until("started")
    first = send(toolbox, servers, topic, "sync", [{"body": "wake up"}])
    job.messages(1)

    messages = words(59)
    sent = first + send(toolbox, servers, topic, "async", messages)
    got = job.messages(59)
    place = {line["msgId"]: (line["queueId"], line["queueOffset"]) for line in sent}
    kept_ms = [line["storeMs"] - line["bornMs"] for line in got]

    assert {line["msgId"]: (line["queueId"], line["queueOffset"]) for line in got}.items() <= (
        place.items()
    )
    assert len({line["msgId"] for line in got}) == 59
    by_id = {line["msgId"]: messages[line["index"]] for line in sent[1:]}
    assert [seen(line) for line in got] == [given(by_id[line["msgId"]]) for line in got]
    assert min(kept_ms) >= 0

    async def offsets(client: MQClient) -> None:
        async def read() -> int:
            found = await Admin(client).all_consumer_offsets(servers.broker.address)
            return sum(found.get((topic, f"G_{topic}"), {}).values())

        await eventually(read, lambda total: total == 60)

    run(servers.namesrv.address, offsets)
    rest = job.stop()
    assert [line for line in rest if line["event"] == "message"] == []


def test_push_consumer_gets_only_the_tags_it_asked_for(
    toolbox: Toolbox, servers: Servers, topic: str
) -> None:
    # "Aa" and "BB" have one Java hash: the client has to compare again.
    messages = [{"body": f"{i}", "tags": tag} for i, tag in enumerate(["Aa", "BB", "C"] * 6)]
    make_topic(servers, topic, 2)
    send(toolbox, servers, topic, "sync", messages)

    job = toolbox.start("PushConsumer", spec_of(servers, topic, subscription="Aa || D", count=6))
    got = job.messages(6)

    assert {line["tags"] for line in got} == {"Aa"}
    assert sorted(int(body_of(line)) for line in got) == [0, 3, 6, 9, 12, 15]
    assert [line for line in job.rest() if line["event"] == "message"] == []


def test_orderly_consumers_keep_the_order_of_each_queue(
    toolbox: Toolbox, servers: Servers, topic: str
) -> None:
    queue_of = {"broker": servers.broker.name}
    messages = [{"body": f"{i}", "queue": i % 3, **queue_of} for i in range(90)]
    make_topic(servers, topic, 3)
    spec = spec_of(servers, topic, mode="orderly", count=1, linger=True)
    one = toolbox.start("PushConsumer", spec)
    one.until("started")

    send(toolbox, servers, topic, "sync", messages)
    got = one.messages(90)

    for queue_id in range(3):
        bodies = [int(body_of(line)) for line in got if line["queueId"] == queue_id]
        assert bodies == list(range(queue_id, 90, 3))
    one.stop()


def test_two_consumers_share_the_queues_and_one_takes_over(
    toolbox: Toolbox, servers: Servers, topic: str
) -> None:
    make_topic(servers, topic, 4)
    spec = spec_of(servers, topic, count=1, linger=True)
    # Named, since Java's own names are a clock's nanoseconds: two may start within one tick of it.
    one, two = (
        toolbox.start("PushConsumer", {**spec, "instance": f"{topic}-{number}"})
        for number in (1, 2)
    )
    ids = sorted(job.until("started")[-1]["clientId"] for job in (one, two))

    async def shared(client: MQClient) -> None:
        admin, address, group = Admin(client), servers.broker.address, f"G_{topic}"

        async def owners() -> dict[str, list[int]]:
            try:
                members = await admin.consumer_ids(address, group)
                infos = {m: await admin.consumer_running_info(address, group, m) for m in members}
            except BrokerRefused:
                # One of them is just coming, or leaving.
                return {}
            return {
                member: sorted(q.queue_id for q in info.mq_table if q.topic == topic)
                for member, info in infos.items()
            }

        await eventually(owners, lambda held: held == {ids[0]: [0, 1], ids[1]: [2, 3]})
        await asyncio.to_thread(one.stop)
        left = await eventually(owners, lambda held: len(held) == 1 and len(*held.values()) == 4)
        assert list(left.values()) == [[0, 1, 2, 3]]

    run(servers.namesrv.address, shared)
    send(toolbox, servers, topic, "sync", words(8))
    assert len({line["msgId"] for line in two.messages(8)}) == 8
    two.stop()


def test_refused_message_comes_again_with_its_count(
    toolbox: Toolbox, servers: Servers, topic: str
) -> None:
    make_topic(servers, topic, 1)
    send(toolbox, servers, topic, "sync", [{"body": "again", "keys": "k"}])

    job = toolbox.start("PushConsumer", spec_of(servers, topic, count=2, failTimes=1))
    first, second = job.messages(2)

    # Level 3, set to three seconds, is the first delay of a message that was refused; it is
    # stored again when that is over.
    assert (first["reconsumeTimes"], second["reconsumeTimes"]) == (0, 1)
    assert first["msgId"] == second["msgId"]
    assert second["topic"] == topic
    assert second["storeMs"] - first["storeMs"] > 2_500
    assert second["properties"]["DELAY"] == "3"
    job.rest()


def test_delayed_message_comes_when_it_is_due(
    toolbox: Toolbox, servers: Servers, topic: str
) -> None:
    make_topic(servers, topic, 1)
    job = toolbox.start("PushConsumer", spec_of(servers, topic, count=2))
    job.until("started")

    send(toolbox, servers, topic, "sync", [{"body": "later", "delay": 3}, {"body": "now"}])
    by_body = {body_of(line): line for line in job.messages(2)}

    assert by_body.keys() == {b"now", b"later"}
    later = by_body[b"later"]
    assert later["storeMs"] - later["bornMs"] > 2_900
    assert later["properties"]["DELAY"] == "3"
    job.rest()


def test_broadcasting_consumers_each_get_everything(
    toolbox: Toolbox, servers: Servers, topic: str
) -> None:
    make_topic(servers, topic, 2)
    spec = spec_of(servers, topic, model="broadcasting", count=10)
    jobs = [
        toolbox.start("PushConsumer", {**spec, "instance": f"{topic}-{number}"})
        for number in range(2)
    ]
    for job in jobs:
        job.until("started")

    sent = send(toolbox, servers, topic, "sync", words(10))

    for job in jobs:
        got = {line["msgId"] for line in job.messages(10)}
        assert got == {line["msgId"] for line in sent}
        job.rest()
    assert committed(servers, topic, f"G_{topic}") == {}


def test_sends_that_cannot_be_are_refused_with_the_same_code(
    toolbox: Toolbox, servers: Servers, topic: str
) -> None:
    make_topic(servers, topic, 1)
    messages = [
        {"body": "x", "queue": 9, "broker": servers.broker.name},
        {"body": "x", "properties": {"p": "v" * 33_000}},
        {"body": "x" * (4 * 1024 * 1024 + 1)},
        {"body": "fine"},
    ]

    more = {"maxMessageSize": 8_000_000, "compressOver": 8_000_000}
    spec = spec_of(servers, topic, mode="sync", messages=messages, **more)
    lines = toolbox.run("Producer", spec)

    assert [(line["event"], line.get("code")) for line in lines] == [
        ("refused", 1),
        ("refused", 13),
        ("refused", 13),
        ("sent", None),
    ]
    assert "request queueId[9] is illegal" in lines[0]["error"]


def test_client_with_binary_headers_sends_and_consumes(
    java_side: JavaSide, servers: Servers, topic: str
) -> None:
    make_topic(servers, topic, 2)
    # Without the large ones, which no command line takes.
    messages = words(25)[5:]
    flags = ["-Drocketmq.serialize.type=ROCKETMQ"]

    sent = alone(
        java_side, "Producer", spec_of(servers, topic, mode="sync", messages=messages), flags=flags
    )
    assert [line for line in sent if line["event"] == "refused"] == []
    lines = alone(java_side, "PushConsumer", spec_of(servers, topic, count=20), flags=flags)

    got = [line for line in lines if line["event"] == "message"]
    by_id = {line["msgId"]: messages[line["index"]] for line in sent}
    assert {line["status"] for line in sent} == {"SEND_OK"}
    assert {line["msgId"] for line in got} == set(by_id)
    assert [seen(line) for line in got] == [given(by_id[line["msgId"]]) for line in got]
