"""``--compat`` beside the tool of 5.4.0 itself, on a broker of 5.4.0.

The layouts are those of 4.9.7 on every broker. Most lines are the same in both tools; ``DIFFERS``
says of each other one what 5.4.0 prints otherwise.
"""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interop.kit.our_mqadmin import OurMqadmin
from tests.interop.kit.scene import OFFLINE, Scene, play, settle
from tests.interop.kit.servers import Servers
from tests.interop.kit.toolbox import Toolbox
from tests.interop.test_compat import caught_up, told

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


@pytest.fixture(scope="module")
def scene(toolbox: Toolbox, five_pair: Servers) -> Iterator[Scene]:
    """Yield the scene on a pair of 5.4.0."""
    played = play(five_pair, toolbox)
    played.consumer.messages(6)
    played.mqadmin("updateSubGroup", "-g", OFFLINE, "-b", played.broker)
    asyncio.run(settle(five_pair))
    yield played
    played.consumer.stop()


def ask_both(scene: Scene, tool: Toolbox, line: str) -> tuple[list[str], list[str]]:
    """Return the lines that the tool of 5.4.0 prints, and ours."""
    namesrv = scene.servers.namesrv.address
    words = scene.words(line)
    asyncio.run(caught_up(scene))
    java = tool.mqadmin(*words, "-n", namesrv).stdout
    ours = OurMqadmin(namesrv, {"HOME": str(Path.cwd())})
    # Java's exit code is 0 for each line.
    return told(java, scene), told(ours.text(*words, "--compat=strict", "-y"), scene)


@pytest.mark.parametrize("line", SAME)
def test_most_lines_are_those_of_the_tool_of_5(
    scene: Scene,
    five_tool: Toolbox,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    line: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    java, ours = ask_both(scene, five_tool, line)

    assert ours == java


@pytest.mark.parametrize("line", DIFFERS)
def test_what_the_tool_of_5_prints_otherwise_is_known(
    scene: Scene,
    five_tool: Toolbox,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    line: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    java, ours = ask_both(scene, five_tool, line)

    assert ours != java
    assert bool(ours) == bool(java)


@pytest.mark.parametrize("name", EXPORTS)
def test_exported_files_have_the_keys_of_the_tool_of_5(
    scene: Scene, five_tool: Toolbox, tmp_path: Path, name: str
) -> None:
    namesrv = scene.servers.namesrv.address
    words = (name, "-c", "TestCluster", "-f")
    assert not five_tool.mqadmin(*words, str(tmp_path / "java"), "-n", namesrv).stderr
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
