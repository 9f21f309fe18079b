"""Static topics on two brokers of 5.4.0: made, grown, moved and shown, beside Java's tool."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interop.kit.our_clients import await_registered
from tests.interop.kit.our_mqadmin import OurMqadmin
from tests.interop.kit.servers import Broker, JavaSide, Servers, running_pair
from tests.interop.kit.toolbox import Toolbox
from tests.mqadmin.conftest import cells

CHANGES = (
    "updateStaticTopic -t {topic} -qn 4 -c {cluster}",
    "updateStaticTopic -t {topic} -qn 6 -c {cluster}",
    "remappingStaticTopic -t {topic} -b broker-b",
    "remappingStaticTopic -t {topic} -c {cluster}",
)


@pytest.fixture(scope="module")
def pair(five: JavaSide, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    home = tmp_path_factory.mktemp("static")
    with running_pair(five, home / "a") as servers:
        settings = {"brokerName": "broker-b"}
        namesrv = servers.namesrv.address
        with Broker(five, store=home / "b", namesrv=namesrv, settings=settings) as second:
            # A plan spreads queues over the brokers that the name server knows.
            for broker in (servers.broker, second):
                await_registered(servers._replace(broker=broker))
            yield servers


@pytest.fixture
def ours(pair: Servers, tmp_path: Path) -> OurMqadmin:
    return OurMqadmin(pair.namesrv.address, {"HOME": str(tmp_path)})


def led(rows: list[dict[str, object]]) -> list[tuple[object, ...]]:
    """Return how many logical queues each broker leads, and how many parts queues have."""
    leaders = [row["broker"] for row in rows if row["is_leader"]]
    counts = sorted((name, leaders.count(name)) for name in {*leaders})
    return [*counts, len(rows)]


def test_topics_of_both_tools_go_the_same_way(
    pair: Servers, five_tool: Toolbox, ours: OurMqadmin
) -> None:
    for line in CHANGES:
        shown = []
        for topic in ("StaticJava", "StaticOurs"):
            words = line.format(topic=topic, cluster=pair.broker.cluster).split()
            if topic == "StaticJava":
                said = five_tool.mqadmin(*words, "-n", pair.namesrv.address)
                assert said.stderr == ""
                text = said.stdout
            else:
                text = ours.text(*words, "--compat", "-y")
            text = re.sub(r"\S*/Static(Java|Ours)-\d+", "<file>", text)
            shown.append((text, led(ours("topic", "static", "show", topic))))

        assert shown[0] == shown[1]


def test_a_plan_is_what_is_done(ours: OurMqadmin) -> None:
    where = ("--cluster", "TestCluster")
    planned = ours("topic", "static", "plan", "Planned", "--queues", "3", *where)
    dry = ours("topic", "static", "grow", "Planned", "--queues", "3", *where, "--dry-run")
    ours("topic", "static", "show", "Planned", exit_code=3)
    made = ours("topic", "static", "grow", "Planned", "--queues", "3", *where, "-y")
    fewer = ours.text("topic", "static", "grow", "Planned", "--queues", "2", "-y", exit_code=2)
    moved = ours("topic", "static", "remap", "Planned", "--broker", "broker-b", "-y")
    again = ours("topic", "static", "remap", "Planned", "--broker", "broker-b", "-y")
    drawn = ours.text("topic", "static", "show", "Planned", "--output", "table")

    names = ("logic_queue", "broker", "queue_id", "is_leader")
    assert cells(planned, *names) == cells(made, *names) == cells(dry, *names)
    assert [row["result"] for row in (*dry, *made)] == ["would change"] * 3 + ["changed"] * 3
    assert (fewer, "their number only grows" in ours.err or not again) == ("", True)
    assert cells(moved, "logic_queue", "broker", "logic_offset", "is_leader") == [
        (0, "broker-a", 0, False),
        (0, "broker-b", 10_000, True),
        (2, "broker-a", 0, False),
        (2, "broker-b", 10_000, True),
    ]
    assert "logical queue 0    broker-a:0 [0, 10000)  ->  broker-b:1 [10000, ...)" in drawn


def test_a_topic_that_is_not_static_is_refused(pair: Servers, ours: OurMqadmin) -> None:
    ours("topic", "create", "Plain", "--queues", "1", "--broker", pair.broker.address)

    ours.text("topic", "static", "show", "Plain", exit_code=1)

    assert "is not a static topic" in ours.err
