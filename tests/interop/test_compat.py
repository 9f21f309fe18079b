"""``--compat`` prints what the real mqadmin prints, of the same real broker."""

import asyncio
import re
from pathlib import Path

import pytest

from mqadmin.call import Workplace
from mqadmin.runner import run_line
from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from tests.interop.scene import ONLINE, TOPIC, Scene, Words, blank
from tests.mqadmin.conftest import console_of
from tests.waiting import eventually

pytestmark = pytest.mark.java

COMMANDS: dict[str, Words] = {
    "topicList": lambda s: ("topicList",),
    "topicStatus": lambda s: ("topicStatus", "-t", TOPIC),
    "topicClusterList": lambda s: ("topicClusterList", "-t", TOPIC),
    "queryMsgByKey": lambda s: ("queryMsgByKey", "-t", TOPIC, "-k", "key3"),
    "brokerConsumeStats": lambda s: ("brokerConsumeStats", "-b", s.broker),
    "brokerStatus": lambda s: ("brokerStatus", "-b", s.broker),
    "getBrokerConfig": lambda s: ("getBrokerConfig", "-b", s.broker),
    "getNamesrvConfig": lambda s: ("getNamesrvConfig",),
    "sendMessage": lambda s: ("sendMessage", "-t", TOPIC, "-p", "x", "-b", "broker-a", "-i", "0"),
    "clusterList": lambda s: ("clusterList",),
    "clusterList -m": lambda s: ("clusterList", "-m"),
    "topicRoute": lambda s: ("topicRoute", "-t", TOPIC),
    "topicRoute -l": lambda s: ("topicRoute", "-t", TOPIC, "-l"),
    "consumerProgress": lambda s: ("consumerProgress", "-g", ONLINE),
    "consumerProgress -s": lambda s: ("consumerProgress", "-g", ONLINE, "-s", "true"),
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
    "queryMsgByOffset": lambda s: (
        *("queryMsgByOffset", "-t", TOPIC, "-b", "broker-a"),
        *("-i", "1", "-o", "2"),
    ),
    "queryMsgByUniqueKey": lambda s: ("queryMsgByUniqueKey", "-t", TOPIC, "-i", s.unique_key),
    "allocateMQ": lambda s: ("allocateMQ", "-t", TOPIC, "-i", "a"),
    "checkMsgSendRT": lambda s: ("checkMsgSendRT", "-t", TOPIC, "-a", "2", "-s", "3"),
    "updateSubGroup": lambda s: (
        *("updateSubGroup", "-g", "CompatGroup", "-b", s.broker, "-r", "3"),
        *("-s", "true", "-m", "true", "-d", "true"),
    ),
    "updateKvConfig": lambda s: ("updateKvConfig", "-s", "COMPAT", "-k", "k", "-v", "v"),
    "deleteKvConfig": lambda s: ("deleteKvConfig", "-s", "COMPAT", "-k", "k"),
    "updateBrokerConfig": lambda s: (
        *("updateBrokerConfig", "-b", s.broker),
        *("-k", "fileReservedTime", "-v", "72"),
    ),
}
MORE_IN_JAVA = ("queryMsgById", "queryMsgByOffset", "queryMsgByUniqueKey", "statsAll")
"""Java also tells where it put the body and who read the message; and it counts nothing that
waits for a group without retry topic."""

MOVING = ("brokerConsumeStats", "consumerProgress", "consumerProgress -s", "statsAll")


@pytest.mark.parametrize("name", COMMANDS)
def test_layout_is_that_of_java(scenes: tuple[Scene, Scene], tmp_path: Path, name: str) -> None:
    scene = scenes[0]
    words = COMMANDS[name](scene)
    console, out, err = console_of({"HOME": str(tmp_path)})
    workplace = Workplace()

    if name in MOVING:
        # The member reads on and keeps its positions meanwhile.
        asyncio.run(caught_up(scene))
    java = scene.mqadmin(*words).stdout
    where = ("--namesrv", scene.servers.namesrv.address, "--compat", "--timeout", "20", "-y")
    done = run_line([*words, *where], console, workplace)
    console.out.flush()
    workplace.link.close()

    # Java has deleted the value already, and there the exit code stays ours.
    assert done == (3 if name == "deleteKvConfig" else 0), err.getvalue()
    ours = out.getvalue().decode()
    if name == "brokerStatus":
        # The values of the same broker change from one answer to the next.
        assert {line[:34] for line in ours.splitlines()} == {
            line[:34] for line in java.splitlines()
        }
        return
    theirs, mine = (told(text, scene) for text in (java, ours))
    assert mine
    if name in MORE_IN_JAVA:
        assert {line for line in mine if ONLINE in line or name != "statsAll"} <= set(theirs)
    else:
        assert mine == theirs
    assert widths(ours) == widths(java)


async def caught_up(scene: Scene) -> None:
    """Return once the member that is online has a position at the end of each queue."""
    async with MQClient(scene.servers.namesrv.address, timeout_s=20.0) as client:
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
        (r"MIN_OFFSET=\d+, MAX_OFFSET=\d+, ", ""),
        (r" +\d+\.\d+ 0\.\d+$", " <hours> <space>"),
    ):
        text = re.sub(changing, stands, text, flags=re.MULTILINE)
    # Java deals queues out in the order of a hash set.
    text = re.sub(r'"queueId":\d', '"queueId":<queue>', text)
    lines = blank(text, scene)
    return [re.sub(r"broker-a \d true", "broker-a <queue> true", line) for line in lines]


def widths(text: str) -> list[str]:
    """Return the header as it is, blanks included."""
    return [line.rstrip() for line in text.splitlines() if line.startswith("#")]
