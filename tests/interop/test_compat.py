"""``--compat`` prints what the real mqadmin prints, of the same real broker."""

import asyncio
import re
from pathlib import Path

import pytest

from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from tests.interop.kit.our_mqadmin import OurMqadmin
from tests.interop.kit.scene import OFFLINE, ONLINE, TOPIC, Scene, Words, without_nature
from tests.waiting import eventually

COMMANDS: dict[str, Words] = {
    "topicList": lambda s: ("topicList",),
    "topicList -c": lambda s: ("topicList", "-c"),
    "topicStatus": lambda s: ("topicStatus", "-t", TOPIC),
    "topicClusterList": lambda s: ("topicClusterList", "-t", TOPIC),
    "queryMsgByKey": lambda s: ("queryMsgByKey", "-t", TOPIC, "-k", "key3"),
    "brokerConsumeStats": lambda s: ("brokerConsumeStats", "-b", s.broker),
    "brokerStatus": lambda s: ("brokerStatus", "-b", s.broker),
    "brokerStatus -c": lambda s: ("brokerStatus", "-c", "TestCluster"),
    "getBrokerConfig": lambda s: ("getBrokerConfig", "-b", s.broker),
    "getBrokerConfig -c": lambda s: ("getBrokerConfig", "-c", "TestCluster"),
    "getNamesrvConfig": lambda s: ("getNamesrvConfig",),
    "sendMessage": lambda s: ("sendMessage", "-t", TOPIC, "-p", "x", "-b", "broker-a", "-i", "0"),
    "clusterList": lambda s: ("clusterList",),
    "clusterList -m": lambda s: ("clusterList", "-m"),
    "topicRoute": lambda s: ("topicRoute", "-t", TOPIC),
    "topicRoute -l": lambda s: ("topicRoute", "-t", TOPIC, "-l"),
    "consumerProgress": lambda s: ("consumerProgress",),
    "consumerProgress -g": lambda s: ("consumerProgress", "-g", ONLINE),
    "consumerProgress -g -s": lambda s: ("consumerProgress", "-g", ONLINE, "-s", "true"),
    "consumerStatus": lambda s: ("consumerStatus", "-g", ONLINE),
    "consumerStatus -i": lambda s: ("consumerStatus", "-g", ONLINE, "-i", s.client_id),
    "printMsg": lambda s: ("printMsg", "-t", TOPIC),
    "printMsg -s -d": lambda s: ("printMsg", "-t", TOPIC, "-s", "TagA", "-d", "false"),
    "printMsgByQueue": lambda s: ("printMsgByQueue", "-t", TOPIC, "-a", "broker-a", "-i", "1"),
    "printMsgByQueue -p": lambda s: (
        *("printMsgByQueue", "-t", TOPIC, "-a", "broker-a", "-i", "1"),
        *("-p", "true"),
    ),
    "printMsgByQueue -p -d -f": lambda s: (
        *("printMsgByQueue", "-t", TOPIC, "-a", "broker-a", "-i", "1"),
        *("-p", "true", "-d", "true", "-f", "true"),
    ),
    "consumeMessage": lambda s: ("consumeMessage", "-t", TOPIC, "-c", "2"),
    "consumeMessage -i": lambda s: (
        *("consumeMessage", "-t", TOPIC, "-b", "broker-a"),
        *("-i", "1", "-o", "1"),
    ),
    "consumeMessage -i -c": lambda s: (
        *("consumeMessage", "-t", TOPIC, "-b", "broker-a"),
        *("-i", "1", "-c", "1"),
    ),
    "consumerConnection": lambda s: ("consumerConnection", "-g", ONLINE),
    "producer": lambda s: ("producer", "-b", s.broker),
    "producerConnection": lambda s: (
        *("producerConnection", "-g", "CLIENT_INNER_PRODUCER"),
        *("-t", TOPIC),
    ),
    "getConsumerConfig": lambda s: ("getConsumerConfig", "-g", ONLINE),
    "statsAll": lambda s: ("statsAll", "-t", TOPIC),
    "queryCq": lambda s: (
        *("queryCq", "-t", TOPIC, "-q", "1", "-i", "0"),
        *("-c", "2", "-b", s.broker),
    ),
    "queryMsgById": lambda s: ("queryMsgById", "-i", s.offset_id),
    "queryMsgById -g -d": lambda s: (
        *("queryMsgById", "-i", s.offset_id),
        *("-g", ONLINE, "-d", s.client_id),
    ),
    "queryMsgById -s": lambda s: ("queryMsgById", "-i", s.offset_id, "-s", "true"),
    "queryMsgByOffset": lambda s: (
        *("queryMsgByOffset", "-t", TOPIC, "-b", "broker-a"),
        *("-i", "1", "-o", "2"),
    ),
    "queryMsgByUniqueKey": lambda s: ("queryMsgByUniqueKey", "-t", TOPIC, "-i", s.unique_key),
    "allocateMQ": lambda s: ("allocateMQ", "-t", TOPIC, "-i", "a"),
    "checkMsgSendRT": lambda s: ("checkMsgSendRT", "-t", TOPIC, "-a", "2", "-s", "3"),
    "sendMsgStatus": lambda s: ("sendMsgStatus", "-b", "broker-a", "-c", "2", "-s", "3"),
    "updateSubGroup -c": lambda s: ("updateSubGroup", "-g", "CompatGroup", "-c", "TestCluster"),
    "deleteSubGroup": lambda s: ("deleteSubGroup", "-g", "CompatGroup", "-b", s.broker),
    "deleteSubGroup -c": lambda s: ("deleteSubGroup", "-g", "CompatGroup", "-c", "TestCluster"),
    "updateSubGroup": lambda s: (
        *("updateSubGroup", "-g", "CompatGroup", "-b", s.broker, "-r", "3"),
        *("-s", "true", "-m", "true", "-d", "true"),
    ),
    "updateTopic": lambda s: ("updateTopic", "-t", "CompatTopic", "-b", s.broker, "-r", "3"),
    "updateTopic -c": lambda s: ("updateTopic", "-t", "CompatTopic", "-c", "TestCluster"),
    "updateTopicPerm": lambda s: (
        *("updateTopicPerm", "-t", "CompatTopic", "-p", "6"),
        *("-b", s.broker),
    ),
    "updateKvConfig": lambda s: ("updateKvConfig", "-s", "COMPAT", "-k", "k", "-v", "v"),
    "deleteKvConfig": lambda s: ("deleteKvConfig", "-s", "COMPAT", "-k", "k"),
    "updateBrokerConfig": lambda s: (
        *("updateBrokerConfig", "-b", s.broker),
        *("-k", "fileReservedTime", "-v", "72"),
    ),
    "updateTopicPerm -c": lambda s: (
        *("updateTopicPerm", "-t", "CompatTopic", "-p", "4"),
        *("-c", "TestCluster"),
    ),
    "updateOrderConf -m put": lambda s: (
        *("updateOrderConf", "-t", "CompatTopic"),
        *("-m", "put", "-v", "broker-a:2"),
    ),
    "updateOrderConf -m get": lambda s: ("updateOrderConf", "-t", "CompatTopic", "-m", "get"),
    "updateOrderConf -m delete": lambda s: ("updateOrderConf", "-t", "CompatTopic", "-m", "delete"),
    "updateNamesrvConfig": lambda s: ("updateNamesrvConfig", "-k", "clusterTest", "-v", "false"),
    "wipeWritePerm": lambda s: ("wipeWritePerm", "-b", "broker-a"),
    "wipeWritePerm again": lambda s: ("wipeWritePerm", "-b", "broker-a"),
    "addWritePerm": lambda s: ("addWritePerm", "-b", "broker-a"),
    "addWritePerm again": lambda s: ("addWritePerm", "-b", "broker-a"),
    "cleanExpiredCQ": lambda s: ("cleanExpiredCQ",),
    "cleanUnusedTopic": lambda s: ("cleanUnusedTopic", "-c", "TestCluster"),
    "deleteExpiredCommitLog": lambda s: ("deleteExpiredCommitLog", "-b", s.broker),
    "cloneGroupOffset": lambda s: (
        *("cloneGroupOffset", "-s", ONLINE),
        *("-d", "CompatClone", "-t", TOPIC),
    ),
    "resetOffsetByTime": lambda s: ("resetOffsetByTime", "-g", OFFLINE, "-t", TOPIC, "-s", "0"),
    "resetOffsetByTime now": lambda s: (
        *("resetOffsetByTime", "-g", OFFLINE, "-t", TOPIC),
        *("-s", "now"),
    ),
    "resetOffsetByTime -f false": lambda s: (
        *("resetOffsetByTime", "-g", OFFLINE, "-t", TOPIC),
        *("-s", "now", "-f", "false"),
    ),
    "skipAccumulatedMessage": lambda s: ("skipAccumulatedMessage", "-g", OFFLINE, "-t", TOPIC),
    "resetOffsetByTime online": lambda s: (
        *("resetOffsetByTime", "-g", ONLINE, "-t", TOPIC),
        *("-s", "now"),
    ),
    "skipAccumulatedMessage online": lambda s: (
        *("skipAccumulatedMessage", "-g", ONLINE),
        *("-t", TOPIC),
    ),
}
EXIT_CODES = {"deleteKvConfig": 3}
"""Java has deleted the value already, and there the exit code stays ours."""

BEFORE: dict[str, Words] = {
    "deleteSubGroup": lambda s: COMMANDS["updateSubGroup -c"](s),
    "deleteSubGroup -c": lambda s: COMMANDS["updateSubGroup -c"](s),
    "wipeWritePerm": lambda s: ("addWritePerm", "-b", "broker-a"),
    "wipeWritePerm again": lambda s: ("wipeWritePerm", "-b", "broker-a"),
    "addWritePerm": lambda s: ("wipeWritePerm", "-b", "broker-a"),
    "addWritePerm again": lambda s: ("addWritePerm", "-b", "broker-a"),
    "updateTopicPerm -c": lambda s: (
        *("updateTopicPerm", "-t", "CompatTopic", "-p", "6"),
        *("-b", s.broker),
    ),
    "updateOrderConf -m delete": lambda s: COMMANDS["updateOrderConf -m put"](s),
    "resetOffsetByTime": lambda s: COMMANDS["resetOffsetByTime now"](s),
    "resetOffsetByTime now": lambda s: COMMANDS["resetOffsetByTime"](s),
    "resetOffsetByTime -f false": lambda s: COMMANDS["resetOffsetByTime"](s),
    "skipAccumulatedMessage": lambda s: COMMANDS["resetOffsetByTime"](s),
}
"""What Java's tool does before each of the two, so that both find the same."""

UNORDERED = (
    *("getBrokerConfig", "getBrokerConfig -c", "getNamesrvConfig", "consumerStatus -i"),
    *("topicList", "topicList -c"),
)
"""Java prints settings in an order that differs from one JDK to another, and topics in that of a
set; ours are sorted."""

MOVING = (
    *("brokerConsumeStats", "consumerProgress", "consumerProgress -g", "consumerProgress -g -s"),
    *("statsAll", "consumerStatus -i", "queryMsgById", "queryMsgByOffset", "queryMsgByUniqueKey"),
)


@pytest.mark.parametrize("name", COMMANDS)
def test_layout_is_that_of_java(
    scenes: tuple[Scene, Scene], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    scene = scenes[0]
    words = COMMANDS[name](scene)
    monkeypatch.chdir(tmp_path)

    if name in MOVING:
        # The member reads on and keeps its positions meanwhile.
        asyncio.run(caught_up(scene))
    prepare(scene, name)
    java = scene.mqadmin(*words).stdout
    prepare(scene, name)
    ours = run_ours(scene, *words, exit_code=EXIT_CODES.get(name, 0))

    if name.startswith("brokerStatus"):
        # The values of the same broker change from one answer to the next.
        assert {line[:34] for line in ours.splitlines()} == {
            line[:34] for line in java.splitlines()
        }
        return
    theirs, mine = (told(text, scene) for text in (java, ours))
    assert bool(mine) == (name != "printMsgByQueue")
    if name == "statsAll":
        # Java counts nothing that waits for a group without retry topic.
        assert {line for line in mine if ONLINE in line} <= set(theirs)
    elif name in UNORDERED:
        assert sorted(mine) == sorted(theirs)
    else:
        assert mine == theirs
    assert widths(ours) == widths(java)
    assert ours[-1:] == java[-1:]


def prepare(scene: Scene, name: str) -> None:
    """Make what a command changes as it was, by the real tool."""
    if name in BEFORE:
        done = scene.mqadmin(*BEFORE[name](scene))
        assert not done.stderr


def run_ours(scene: Scene, *words: str, exit_code: int = 0) -> str:
    """Run a line of our mqadmin with ``--compat`` and return what it printed."""
    ours = OurMqadmin(scene.servers.namesrv.address, {"HOME": str(Path.cwd())})
    return ours.text(*words, "--compat", "-y", exit_code=exit_code)


def test_traces_are_printed_as_java_prints_them(
    scenes: tuple[Scene, Scene], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = scenes[0]
    monkeypatch.chdir(tmp_path)

    async def traced() -> tuple[tuple[str, ...], str]:
        # Java's tool may end before it has sent the trace of its message: each try sends another.
        sent = scene.mqadmin("sendMessage", "-t", TOPIC, "-p", "traced", "-m", "true").stdout
        words = ("queryMsgTraceById", "-i", sent.split()[-1])
        return words, scene.mqadmin(*words).stdout

    words, java = asyncio.run(eventually(traced, lambda found: "#Status" in found[1]))

    assert run_ours(scene, *words) == java


async def caught_up(scene: Scene) -> None:
    """Return once the member that is online has a position at the end of each queue."""
    async with MQClient(scene.servers.namesrv.address, timeout_s=60) as client:
        admin = Admin(client)

        async def behind() -> list[int]:
            stats = await admin.consume_stats(scene.broker, ONLINE, TOPIC)
            return [at.broker_offset - at.consumer_offset for at in stats.offset_table.values()]

        await eventually(behind, lambda lags: lags and not any(lags))


def told(text: str, scene: Scene) -> list[str]:
    """Return the lines without what differs from one moment to the next."""
    for changing, stands in (
        (r"spentTimeMills=\d+", "spentTimeMills=<ms>"),
        (r"true +\d+$", "true <ms>"),
        (r"(Consume TPS|Avg RT): \S+", r"\1: <rate>"),
        (r" +\d+\.\d+ 0\.\d+$", " <hours> <space>"),
        (r"\b20\d{15}\b", "<time>"),
        (r"rt=\d+ms", "rt=<ms>"),
        (r"queueId=\d\], queueOffset=\d+", "queueId=<queue>], queueOffset=<offset>"),
        (r", org\.apache\.[\w.$]+\(\w+\.java:\d+\)", ""),
    ):
        text = re.sub(changing, stands, text, flags=re.MULTILINE)
    # Java deals queues out in the order of a hash set.
    text = re.sub(r'"queueId":\d', '"queueId":<queue>', text)
    text = re.sub(r"(broker-a +)\d( +true)", r"\1<queue>\2", text)
    return without_nature(text, scene).splitlines()


def widths(text: str) -> list[str]:
    """Return the header as it is, blanks included."""
    return [line.rstrip() for line in text.splitlines() if line.startswith("#")]
