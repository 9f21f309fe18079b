"""The real mqadmin prints of our servers what it prints of the real ones.

Each command runs on the same scene of both pairs (``scene.py``).
"""

import asyncio
import re

import pytest

from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from tests.interop.kit.scene import OFFLINE, ONLINE, TOPIC, Scene, blank

READS = (
    # The first one: a minute after they came, brokers no longer count the messages.
    "statsAll -t {topic} -a",
    "topicRoute -t {topic}",
    "topicRoute -t {topic} -l",
    "topicStatus -t {topic}",
    "topicStatus -t NoSuchTopic",
    "topicClusterList -t {topic}",
    "clusterList",
    "queryMsgById -i {id}",
    "queryMsgByKey -t {topic} -k key3",
    "queryMsgByKey -t {topic} -k none",
    "queryMsgByUniqueKey -t {topic} -i {unique}",
    "queryMsgByOffset -t {topic} -b {broker} -i 1 -o 2",
    "consumerProgress -g {online}",
    "consumerProgress -g {online} -s true",
    "consumerConnection -g {online}",
    "consumerConnection -g NoSuchGroup",
    "producerConnection -g NoSuchGroup -t {topic}",
    "getConsumerConfig -g {online}",
    "brokerConsumeStats -b {address}",
    "printMsg -t {topic}",
    "printMsgByQueue -t {topic} -a {broker} -i 1 -p true -f true",
    "consumeMessage -t {topic} -b {broker} -i 0 -o 1 -c 1",
    "queryCq -t {topic} -q 1 -i 0 -c 3 -b {address}",
    "allocateMQ -t {topic} -i a,b",
    "cleanUnusedTopic -b {address}",
    "cloneGroupOffset -s {offline} -d Clone -t {topic}",
)


@pytest.mark.parametrize("line", READS)
def test_command_prints_the_same_of_both(scenes: tuple[Scene, Scene], line: str) -> None:
    java, ours = (printed(scene, line) for scene in scenes)

    assert ours == java
    assert java != [[], []]


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


STEPS = {
    "topic": (
        "updateTopic -t Made -r 3 -w 3 -c TestCluster",
        "topicStatus -t Made",
        "updateTopicPerm -t Made -p 2 -b {address}",
        "topicRoute -t Made",
        "updateTopic -t bad/name -b {address}",
        "updateTopic -t TBW102 -b {address}",
        "deleteTopic -t Made -c TestCluster",
        "topicRoute -t Made",
        "deleteTopic -t NeverMade -c TestCluster",
    ),
    "group": (
        "updateSubGroup -g MadeG -b {address} -r 4 -q 2",
        "getConsumerConfig -g MadeG",
        "deleteSubGroup -g MadeG -b {address}",
        "getConsumerConfig -g MadeG",
    ),
    "settings": (
        "updateKvConfig -s NS -k k -v v",
        "deleteKvConfig -s NS -k k",
        "updateOrderConf -m put -t {topic} -v broker-a:2",
        "updateOrderConf -m get -t {topic}",
        "updateOrderConf -m delete -t {topic}",
        "updateOrderConf -m get -t {topic}",
        "updateBrokerConfig -b {address} -k autoCreateTopicEnable -v true",
    ),
}


def printed(scene: Scene, line: str) -> list[list[str]]:
    """Return the lines of both streams without what differs by nature."""
    return [blank(text, scene) for text in scene.mqadmin(*scene.words(line))]


@pytest.mark.parametrize("name", STEPS)
def test_steps_print_the_same_of_both(scenes: tuple[Scene, Scene], name: str) -> None:
    for step in STEPS[name]:
        java, ours = (printed(scene, step) for scene in scenes)
        assert ours == java, step
    assert "Made" not in scenes[1].mqadmin("topicList").stdout.split()


def test_write_permission_is_wiped_and_added(scenes: tuple[Scene, Scene]) -> None:
    for scene in scenes:
        wiped = scene.mqadmin("wipeWritePerm", "-b", "broker-a").stdout
        added = scene.mqadmin("addWritePerm", "-b", "broker-a").stdout
        assert re.search(r"wipe write perm of broker\[broker-a\] .* OK, [1-9]", wiped)
        assert re.search(r"add write perm of broker\[broker-a\] .* OK, [1-9]", added)


def test_offline_group_is_reset_by_time(scenes: tuple[Scene, Scene]) -> None:
    for line in (
        "resetOffsetByTime -g {offline} -t {topic} -s now",
        "resetOffsetByTime -g {offline} -t {topic} -s 0",
        "consumerProgress -g {offline}",
    ):
        java, ours = (printed(scene, line) for scene in scenes)
        assert ours == java, line
    assert asyncio.run(_offsets(scenes[1], OFFLINE)) == {0: 0, 1: 0}


async def _offsets(scene: Scene, group: str) -> dict[int, int]:
    async with MQClient(scene.servers.namesrv.address, timeout_s=60) as client:
        found = await Admin(client).all_consumer_offsets(scene.broker)
    return found.get((TOPIC, group), {})


def test_online_group_is_reset_by_time_and_reads_again(scenes: tuple[Scene, Scene]) -> None:
    told: list[list[list[str]]] = []

    def reset(scene: Scene) -> None:
        told.append(printed(scene, "resetOffsetByTime -g {online} -t {topic} -s 0"))

    keys = {f"key{i}" for i in range(6)}
    for scene in scenes:
        again = scene.consumer.every_again(lambda scene=scene: reset(scene), "keys", keys)
        assert {line["keys"] for line in again} == keys

    assert all(each == told[0] for each in told)
