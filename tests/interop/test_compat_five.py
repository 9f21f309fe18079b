"""The 90 names of the tool of 5.4.0 beside ours, on one cluster of 5.4.0.

namesrv (5.4.0) ── controller (ours) ── broker-a (5.4.0), alone in its group, without accounts

    SAME        both print the same, byte for byte
    SORTED      the same, in an order that Java leaves to a hash table
    DIFFERS     ours prints the layout of 4.9.7, and what 5.4.0 prints otherwise is said
    FACTS       both tell the same facts: names, offsets, numbers (``parity.READS``)
    CHANGES     each changes a thing of its own, and the tool of 5.4.0 sees the same (``WRITES``)
    EXPORTS     files with the same keys
    TESTED      a test here of its own
    ELSEWHERE   what needs another server, and the module that has it

Every name is in one of the lists; docs/parity.md is made from them.
"""

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.interop.kit.our_clients import await_registered
from tests.interop.kit.our_mqadmin import OurMqadmin
from tests.interop.kit.process import Child
from tests.interop.kit.scene import OFFLINE, TOPIC, Scene, blank, play, settle
from tests.interop.kit.servers import (
    START_TIMEOUT_S,
    Broker,
    Controller,
    JavaSide,
    Namesrv,
    OurSide,
    Servers,
)
from tests.interop.kit.toolbox import Toolbox
from tests.interop.parity import READS, WRITES
from tests.interop.parityfacts import our_rows
from tests.interop.test_compat import caught_up, told
from tests.waiting import eventually, wait

SAME = (
    "topicClusterList -t {topic}",
    "topicStatus -t NoSuchTopic",
    "updateBrokerConfig -c TestCluster -a true -k fileReservedTime -v 72",
    "consumerProgress",
    "consumerProgress -g NoSuchGroup",
    "consumerConnection -g {online}",
    "producer -b {address}",
    "producerConnection -g CLIENT_INNER_PRODUCER -t {topic}",
    "statsAll -t {topic}",
    "queryCq -t {topic} -q 1 -i 0 -c 2 -b {address}",
    "allocateMQ -t {topic} -i a",
    "sendMessage -t {topic} -p x -b broker-a -i 0",
    "updateKvConfig -s COMPAT -k k -v v",
    "deleteKvConfig -s COMPAT -k k",
    "updateBrokerConfig -b {address} -k fileReservedTime -v 72",
    "updateOrderConf -t NoSuchTopic -m get",
    "wipeWritePerm -b no-broker",
    "cleanExpiredCQ -b {address}",
    "deleteTopic -t NoSuchTopic -c TestCluster",
    "deleteSubGroup -g NoSuchGroup -b {address}",
    "resetOffsetByTime -g NoSuchGroup -t {topic} -s 0",
    "cloneGroupOffset -s {online} -d {offline} -t {topic}",
    "setConsumeMode -b {address} -t {topic} -g {offline} -m POP -q 2",
    "setConsumeMode -c TestCluster -t {topic} -g {offline} -m PULL",
    "setConsumeMode -b {address} -t NoSuchTopic -g {offline} -m POP",
    "addWritePerm -b no-broker",
    "cleanBrokerMetadata -a {controller} -bn none -c TestCluster",
    "cleanUnusedTopic -b {address}",
    "deleteExpiredCommitLog -b {address}",
    "getBrokerEpoch -b broker-a",
    "getControllerMetaData -a {controller}",
    "getSyncStateSet -a {controller} -b broker-a",
    "haStatus -b {address}",
    "resetMasterFlushOffset -b {address} -o 0",
    "updateControllerConfig -a {controller} -k notifyBrokerRoleChanged -v true",
    "updateNamesrvConfig -k orderMessageEnable -v true",
    "updateTopicPerm -t {topic} -p 6 -b {address}",
)
DIFFERS = {
    "clusterList": "wider columns, and #Timer(Progress), #ACTIVATED",
    "topicStatus -t {topic}": "a last line, Topic Put TPS",
    "topicStatus -t {topic} -c TestCluster": "a last line, Topic Put TPS",
    "topicRoute -t {topic}": "each broker has enableActingMaster, and maps break lines",
    "queryMsgByKey -t {topic} -k key3": "a column #IndexKey",
    "queryMsgByKey -t {topic} -k key3 -c TestCluster": "a column #IndexKey",
    "consumerProgress -g {online}": "a column #Inflight",
    "consumerProgress -g {online} -c TestCluster": "a column #Inflight",
    "getConsumerConfig -g {online}": "the settings that came with 5.x",
    "queryCq -t {topic} -q 1 -i 0 -c 1 -b {address} -g {online}": "lists of JSON break lines",
    "updateTopic -t CompatTopic -c TestCluster": "TopicConfig has attributes",
    "updateSubGroup -g CompatGroup -c TestCluster": "braces, and the settings of 5.x",
    "resetOffsetByTime -g {offline} -t {topic} -s 0": "'start reset', and the broker's answer",
}
EXPORTS = ("exportMetadata", "exportConfigs", "exportMetrics")
SORTED = ("getControllerConfig -a {controller}",)
FACTS = {
    "brokerConsumeStats": "-b {address}",
    "brokerStatus": "-b {address}",
    "consumeMessage": "-t {topic} -b {broker} -i 0 -o 1 -c 1",
    "consumerStatus": "-g {online}",
    "getBrokerConfig": "-b {address}",
    "getNamesrvConfig": "",
    "printMsg": "-t {topic}",
    "printMsgByQueue": "-t {topic} -a {broker} -i 1 -p true -d true",
    "queryMsgById": "-t {topic} -i {id}",
    "queryMsgByOffset": "-t {topic} -b {broker} -i 1 -o 2",
    "queryMsgByUniqueKey": "-t {topic} -i {unique}",
    "topicList": "",
}
CHANGES = ("checkMsgSendRT", "sendMsgStatus", "skipAccumulatedMessage")
TESTED = {
    "clusterRT": "brokers, and how many messages each took",
    "queryMsgTraceById": "group, time and success of the send",
    "updateSubGroupList": "the settings of each group",
    "updateTopicList": "the route of each topic",
}
ELSEWHERE = {
    "test_auth_five": (
        *("copyAcl", "copyUser", "createAcl", "createUser", "deleteAcl", "deleteUser", "getAcl"),
        *("getUser", "listAcl", "listUser", "updateAcl", "updateUser"),
    ),
    "test_containers": ("addBroker", "removeBroker"),
    "test_controller": ("electMaster",),
    "test_static_topics_five": ("remappingStaticTopic", "updateStaticTopic"),
    "test_storage_five": (
        *("checkRocksdbCqWriteProgress", "dumpCompactionLog", "exportPopRecord"),
        *("getColdDataFlowCtrInfo", "removeColdDataFlowCtrGroupConfig", "rocksDBConfigToJson"),
        *("setCommitLogReadAheadMode", "switchTimerEngine", "updateColdDataFlowCtrGroupConfig"),
    ),
    "tests/mqadmin/output/compat/test_rocksdb": ("exportMetadataInRocksDB",),
    "none, since it does not end": ("startMonitoring",),
}


class Cluster(NamedTuple):
    """The running servers of the table."""

    servers: Servers
    controller: Controller


@pytest.fixture(scope="module")
def cluster(
    five: JavaSide, our_side: OurSide, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    home = tmp_path_factory.mktemp("names")
    with ExitStack() as stack:
        namesrv = stack.enter_context(Namesrv(five))
        controller = stack.enter_context(Controller(our_side, directory=home / "controller"))
        settings = {
            "enableControllerMode": "true",
            "controllerAddr": controller.address,
            # A busy machine must not look like a dead master.
            "controllerHeartBeatTimeoutMills": "60000",
            "traceTopicEnable": "true",
        }
        broker = Broker(five, store=home / "store", namesrv=namesrv.address, settings=settings)
        stack.callback(broker.kill)
        servers = Servers(five.name, namesrv, broker.await_ready())
        await_registered(servers)
        yield Cluster(servers, controller)


@pytest.fixture(scope="module")
def scene(toolbox: Toolbox, cluster: Cluster) -> Iterator[Scene]:
    """Yield the scene on the cluster."""
    played = play(cluster.servers, toolbox)
    played.consumer.messages(6)
    played.mqadmin("updateSubGroup", "-g", OFFLINE, "-b", played.broker)
    asyncio.run(settle(cluster.servers))
    yield played
    played.consumer.stop()


def ask_both(
    scene: Scene, cluster: Cluster, tool: Toolbox, line: str
) -> tuple[list[str], list[str]]:
    """Return the lines that the tool of 5.4.0 prints, and ours."""
    namesrv = scene.servers.namesrv.address
    words = scene.words(line, controller=cluster.controller.address)
    asyncio.run(caught_up(scene))
    java = tool.mqadmin(*words, "-n", namesrv).stdout
    ours = OurMqadmin(namesrv, {"HOME": str(Path.cwd())})
    # Java's exit code is 0 for each line.
    return told(java, scene), told(ours.text(*words, "--compat=strict", "-y"), scene)


@pytest.mark.parametrize("line", [*SAME, *SORTED])
def test_most_lines_are_those_of_the_tool_of_5(
    scene: Scene,
    cluster: Cluster,
    five_tool: Toolbox,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    line: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    java, ours = ask_both(scene, cluster, five_tool, line)

    if line in SORTED:
        java.sort()
        ours.sort()
    assert ours == java


@pytest.mark.parametrize("line", DIFFERS)
def test_what_the_tool_of_5_prints_otherwise_is_known(
    scene: Scene,
    cluster: Cluster,
    five_tool: Toolbox,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    line: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    java, ours = ask_both(scene, cluster, five_tool, line)

    assert ours != java
    assert bool(ours) == bool(java)


@pytest.mark.parametrize("name", EXPORTS)
def test_exported_files_have_the_keys_of_the_tool_of_5(
    scene: Scene, five_tool: Toolbox, tmp_path: Path, name: str
) -> None:
    namesrv = scene.servers.namesrv.address
    words = (name, "-c", "TestCluster", "-f")
    # The tool gives up after 5 s, which a busy machine may take for its first request.
    wait(
        lambda: five_tool.mqadmin(*words, str(tmp_path / "java"), "-n", namesrv),
        lambda output: not output.stderr,
    )
    OurMqadmin(namesrv, {"HOME": str(tmp_path)}).text(*words, str(tmp_path / "ours"), "--compat")

    java, ours = (
        {path.name: keys_of(json.loads(path.read_text())) for path in folder.iterdir()}
        for folder in (tmp_path / "java", tmp_path / "ours")
    )
    assert ours == java


def keys_of(document: object) -> object:
    """Return the keys of two levels of a document."""
    assert isinstance(document, dict)
    return {
        key: sorted(value) if isinstance(value, dict) else type(value).__name__
        for key, value in document.items()
    }


def test_a_group_with_attributes_of_5_is_changed_and_keeps_them(
    scene: Scene, five_tool: Toolbox, tmp_path: Path
) -> None:
    namesrv, broker = scene.servers.namesrv.address, scene.broker
    made = "updateSubGroup -g Attributed --attributes +priority.factor=50 -b"
    five_tool.mqadmin(*made.split(), broker, "-n", namesrv)

    mqadmin = OurMqadmin(namesrv, {"HOME": str(tmp_path)})
    (row,) = mqadmin("group", "update", "Attributed", "--retry-max", "3", "--broker", broker)

    assert (row["result"], row["was"]) == ("changed", {"retry_max_times": 16})
    shown = five_tool.mqadmin("getConsumerConfig", "-g", "Attributed", "-n", namesrv).stdout
    assert "priority.factor=50" in shown


@pytest.mark.parametrize("name", FACTS)
def test_both_tell_the_same_facts(
    scene: Scene, five_tool: Toolbox, tmp_path: Path, name: str
) -> None:
    case, words = READS[name], scene.words(FACTS[name])
    namesrv = scene.servers.namesrv.address

    java = case.java(five_tool.mqadmin(name, *words, "-n", namesrv).stdout)
    mine = case.ours(our_rows(namesrv, tmp_path, name, *words))

    assert java
    assert java - mine == set()
    assert case.at_least or mine - java == set()


@pytest.mark.parametrize("name", CHANGES)
def test_both_change_the_same(scene: Scene, five_tool: Toolbox, tmp_path: Path, name: str) -> None:
    case, namesrv = WRITES[name], scene.servers.namesrv.address
    seen = []
    for side in ("Java", "Ours"):
        for before in case.before:
            five_tool.mqadmin(*scene.words(before, side=side), "-n", namesrv)
        words = scene.words(case.words, side=side)
        if side == "Java":
            assert five_tool.mqadmin(name, *words, "-n", namesrv).stdout
        else:
            our_rows(namesrv, tmp_path, name, *words)
        looks = scene.words(case.looks, side=side)
        if looks[0] == "offset":
            shown = str(our_rows(namesrv, tmp_path, *looks))
        else:
            output = five_tool.mqadmin(*looks, "-n", namesrv)
            shown = output.stdout + output.stderr
        seen.append([line.replace(side, "<side>") for line in blank(shown, scene)])

    assert seen[0] == seen[1]
    assert seen[0]


def test_both_measure_every_broker(
    scene: Scene, five: JavaSide, five_tool: Toolbox, tmp_path: Path
) -> None:
    namesrv = scene.servers.namesrv.address
    made = scene.words("updateTopic -t {broker} -r 1 -w 1 -b {address}")
    five_tool.mqadmin(*made, "-n", namesrv)
    main = "org.apache.rocketmq.tools.command.MQAdminStartup"
    command = five.java(main, "clusterRT", "-a", "3", "-i", "1", "-n", namesrv, heap="256m")
    running = Child(command, log=five.logs / "endless.err", directory=five.directory)
    try:
        shown = running.await_line(lambda line: "broker-a" in line, timeout_s=START_TIMEOUT_S)
    finally:
        running.kill()

    (row,) = our_rows(namesrv, tmp_path, "cluster", "rt", "--count", "3")

    name, broker, _, done, failed = shown.split()
    assert (name, broker) == (row["cluster"], row["broker"])
    assert (int(done), int(failed)) == (row["sent"], row["failed"])


def test_a_traced_message_is_found_by_both(
    scene: Scene, toolbox: Toolbox, five_tool: Toolbox, tmp_path: Path
) -> None:
    namesrv = scene.servers.namesrv.address
    spec = {"namesrv": namesrv, "topic": TOPIC, "group": "TracedPG", "mode": "sync", "trace": True}
    body = {"body": "traced", "queue": 0, "broker": scene.servers.broker.name}
    (sent,) = toolbox.run("Producer", {**spec, "messages": [body]})
    words = ("queryMsgTraceById", "-i", sent["msgId"])

    async def java() -> str:
        return five_tool.mqadmin(*words, "-n", namesrv).stdout

    shown = asyncio.run(eventually(java, lambda text: "success" in text))
    rows = our_rows(namesrv, tmp_path, *words)

    found = re.search(r"^Pub\s+(\S+)\s.*?(\d+)ms\s+success", shown, re.MULTILINE)
    assert found is not None
    (pub,) = [row for row in rows if row["step"] == "sent"]
    assert (pub["group"], str(pub["cost_ms"]), pub["success"]) == (found[1], found[2], True)


@pytest.mark.parametrize(
    ("name", "looks"),
    [
        ("updateTopicList", "topicRoute -t Listed{side}"),
        ("updateSubGroupList", "getConsumerConfig -g Listed{side}"),
    ],
)
def test_lists_are_taken_alike(
    scene: Scene, five_tool: Toolbox, tmp_path: Path, name: str, looks: str
) -> None:
    namesrv = scene.servers.namesrv.address
    seen = []
    for side in ("Java", "Ours"):
        settings = {"topicName": f"Listed{side}", "readQueueNums": 3, "writeQueueNums": 3}
        if name == "updateSubGroupList":
            settings = {"groupName": f"Listed{side}", "retryMaxTimes": 3, "consumeEnable": False}
        file = tmp_path / f"{side}.json"
        file.write_text(json.dumps([settings]))
        words = (name, "-b", scene.broker, "-f", str(file))
        if side == "Java":
            assert "success" in five_tool.mqadmin(*words, "-n", namesrv).stdout
        else:
            our_rows(namesrv, tmp_path, *words)
        shown = five_tool.mqadmin(*scene.words(looks, side=side), "-n", namesrv).stdout
        seen.append([line.replace(side, "<side>") for line in blank(shown, scene)])

    assert seen[0] == seen[1]
    assert len(seen[0]) > 1


def names_on_one_cluster() -> dict[str, str]:
    """Return what is compared on the cluster, by name, as docs/parity.md says it."""
    said = dict.fromkeys((line.split()[0] for line in (*SAME, *SORTED)), "prints the same")
    for line, how in DIFFERS.items():
        said[line.split()[0]] = f"prints the layout of 4.9.7; that of 5.4.0: {how}"
    said |= dict.fromkeys(EXPORTS, "writes the same keys")
    said |= {name: f"agrees on {READS[name].facts}" for name in FACTS}
    said |= {name: f"agrees on {WRITES[name].facts}" for name in CHANGES}
    return said | {name: f"agrees on {facts}" for name, facts in TESTED.items()}


def test_every_name_of_5_is_in_one_list(fact_tables: Path) -> None:
    facts = json.loads((fact_tables / "mqadmin-5.4.0.json").read_text())
    here = {*names_on_one_cluster()}
    elsewhere = [name for names in ELSEWHERE.values() for name in names]

    assert len(facts) == 90
    assert sorted(here) + sorted(elsewhere) == sorted(here) + sorted({*elsewhere} - here)
    assert here | {*elsewhere} == {fact["name"] for fact in facts}
