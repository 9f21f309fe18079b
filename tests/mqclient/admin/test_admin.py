"""Admin calls: each sends one request to the right server and returns a typed value."""

import pytest

from mqclient.errors import BadAnswer, BadRequest, BrokerRefused, NoRoute, NotFound
from remoting.bodies import (
    ClusterInfo,
    ConsumerConnection,
    KVTable,
    MessageQueue,
    QueryConsumeQueueResponseBody,
    ResetOffsetBody,
    TopicList,
    TopicOffset,
    TopicStatsTable,
)
from remoting.codes import LaterCode, RequestCode, ResponseCode
from remoting.headers import (
    GetEarliestMsgStoretimeResponse,
    GetKVConfigResponse,
    GetMaxOffsetResponse,
    QueryConsumerOffsetResponse,
    QueryMessageResponse,
    SearchOffsetResponse,
)
from storefmt.config import fastjson
from storefmt.config.tables import SubscriptionGroup, TopicConfig, TopicTable
from tests.mqclient.fake import NOW_MS, asking, record

QUEUES = [MessageQueue("T", "broker-0", queue_id) for queue_id in (0, 1)]
INDEX = QueryMessageResponse(index_last_update_timestamp=0, index_last_update_phyoffset=0)


async def test_name_server_is_asked_for_clusters_and_topics() -> None:
    async with asking() as (fake, admin):
        topics = TopicList(topic_list=["b", "a"]).encode()
        fake.say(RequestCode.GET_BROKER_CLUSTER_INFO, body=b'{"clusterAddrTable":{"C":["b"]}}')
        fake.say(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, body=topics)
        fake.say(RequestCode.GET_TOPICS_BY_CLUSTER, body=topics)

        assert await admin.cluster_info() == ClusterInfo(cluster_addr_table={"C": ["b"]})
        assert await admin.topic_list() == ["a", "b"]
        assert await admin.topics_by_cluster("C") == ["a", "b"]


async def test_topic_stats_come_from_every_broker() -> None:
    async with asking(brokers=2) as (fake, admin):
        for name in ("broker-1", "broker-0"):
            table = {MessageQueue("T", name, 0): TopicOffset(max_offset=3)}
            fake.say(
                RequestCode.GET_TOPIC_STATS_INFO,
                body=TopicStatsTable(offset_table=table).encode(),
            )
        queues = await admin.topic_stats("T")
        assert [queue.broker_name for queue in queues] == ["broker-0", "broker-1"]


async def test_topic_and_group_settings_go_out_and_come_back() -> None:
    topic = TopicConfig("T", read_queue_nums=3, write_queue_nums=2, perm=4, order=True)
    group = SubscriptionGroup("G", retry_max_times=1)

    async with asking() as (fake, admin):
        for code in (17, 200, 207, 215, 216):
            fake.say(code)
        fake.say(RequestCode.GET_ALL_TOPIC_CONFIG, body=TopicTable({"T": topic}).encode().encode())
        await admin.create_topic(fake.address, topic)
        await admin.create_group(fake.address, group)
        await admin.delete_group(fake.address, "G", remove_offset=True)
        await admin.delete_topic_in_broker(fake.address, "T")
        await admin.delete_topic_in_namesrv(fake.address, "T", cluster="C")

        created, grouped, deleted, broker, namesrv = fake.asked
        assert created.ext["perm"] == "4"
        assert (created.ext["readQueueNums"], created.ext["writeQueueNums"]) == ("3", "2")
        assert (created.ext["order"], created.ext["topicFilterType"]) == ("true", "SINGLE_TAG")
        assert SubscriptionGroup.from_json(fastjson.loads(grouped.body)) == group
        assert deleted.ext == {"groupName": "G", "removeOffset": "true", "cleanOffset": "true"}
        assert (broker.ext["topic"], namesrv.ext["clusterName"]) == ("T", "C")
        assert (await admin.topic_configs(fake.address)).topics == {"T": topic}


async def test_attributes_of_a_group_go_out_as_changes() -> None:
    group = SubscriptionGroup("G", extra={"attributes": {"priority.factor": "50"}})

    async with asking() as (fake, admin):
        fake.say(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP)
        await admin.create_group(fake.address, group)

        (asked,) = fake.asked
        sent = SubscriptionGroup.from_json(fastjson.loads(asked.body))
        assert sent.extra == {"attributes": {"+priority.factor": "50"}}


async def test_attributes_of_a_topic_are_unknown_where_the_broker_does_not_know_them() -> None:
    code, fifo = LaterCode.GET_TOPIC_CONFIG, {"message.type": "FIFO"}

    async with asking() as (fake, admin):
        fake.say(code, body=b'{"topicName":"T","attributes":{"message.type":"FIFO"}}')
        fake.say(code, body=b'{"topicName":"T"}')
        for refusal in (ResponseCode.REQUEST_CODE_NOT_SUPPORTED, ResponseCode.TOPIC_NOT_EXIST):
            fake.say(code, refusal, remark="no")
        fake.say(code, ResponseCode.SYSTEM_ERROR, remark="no")
        fake.say(code, body=b"[")

        assert [await admin.topic_attributes(fake.address, "T") for _ in range(4)] == [
            *(fifo, {}, None, None)
        ]
        with pytest.raises(BrokerRefused):
            await admin.topic_attributes(fake.address, "T")
        with pytest.raises(BadAnswer):
            await admin.topic_attributes(fake.address, "T")


async def test_group_without_members_is_empty_and_other_refusals_stay() -> None:
    async with asking() as (fake, admin):
        fake.say(RequestCode.GET_CONSUMER_LIST_BY_GROUP, 1, remark="no consumer for this group")
        fake.say(RequestCode.GET_CONSUMER_LIST_BY_GROUP, 2, remark="busy")
        fake.list_members("b", "a")
        assert await admin.consumer_ids(fake.address, "G") == []
        with pytest.raises(BrokerRefused):
            await admin.consumer_ids(fake.address, "G")
        assert await admin.consumer_ids(fake.address, "G") == ["a", "b"]


async def test_message_is_found_by_id_place_and_key() -> None:
    raw = record("T", b"x", log_offset=77, properties="KEYS\x01k1 k2\x02UNIQ_KEY\x01U")
    other = record("T", b"y", properties="KEYS\x01other", store_ms=NOW_MS - 5)

    async with asking() as (fake, admin):
        fake.say(RequestCode.VIEW_MESSAGE_BY_ID, body=raw)
        fake.say(RequestCode.VIEW_MESSAGE_BY_ID, 1, remark="can not find message")
        fake.say(RequestCode.QUERY_MESSAGE, header=INDEX, body=raw + other)
        assert (await admin.view_message_at(fake.address, 77)).body == b"x"
        with pytest.raises(NotFound) as gone:
            await admin.view_message_at(fake.address, 78)
        with pytest.raises(BadRequest):
            await admin.view_message("short")
        assert gone.value.code == 1
        assert [m.body for m in await admin.query_message("T", "k2")] == [b"x"]
        assert [m.body for m in await admin.query_message("T", "U", unique=True)] == [b"x"]
        assert await admin.query_message("T", "hash of x only") == []
        first, second, _ = fake.asked_for(RequestCode.QUERY_MESSAGE)
        assert "_UNIQUE_KEY_QUERY" not in first.ext
        assert "_UNIQUE_KEY_QUERY" not in second.ext
        assert first.ext["endTimestamp"] == "9223372036854775807"


async def test_key_is_looked_up_on_every_broker_and_missing_is_no_error() -> None:
    async with asking(brokers=2) as (fake, admin):
        fake.say(RequestCode.QUERY_MESSAGE, 22, remark="no message")
        body = record("T", b"x", properties="KEYS\x01k")
        fake.say(RequestCode.QUERY_MESSAGE, header=INDEX, body=body)
        assert [m.body for m in await admin.query_message("T", "k")] == [b"x"]


async def test_view_of_several_records_is_a_bad_answer() -> None:
    async with asking() as (fake, admin):
        fake.say(RequestCode.VIEW_MESSAGE_BY_ID, body=record("T", b"x") * 2)
        with pytest.raises(BadAnswer, match="sent 2 messages"):
            await admin.view_message_at(fake.address, 0)


async def test_consume_queue_entries_or_none() -> None:
    async with asking() as (fake, admin):
        entries = QueryConsumeQueueResponseBody(max_queue_index=3)
        fake.say(RequestCode.QUERY_CONSUME_QUEUE, body=entries.encode())
        fake.say(RequestCode.QUERY_CONSUME_QUEUE, remark="Index 9 of 0@T is not exist!")

        async def ask(queue_offset: int) -> QueryConsumeQueueResponseBody:
            return await admin.query_consume_queue(
                fake.address, "T", 0, queue_offset=queue_offset, count=1
            )

        assert (await ask(0)).max_queue_index == 3
        with pytest.raises(NotFound, match="has no entry 9"):
            await ask(9)


async def test_online_group_is_reset_by_the_broker() -> None:
    async with asking() as (fake, admin):
        table = {QUEUES[1]: 7, QUEUES[0]: 5}
        fake.say(
            RequestCode.INVOKE_BROKER_TO_RESET_OFFSET,
            body=ResetOffsetBody(offset_table=table).encode(),
        )
        moved = await admin.reset_offset_by_time(fake.address, "G", "T", 123)
        assert list(moved.items()) == [(QUEUES[0], 5), (QUEUES[1], 7)]
        assert fake.asked[0].ext == {
            "topic": "T", "group": "G", "timestamp": "123", "isForce": "true",
        }  # fmt: skip


@pytest.mark.parametrize(
    ("timestamp_ms", "force", "committed", "expected"),
    [(-1, True, 4, 9), (123, True, 4, 6), (123, False, 4, 4), (123, False, None, 6)],
)
async def test_offline_group_is_reset_from_here(
    timestamp_ms: int, force: bool, committed: int | None, expected: int
) -> None:
    async with asking() as (fake, admin):
        fake.say(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, 206, remark="not online")
        fake.say(RequestCode.GET_MAX_OFFSET, header=GetMaxOffsetResponse(offset=9))
        fake.say(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, header=SearchOffsetResponse(offset=6))
        known = QueryConsumerOffsetResponse(offset=committed or 0)
        code = 22 if committed is None else 0
        fake.say(RequestCode.QUERY_CONSUMER_OFFSET, code, header=known)
        fake.say(RequestCode.UPDATE_CONSUMER_OFFSET)
        moved = await admin.reset_offset_by_time(fake.address, "G", "T", timestamp_ms, force)
        commits = len(fake.asked_for(RequestCode.UPDATE_CONSUMER_OFFSET))

    assert moved == dict.fromkeys(QUEUES, expected)
    assert commits == (0 if expected == committed else 2)


async def test_refused_reset_of_an_online_group_is_not_done_behind_its_back() -> None:
    async with asking() as (fake, admin):
        fake.say(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, 1, remark="group not exist")
        fake.say(RequestCode.GET_CONSUMER_CONNECTION_LIST, body=ConsumerConnection().encode())
        with pytest.raises(BrokerRefused) as refused:
            await admin.reset_offset_by_time(fake.address, "G", "T", 0)
        assert refused.value.code == 1
        assert fake.asked_for(RequestCode.UPDATE_CONSUMER_OFFSET) == []


async def test_empty_queue_has_no_first_message() -> None:
    async with asking() as (fake, admin):
        fake.say(
            RequestCode.GET_EARLIEST_MSG_STORETIME,
            header=GetEarliestMsgStoretimeResponse(timestamp=-1),
        )
        assert await admin.earliest_store_ms(QUEUES[0]) is None


async def test_consumer_offsets_are_split_into_topic_and_group() -> None:
    async with asking() as (fake, admin):
        fake.say(RequestCode.GET_ALL_CONSUMER_OFFSET, body=b'{"offsetTable":{"T@G":{0:3,1:4}}}')
        assert await admin.all_consumer_offsets(fake.address) == {("T", "G"): {0: 3, 1: 4}}


async def test_settings_and_key_values() -> None:
    async with asking() as (fake, admin):
        fake.say(RequestCode.GET_BROKER_CONFIG, body=b"b=2\na=1\n")
        fake.say(RequestCode.GET_NAMESRV_CONFIG, body=b"c=3\n")
        fake.say(RequestCode.GET_BROKER_RUNTIME_INFO, body=KVTable(table={"k": "v"}).encode())
        fake.say(RequestCode.UPDATE_BROKER_CONFIG)
        fake.say(RequestCode.PUT_KV_CONFIG)
        fake.say(RequestCode.GET_KV_CONFIG, header=GetKVConfigResponse(value="v"))
        fake.say(RequestCode.GET_KVLIST_BY_NAMESPACE, 22)

        assert await admin.broker_config(fake.address) == {"a": "1", "b": "2"}
        assert await admin.namesrv_config() == {"c": "3"}
        assert await admin.namesrv_config(fake.address) == {"c": "3"}
        assert await admin.broker_runtime(fake.address) == {"k": "v"}
        await admin.update_broker_config(fake.address, {"a": "1", "b": "2"})
        assert fake.asked_for(RequestCode.UPDATE_BROKER_CONFIG)[0].body == b"a=1\nb=2\n"
        await admin.kv_put("N", "k", "v")
        assert await admin.kv_get("N", "k") == "v"
        assert await admin.kv_list("N") == {}


async def test_topic_without_route_is_named_by_every_call_that_needs_one() -> None:
    async with asking() as (_, admin):
        for call in (admin.topic_route, admin.topic_stats):
            with pytest.raises(NoRoute):
                await call("Missing")
        with pytest.raises(NoRoute):
            await admin.query_message("Missing", "k")
