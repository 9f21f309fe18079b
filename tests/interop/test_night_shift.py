"""Consumers of Java that are online and consume nothing, as doctor and the commands see them.

Each on the real servers and on ours: frozen by SIGSTOP, stuck in its listener, suspended in order,
pulling by itself, sent back by the undo of a reset, at odds about what the group reads, and
broadcasting.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path

import pytest

from tests.interop.kit.our_mqadmin import OurMqadmin, Row
from tests.interop.kit.servers import Servers
from tests.interop.kit.toolbox import Job, Toolbox, spec_of
from tests.waiting import wait

COUNT = 20


@pytest.fixture
def ask(servers: Servers, tmp_path: Path) -> OurMqadmin:
    """Return our mqadmin on the servers."""
    return OurMqadmin(servers.namesrv.address, {"HOME": str(tmp_path)})


def fill(ask: OurMqadmin, topic: str, group: str, count: int = COUNT) -> None:
    """Make a topic of two queues, a group, and messages."""
    ask("topic", "create", topic, "-q", "2")
    ask("group", "create", group)
    for number in range(count):
        ask("message", "send", topic, f"m{number}", "--queue", str(number % 2))


@contextmanager
def consuming(
    toolbox: Toolbox, servers: Servers, topic: str, group: str, **more: object
) -> Iterator[Job]:
    """Run a consumer of Java in a group until the test is over."""
    program = str(more.pop("program", "PushConsumer"))
    job = toolbox.start(program, spec_of(servers, topic, group=group, linger=True, **more))
    try:
        yield job
    finally:
        job.stop()


def of_group(rows: list[Row], group: str) -> list[Row]:
    return [row for row in rows if f"group {group}" in row["subject"]]


def test_frozen_consumers_are_findings_and_notes(
    ask: OurMqadmin, toolbox: Toolbox, servers: Servers
) -> None:
    topic, group = "FrozenTopic", "FrozenGroup"
    fill(ask, topic, group)
    with consuming(toolbox, servers, topic, group) as job:
        job.messages(COUNT)
        ask("wait", "lag", group, topic, "--within", "1m")
        with toolbox.frozen():
            checks = [word for name in ("member", "queue", "stuck") for word in ("-c", name)]
            found = of_group(ask("doctor", *checks, exit_code=1), group)
            alone = of_group(ask("doctor", "-c", "stuck", exit_code=7), group)
            lag = ask("group", "lag", group, topic, exit_code=5)
            noted = ask.err
            shown = ask("rebalance", "show", group, topic, exit_code=5)
            page = ask.text("report", "--to", "-", exit_code=1)
            ask("top", "--once")

    assert found[0]["hint"] in unescape(page)
    assert [(row["severity"], row["check"]) for row in found] == [
        ("error", "member"),
        ("not run", "queue"),
        ("not run", "stuck"),
    ]
    assert found[0]["member"] in found[0]["hint"]
    assert "no answer within 1" in found[0]["found"]
    assert [row["severity"] for row in alone] == ["not run"]
    assert [row["client_id"] for row in lag] == [None, None]
    assert f"of group {group} did not answer" in noted
    assert all(row["assumed"] and row["strategy"] == "AVG (assumed)" for row in shown)


def test_a_listener_that_sleeps_is_found_with_its_stack(
    ask: OurMqadmin, toolbox: Toolbox, servers: Servers
) -> None:
    topic, group = "SleepTopic", "SleepGroup"
    fill(ask, topic, group)
    with consuming(toolbox, servers, topic, group, sleepMs=20_000):
        words = ("doctor", "-c", "stuck", "--stuck", "2s")
        found = wait(lambda: of_group(ask(*words, "--fail-on", "never"), group))
        ask(*words, exit_code=1)

    assert found
    assert {(row["severity"], row["check"]) for row in found} == {("error", "stuck")}
    assert f"{COUNT} messages cached in 2 queues" in found[0]["found"]
    assert "Thread.sleep" in found[0]["stack"]
    assert "PushConsumer" in found[0]["stack"]
    assert f"`group running {group} --client" in found[0]["hint"]


def test_an_orderly_listener_that_suspends_is_found(
    ask: OurMqadmin, toolbox: Toolbox, servers: Servers
) -> None:
    topic, group = "SuspendTopic", "SuspendGroup"
    fill(ask, topic, group, count=2)
    with consuming(toolbox, servers, topic, group, mode="orderly", failTimes=1_000_000) as job:
        job.messages(1)
        # Rates of a member count from its second sample on, 10 s after the start.
        words = ("doctor", "-c", "orderly", "--fail-on", "never")
        found = wait(lambda: of_group(ask(*words), group))

    assert {(row["severity"], row["check"]) for row in found} == {("error", "orderly")}
    assert "suspends the queue" in found[0]["found"]


def test_a_pull_consumer_that_ignores_a_reset_is_told_so(
    ask: OurMqadmin, toolbox: Toolbox, servers: Servers
) -> None:
    topic, group = "LiteTopic", "LiteGroup"
    fill(ask, topic, group)
    lite = {"program": "PullConsumer", "mode": "subscribe"}
    with consuming(toolbox, servers, topic, group, **lite) as job:
        job.messages(COUNT)
        ask("wait", "lag", group, topic, "--within", "1m")
        before = ask("offset", "show", group, topic)
        ask.text("offset", "reset", group, topic, "--to", "earliest", "-y", exit_code=1)
        said = ask.err
        after = ask("offset", "show", group, topic)

    assert "Java pull consumers" in said
    assert "stop them, then run the command again" in said
    assert after == before


def test_the_undo_of_a_reset_sends_the_members_back(
    ask: OurMqadmin, toolbox: Toolbox, servers: Servers
) -> None:
    topic, group = "UndoTopic", "UndoGroup"
    fill(ask, topic, group)
    with consuming(toolbox, servers, topic, group) as job:
        job.messages(COUNT)
        ask("wait", "lag", group, topic, "--within", "1m")
        before = ask("offset", "show", group, topic)
        told = ask("offset", "reset", group, topic, "--to", "earliest", "-y", "--within", "0")
        undone = ask("undo", "-y")
        after = ask("offset", "show", group, topic)

    assert {row["how"] for row in told} == {"told"}
    assert {row["result"] for row in undone} == {"changed"}
    assert after == before


def test_a_reset_is_seen_to_move_each_queue(
    ask: OurMqadmin, toolbox: Toolbox, servers: Servers
) -> None:
    topic, group = "MovedTopic", "MovedGroup"
    fill(ask, topic, group)
    with consuming(toolbox, servers, topic, group) as job:
        job.messages(COUNT)
        ask("wait", "lag", group, topic, "--within", "1m")
        moved = ask("offset", "reset", group, topic, "--to", "earliest", "-y")
        notes = ask.err
        job.messages(COUNT)

    assert [(row["new_offset"], row["changed"]) for row in moved] == [(0, True)] * 2
    assert {row["how"] for row in moved} <= {"moved", "read again"}
    assert "2 of 2 queues moved" in notes


def test_a_half_message_that_waits_is_found(
    ask: OurMqadmin, toolbox: Toolbox, servers: Servers
) -> None:
    topic = "HalfTopic"
    ask("topic", "create", topic, "-q", "1")
    spec = spec_of(
        servers,
        topic,
        group="HalfGroup",
        messages=[{"key": "k", "first": "unknown", "properties": {}}],
        answers={"k": "unknown"},
    )
    job = toolbox.start("TransactionProducer", spec)
    job.until("ready")
    try:
        words = ("doctor", "-c", "transaction", "--half", "500ms", "--fail-on", "warning")
        # A Java broker has the half topic from its first check on, a minute after its start.
        found = wait(lambda: ask(*words[:-2], "--fail-on", "never"))
        ask(*words, exit_code=1)
    finally:
        job.stop()

    assert [row["check"] for row in found] == ["transaction"]
    assert "1 half messages are undecided" in found[0]["found"]


def lag_of(ask: OurMqadmin, group: str, topic: str) -> list[list[Row]]:
    """Return the rows of a group once a topic is among them, or a note says why it is not."""
    rows = ask("group", "lag", group, "--no-clients")
    named = {row["topic"] for row in rows}
    return [rows] if topic in named or f"topic {topic}: the member" in ask.err else []


def test_members_that_want_different_topics_have_one_lag_in_every_command(
    ask: OurMqadmin, toolbox: Toolbox, servers: Servers
) -> None:
    first, second, group = "WantFirst", "WantSecond", "WantGroup"
    fill(ask, first, group)
    ask("topic", "create", second, "-q", "2")
    with (
        consuming(toolbox, servers, first, group) as one,
        consuming(toolbox, servers, second, group),
    ):
        one.messages(COUNT // 2)
        found = wait(
            lambda: of_group(
                ask("doctor", "-c", "subscription", "--fail-on", "never", exit_code=0), group
            )
        )
        ask("group", "show", group)
        shown = ask.err
        # A broker leaves out what the member heard last does not want, and the note says so.
        (rows,) = wait(lambda: lag_of(ask, group, first))
        total = ask("group", "lag", group, "--all")

    assert {row["check"] for row in found} == {"subscription"}
    assert "members have different subscriptions" in shown
    assert total[0]["lag"] == sum(row["lag"] for row in rows)


def test_a_broadcast_group_has_no_lag_in_any_command(
    ask: OurMqadmin, toolbox: Toolbox, servers: Servers
) -> None:
    # Its members keep their offsets in a file by group and topic.
    topic, group = f"CastTopic_{servers.side}", f"CastGroup_{servers.side}"
    fill(ask, topic, group)
    with consuming(toolbox, servers, topic, group, model="broadcasting") as job:
        job.messages(COUNT)
        rows = ask("group", "lag", group)
        said = ask.err
        total = ask("group", "lag", group, "--all")
        tps = ask("group", "tps", group)
        backlog = of_group(ask("doctor", "-c", "backlog", "--backlog", "0"), group)

    assert rows == []
    assert "the group broadcasts: its members keep their own offsets" in said
    assert [row["lag"] for row in total] == [0]
    assert {row["lag"] for row in tps} <= {0, None}
    assert backlog == []


def test_an_offset_past_the_end_of_a_queue_is_refused(ask: OurMqadmin, servers: Servers) -> None:
    topic, group = "PastTopic", "PastGroup"
    fill(ask, topic, group, count=0)
    place = {"group": group, "topic": topic, "broker": servers.broker.name, "queue_id": 0}
    line = json.dumps({**place, "consumer_offset": 435}) + "\n"

    (refused,) = ask("offset", "import", "-", "-y", stdin=line, exit_code=1)
    (clamped,) = ask("offset", "import", "-", "-y", "--clamp", stdin=line)

    assert "435 is past the end" in refused["remark"]
    assert (refused["how"], clamped["new_offset"]) == ("refused", 0)
