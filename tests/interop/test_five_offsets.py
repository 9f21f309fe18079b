"""Offsets that our mqadmin stores on a broker of 5.4.0 which keeps a reset of an offline group."""

import json
from pathlib import Path

import pytest

from tests.interop.kit.our_mqadmin import OurMqadmin
from tests.interop.kit.servers import Servers
from tests.interop.kit.toolbox import Toolbox, spec_of

TOPIC, GROUP = "KeptTopic", "KeptGroup"
COUNT = 10


@pytest.fixture
def ask(five_pair: Servers, tmp_path: Path) -> OurMqadmin:
    """Return our mqadmin on a pair of 5.4.0."""
    return OurMqadmin(five_pair.namesrv.address, {"HOME": str(tmp_path)})


@pytest.fixture
def names(
    request: pytest.FixtureRequest, ask: OurMqadmin, toolbox: Toolbox, five_pair: Servers
) -> tuple[str, str]:
    """Return a topic of one queue with messages, and a group that Java has sent to the start."""
    topic, group = (f"{name}_{request.node.name[5:25]}" for name in (TOPIC, GROUP))
    ask("topic", "create", topic, "-q", "1")
    ask("group", "create", group)
    for number in range(COUNT):
        ask("message", "send", topic, f"m{number}", "--queue", "0")
    ask("offset", "reset", group, topic, "--to", "5", "-y")
    words = ("resetOffsetByTime", "-g", group, "-t", topic, "-s", "0")
    done = toolbox.mqadmin(*words, "-n", five_pair.namesrv.address)
    assert not done.stderr
    return topic, group


def offset_of(ask: OurMqadmin, topic: str, group: str) -> int:
    (row,) = ask("offset", "show", group, topic)
    return int(row["consumer_offset"])


def test_a_stored_offset_takes_the_place_of_a_reset(
    ask: OurMqadmin, names: tuple[str, str], toolbox: Toolbox, five_pair: Servers
) -> None:
    topic, group = names
    before = offset_of(ask, topic, group)

    (row,) = ask("offset", "reset", group, topic, "--to", "8", "-y")
    job = toolbox.start("PushConsumer", spec_of(five_pair, topic, group=group, linger=True))
    first = job.messages(2)
    job.stop()

    assert (before, row["how"], row["new_offset"]) == (0, "stored", 8)
    assert sorted(line["queueOffset"] for line in first) == [8, 9]


def test_an_import_and_an_undo_take_its_place(
    ask: OurMqadmin, names: tuple[str, str], tmp_path: Path
) -> None:
    topic, group = names
    place = {"group": group, "topic": topic, "broker": "broker-a", "queue_id": 0}
    text = json.dumps({**place, "consumer_offset": 7}) + "\n"

    ask("offset", "import", "-", "-y", stdin=text)
    imported = offset_of(ask, topic, group)
    ask("undo", "-y")

    assert (imported, offset_of(ask, topic, group)) == (7, 0)
