"""Our admin calls against the real servers and ours, with live Java consumers."""

import asyncio

import pytest

from mqclient.admin.admin import Admin
from mqclient.admin.offset import LATEST_MS
from mqclient.client.instance import MQClient
from mqclient.errors import BadRequest, BrokerRefused, NoRoute, NotFound
from mqclient.message import Message
from mqclient.producer.producer import Producer
from remoting.bodies import ConsumeType, MessageModel, MessageQueue
from storefmt.config.tables import SubscriptionGroup, TopicConfig
from tests.interop.kit.our_clients import connected, dispatched, read_topic
from tests.interop.kit.servers import Broker, Servers
from tests.interop.kit.toolbox import Toolbox, spec_of
from tests.waiting import eventually


@pytest.fixture
def client(servers: Servers) -> MQClient:
    """Return a client of the servers, which is open for the time of a test."""
    return connected(servers.namesrv.address)


async def fill(
    client: MQClient, broker: Broker, topic: str, count: int, *, queues: int = 2
) -> list[MessageQueue]:
    """Make a topic, put ``count`` messages into each queue, return the queues."""
    config = TopicConfig(topic, read_queue_nums=queues, write_queue_nums=queues)
    await Admin(client).create_topic(broker.address, config)
    made = [MessageQueue(topic, broker.name, queue_id) for queue_id in range(queues)]
    for queue in made:
        for i in range(count):
            message = Message(topic, b"%d" % i, keys=f"{topic}-{queue.queue_id}-{i}", tags="A")
            await Producer(client).send(message, queue=queue)
    await dispatched(client, broker.address)
    return made


async def test_cluster_topics_and_settings(servers: Servers, client: MQClient) -> None:
    topic = "AdminTopic"

    admin = Admin(client)
    config = TopicConfig(topic, read_queue_nums=3, write_queue_nums=2, perm=4)
    await admin.create_topic(servers.broker.address, config)

    cluster = await admin.cluster_info()
    route = await admin.topic_route(topic)
    assert cluster.cluster_addr_table == {servers.broker.cluster: [servers.broker.name]}
    assert cluster.broker_addr_table[servers.broker.name].broker_addrs == {
        0: servers.broker.address
    }
    assert topic in await admin.topic_list()
    assert topic in await admin.topics_by_cluster(servers.broker.cluster)
    assert await admin.topics_by_cluster("NoSuchCluster") == []
    assert "TBW102" in await admin.system_topics(servers.broker.address)
    assert (await admin.topic_configs(servers.broker.address)).topics[topic] == config
    assert [(q.read_queue_nums, q.write_queue_nums, q.perm) for q in route.queue_datas] == [
        (3, 2, 4)
    ]
    assert (await admin.broker_config(servers.broker.address))["brokerName"] == servers.broker.name
    assert (await admin.namesrv_config())["listenPort"] in servers.namesrv.address

    await admin.delete_topic_in_broker(servers.broker.address, topic)
    assert topic not in (await admin.topic_configs(servers.broker.address)).topics
    assert topic in await admin.topic_list()
    await admin.delete_topic_in_namesrv(servers.namesrv.address, topic)
    with pytest.raises(NoRoute):
        await admin.topic_route(topic)


async def test_groups_are_made_listed_and_deleted(servers: Servers, client: MQClient) -> None:
    group = SubscriptionGroup("AdminGroup", retry_max_times=3, consume_broadcast_enable=False)

    admin, address = Admin(client), servers.broker.address
    await admin.create_group(address, group)
    assert (await admin.subscription_groups(address)).groups["AdminGroup"] == group
    await admin.delete_group(address, "AdminGroup", remove_offset=True)
    assert "AdminGroup" not in (await admin.subscription_groups(address)).groups


async def test_key_value_table(servers: Servers, client: MQClient) -> None:
    admin = Admin(client)
    await admin.kv_put("NS", "k", "v = 1")
    assert await admin.kv_get("NS", "k") == "v = 1"
    assert await admin.kv_list("NS") == {"k": "v = 1"}
    await admin.kv_delete("NS", "k")
    assert await admin.kv_get("NS", "k") is None
    assert await admin.kv_list("NoSuchNamespace") == {}


async def test_write_permission_is_wiped_and_added(servers: Servers, client: MQClient) -> None:
    admin, address = Admin(client), servers.namesrv.address
    assert await admin.wipe_write_perm(address, servers.broker.name) > 0
    wiped = (await admin.topic_route("TBW102")).queue_datas[0].perm
    assert await admin.add_write_perm(address, servers.broker.name) > 0
    added = (await admin.topic_route("TBW102")).queue_datas[0].perm
    assert (wiped & 2, added & 2) == (0, 2)


async def test_messages_by_id_place_and_key(servers: Servers, client: MQClient) -> None:
    topic = "AdminQuery"

    await fill(client, servers.broker, topic, 3)
    admin = Admin(client)
    (found,) = await admin.query_message(topic, f"{topic}-1-2")
    assert (found.body, found.queue_id, found.queue_offset) == (b"2", 1, 2)
    assert found.unique_key is not None
    (same,) = await admin.query_message(topic, found.unique_key, unique=True)
    by_id = await admin.view_message(found.offset_msg_id)
    by_place = await admin.view_message_at(servers.broker.address, found.log_offset)
    assert same.record == by_id.record == by_place.record == found.record
    assert await admin.query_message(topic, "no such key") == []
    assert await admin.query_message(topic, f"{topic}-1-2", end_ms=1) == []
    entries = await admin.query_consume_queue(
        servers.broker.address, topic, 1, queue_offset=2, count=5
    )
    assert entries.queue_data is not None
    assert [(e.physic_offset, e.physic_size) for e in entries.queue_data] == [
        (found.log_offset, found.record.size)
    ]
    with pytest.raises(NotFound):
        await admin.view_message_at(servers.broker.address, 10**12)
    with pytest.raises(NotFound):
        await admin.query_consume_queue(servers.broker.address, topic, 1, queue_offset=99, count=1)
    with pytest.raises(BadRequest):
        await admin.view_message("not an id")


async def test_offsets_by_end_time_and_group(servers: Servers, client: MQClient) -> None:
    topic, group = "AdminOffsets", "OffsetGroup"

    admin, address = Admin(client), servers.broker.address
    queue, other = await fill(client, servers.broker, topic, 5)
    times = [m.store_ms for m in await read_topic(client, topic, 10) if m.queue_id == 0]
    stats = await admin.topic_stats(topic)

    assert (await admin.min_offset(queue), await admin.max_offset(queue)) == (0, 5)
    assert {q: (o.min_offset, o.max_offset) for q, o in stats.items()} == {
        queue: (0, 5),
        other: (0, 5),
    }
    assert stats[queue].last_update_timestamp == times[-1]
    assert await admin.search_offset(queue, times[0] - 1_000) == 0
    assert times[await admin.search_offset(queue, times[2])] == times[2]
    assert await admin.search_offset(queue, times[-1] + 10_000) == 4
    assert await admin.earliest_store_ms(queue) == times[0]

    await admin.update_consumer_offset(address, group, queue, 3)
    assert await admin.query_consumer_offset(address, group, queue) == 3
    assert (await admin.all_consumer_offsets(address))[topic, group] == {0: 3}
    assert await admin.groups_of_topic(address, topic) == [group]
    await admin.clone_group_offset(address, group, "ClonedGroup", topic=topic)
    assert await admin.query_consumer_offset(address, "ClonedGroup", queue) == 3


async def test_offline_group_is_reset_by_time(servers: Servers, client: MQClient) -> None:
    topic, group = "ResetOffline", "OfflineGroup"

    admin, address = Admin(client), servers.broker.address
    queues = await fill(client, servers.broker, topic, 4)

    latest = await admin.reset_offset_by_time(address, group, topic, LATEST_MS)
    earliest = await admin.reset_offset_by_time(address, group, topic, 0)
    forward = await admin.reset_offset_by_time(address, group, topic, LATEST_MS, force=False)

    assert latest == dict.fromkeys(queues, 4)
    assert earliest == dict.fromkeys(queues, 0)
    assert forward == dict.fromkeys(queues, 0)
    assert (await admin.all_consumer_offsets(address))[topic, group] == {0: 0, 1: 0}


async def test_online_group_is_seen_and_reset_by_time(
    toolbox: Toolbox, servers: Servers, client: MQClient
) -> None:
    topic, group = "ResetOnline", "OnlineGroup"

    admin, address = Admin(client), servers.broker.address
    queues = await fill(client, servers.broker, topic, 4)
    spec = spec_of(servers, topic, group=group, linger=True, count=8)
    job = toolbox.start("PushConsumer", spec)
    client_id = (await asyncio.to_thread(job.until, "started"))[-1]["clientId"]
    first = await asyncio.to_thread(job.messages, 8)

    async def committed() -> dict[int, int]:
        return (await admin.all_consumer_offsets(address)).get((topic, group), {})

    await eventually(committed, lambda offsets: offsets == {0: 4, 1: 4})
    stats = await admin.consume_stats(address, group, topic)
    connection = await admin.consumer_connection(address, group)
    info = await admin.consumer_running_info(address, group, client_id)
    assert {
        q: (o.broker_offset, o.consumer_offset) for q, o in stats.offset_table.items()
    } == dict.fromkeys(queues, (4, 4))
    assert [c.client_id for c in connection.connection_set] == [client_id]
    assert connection.consume_type is ConsumeType.CONSUME_PASSIVELY
    assert connection.message_model is MessageModel.CLUSTERING
    assert connection.subscription_table[topic].sub_string == "*"
    assert await admin.consumer_ids(address, group) == [client_id]
    assert set(queues) <= set(info.mq_table)
    assert info.status_table[topic].consume_failed_msgs == 0

    loop = asyncio.get_running_loop()

    def reset() -> None:
        ask = admin.reset_offset_by_time(address, group, topic, 0)
        moved = asyncio.run_coroutine_threadsafe(ask, loop).result()
        assert moved == dict.fromkeys(queues, 0)

    ids = {line["msgId"] for line in first}
    again = await asyncio.to_thread(job.every_again, reset, "msgId", ids)
    assert {line["msgId"] for line in again} == ids
    await asyncio.to_thread(job.stop)

    async def members() -> list[str]:
        return await admin.consumer_ids(address, group)

    await eventually(members, lambda ids: ids == [])
    with pytest.raises(BrokerRefused) as offline:
        await admin.consumer_connection(address, group)
    assert offline.value.code == 206


async def test_locks_of_an_orderly_consumer(
    toolbox: Toolbox, servers: Servers, client: MQClient
) -> None:
    topic, group = "AdminLocks", "LockGroup"

    admin, address = Admin(client), servers.broker.address
    queues = await fill(client, servers.broker, topic, 3)
    spec = spec_of(servers, topic, group=group, linger=True, count=6, mode="orderly")
    job = toolbox.start("PushConsumer", spec)
    client_id = (await asyncio.to_thread(job.until, "started"))[-1]["clientId"]
    got = await asyncio.to_thread(job.messages, 6)

    view = await admin.locks(address, [group])
    mine = [lock for lock in view.locks if lock.queue.topic == topic]
    assert view.exact is servers.are_ours
    assert view.unanswered == []
    assert [(lock.queue, lock.client_id) for lock in mine] == [(q, client_id) for q in queues]
    assert await admin.lock_batch(address, group, "somebody", queues) == []
    for queue in queues:
        orders = [m["queueOffset"] for m in got if m["queueId"] == queue.queue_id]
        assert orders == [0, 1, 2]
    await asyncio.to_thread(job.stop)

    async def lock() -> list[MessageQueue]:
        return await admin.lock_batch(address, group, "somebody", queues)

    assert await eventually(lock, lambda held: len(held) == len(queues)) == queues
    assert await admin.lock_batch(address, group, "another", queues) == []
    await admin.unlock_batch(address, group, "somebody", queues)
    assert await admin.lock_batch(address, group, "another", queues) == queues


async def test_java_mqadmin_sees_what_we_did(
    toolbox: Toolbox, servers: Servers, client: MQClient
) -> None:
    topic, group = "SeenByJava", "SeenGroup"

    admin, address = Admin(client), servers.broker.address
    queue, _ = await fill(client, servers.broker, topic, 3)
    # Java's consumerProgress finds the topics of a group by way of its retry topic.
    await admin.create_topic(address, TopicConfig(f"%RETRY%{group}", 1, 1))
    await admin.update_consumer_offset(address, group, queue, 1)
    (message,) = await admin.query_message(topic, f"{topic}-0-2")
    where = ("-n", servers.namesrv.address)

    async def mqadmin(*words: str) -> str:
        output = await asyncio.to_thread(toolbox.mqadmin, *words, *where)
        assert output.stderr == ""
        return output.stdout

    assert topic in (await mqadmin("topicList")).split()
    status = await mqadmin("topicStatus", "-t", topic)
    rows = [line.split()[:4] for line in status.splitlines() if not line.startswith("#")]
    assert rows == [["broker-a", "0", "0", "3"], ["broker-a", "1", "0", "3"]]
    by_id = await mqadmin("queryMsgById", "-i", message.offset_msg_id)
    assert f"Keys:                [{topic}-0-2]" in by_id
    by_key = await mqadmin("queryMsgByKey", "-t", topic, "-k", f"{topic}-0-2")
    assert message.unique_key is not None
    assert message.unique_key in by_key
    unique = await mqadmin("queryMsgByUniqueKey", "-t", topic, "-i", message.unique_key)
    assert "Queue Offset:        2" in unique
    progress = await mqadmin("consumerProgress", "-g", group)
    assert [topic, "broker-a", "0", "3", "1", "2"] in [
        line.split()[:6] for line in progress.splitlines()
    ]
