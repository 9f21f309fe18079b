"""Groups of Java and Python consumers; what the real mqadmin asks a Python consumer."""

import collections
import uuid
from functools import partial
from pathlib import Path

import pytest

from mqclient.admin.admin import Admin
from mqclient.client import instance
from mqclient.client.client_settings import ClientSettings
from mqclient.consumer.consumer_settings import PushSettings, Strategy
from mqclient.consumer.rebalance.allocate import allocate
from mqclient.consumer.state.offset_store import LocalOffsets
from mqclient.message import Message
from remoting.bodies import ConsumeFromWhere, MessageModel, MessageQueue
from tests.interop.kit.our_clients import blocking, listening, make_topic
from tests.interop.kit.servers import JavaSide, Servers
from tests.interop.kit.toolbox import Toolbox, body_of, spec_of
from tests.waiting import wait

QUEUES = 8
staying = partial(spec_of, linger=True)
"""A member that stays until it is told to go."""


@pytest.fixture
def topic(request: pytest.FixtureRequest, servers: Servers) -> str:
    """Return a topic of this test alone, with eight queues."""
    name = f"{request.function.__name__[5:35]}_{uuid.uuid4().hex[:6]}"
    make_topic(servers, name, QUEUES)
    return name


@pytest.mark.parametrize("orderly", [False, True])
def test_java_and_python_members_share_the_queues(
    toolbox: Toolbox, servers: Servers, topic: str, orderly: bool
) -> None:
    group = f"G_{topic}"
    mode = "orderly" if orderly else "concurrent"
    job = toolbox.start("PushConsumer", staying(servers, topic, mode=mode, count=10**6))
    java_id = job.until("started")[-1]["clientId"]
    with (
        listening(servers, group, topic, orderly=orderly) as one,
        listening(servers, group, topic, orderly=orderly) as two,
        blocking(servers) as sender,
    ):
        ids = sorted([java_id, one.client.mq.client_id, two.client.mq.client_id])
        queues = [MessageQueue(topic, servers.broker.name, i) for i in range(QUEUES)]

        def share(client_id: str) -> list[int]:
            parts = allocate(
                Strategy.AVG, group, client_id=client_id, queues=queues, client_ids=ids
            )
            return sorted(queue.queue_id for queue in parts)

        def held() -> dict[str, list[int]]:
            ask = Admin(sender.mq).consumer_running_info(servers.broker.address, group, java_id)
            of_java = [q.queue_id for q in sender.run(ask).mq_table if q.topic == topic]
            of_ours = {ours.client.mq.client_id: ours.queue_ids(topic) for ours in (one, two)}
            return {java_id: sorted(of_java), **of_ours}

        wait(held, lambda found: found == {each: share(each) for each in ids})
        sent = {
            sender.send(Message(topic, b"%d" % i), queue=queues[i % QUEUES]).unique_key: i % QUEUES
            for i in range(80)
        }
        of_java = [i for i in sent.values() if i in share(java_id)]
        wait(lambda: len(one.got) + len(two.got) == 80 - len(of_java), what="ours get theirs")
        got = [(line["msgId"], line["queueId"]) for line in job.messages(len(of_java))]
        for ours in (one, two):
            mine = [(message.unique_key or "", message.queue_id) for message in ours.got]
            assert {queue_id for _, queue_id in mine} <= set(share(ours.client.mq.client_id))
            got += mine
            if orderly:
                by_queue = collections.defaultdict(list)
                for message in ours.got:
                    by_queue[message.queue_id].append(message.queue_offset)
                assert all(offsets == sorted(offsets) for offsets in by_queue.values())

        assert collections.Counter(got) == collections.Counter(sent.items())
    job.stop()


def test_java_goes_on_where_python_ended_and_back(
    toolbox: Toolbox, servers: Servers, topic: str
) -> None:
    group = f"G_{topic}"

    def send(first: int) -> None:
        with blocking(servers) as sender:
            for i in range(first, first + 10):
                sender.send(Message(topic, b"%d" % i))

    def kept() -> int:
        # Members that go say one-way where they were.
        with blocking(servers) as client:
            found = client.run(Admin(client.mq).all_consumer_offsets(servers.broker.address))
        return sum(found.get((topic, group), {}).values())

    send(0)
    with listening(servers, group, topic) as ours:
        wait(lambda: len(ours.got) == 10, what="the first ten")
    wait(kept, lambda total: total == 10)
    send(10)
    job = toolbox.start("PushConsumer", staying(servers, topic, count=10))
    java = sorted(int(body_of(line)) for line in job.messages(10))
    assert all(line["event"] != "message" for line in job.stop())
    wait(kept, lambda total: total == 20)
    send(20)
    with listening(servers, group, topic) as ours:
        wait(lambda: len(ours.got) >= 10, what="the last ten")
        last = sorted(int(message.body) for message in ours.got)

    assert (java, last) == (list(range(10, 20)), list(range(20, 30)))


def test_offset_file_of_a_java_broadcast_member_is_ours_byte_for_byte(
    toolbox: Toolbox, java_side: JavaSide, servers: Servers, topic: str, tmp_path: Path
) -> None:
    with blocking(servers) as sender:
        for i in range(40):
            sender.send(Message(topic, b"%d" % i))
    more = {"model": "broadcasting", "instance": f"cast-{topic}", "count": 40}
    job = toolbox.start("PushConsumer", staying(servers, topic, **more))
    client_id = job.until("started")[-1]["clientId"]
    job.messages(40)
    job.stop()
    home = java_side.directory / ".rocketmq_offsets"
    file = home / client_id / f"G_{topic}" / "offsets.json"

    wait(file.exists, what=str(file))
    java = LocalOffsets(client_id, f"G_{topic}", directory=home)
    ours = LocalOffsets(client_id, f"G_{topic}", directory=tmp_path)
    positions = java.table(topic)
    assert sum(positions.values()) == 40
    for queue in reversed(positions):
        ours.update(queue, positions[queue], increase_only=True)
    with blocking(servers) as client:
        client.run(ours.persist(list(positions)))
    assert ours.path.read_bytes() == file.read_bytes()


def test_python_broadcast_member_goes_on_from_the_file_of_a_java_one(
    toolbox: Toolbox,
    java_side: JavaSide,
    servers: Servers,
    topic: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    group = f"G_{topic}"
    settings = PushSettings(
        message_model=MessageModel.BROADCASTING,
        consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
    )

    def send(first: int, end: int) -> None:
        with blocking(servers) as sender:
            for i in range(first, end):
                sender.send(Message(topic, b"%d" % i))

    send(0, 16)
    job = toolbox.start("PushConsumer", staying(servers, topic, model="broadcasting", count=16))
    client_id = job.until("started")[-1]["clientId"]
    job.messages(16)
    job.stop()
    home = java_side.directory / ".rocketmq_offsets"
    wait(
        lambda: LocalOffsets(client_id, group, directory=home).table(topic),
        lambda kept: sum(kept.values()) == 16,
    )
    send(16, 20)
    monkeypatch.setenv("HOME", str(java_side.directory))
    # Of several addresses of a machine Java may choose another.
    monkeypatch.setattr(instance, "local_ip", lambda: client_id.partition("@")[0])
    with listening(servers, group, topic, settings=settings) as ours:
        wait(lambda: len(ours.got) >= 4, what="what came later")
        assert ours.client.mq.broadcast_id == client_id
        assert sorted(int(message.body) for message in ours.got) == list(range(16, 20))
    names = [ClientSettings(instance_name=name) for name in ("one", "two")]
    with (
        listening(servers, group, topic, settings=settings, client_settings=names[0]) as one,
        listening(servers, group, topic, settings=settings, client_settings=names[1]) as two,
    ):
        wait(lambda: len(one.got) == len(two.got) == 20, what="all to each")


def test_mqadmin_sees_moves_and_feeds_a_python_consumer(
    toolbox: Toolbox, servers: Servers, topic: str
) -> None:
    group = f"G_{topic}"
    namesrv = ("-n", servers.namesrv.address)
    with blocking(servers) as sender, listening(servers, group, topic) as ours:
        sent = [sender.send(Message(topic, b"%d" % i, keys=f"k{i}")) for i in range(16)]
        wait(lambda: len(ours.got) == 16, what="the messages")
        client_id = ours.client.mq.client_id

        connection = toolbox.mqadmin("consumerConnection", "-g", group, *namesrv).stdout
        assert client_id in connection
        assert "ConsumeType: CONSUME_PASSIVELY" in connection

        status = toolbox.mqadmin("consumerStatus", "-g", group, "-i", client_id, "-s", *namesrv)
        shown = status.stdout
        assert "#Consumer MQ Detail#" in shown, status
        assert shown.count(topic) >= QUEUES
        assert "ConsumeMessageThread" in shown or "MainThread" in shown

        direct = toolbox.mqadmin(
            *("queryMsgById", "-i", sent[0].offset_msg_id, "-g", group, "-d", client_id, *namesrv)
        )
        assert "CR_SUCCESS" in direct.stdout, direct
        wait(lambda: len(ours.got) == 17, what="the one consumed directly")

        reset = ("resetOffsetByTime", "-g", group, "-t", topic, "-s", "0", "-f", "true", *namesrv)
        # A broker moves a group only once it has a position in every queue: 5 s at most.
        wait(lambda: topic in toolbox.mqadmin(*reset).stdout, what="the group moved")
        wait(lambda: len(ours.got) >= 17 + 16, what="all again")

        progress = toolbox.mqadmin("consumerProgress", "-g", group, *namesrv).stdout
        assert progress.count(topic) >= QUEUES, progress


def test_java_and_python_of_one_namespace_exchange_messages_and_share_the_queues(
    toolbox: Toolbox, servers: Servers
) -> None:
    topic, tenant = f"T_{uuid.uuid4().hex[:6]}", ClientSettings(namespace="Tenant")
    group, travels = f"G_{topic}", f"Tenant%{topic}"
    make_topic(servers, travels, QUEUES)
    more = {"namespace": "Tenant", "count": 10**6}
    job = toolbox.start("PushConsumer", staying(servers, topic, **more))
    java_id = job.until("started")[-1]["clientId"]
    with (
        blocking(servers) as nobody,
        blocking(servers, client_settings=tenant) as sender,
        listening(servers, group, topic, client_settings=tenant) as ours,
    ):

        def of_java() -> set[int]:
            admin = Admin(nobody.mq)
            ask = admin.consumer_running_info(servers.broker.address, f"Tenant%{group}", java_id)
            return {queue.queue_id for queue in nobody.run(ask).mq_table if queue.topic == travels}

        def shares() -> list[int]:
            return sorted([*of_java(), *ours.queue_ids(travels)])

        wait(shares, lambda found: found == list(range(QUEUES)) and len(of_java()) == QUEUES // 2)
        its = of_java()
        results = [sender.send(Message(topic, b"%d" % i)) for i in range(16)]
        sent = {result.unique_key: result.queue.queue_id for result in results}
        messages = [{"body": f"java {i}"} for i in range(16)]
        spec = staying(servers, topic, namespace="Tenant", mode="sync", messages=messages)
        sent |= {line["msgId"]: line["queueId"] for line in toolbox.run("Producer", spec)}
        lines = job.every("msgId", [key for key, queue_id in sent.items() if queue_id in its])
        mine = {key for key, queue_id in sent.items() if queue_id not in its}
        wait(lambda: {message.unique_key for message in ours.got} >= mine, what="ours get theirs")

        assert {result.queue.topic for result in results} == {topic}
        assert {line["topic"] for line in lines} == {message.topic for message in ours.got}
        assert ours.got[0].topic == topic
        assert {line["properties"]["INSTANCE_ID"] for line in lines} == {"Tenant"}
        assert {message.properties["INSTANCE_ID"] for message in ours.got} == {"Tenant"}
    job.stop()
