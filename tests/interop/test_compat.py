"""``--compat`` prints what the real mqadmin prints, of the same real broker."""

import asyncio
import re
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from tests.interop.kit.our_mqadmin import OurMqadmin
from tests.interop.kit.scene import OFFLINE, ONLINE, TOPIC, Scene, play, settle, without_nature
from tests.interop.kit.servers import Servers
from tests.interop.kit.toolbox import Toolbox
from tests.waiting import eventually

TO_START = "resetOffsetByTime -g {offline} -t {topic} -s 0; "
TO_END = "resetOffsetByTime -g {offline} -t {topic} -s now; "
COMMANDS = (
    "topicList",
    "topicList -c",
    "topicStatus -t {topic}",
    "topicClusterList -t {topic}",
    "queryMsgByKey -t {topic} -k key3",
    "brokerConsumeStats -b {address}",
    "brokerStatus -b {address}",
    "brokerStatus -c TestCluster",
    "getBrokerConfig -b {address}",
    "getBrokerConfig -c TestCluster",
    "getNamesrvConfig",
    "sendMessage -t {topic} -p x -b broker-a -i 0",
    "clusterList",
    "clusterList -m",
    "topicRoute -t {topic}",
    "topicRoute -t {topic} -l",
    "consumerProgress",
    "consumerProgress -g {online}",
    "consumerProgress -g {online} -s true",
    "consumerStatus -g {online}",
    "consumerStatus -g {online} -i {client}",
    "printMsg -t {topic}",
    "printMsg -t {topic} -s TagA -d false",
    "printMsgByQueue -t {topic} -a broker-a -i 1",
    "printMsgByQueue -t {topic} -a broker-a -i 1 -p true",
    "printMsgByQueue -t {topic} -a broker-a -i 1 -p true -d true -f true",
    "consumeMessage -t {topic} -c 2",
    "consumeMessage -t {topic} -b broker-a -i 1 -o 1",
    "consumeMessage -t {topic} -b broker-a -i 1 -c 1",
    "consumerConnection -g {online}",
    "producer -b {address}",
    "producerConnection -g CLIENT_INNER_PRODUCER -t {topic}",
    "getConsumerConfig -g {online}",
    "statsAll -t {topic}",
    "queryCq -t {topic} -q 1 -i 0 -c 2 -b {address}",
    "queryMsgById -i {id}",
    "queryMsgById -i {id} -g {online} -d {client}",
    "queryMsgById -i {id} -s true",
    "queryMsgByOffset -t {topic} -b broker-a -i 1 -o 2",
    "queryMsgByUniqueKey -t {topic} -i {unique}",
    "allocateMQ -t {topic} -i a",
    "checkMsgSendRT -t {topic} -a 2 -s 3",
    "sendMsgStatus -b broker-a -c 2 -s 3",
    "updateSubGroup -g CompatGroup -c TestCluster",
    "updateSubGroup -g CompatGroup -c TestCluster; deleteSubGroup -g CompatGroup -b {address}",
    "updateSubGroup -g CompatGroup -c TestCluster; deleteSubGroup -g CompatGroup -c TestCluster",
    "updateSubGroup -g CompatGroup -b {address} -r 3 -s true -m true -d true",
    "updateTopic -t CompatTopic -b {address} -r 3",
    "updateTopic -t CompatTopic -c TestCluster",
    "updateTopicPerm -t CompatTopic -p 6 -b {address}",
    "updateKvConfig -s COMPAT -k k -v v",
    "deleteKvConfig -s COMPAT -k k",
    "updateBrokerConfig -b {address} -k fileReservedTime -v 72",
    "updateTopicPerm -t CompatTopic -p 6 -b {address}; "
    "updateTopicPerm -t CompatTopic -p 4 -c TestCluster",
    "updateOrderConf -t CompatTopic -m put -v broker-a:2",
    "updateOrderConf -t CompatTopic -m get",
    "updateOrderConf -t CompatTopic -m put -v broker-a:2; updateOrderConf -t CompatTopic -m delete",
    "updateNamesrvConfig -k clusterTest -v false",
    "addWritePerm -b broker-a; wipeWritePerm -b broker-a",
    "wipeWritePerm -b broker-a; wipeWritePerm -b broker-a",
    "wipeWritePerm -b broker-a; addWritePerm -b broker-a",
    "addWritePerm -b broker-a; addWritePerm -b broker-a",
    "cleanExpiredCQ",
    "cleanUnusedTopic -c TestCluster",
    "deleteExpiredCommitLog -b {address}",
    "cloneGroupOffset -s {online} -d CompatClone -t {topic}",
    TO_END + "resetOffsetByTime -g {offline} -t {topic} -s 0",
    TO_START + "resetOffsetByTime -g {offline} -t {topic} -s now",
    TO_START + "resetOffsetByTime -g {offline} -t {topic} -s now -f false",
    TO_START + "skipAccumulatedMessage -g {offline} -t {topic}",
    "resetOffsetByTime -g {online} -t {topic} -s now",
    "skipAccumulatedMessage -g {online} -t {topic}",
)
"""What is compared; a line before a semicolon is run by the real tool before each of the two."""
SCRIPTS = (
    "deleteTopic -t NoSuchTopic -c TestCluster",
    "updateTopic -t CompatGone -b {address}; deleteTopic -t CompatGone -c TestCluster",
    "deleteSubGroup -g NoSuchGroup -b {address}",
    "deleteSubGroup -g NoSuchGroup -c TestCluster",
    "deleteKvConfig -s NO_SUCH -k nope",
    "updateTopic -t CompatTopic -c TestCluster -r 8 -w 8 -p 6",
    "updateTopic -t CompatOrdered -c TestCluster -o true",
    "updateTopic -b {address} -t CompatUnit -u true -s true -r 4 -w 4",
    "topicStatus -t NoSuchTopic",
    "topicRoute -t NoSuchTopic",
    "topicClusterList -t NoSuchTopic",
    "consumerProgress -g NoSuchGroup",
    "consumerConnection -g NoSuchGroup",
    "consumerStatus -g NoSuchGroup",
    "producerConnection -g NoSuchGroup -t {topic}",
    "getConsumerConfig -g NoSuchGroup",
    "queryMsgByKey -t {topic} -k nope",
    "queryMsgByKey -t {topic} -k key1",
    "queryMsgByUniqueKey -t {topic} -i AC1100020B6B18B4AAC2064ED6A30000",
    "queryMsgByOffset -t {topic} -b broker-a -i 0 -o 0",
    "updateTopic -t CompatOneOrdered -b {address} -o true",
    "statsAll",
    "statsAll -a",
    "statsAll -a -t {topic}",
    "brokerConsumeStats -b {address} -o true",
    "brokerConsumeStats -b {address} -l 0 -t 5000",
    "brokerConsumeStats -b {address} -l 1000",
    "printMsg -t {topic} -c UTF-8 -s *",
    "printMsg -t {topic} -b 2020-01-01#00:00:00:000 -e 2020-01-02#00:00:00:000",
    "printMsgByQueue -t {topic} -a broker-a -i 0 -p true -d true",
    "consumeMessage -t {topic} -c 1",
    "sendMessage -t {topic} -p hello -k k9 -c TagA -b broker-a -i 1",
    "updateSubGroup -b {address} -g CompatGroup -q 2 -r 5 -i 0 -w 1 -a true",
    "updateKvConfig -s ORDER_TOPIC_CONFIG -k CompatOrder -v broker-a:2",
    "allocateMQ -t {topic} -i a,b",
    "queryCq -t {topic} -q 0 -i 1 -c 1",
    "queryCq -t {topic} -q 1 -i 0 -c 1 -b {address} -g {online}",
    "resetOffsetByTime -g NoSuchGroup -t {topic} -s 0",
    "wipeWritePerm -b no-broker",
    "addWritePerm -b no-broker",
    "cleanExpiredCQ -c TestCluster",
    "cleanExpiredCQ -b {address}",
    "cleanUnusedTopic -b {address}",
    "cleanUnusedTopic",
    "deleteExpiredCommitLog -c TestCluster",
    "updateBrokerConfig -c TestCluster -k fileReservedTime -v 72",
    "updateTopicPerm -t NoSuchTopic -p 6 -b {address}",
    "updateTopicPerm -t CompatTopic -p 6 -c TestCluster",
    "updateOrderConf -t NoSuchTopic -m get",
    "producer -b {address}",
)
"""Lines as scripts and documents have them, beside the former: things that are not there, and
flags one by one. Java's exit code is 0 for each, and with ``--compat strict`` ours is."""
RESETS = ("resetOffsetByTime", "skipAccumulatedMessage")
TRACKED = ("queryMsgById -i {id}", "queryMsgByOffset", "queryMsgByUniqueKey -t {topic} -i {unique}")


def differs_on_5(steps: str) -> bool:
    """Return whether a line is not compared on a broker of 5.

    There the broker itself resets an offline group, so that Java's tool prints the layout of an
    online one; a group is needed before its offsets; and the name server's text about a missing
    route has another address.
    """
    line = steps.split("; ")[-1]
    is_tracked = line.startswith(TRACKED) and not line.endswith(("{client}", "true"))
    is_reset = steps.startswith(RESETS) and "{offline}" in steps
    return is_tracked or is_reset or line.startswith("cloneGroupOffset")


OF_ONE_CLIENT = "consumerStatus -g {online} -i {client}"

UNORDERED = (
    *("getBrokerConfig -b {address}", "getBrokerConfig -c TestCluster", "getNamesrvConfig"),
    *(OF_ONE_CLIENT, "topicList", "topicList -c"),
)
"""Java prints settings in an order that differs from one JDK to another, and topics in that of a
set; ours are sorted."""

STATS_OF_BROKER = tuple(
    line for line in (*COMMANDS, *SCRIPTS) if line.startswith("brokerConsumeStats")
)
"""Brokers of 5 give the groups in an order of their own."""

MOVING = (
    *("brokerConsumeStats", "consumerProgress", "statsAll", OF_ONE_CLIENT),
    *("queryMsgById", "queryMsgByOffset", "queryMsgByUniqueKey"),
)


@pytest.fixture(scope="module")
def five_scene(toolbox: Toolbox, five_pair: Servers) -> Iterator[Scene]:
    """Yield the scene on a pair of 5.4.0, at which the tool of 4.9.7 looks."""
    scene = play(five_pair, toolbox)
    scene.consumer.messages(6)
    # A broker of 5 takes no offset of a group that it does not know.
    scene.mqadmin("updateSubGroup", "-g", OFFLINE, "-b", scene.broker)
    asyncio.run(settle(five_pair))
    yield scene
    scene.consumer.stop()


@pytest.mark.parametrize("steps", [*COMMANDS, *SCRIPTS])
def test_layout_is_that_of_java(
    scenes: tuple[Scene, Scene], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: str
) -> None:
    monkeypatch.chdir(tmp_path)
    compare(scenes[0], steps)


@pytest.mark.parametrize(
    "steps", [line for line in (*COMMANDS, *SCRIPTS) if not differs_on_5(line)]
)
def test_layout_on_a_broker_of_5_is_that_of_java(
    five_scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: str
) -> None:
    monkeypatch.chdir(tmp_path)
    compare(five_scene, steps, unordered=(*UNORDERED, *STATS_OF_BROKER))


def compare(scene: Scene, steps: str, *, unordered: Collection[str] = UNORDERED) -> None:
    """Run a line of both tools on one pair and compare what they print.

    Args:
        unordered: lines whose output is compared without regard to order.
    """
    *before, line = steps.split("; ")
    words = scene.words(line)

    def prepare() -> None:
        for step in before:
            assert not scene.mqadmin(*scene.words(step)).stderr

    if line.startswith(MOVING):
        # The member reads on and keeps its positions meanwhile.
        asyncio.run(caught_up(scene))
    prepare()
    java = scene.mqadmin(*words).stdout
    prepare()
    ours = run_ours(scene, *words, compat="strict" if steps in SCRIPTS else "layout")

    if line.startswith("brokerStatus"):
        # The values of the same broker change from one answer to the next.
        names = [{shown[:34] for shown in text.splitlines()} for text in (ours, java)]
        assert names[0] == names[1]
        return
    theirs, mine = (told(text, scene) for text in (java, ours))
    if steps in COMMANDS:
        assert bool(mine) == (line != "printMsgByQueue -t {topic} -a broker-a -i 1")
    if line.startswith("statsAll"):
        # Java counts nothing that waits for a group without retry topic.
        assert {shown for shown in mine if ONLINE in shown} <= set(theirs)
    elif line in unordered:
        assert sorted(mine) == sorted(theirs)
    else:
        assert mine == theirs
    assert widths(ours) == widths(java)
    assert ours[-1:] == java[-1:]


def run_ours(scene: Scene, *words: str, compat: str = "layout") -> str:
    """Run a line of our mqadmin with ``--compat``, which ends well, and return what it printed."""
    ours = OurMqadmin(scene.servers.namesrv.address, {"HOME": str(Path.cwd())})
    return ours.text(*words, f"--compat={compat}", "-y")


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
