"""Topics over the wire: create, change, delete, list, statistics."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from remoting.bodies import (
    GroupList,
    MessageQueue,
    TopicConfigSerializeWrapper,
    TopicList,
    TopicRouteData,
    TopicStatsTable,
)
from remoting.codes import RequestCode
from remoting.command import Command
from remoting.headers import (
    DeleteTopic,
    GetRouteInfo,
    GetTopicStatsInfo,
    QueryTopicConsumeByWho,
)
from storefmt.config.tables import TopicTable
from tests.server.broker.desk import GROUP, TOPIC, Desk, create, name_server, running


async def typed(desk: Desk, topic: str, attributes: str) -> Command:
    header = replace(create(topic, 1), attributes=attributes)
    return await desk.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, header)


async def test_the_message_type_of_a_topic_is_kept_listed_and_left_alone_by_other_changes(
    desk: Desk, tmp_path: Path
) -> None:
    await desk.create_topic("Plain")
    made = await typed(desk, "New", "+message.type=FIFO")
    await desk.create_topic("New", queues=3)
    stored = (tmp_path / "config" / "topics.json").read_text()
    table = await listed(desk)
    removed = await typed(desk, "New", "-message.type")
    after = await listed(desk)

    assert (made.code, removed.code) == (0, 0)
    config = table.topic_config_table["New"]
    assert (config.message_type, config.write_queue_nums) == ("FIFO", 3)
    assert json.loads(stored)["topicConfigTable"]["New"]["attributes"] == {"message.type": "FIFO"}
    # What has no attribute looks to a 4.9 peer as it always did.
    assert "attributes" not in table.topic_config_table["Plain"].to_json()
    assert "attributes" not in after.topic_config_table["New"].to_json()


async def test_a_wrong_attribute_is_refused_and_makes_no_topic(desk: Desk) -> None:
    answer = await typed(desk, "New", "+message.type=FAST")
    table = await listed(desk)

    assert answer.code == 1
    assert (answer.remark or "").startswith("value is not in set: [UNSPECIFIED, MIXED")
    assert "New" not in table.topic_config_table


async def listed(desk: Desk) -> TopicConfigSerializeWrapper:
    answer = await desk.ask(RequestCode.GET_ALL_TOPIC_CONFIG)
    return TopicConfigSerializeWrapper.decode(answer.body)


async def test_created_topic_is_listed_stored_and_known_to_the_name_server_when_answered(
    tmp_path: Path,
) -> None:
    async with (
        name_server(tmp_path) as namesrv,
        running(tmp_path / "store", namesrv_addr=namesrv) as desk,
    ):
        await desk.create_topic("New", queues=3)
        stored = TopicTable.decode((tmp_path / "store/config/topics.json").read_text())
        route = Command.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, GetRouteInfo(topic="New"))
        known = await desk.client.invoke(namesrv, route)
        table = await listed(desk)
    (queues,) = TopicRouteData.decode(known.body).queue_datas

    assert (queues.broker_name, queues.read_queue_nums, queues.perm) == ("broker-a", 3, 6)
    assert stored.topics["New"].write_queue_nums == 3
    assert table.topic_config_table == stored.topics
    assert table.data_version == stored.data_version


REFUSED = [
    (create("TBW102"), "The topic[TBW102] is conflict with system topic."),
    (create("BenchmarkTest"), "The topic[BenchmarkTest] is conflict with system topic."),
    (create("broker-a"), "The topic[broker-a] is conflict with system topic."),
    (create("rmq_sys_mine"), "The topic[rmq_sys_mine] is conflict with system topic."),
    (create("a/b"), "The specified topic contains illegal characters"),
    (create(".."), "The specified topic contains illegal characters"),
    (create("t" * 128), "The specified topic is longer than topic max length."),
    (create(TOPIC, -1), "readQueueNums is -1"),
    (create(TOPIC, 1_000_000), "readQueueNums is 1000000"),
    (create(TOPIC, 1, 8), "perm is 8"),
]


@pytest.mark.parametrize(("header", "text"), REFUSED)
async def test_bad_topics_are_refused(desk: Desk, header: "object", text: str) -> None:
    answer = await desk.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, header)  # type: ignore[arg-type]

    assert answer.code == 1
    assert text in (answer.remark or "")


async def test_deleted_topic_loses_its_queues_and_a_new_one_starts_at_zero(tmp_path: Path) -> None:
    queue_dir = tmp_path / "consumequeue" / TOPIC

    async with running(tmp_path) as desk:
        await desk.send(b"old")
        waiting = asyncio.create_task(
            desk.pull(sys_flag=6, queue_offset=1, suspend_timeout_millis=60_000)
        )
        await listed(desk)
        answer = await desk.ask(RequestCode.DELETE_TOPIC_IN_BROKER, DeleteTopic(topic=TOPIC))
        assert answer.code == 0
        assert TOPIC not in (await listed(desk)).topic_config_table
        assert not queue_dir.exists()
        assert desk.app.broker.store.max_offset(TOPIC, 0) == 0
        assert (await desk.send(b"new")).ext["queueOffset"] == "0"
        # What was held is looked at anew, as if it came now: there is no such topic.
        assert (await waiting).code == 17


@pytest.mark.parametrize(("topic", "code"), [("TBW102", 1), ("Nowhere", 0), ("a/../b", 1)])
async def test_deleting_other_names(desk: Desk, topic: str, code: int) -> None:
    header = DeleteTopic(topic=topic)
    assert (await desk.ask(RequestCode.DELETE_TOPIC_IN_BROKER, header)).code == code


async def test_statistics_have_the_ends_of_every_write_queue(desk: Desk) -> None:
    await desk.create_topic(queues=2)
    await desk.send()
    code = RequestCode.GET_TOPIC_STATS_INFO
    found = await desk.ask(code, GetTopicStatsInfo(topic=TOPIC))
    unknown = await desk.ask(code, GetTopicStatsInfo(topic="Nowhere"))
    table = TopicStatsTable.decode(found.body).offset_table
    first, second = (table[MessageQueue(TOPIC, "broker-a", queue_id)] for queue_id in (0, 1))

    assert (first.min_offset, first.max_offset) == (0, 1)
    assert first.last_update_timestamp > 0
    assert (second.max_offset, second.last_update_timestamp) == (0, 0)
    assert (unknown.code, unknown.remark) == (17, "topic[Nowhere] not exist")


async def test_system_topics_are_javas_and_the_brokers_own(desk: Desk) -> None:
    answer = await desk.ask(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER)
    found = TopicList.decode(answer.body).topic_list

    assert sorted(found) == [
        "BenchmarkTest",
        "OFFSET_MOVED_EVENT",
        "RMQ_SYS_TRACE_TOPIC",
        "RMQ_SYS_TRANS_HALF_TOPIC",
        "RMQ_SYS_TRANS_OP_HALF_TOPIC",
        "SCHEDULE_TOPIC_XXXX",
        "SELF_TEST_TOPIC",
        "TBW102",
        "TRANS_CHECK_MAX_TIME_TOPIC",
        "TestCluster",
        "TestCluster_REPLY_TOPIC",
        "broker-a",
    ]


async def test_groups_of_a_topic_are_the_online_and_those_with_offsets(desk: Desk) -> None:
    await desk.heartbeat()
    await desk.commit(1, group="offline")
    answer = await desk.ask(
        RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, QueryTopicConsumeByWho(topic=TOPIC)
    )
    assert GroupList.decode(answer.body).group_list == [GROUP, "offline"]


async def test_queues_without_a_topic_are_removed_on_request(desk: Desk) -> None:
    await desk.send()
    await desk.send(topic="Other")
    desk.app.broker.topics.delete(TOPIC, now_ms=0)
    answer = await desk.ask(RequestCode.CLEAN_UNUSED_TOPIC)

    assert (answer.code, desk.app.broker.store.queues()) == (0, [("Other", 0)])
