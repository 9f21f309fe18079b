"""The commands of the real mqadmin that send, export, clean up and look into clients.

With ``test_java_mqadmin.py`` and the access control commands of ``test_acl.py``
these are all 57 of 4.9.7 but two, which never end: ``NEVER_ENDING`` names them.
"""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from storefmt.config.fastjson import Json
from tests.interop.kit.scene import TOPIC, Scene, blank
from tests.interop.test_java_mqadmin import READS
from tests.waiting import wait

NEVER_ENDING: Final = ("clusterRT", "startMonitoring")
IN_STEPS: Final = (
    *("updateTopic", "deleteTopic", "updateTopicPerm", "updateSubGroup", "deleteSubGroup"),
    *("updateKvConfig", "deleteKvConfig", "updateOrderConf", "updateBrokerConfig"),
    *("wipeWritePerm", "addWritePerm", "resetOffsetByTime", "topicList", "brokerStatus"),
    *("getBrokerConfig", "getNamesrvConfig", "queryMsgTraceById"),
    *("exportMetadata", "exportConfigs", "exportMetrics"),
)
"""Commands that functions here and in ``test_java_mqadmin.py`` run in steps."""
ACCESS_CONTROL: Final = (
    *("updateAclConfig", "deleteAclConfig", "getAclConfig", "clusterAclConfigVersion"),
    "updateGlobalWhiteAddr",
)

COMMANDS: Final = (
    "clusterList -m",
    "consumerProgress",
    "brokerConsumeStats -b {address} -o true",
    "producerConnection -g CLIENT_INNER_PRODUCER -t {topic}",
    "producer -b {address}",
    "consumerStatus -g {online}",
    "consumerStatus -g {online} -i {client}",
    "consumerStatus -g NoSuchGroup",
    "queryMsgById -i {id} -g {online} -d {client}",
    "queryMsgByUniqueKey -t {topic} -i {unique} -g {online} -d {client}",
    "skipAccumulatedMessage -g {offline} -t {topic}",
    "skipAccumulatedMessage -g {offline} -t {topic} -f true",
    "sendMessage -t {topic} -p 'sent by hand' -k hand -c TagC -b broker-a -i 0",
    "sendMessage -t {topic} -p 'sent by hand' -b broker-a -i 77",
    "sendMsgStatus -b broker-a -s 64 -c 2",
    "checkMsgSendRT -t {topic} -a 3 -s 16",
    "queryMsgById -i {id} -s true -u {client}",
    "cleanExpiredCQ -b {address}",
    "cleanExpiredCQ -c TestCluster",
    "deleteExpiredCommitLog -b {address}",
    "deleteExpiredCommitLog -c TestCluster",
    "cleanUnusedTopic -c TestCluster",
    "updateNamesrvConfig -k orderMessageEnable -v true",
    "updateTopic -t Ordered -r 2 -w 2 -c TestCluster -o true",
    "topicRoute -t Ordered",
    "updateSubGroup -g MadeAgain -c TestCluster -s false -m false -d false -w 2 -i 1 -a false",
    "getConsumerConfig -g MadeAgain",
    "deleteSubGroup -g MadeAgain -c TestCluster",
    "deleteTopic -t Ordered -c TestCluster",
)
"""Commands that both sides print alike, in the order in which they run."""


def measured(lines: list[str]) -> list[str]:
    """Return lines of output without times that were measured, and names of this JVM."""
    for pattern, stands in (
        (r"\d+#\d+", "<instance>"),
        (r"@[0-9a-f]{1,8}\b", "@<object>"),
        (r"\b2\d{16}\b", "<time>"),
        (r"rt=\d+ms", "rt=<ms>"),
        # Each consumer takes the second in which it was made.
        (r"(consumeTimestamp : )\d{14}", r"\1<second>"),
        (r"(SEND_OK|true) \d+\b", r"\1 <ms>"),
        (r"Avg RT: \S+", "Avg RT: <ms>"),
        (r"\b\d{13}/", "<directory>/"),
        (r"<ms>/", "<directory>/"),
        (r"originalMsgId=[0-9A-F]+", "originalMsgId=<id>"),
        # A message that is sent once more goes to any queue.
        (r"(prepare resend.*)queueId=.*", r"\1<queue>"),
        (r"spentTimeMills=\d+", "spentTimeMills=<ms>"),
    ):
        lines = [re.sub(pattern, stands, line) for line in lines]
    return sorted(lines)


SETTLE_S: Final = 90.0


@pytest.mark.parametrize("line", COMMANDS)
def test_command_prints_the_same_of_both(scenes: tuple[Scene, Scene], line: str) -> None:
    java, ours = (printed(scene, line) for scene in scenes)
    # What a live consumer says of itself settles within a rebalance, on either side.
    deadline_s = time.monotonic() + SETTLE_S
    while line.startswith("consumerStatus") and ours != java and time.monotonic() < deadline_s:
        time.sleep(1)
        java, ours = (printed(scene, line) for scene in scenes)

    assert ours == java
    assert java != [[], []]


def printed(scene: Scene, line: str) -> list[list[str]]:
    return [measured(blank(text, scene)) for text in scene.mqadmin(*scene.words(line))]


@pytest.mark.parametrize(
    "words",
    [("exportMetadata", "-c", "TestCluster"), ("exportConfigs", "-c", "TestCluster")],
    ids=["metadata", "configs"],
)
def test_exported_files_say_the_same(
    scenes: tuple[Scene, Scene], words: tuple[str, ...], tmp_path: Path
) -> None:
    java, ours = exported(scenes, words, tmp_path)

    assert ours == java


def exported(scenes: tuple[Scene, Scene], words: tuple[str, ...], tmp_path: Path) -> list[Json]:
    """Return what the one file holds that a command writes on each side."""
    found = []
    for scene in scenes:
        directory = tmp_path / scene.servers.side
        output = scene.mqadmin(*words, "-f", str(directory))
        assert "success" in output.stdout, output
        (path,) = directory.iterdir()
        text = path.read_text().replace(scene.broker, "<broker>")
        found.append(json.loads(re.sub(r'"exportTime":\d+', '"exportTime":0', text)))
    return found


def test_exported_metrics_have_the_same_shape(scenes: tuple[Scene, Scene], tmp_path: Path) -> None:
    java, ours = (
        set(paths_of(value))
        for value in exported(scenes, ("exportMetrics", "-c", "TestCluster"), tmp_path)
    )

    assert ours == java


def paths_of(value: Json, path: str = "") -> Iterator[str]:
    """Yield the path of every value that is no object."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from paths_of(item, f"{path}/{name}")
    else:
        yield path


def test_message_trace_is_stored_and_found(scenes: tuple[Scene, Scene]) -> None:
    found = []
    for scene in scenes:
        (sent,) = scene.toolbox.run(
            "Producer",
            {
                "namesrv": scene.servers.namesrv.address,
                "topic": TOPIC,
                "group": "TracedPG",
                "mode": "sync",
                "trace": True,
                "messages": [{"body": "traced", "queue": 0, "broker": scene.servers.broker.name}],
            },
        )
        found.append(measured(traced(scene, sent["msgId"])))

    java, ours = found
    assert ours == java
    assert any("success" in line for line in java)


def traced(scene: Scene, message_id: str) -> list[str]:
    """Return the trace of a message once it is there, without addresses and times."""
    words = ("queryMsgTraceById", "-i", message_id)
    output = wait(lambda: scene.mqadmin(*words), lambda found: "success" in found.stdout)
    return [re.sub(r"\d+ms", "<ms>", line) for line in blank(output.stdout, scene)]


def test_every_command_of_mqadmin_is_compared(fact_tables: Path) -> None:
    commands = json.loads((fact_tables / "mqadmin-4.9.7.json").read_text())
    compared = {line.split()[0] for line in (*READS, *COMMANDS)}
    elsewhere = {*NEVER_ENDING, *IN_STEPS, *ACCESS_CONTROL}

    assert {command["name"] for command in commands} == compared | elsewhere
