"""Our client and our mqadmin on the real 5.4.0 name server and broker.

Commands that 4.9 does not know are run on ours, too.
"""

import base64
import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from mqclient.admin.admin import Admin
from mqclient.consumer.consumer_settings import LitePullSettings
from mqclient.consumer.listener.listeners import ConsumeConcurrentlyContext
from mqclient.consumer.listener.listeners import ConsumeConcurrentlyStatus as Status
from mqclient.consumer.subscription import MessageSelector
from mqclient.message import Message, MessageExt
from mqclient.producer.producer import Producer
from mqclient.producer.producer_settings import ProducerSettings
from mqclient.producer.send_result import SendStatus
from mqclient.producer.transaction_producer import LocalTransactionState
from remoting.bodies import ConsumeFromWhere
from storefmt.config.tables import SubscriptionGroup
from storefmt.formats.sysflag import Compression
from tests.interop.kit.our_clients import FROM_FIRST, blocking, listening, make_topic, read_topic
from tests.interop.kit.our_mqadmin import OurMqadmin
from tests.interop.kit.servers import JavaSide, OurSide, Servers, running_pair
from tests.interop.kit.toolbox import alone, body_of
from tests.waiting import eventually, wait

BODY = "Zürich 中文 ".encode() * 700
PROPERTIES = {"age": "30", "Zürich": "中文"}
LITE = LitePullSettings(consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET)
OK = Status.CONSUME_SUCCESS


@pytest.fixture(scope="module")
def our_pair(our_side: OurSide, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """Yield a name server and a broker of ours."""
    store = tmp_path_factory.mktemp("ours") / "store"
    with running_pair(our_side, store, settings={"recallMessageEnable": "true"}) as found:
        yield found


@pytest.fixture
def pair(request: pytest.FixtureRequest) -> Servers:
    """Return a name server and a broker of 5.4.0, or of ours where a test is for both."""
    found: Servers = request.getfixturevalue(getattr(request, "param", "five_pair"))
    return found


both = pytest.mark.parametrize("pair", ["five_pair", "our_pair"], indirect=True)


@pytest.fixture
def topic(request: pytest.FixtureRequest, pair: Servers) -> str:
    """Return a topic of this test alone, with four queues."""
    name = f"{request.function.__name__[5:30]}_{uuid.uuid4().hex[:6]}"
    make_topic(pair, name, 4)
    return name


def test_what_we_send_is_stored_and_found(pair: Servers, topic: str) -> None:
    with blocking(pair) as client:
        message = Message(topic, BODY, tags="A", keys=["k1", "k2"], flag=7, properties=PROPERTIES)
        one = client.send(message)
        producer = Producer(client.mq)
        batch = client.run(producer.send_batch([Message(topic, b"b%d" % i) for i in range(3)]))
        key = client.run(producer.send_oneway(Message(topic, b"oneway")))
        stored = client.run(read_topic(client.mq, topic, 5))
        viewed = client.run(producer.view_message(topic, one.offset_msg_id))
        admin = Admin(client.mq)
        found = client.run(
            eventually(lambda: admin.query_message(topic, "k2"), lambda messages: len(messages) > 0)
        )

    assert (one.status, batch.status) == (SendStatus.SEND_OK, SendStatus.SEND_OK)
    ids = {message.unique_key for message in stored}
    assert ids == {one.unique_key, *batch.unique_key.split(","), key}
    assert [message.unique_key for message in found] == [one.unique_key]
    assert (viewed.body, viewed.tags, viewed.keys) == (BODY, "A", ["k1", "k2"])
    assert viewed.record.flag == 7
    assert PROPERTIES.items() <= dict(viewed.properties).items()


def test_bodies_of_every_compression_cross_both_ways(
    pair: Servers, five: JavaSide, topic: str
) -> None:
    other = f"{topic}_b"
    make_topic(pair, other, 4)
    with blocking(pair) as client:
        for kind in Compression:
            producer = Producer(client.mq, "P", ProducerSettings(compress_type=kind))
            message = Message(other, BODY, tags=kind.name, keys=["a", "b"], flag=7)
            client.run(producer.send(message))
    spec = {
        "namesrv": pair.namesrv.address,
        "topic": topic,
        "body": base64.b64encode(BODY).decode(),
        "other": other,
        "count": len(Compression),
    }
    with listening(pair, f"G_{topic}", topic) as ours:
        lines = alone(five, "FiveKinds", spec, flags=())
        wait(lambda: len(ours.got) == len(Compression), what="a message of each compression")

    read = [line for line in lines if line["event"] == "message"]
    assert {line["tags"]: body_of(line) for line in read} == {
        kind.name: BODY for kind in Compression
    }
    assert {(line["keys"], line["flag"]) for line in read} == {("a b", 7)}
    assert {message.tags: message.body for message in ours.got} == {
        kind.name: BODY for kind in Compression
    }
    assert {message.record.sys_flag & 0x701 for message in ours.got} == {0x101, 0x201, 0x301}
    assert {message.properties["Zürich"] for message in ours.got} == {"中文"}


def test_push_by_tag_and_by_sql_with_delay_and_retry(pair: Servers, topic: str) -> None:
    got: list[tuple[bytes, int]] = []

    def fails_once(messages: list[MessageExt], context: ConsumeConcurrentlyContext) -> Status:
        got.extend((message.body, message.reconsume_times) for message in messages)
        context.delay_level = 1
        return Status.RECONSUME_LATER if len(got) == 1 else OK

    with blocking(pair) as client:
        client.send(Message(topic, b"late", tags="A", delay_level=1))
        for age in (10, 20, 30):
            client.send(Message(topic, b"%d" % age, tags="B", properties={"age": str(age)}))
        with (
            listening(pair, f"Sql_{topic}", topic, MessageSelector.by_sql("age > 15")) as sql,
            client.push_consumer(
                f"Tag_{topic}", fails_once, {topic: "A || C"}, settings=FROM_FIRST
            ),
        ):
            wait(lambda: len(sql.got) == 2, what="two messages by SQL92")
            wait(lambda: len(got) == 2, what="a retry")

    assert sorted(message.body for message in sql.got) == [b"20", b"30"]
    assert got == [(b"late", 0), (b"late", 1)]


def test_orderly_consumption_keeps_the_order_of_a_sharding_key(pair: Servers, topic: str) -> None:
    with blocking(pair) as client, listening(pair, f"O_{topic}", topic, orderly=True) as ours:
        producer = Producer(client.mq)
        for number in range(20):
            message = Message(topic, b"%d" % number)
            client.run(producer.send(message, sharding_key=f"order-{number % 3}"))
        wait(lambda: len(ours.got) == 20, what="twenty messages")

    for shard in range(3):
        numbers = [int(message.body) for message in ours.got if int(message.body) % 3 == shard]
        assert numbers == list(range(shard, 20, 3))


def test_transactions_commit_roll_back_and_are_asked_for(pair: Servers, topic: str) -> None:
    asked: list[bytes] = []

    class Decides:
        def execute_local_transaction(self, message: Message, arg: object) -> LocalTransactionState:
            return LocalTransactionState[str(arg)]

        def check_local_transaction(self, message: MessageExt) -> LocalTransactionState:
            asked.append(message.body)
            return LocalTransactionState.COMMIT_MESSAGE

    with (
        blocking(pair) as client,
        client.transaction_producer(f"P_{topic}", Decides()) as producer,
        listening(pair, f"G_{topic}", topic) as ours,
    ):
        for arg in ("COMMIT_MESSAGE", "ROLLBACK_MESSAGE", "UNKNOW"):
            producer.send_message_in_transaction(Message(topic, arg.encode()), arg)
        wait(lambda: len(ours.got) >= 2, what="two messages")

    assert {message.body for message in ours.got} == {b"COMMIT_MESSAGE", b"UNKNOW"}
    assert set(asked) == {b"UNKNOW"}


def test_polled_messages_are_committed(pair: Servers, topic: str) -> None:
    group = f"L_{topic}"
    with blocking(pair) as client:
        for number in range(6):
            client.send(Message(topic, b"%d" % number, tags="AB"[number % 2]))
        bodies: list[bytes] = []
        with client.lite_pull_consumer(group, {topic: "A"}, LITE) as consumer:

            def polled() -> bool:
                bodies.extend(message.body for message in consumer.poll(1000))
                return len(bodies) >= 3

            wait(polled, what="three messages")
            consumer.commit()
        stats = client.run(Admin(client.mq).consume_stats(pair.broker.address, group))

    assert sorted(bodies) == [b"0", b"2", b"4"]
    of_topic = [at for queue, at in stats.offset_table.items() if queue.topic == topic]
    assert sum(at.consumer_offset for at in of_topic) >= 3


def test_a_question_is_answered(pair: Servers, topic: str) -> None:
    with blocking(pair) as client:

        def answer(messages: list[MessageExt], context: ConsumeConcurrentlyContext) -> Status:
            client.producer.reply(messages[0], messages[0].body.upper())
            return OK

        with client.push_consumer(f"R_{topic}", answer, {topic: "*"}, settings=FROM_FIRST):
            reply = client.request(Message(topic, b"question"), timeout_s=60)

    assert reply.body == b"QUESTION"


def test_admin_calls_are_answered(pair: Servers, topic: str) -> None:
    address, group = pair.broker.address, f"A_{topic}"
    with listening(pair, group, topic) as ours:
        client, admin = ours.client, Admin(ours.client.mq)
        client.send(Message(topic, b"x"))
        wait(lambda: len(ours.got) == 1, what="the message")
        client.run(admin.create_group(address, SubscriptionGroup(f"{group}2", retry_max_times=3)))
        clusters = client.run(admin.cluster_info())
        runtime = client.run(admin.broker_runtime(address))
        settings = client.run(admin.broker_config(address))
        topics = client.run(admin.topic_configs(address))
        groups = client.run(admin.subscription_groups(address))
        stats = client.run(admin.topic_stats(topic))
        connection = client.run(admin.consumer_connection(address, group))
        running = client.run(admin.consumer_running_info(address, group, ours.client.mq.client_id))
        of_topic = client.run(admin.groups_of_topic(address, topic))
        locks = client.run(admin.locks(address, [group]))

    assert clusters.broker_addr_table["broker-a"].broker_addrs == {0: address}
    assert runtime["brokerVersionDesc"] == "V5_4_0"
    assert settings["brokerName"] == "broker-a"
    assert topics.topics[topic].read_queue_nums == 4
    assert groups.groups[f"{group}2"].retry_max_times == 3
    assert sum(at.max_offset for at in stats.values()) == 1
    assert [each.client_id for each in connection.connection_set] == [ours.client.mq.client_id]
    assert running.properties["PROP_CONSUMEORDERLY"] == "false"
    assert group in of_topic
    assert locks is not None


@pytest.fixture
def ask(pair: Servers, tmp_path: Path) -> OurMqadmin:
    """Return our mqadmin on the pair."""
    return OurMqadmin(pair.namesrv.address, {"HOME": str(tmp_path)})


@both
def test_the_message_type_of_a_topic_is_set_shown_and_undone(
    pair: Servers, ask: OurMqadmin
) -> None:
    topic = f"Typed_{uuid.uuid4().hex[:6]}"
    (made,) = ask("topic", "create", topic, "-q", "2", "--message-type", "fifo")
    shown = ask("topic", "show", topic)
    (wider,) = ask("topic", "update", topic, "-q", "3")
    (changed,) = ask("topic", "update", topic, "--message-type", "DELAY")
    ask("undo", "-y")
    (after,) = ask("topic", "update", topic, "-q", "3")
    plain = f"{topic}_plain"
    ask("topic", "create", plain)
    ask("topic", "update", plain, "--message-type", "TRANSACTION")
    ask("undo", "-y")
    (untyped,) = ask("topic", "update", plain, "-q", "8")

    assert (made["result"], made["message_type"]) == ("changed", "FIFO")
    assert [row["message_type"] for row in shown] == ["FIFO", "FIFO"]
    assert (wider["message_type"], wider["was"]) == (
        "FIFO",
        {"read_queue_nums": 2, "write_queue_nums": 2},
    )
    assert (changed["message_type"], changed["was"]) == ("DELAY", {"message_type": "FIFO"})
    assert (after["message_type"], after["result"]) == ("FIFO", "unchanged")
    assert (untyped["message_type"], untyped["result"]) == ("NORMAL", "unchanged")


@both
def test_consume_modes_are_set_shown_and_undone(pair: Servers, topic: str, ask: OurMqadmin) -> None:
    group = f"G_{topic}"
    (set_,) = ask("group", "consume-mode", "set", group, topic, "pop", "--share-queues", "2")
    (shown,) = ask("group", "consume-mode", "get", group)
    (same,) = ask("group", "consume-mode", "set", group, topic, "POP", "--share-queues", "2")
    ask("undo", "-y")
    (after,) = ask("group", "consume-mode", "get", group, "--topic", topic)

    assert (set_["mode"], set_["was"], set_["result"]) == ("POP", "PULL", "changed")
    assert (shown["topic"], shown["mode"], shown["share_queues"]) == (topic, "POP", 2)
    assert same["result"] == "unchanged"
    assert (after["mode"], after["share_queues"]) == ("PULL", 0)


@both
def test_a_timer_message_waits_in_the_list_and_is_recalled(
    pair: Servers, topic: str, ask: OurMqadmin
) -> None:
    def waiting() -> list[int]:
        rows = ask("delay", "list", "--waiting")
        return [row["pending"] for row in rows if row["topic"] == topic]

    (late,) = ask("message", "send", topic, "late", "-p", "TIMER_DELAY_SEC=3600")
    wait(lambda: waiting() == [1])
    (dry,) = ask("message", "recall", late["recall_handle"], "--dry-run")
    (recalled,) = ask("message", "recall", late["recall_handle"], "-y")
    # The recall is a message of the timer itself, and meets the other one when both are due.
    (plain,) = ask("message", "send", topic, "now")

    assert dry["result"] == "would change"
    assert (recalled["topic"], recalled["broker"]) == (topic, pair.broker.name)
    assert (recalled["unique_key"], recalled["result"]) == (late["unique_key"], "changed")
    assert plain["recall_handle"] is None


@both
def test_a_recalled_message_is_not_delivered(pair: Servers, topic: str, ask: OurMqadmin) -> None:
    with listening(pair, f"G_{topic}", topic) as ours:
        (gone,) = ask("message", "send", topic, "gone", "-p", "TIMER_DELAY_SEC=8")
        ask("message", "send", topic, "kept", "-p", "TIMER_DELAY_SEC=8")
        ask("message", "recall", gone["recall_handle"], "-y")
        ask("message", "send", topic, "last", "-p", "TIMER_DELAY_SEC=10")
        wait(lambda: b"last" in [message.body for message in ours.got], what="the last message")

    assert sorted(message.body for message in ours.got) == [b"kept", b"last"]


def test_main_commands_of_mqadmin(pair: Servers, ask: OurMqadmin) -> None:
    topic, group = f"Commands_{uuid.uuid4().hex[:6]}", "CommandsGroup"
    assert ask("topic", "create", topic, "-q", "2")[0]["result"] == "changed"
    sent = [ask("message", "send", topic, f"m{i}", "-k", f"k{i}")[0] for i in range(2)]
    with listening(pair, group, topic) as ours:
        wait(lambda: len(ours.got) == 2, what="both messages")
        members = ask("group", "show", group)

        def behind() -> list[int]:
            return [row["lag"] for row in ask("group", "lag", group) if row["topic"] == topic]

        wait(lambda: behind() == [0, 0], what="no lag")

    assert topic in [row["topic"] for row in ask("topic", "list")]
    assert sum(row["max_offset"] for row in ask("topic", "show", topic)) == 2
    assert group in [row["group"] for row in ask("group", "list")]
    assert ours.client.mq.client_id in json.dumps(members)
    for words in (("id", sent[0]["msg_id"]), ("key", topic, "k0")):
        assert [row["msg_id"] for row in ask("message", "query", *words)] == [sent[0]["msg_id"]]
    (broker,) = ask("cluster", "list")
    assert (broker["address"], broker["version"]) == (pair.broker.address, "V5_4_0")
    assert ask("broker", "status", "-b", "broker-a")


@both
def test_a_group_that_pops_is_told_and_its_messages_are_in_flight_on_our_broker(
    pair: Servers, topic: str, ask: OurMqadmin
) -> None:
    group = f"G_{topic}"
    ask("group", "create", group)
    ask("group", "consume-mode", "set", group, topic, "POP")
    with blocking(pair) as client:
        client.send(Message(topic, b"x"))
        with client.simple_consumer(group, {topic: "*"}) as consumer:
            wait(lambda: consumer.receive(invisible_ms=600_000, wait_ms=5_000), what="the message")

    def inflight() -> list[int | None]:
        return [row["inflight"] for row in ask("group", "lag", group, topic) if row["inflight"]]

    # A broker of 5.4.0 counts what is pulled, and not what is popped.
    wanted = [1] if pair.are_ours else []
    wait(lambda: inflight() == wanted, what="the message in flight")
    (shown,) = ask("group", "show", group)
    ask("rebalance", "show", group, topic)

    assert shown["inflight"] == (1 if pair.are_ours else 0)
    assert f"group {group} pops topic {topic} on {pair.broker.name}" in ask.err
