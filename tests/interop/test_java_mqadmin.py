"""The real mqadmin prints of our servers what it prints of the real ones.

The same scene is played on both pairs: a topic with six messages in known queues, a group
that is online and has read them, a group that is offline with offsets. Then each command
runs against both, and what differs by nature (ports, ids, times, rates) is blanked out.
"""

import asyncio
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from mqclient.admin import Admin
from mqclient.instance import MQClient
from remoting.bodies import MessageQueue
from tests.interop.conftest import Servers
from tests.interop.rocketmq import Broker, JavaSide, Namesrv, OurSide
from tests.interop.toolbox import Job, Output, Toolbox
from tests.interop.waiting import eventually

pytestmark = pytest.mark.java

TOPIC, ONLINE, OFFLINE = "SceneTopic", "SceneOnline", "SceneOffline"
RESET_MS = 0


@dataclass(frozen=True)
class Scene:
    """One pair of servers with the scene on it."""

    servers: Servers
    toolbox: Toolbox
    consumer: Job
    offset_id: str
    unique_key: str

    def mqadmin(self, *words: str) -> Output:
        """Run a command against this pair."""
        return self.toolbox.mqadmin(*words, "-n", self.servers.namesrv.address)

    @property
    def broker(self) -> str:
        """The address of the broker."""
        return self.servers.broker.address


def play(servers: Servers, toolbox: Toolbox) -> Scene:
    """Play the scene on one pair."""
    where = {"namesrv": servers.namesrv.address, "topic": TOPIC, "group": ONLINE}
    made = toolbox.mqadmin(
        *("updateTopic", "-t", TOPIC, "-r", "2", "-w", "2"),
        *("-b", servers.broker.address, "-n", servers.namesrv.address),
    )
    assert f"create topic to {servers.broker.address} success." in made.stdout
    messages = [
        {
            "body": f"body {i}",
            "tags": f"Tag{'AB'[i % 2]}",
            "keys": f"key{i}",
            "queue": i % 2,
            "broker": servers.broker.name,
        }
        for i in range(6)
    ]
    spec = {**where, "mode": "sync", "messages": messages}
    sent = toolbox.run("Producer", {**spec, "group": "ScenePG"})
    assert [line["event"] for line in sent] == ["sent"] * 6
    more = {"subscription": "TagA || TagB", "count": 6, "timeoutMs": 280_000, "linger": True}
    consumer = toolbox.start("PushConsumer", {**where, **more})
    return Scene(servers, toolbox, consumer, sent[2]["offsetMsgId"], sent[2]["msgId"])


async def _settle(servers: Servers) -> None:
    async with MQClient(servers.namesrv.address) as client:
        admin, address = Admin(client), servers.broker.address

        async def offsets() -> dict[int, int]:
            return (await admin.all_consumer_offsets(address)).get((TOPIC, ONLINE), {})

        async def retry_topic() -> bool:
            return f"%RETRY%{ONLINE}" in await admin.topic_list()

        async def counted() -> int:
            stats = await admin.broker_stats(address, "GROUP_GET_NUMS", f"{TOPIC}@{ONLINE}")
            return stats.stats_minute.sum if stats.stats_minute else 0

        # Brokers take samples of their counters every ten seconds.
        await eventually(counted, lambda count: count == 6)
        await eventually(offsets, lambda found: found == {0: 3, 1: 3})
        await eventually(retry_topic, bool)
        for queue_id, offset in ((0, 1), (1, 2)):
            queue = MessageQueue(TOPIC, servers.broker.name, queue_id)
            await admin.update_consumer_offset(address, OFFLINE, queue, offset)


@pytest.fixture(scope="module")
def scenes(
    toolbox: Toolbox,
    java_side: JavaSide,
    our_side: OurSide,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Scene, Scene]]:
    """Yield the scene on a real pair and on one of ours, both with empty stores."""
    started = [
        (name, side, Namesrv(side)) for name, side in (("java", java_side), ("ours", our_side))
    ]
    pairs = [
        Servers(
            name,
            namesrv.await_ready(),
            Broker(side, store=tmp_path_factory.mktemp(name) / "store", namesrv=namesrv.address),
        )
        for name, side, namesrv in started
    ]
    try:
        for pair in pairs:
            pair.broker.await_ready()
        java, ours = (play(pair, toolbox) for pair in pairs)
        for scene in (java, ours):
            scene.consumer.messages(6)
            asyncio.run(_settle(scene.servers))
        yield java, ours
        java.consumer.stop()
        ours.consumer.stop()
    finally:
        for pair in pairs:
            pair.broker.kill()
            pair.namesrv.stop()


def blank(text: str, scene: Scene) -> list[str]:
    """Return the lines of a command's output without what differs by nature, sorted."""
    for pattern, stands in (
        (re.escape(scene.broker), "<broker>"),
        (re.escape(scene.servers.namesrv.address), "<namesrv>"),
        (r"\d+\.\d+\.\d+\.\d+@\d+#\d+", "<client>"),
        (r"/?\d+\.\d+\.\d+\.\d+:\d+", "<address>"),
        (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(,\d+)?", "<time>"),
        (r"\b1[67]\d{11}\b", "<ms>"),
        (r"\b(?:[0-9A-F]{32}|[0-9A-F]{56})\b", "<id>"),
        (r"\d+\.\d+\(\d+,\d+ms\)|\b\d+\.\d{2,4}\b", "<rate>"),
        (r"CommitLog Offset:.*", "<log offset>"),
        (r"storeSize=\d+", "<size>"),
        (r"[^ ]*/msgbodys/", "<bodies>/"),
        (r"(?m)^\tat .*|\t\.\.\. \d+ .*", ""),
    ):
        text = re.sub(pattern, stands, text)
    return sorted(" ".join(line.split()) for line in text.splitlines() if line.strip())


Words = Callable[[Scene], tuple[str, ...]]

READS: dict[str, Words] = {
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
    "statsAll": lambda s: ("statsAll", "-t", TOPIC, "-a"),
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
    async with MQClient(scene.servers.namesrv.address) as client:
        found = await Admin(client).all_consumer_offsets(scene.broker)
    return found.get((TOPIC, group), {})


def test_online_group_is_reset_by_time_and_reads_again(scenes: tuple[Scene, Scene]) -> None:
    words = ("resetOffsetByTime", "-g", ONLINE, "-t", TOPIC, "-s", str(RESET_MS))

    # A Java consumer waits ten seconds before it goes on from the new offset.
    java, ours = ([blank(text, scene) for text in scene.mqadmin(*words)] for scene in scenes)

    assert ours == java
    for scene in scenes:
        again = scene.consumer.messages(6)
        assert sorted(line["keys"] for line in again) == [f"key{i}" for i in range(6)]
