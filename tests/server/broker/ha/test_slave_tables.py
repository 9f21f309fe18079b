"""A slave has the tables of its master, whatever clients do at the slave first."""

import pytest

from mqclient import (
    ConsumeConcurrentlyStatus,
    ConsumeFromWhere,
    MQClient,
    PushConsumer,
    PushSettings,
)
from mqserver.broker.config import BrokerRole
from remoting.bodies import (
    MessageRequestMode,
    SetMessageRequestModeRequestBody,
    encode_value,
)
from remoting.codes import LaterCode, RequestCode
from remoting.header import Header
from remoting.headers import (
    ChangeInvisibleTime,
    CloneGroupOffset,
    ConsumerSendMsgBack,
    DeleteSubscriptionGroup,
    DeleteTopic,
    PopMessage,
    RecallMessage,
    UnregisterClient,
    UpdateConsumerOffset,
)
from remoting.headers.group import GetSubscriptionGroupConfig
from storefmt.config.tables import GroupTable, SubscriptionGroup, TopicConfig, TopicTable
from tests.server.broker.desk import TOPIC, Desk, create, end_transaction, heartbeat, pull, send
from tests.server.broker.ha.pairs import Pair, equal_ends, state_of
from tests.waiting import until

MASTER, SLAVE = BrokerRole.ASYNC_MASTER, BrokerRole.SLAVE
NEW = "new-group"
REFUSED_BY_5 = "Can't modify topic or subscription group from slave broker"

Asked = tuple[int, Header | None, bytes]
REQUESTS: dict[str, Asked] = {
    "a heartbeat": (RequestCode.HEART_BEAT, None, heartbeat(group=NEW)),
    "a pull": (RequestCode.PULL_MESSAGE, pull(consumer_group=NEW), b""),
    "a commit": (
        RequestCode.UPDATE_CONSUMER_OFFSET,
        UpdateConsumerOffset(consumer_group=NEW, topic=TOPIC, queue_id=0, commit_offset=2),
        b"",
    ),
    "leaving": (
        RequestCode.UNREGISTER_CLIENT,
        UnregisterClient(client_id="c1", consumer_group=NEW),
        b"",
    ),
    "the settings of a group": (
        LaterCode.GET_SUBSCRIPTIONGROUP_CONFIG,
        GetSubscriptionGroupConfig(group=NEW),
        b"",
    ),
    "a send": (RequestCode.SEND_MESSAGE_V2, send(topic="Auto"), b"x"),
    "a send to a retry topic": (RequestCode.SEND_MESSAGE_V2, send(topic="%RETRY%" + NEW), b"x"),
    "a message sent back": (
        RequestCode.CONSUMER_SEND_MSG_BACK,
        ConsumerSendMsgBack(offset=0, group=NEW, delay_level=0, max_reconsume_times=0),
        b"",
    ),
    "a message given up": (
        RequestCode.CONSUMER_SEND_MSG_BACK,
        ConsumerSendMsgBack(offset=0, group=NEW, delay_level=-1),
        b"",
    ),
    "the end of a transaction": (RequestCode.END_TRANSACTION, end_transaction(0, 0), b""),
    "a pop": (
        LaterCode.POP_MESSAGE,
        PopMessage(
            consumer_group=NEW, topic=TOPIC, queue_id=0, max_msg_nums=1, invisible_time=1_000,
            poll_time=0, born_time=0, init_mode=0,
        ),
        b"",
    ),
    "a changed invisible time": (
        LaterCode.CHANGE_MESSAGE_INVISIBLETIME,
        ChangeInvisibleTime(
            consumer_group=NEW, topic=TOPIC, queue_id=0, offset=0, invisible_time=1_000,
            extra_info="0 1 1000 0 0 broker-a 0 0",
        ),
        b"",
    ),
    "a recall": (
        LaterCode.RECALL_MESSAGE,
        RecallMessage(producer_group="P", topic=TOPIC, recall_handle="x"),
        b"",
    ),
    "cloned offsets": (
        RequestCode.CLONE_GROUP_OFFSET,
        CloneGroupOffset(src_group="G", dest_group=NEW, topic=TOPIC, offline=True),
        b"",
    ),
    "settings of the broker": (RequestCode.UPDATE_BROKER_CONFIG, None, b"brokerPermission=6"),
    "the cleaning of queues": (RequestCode.CLEAN_UNUSED_TOPIC, None, b""),
}  # fmt: skip
MODE = SetMessageRequestModeRequestBody(
    topic=TOPIC, consumer_group=NEW, mode=MessageRequestMode.POP
)
CHANGES: dict[str, Asked] = {
    "a topic": (RequestCode.UPDATE_AND_CREATE_TOPIC, create("Own"), b""),
    "a deleted topic": (RequestCode.DELETE_TOPIC_IN_BROKER, DeleteTopic(topic=TOPIC), b""),
    "a group": (
        RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP,
        None,
        encode_value(SubscriptionGroup("own")),
    ),
    "a deleted group": (
        RequestCode.DELETE_SUBSCRIPTIONGROUP,
        DeleteSubscriptionGroup(group_name="G", remove_offset=True),
        b"",
    ),
    "a request mode": (LaterCode.SET_MESSAGE_REQUEST_MODE, None, MODE.encode()),
}


def tables(desk: Desk) -> tuple[TopicTable, GroupTable]:
    return desk.app.broker.topics.table(), desk.app.broker.groups.table()


async def equal_tables(pair: Pair) -> Desk:
    """Return a slave that has messages, topics and groups of its master."""
    master = await pair.start("m", MASTER)
    slave = await pair.start("s", SLAVE, slave_read_enable=True)
    for _ in range(3):
        await master.send()
    master.app.broker.groups.put(SubscriptionGroup("G", retry_max_times=3), now_ms=1)
    await master.commit(2, group="G")
    await equal_ends(master, slave)
    await copied(pair)
    return slave


async def copied(pair: Pair) -> None:
    replication = pair.running["s"].app._replication
    assert replication is not None
    await until(lambda: state_of(pair.running["s"]) == "RECEIVING", what="connected")
    await replication.round(1)
    assert tables(pair.running["m"]) == tables(pair.running["s"])


async def ask(desk: Desk, asked: Asked) -> str:
    code, header, body = asked
    return (await desk.ask(code, header, body=body)).remark or ""


@pytest.mark.parametrize("asked", REQUESTS.values(), ids=REQUESTS.keys())
async def test_slave_creates_nothing_that_its_master_will_send(pair: Pair, asked: Asked) -> None:
    slave = await equal_tables(pair)
    names = set(slave.app.broker.topics.names()), set(slave.app.broker.groups.names())

    await ask(slave, asked)

    assert (set(slave.app.broker.topics.names()), set(slave.app.broker.groups.names())) == names
    await pair.running["m"].create_topic("Later")
    await copied(pair)


@pytest.mark.parametrize("asked", CHANGES.values(), ids=CHANGES.keys())
async def test_slave_refuses_changes_of_its_masters_tables_as_5_does(
    pair: Pair, asked: Asked
) -> None:
    slave = await equal_tables(pair)
    before = tables(slave)

    remark = await ask(slave, asked)

    assert remark.startswith(REFUSED_BY_5)
    assert tables(slave) == before


async def test_promoted_slave_has_all_that_its_master_had_whatever_clients_did(pair: Pair) -> None:
    slave = await equal_tables(pair)
    for asked in (*REQUESTS.values(), *CHANGES.values()):
        await ask(slave, asked)
    master = pair.running["m"]
    await master.create_topic("Later", queues=8)
    master.app.broker.groups.put(SubscriptionGroup(NEW, retry_max_times=5), now_ms=2)
    await master.send(b"late", properties="DELAY\x018")
    await master.send(b"timer", properties="TIMER_DELAY_SEC\x01600")
    await ask(master, CHANGES["a request mode"])
    await master.commit(3, group=NEW)
    await equal_ends(master, slave)
    await until(lambda: master.app.broker.timer.metrics.counts() == {TOPIC: 1}, what="a timer")
    await copied(pair)
    expected = master.app.broker
    await pair.stop("m")
    await until(lambda: state_of(slave) == "CONNECTING", what="lost")

    assert (await pair.promote("s")).code == 0

    broker = slave.app.broker
    assert broker.topics.get("Later") == TopicConfig("Later", 8, 8)
    assert broker.topics.names() == expected.topics.names()
    assert broker.groups.table() == expected.groups.table()
    assert broker.pops.modes.table == expected.pops.modes.table
    assert broker.delay.offsets().offsets == expected.delay.offsets().offsets
    for group, queue_offset in (("G", 2), (NEW, 3)):
        assert broker.offsets.get(group, TOPIC, queue_id=0) == queue_offset
    await until(lambda: broker.timer.metrics.counts() == {TOPIC: 1}, what="the timer again")


async def test_new_consumer_reads_all_from_the_slave_while_the_master_is_away(pair: Pair) -> None:
    slave = await equal_tables(pair)
    await pair.stop("m")
    await until(lambda: state_of(slave) == "CONNECTING", what="lost")
    bodies: list[bytes] = []

    def consume(messages: object, _: object) -> ConsumeConcurrentlyStatus:
        bodies.extend(message.body for message in messages)  # type: ignore[attr-defined]
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    settings = PushSettings(
        consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
        persist_consumer_offset_interval_ms=100,
    )
    async with MQClient(pair.namesrv, timeout_s=30) as client:
        consumer = PushConsumer(client, NEW, settings)
        consumer.subscribe(TOPIC, "*")
        consumer.register_message_listener(consume)
        await consumer.start()
        offsets = slave.app.broker.offsets
        await until(lambda: offsets.get(NEW, TOPIC, queue_id=0) == 3, what="its offset")
        await consumer.shutdown()

    assert len(bodies) == 3
    master = await pair.start("m", MASTER)
    assert master.app.broker.offsets.get(NEW, TOPIC, queue_id=0) == 3
