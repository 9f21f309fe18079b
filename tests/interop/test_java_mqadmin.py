"""The real mqadmin prints of our servers what it prints of the real ones.

Each command runs on the same scene of both pairs (``scene.py``).
"""

import asyncio
import re

import pytest

from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from tests.interop.kit.scene import OFFLINE, ONLINE, TOPIC, Scene, Words, blank

RESET_MS = 0

READS: dict[str, Words] = {
    # The first one: a minute after they came, brokers no longer count the messages.
    "statsAll": lambda s: ("statsAll", "-t", TOPIC, "-a"),
    "topicRoute": lambda s: ("topicRoute", "-t", TOPIC),
    "topicRoute -l": lambda s: ("topicRoute", "-t", TOPIC, "-l"),
    "topicStatus": lambda s: ("topicStatus", "-t", TOPIC),
    "topicStatus of nothing": lambda s: ("topicStatus", "-t", "NoSuchTopic"),
    "topicClusterList": lambda s: ("topicClusterList", "-t", TOPIC),
    "clusterList": lambda s: ("clusterList",),
    "queryMsgById": lambda s: ("queryMsgById", "-i", s.offset_id),
    "queryMsgByKey": lambda s: ("queryMsgByKey", "-t", TOPIC, "-k", "key3"),
    "queryMsgByKey of nothing": lambda s: ("queryMsgByKey", "-t", TOPIC, "-k", "none"),
    "queryMsgByUniqueKey": lambda s: ("queryMsgByUniqueKey", "-t", TOPIC, "-i", s.unique_key),
    "queryMsgByOffset": lambda s: (
        *("queryMsgByOffset", "-t", TOPIC, "-b", s.servers.broker.name),
        *("-i", "1", "-o", "2"),
    ),
    "consumerProgress": lambda s: ("consumerProgress", "-g", ONLINE),
    "consumerProgress with clients": lambda s: ("consumerProgress", "-g", ONLINE, "-s", "true"),
    "consumerConnection": lambda s: ("consumerConnection", "-g", ONLINE),
    "consumerConnection of nothing": lambda s: ("consumerConnection", "-g", "NoSuchGroup"),
    "producerConnection of nothing": lambda s: (
        *("producerConnection", "-g", "NoSuchGroup"),
        *("-t", TOPIC),
    ),
    "getConsumerConfig": lambda s: ("getConsumerConfig", "-g", ONLINE),
    "brokerConsumeStats": lambda s: ("brokerConsumeStats", "-b", s.broker),
    "printMsg": lambda s: ("printMsg", "-t", TOPIC),
    "printMsgByQueue": lambda s: (
        *("printMsgByQueue", "-t", TOPIC, "-a", s.servers.broker.name),
        *("-i", "1", "-p", "true", "-f", "true"),
    ),
    "consumeMessage": lambda s: (
        *("consumeMessage", "-t", TOPIC, "-b", s.servers.broker.name),
        *("-i", "0", "-o", "1", "-c", "1"),
    ),
    "queryCq": lambda s: ("queryCq", "-t", TOPIC, "-q", "1", "-i", "0", "-c", "3", "-b", s.broker),
    "allocateMQ": lambda s: ("allocateMQ", "-t", TOPIC, "-i", "a,b"),
    "cleanUnusedTopic": lambda s: ("cleanUnusedTopic", "-b", s.broker),
    "cloneGroupOffset": lambda s: ("cloneGroupOffset", "-s", OFFLINE, "-d", "Clone", "-t", TOPIC),
}


@pytest.mark.parametrize("name", READS)
def test_command_prints_the_same_of_both(scenes: tuple[Scene, Scene], name: str) -> None:
    printed = []
    for scene in scenes:
        output = scene.mqadmin(*READS[name](scene))
        printed.append((blank(output.stdout, scene), blank(output.stderr, scene)))

    java, ours = printed

    assert ours == java
    assert java != ([], [])


def test_topic_list_has_the_same_topics(scenes: tuple[Scene, Scene]) -> None:
    java, ours = (set(scene.mqadmin("topicList").stdout.split()) for scene in scenes)

    wanted = {TOPIC, f"%RETRY%{ONLINE}", "TBW102", "SCHEDULE_TOPIC_XXXX", "TestCluster", "broker-a"}
    assert wanted <= ours
    assert wanted <= java


def test_topic_list_with_groups_names_both_groups(scenes: tuple[Scene, Scene]) -> None:
    for scene in scenes:
        rows = {
            tuple(line.split()) for line in scene.mqadmin("topicList", "-c").stdout.splitlines()
        }
        assert {("TestCluster", TOPIC, ONLINE), ("TestCluster", TOPIC, OFFLINE)} <= rows


def test_broker_status_has_every_name_of_java(scenes: tuple[Scene, Scene]) -> None:
    def names(scene: Scene) -> set[str]:
        lines = scene.mqadmin("brokerStatus", "-b", scene.broker).stdout.splitlines()
        return {line.partition(":")[0].strip() for line in lines}

    java, ours = ({re.sub(r"_/.*", "_<path>", name) for name in names(scene)} for scene in scenes)

    assert java - ours == set()


def test_broker_and_name_server_settings_are_shown(scenes: tuple[Scene, Scene]) -> None:
    for scene in scenes:
        broker = scene.mqadmin("getBrokerConfig", "-b", scene.broker).stdout
        namesrv = scene.mqadmin("getNamesrvConfig").stdout
        port = scene.servers.namesrv.address.rpartition(":")[2]
        assert re.search(r"brokerName\s+=\s+broker-a", broker)
        assert re.search(rf"listenPort\s+=\s+{port}", namesrv)


def test_topic_is_made_changed_and_deleted(scenes: tuple[Scene, Scene]) -> None:
    steps: tuple[Words, ...] = (
        lambda s: ("updateTopic", "-t", "Made", "-r", "3", "-w", "3", "-c", "TestCluster"),
        lambda s: ("topicStatus", "-t", "Made"),
        lambda s: ("updateTopicPerm", "-t", "Made", "-p", "2", "-b", s.broker),
        lambda s: ("topicRoute", "-t", "Made"),
        lambda s: ("updateTopic", "-t", "bad/name", "-b", s.broker),
        lambda s: ("updateTopic", "-t", "TBW102", "-b", s.broker),
        lambda s: ("deleteTopic", "-t", "Made", "-c", "TestCluster"),
        lambda s: ("topicRoute", "-t", "Made"),
        lambda s: ("deleteTopic", "-t", "NeverMade", "-c", "TestCluster"),
    )

    for number, step in enumerate(steps):
        java, ours = (
            [blank(text, scene) for text in scene.mqadmin(*step(scene))] for scene in scenes
        )
        assert ours == java, f"step {number}"
    assert "Made" not in scenes[1].mqadmin("topicList").stdout.split()


def test_group_is_made_and_deleted(scenes: tuple[Scene, Scene]) -> None:
    steps: tuple[Words, ...] = (
        lambda s: ("updateSubGroup", "-g", "MadeG", "-b", s.broker, "-r", "4", "-q", "2"),
        lambda s: ("getConsumerConfig", "-g", "MadeG"),
        lambda s: ("deleteSubGroup", "-g", "MadeG", "-b", s.broker),
        lambda s: ("getConsumerConfig", "-g", "MadeG"),
    )

    for number, step in enumerate(steps):
        java, ours = (
            [blank(text, scene) for text in scene.mqadmin(*step(scene))] for scene in scenes
        )
        assert ours == java, f"step {number}"


def test_key_values_order_and_write_permission(scenes: tuple[Scene, Scene]) -> None:
    steps: tuple[Words, ...] = (
        lambda s: ("updateKvConfig", "-s", "NS", "-k", "k", "-v", "v"),
        lambda s: ("deleteKvConfig", "-s", "NS", "-k", "k"),
        lambda s: ("updateOrderConf", "-m", "put", "-t", TOPIC, "-v", "broker-a:2"),
        lambda s: ("updateOrderConf", "-m", "get", "-t", TOPIC),
        lambda s: ("updateOrderConf", "-m", "delete", "-t", TOPIC),
        lambda s: ("updateOrderConf", "-m", "get", "-t", TOPIC),
        lambda s: (
            "updateBrokerConfig",
            "-b",
            s.broker,
            "-k",
            "autoCreateTopicEnable",
            "-v",
            "true",
        ),
    )

    for number, step in enumerate(steps):
        java, ours = (
            [blank(text, scene) for text in scene.mqadmin(*step(scene))] for scene in scenes
        )
        assert ours == java, f"step {number}"
    for scene in scenes:
        wiped = scene.mqadmin("wipeWritePerm", "-b", "broker-a").stdout
        added = scene.mqadmin("addWritePerm", "-b", "broker-a").stdout
        assert re.search(r"wipe write perm of broker\[broker-a\] .* OK, [1-9]", wiped)
        assert re.search(r"add write perm of broker\[broker-a\] .* OK, [1-9]", added)


def test_offline_group_is_reset_by_time(scenes: tuple[Scene, Scene]) -> None:
    words = ("resetOffsetByTime", "-g", OFFLINE, "-t", TOPIC, "-s")

    java, ours = ([blank(text, scene) for text in scene.mqadmin(*words, "now")] for scene in scenes)
    backward = [
        [blank(text, scene) for text in scene.mqadmin(*words, str(RESET_MS))] for scene in scenes
    ]
    progress = [
        blank(scene.mqadmin("consumerProgress", "-g", OFFLINE).stdout, scene) for scene in scenes
    ]

    assert ours == java
    assert backward[0] == backward[1]
    assert progress[0] == progress[1]
    assert asyncio.run(_offsets(scenes[1], OFFLINE)) == {0: 0, 1: 0}


async def _offsets(scene: Scene, group: str) -> dict[int, int]:
    async with MQClient(scene.servers.namesrv.address, timeout_s=60) as client:
        found = await Admin(client).all_consumer_offsets(scene.broker)
    return found.get((TOPIC, group), {})


def test_online_group_is_reset_by_time_and_reads_again(scenes: tuple[Scene, Scene]) -> None:
    words = ("resetOffsetByTime", "-g", ONLINE, "-t", TOPIC, "-s", str(RESET_MS))
    told: list[list[list[str]]] = []

    def reset(scene: Scene) -> None:
        told.append([blank(text, scene) for text in scene.mqadmin(*words)])

    keys = {f"key{i}" for i in range(6)}
    for scene in scenes:
        again = scene.consumer.every_again(lambda scene=scene: reset(scene), "keys", keys)
        assert {line["keys"] for line in again} == keys

    assert all(each == told[0] for each in told)
