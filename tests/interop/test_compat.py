"""``--compat`` prints what the real mqadmin prints, of the same real broker."""

from pathlib import Path

import pytest

from mqadmin.call import Workplace
from mqadmin.runner import run_line
from tests.interop.scene import TOPIC, Scene, Words, blank
from tests.mqadmin.conftest import console_of

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
}


@pytest.mark.parametrize("name", COMMANDS)
def test_layout_is_that_of_java(scenes: tuple[Scene, Scene], tmp_path: Path, name: str) -> None:
    scene = scenes[0]
    words = COMMANDS[name](scene)
    console, out, err = console_of({"HOME": str(tmp_path)})
    workplace = Workplace()

    java = scene.mqadmin(*words).stdout
    where = ("--namesrv", scene.servers.namesrv.address, "--compat", "--timeout", "20")
    done = run_line([*words, *where], console, workplace)
    console.out.flush()
    workplace.link.close()

    assert done == 0, err.getvalue()
    ours = out.getvalue().decode()
    if name == "brokerStatus":
        # The values of the same broker change from one answer to the next.
        assert {line[:34] for line in ours.splitlines()} == {
            line[:34] for line in java.splitlines()
        }
        return
    assert blank(ours, scene) == blank(java, scene)
    assert widths(ours) == widths(java)


def widths(text: str) -> list[str]:
    """Return the header as it is, blanks included."""
    return [line.rstrip() for line in text.splitlines() if line.startswith("#")]
