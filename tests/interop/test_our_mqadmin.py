"""Our mqadmin commands against the real servers and ours, with live Java consumers."""

import asyncio
from pathlib import Path

import pytest

from tests.interop.kit.our_clients import await_dispatched
from tests.interop.kit.our_mqadmin import OurMqadmin, Row
from tests.interop.kit.servers import Servers
from tests.interop.kit.toolbox import Job, Toolbox, spec_of
from tests.waiting import eventually


@pytest.fixture
def ask(servers: Servers, tmp_path: Path) -> OurMqadmin:
    """Return our mqadmin on the servers."""
    return OurMqadmin(servers.namesrv.address, {"HOME": str(tmp_path)})


def consumer(toolbox: Toolbox, servers: Servers, topic: str, **more: object) -> Job:
    spec = spec_of(servers, topic, group=f"{topic}_GROUP", linger=True, **more)
    return toolbox.start("PushConsumer", spec)


def filled(ask: OurMqadmin, servers: Servers, topic: str) -> list[Row]:
    """Make a topic with two queues, send two messages to each, return what was sent."""
    assert ask("topic", "create", topic, "-q", "2")[0]["result"] == "changed"
    sent = [
        ask("message", "send", topic, f"m{i}", "-k", f"k{i}", "-t", "A", "--queue", str(i % 2))[0]
        for i in range(4)
    ]
    await_dispatched(servers)
    return sent


def test_topics_and_messages(ask: OurMqadmin, servers: Servers) -> None:
    topic = "CliTopic"
    sent = filled(ask, servers, topic)

    assert [(row["queue_id"], row["queue_offset"]) for row in sent] == [
        (0, 0),
        (1, 0),
        (0, 1),
        (1, 1),
    ]
    assert topic in [row["topic"] for row in ask("topic", "list", "--kind", "normal")]
    shown = ask("topic", "show", topic)
    assert [(row["min_offset"], row["max_offset"], row["perm"]) for row in shown] == [
        (0, 2, "RW-")
    ] * 2
    assert ask("topicRoute", "-t", topic)[0]["addresses"] == {"0": servers.broker.address}
    for words in (
        ("message", "query", "key", topic, "k2"),
        ("message", "query", "id", sent[2]["msg_id"]),
        ("message", "query", "unique-key", topic, sent[2]["unique_key"]),
        ("message", "query", "offset", topic, "0", "1"),
        ("message", "tail", topic, "--from", "earliest", "--queue", "0", "--no-follow"),
    ):
        found = ask(*words)[-1]
        assert (found["body"], found["keys"], found["tags"]) == ("m2", ["k2"], "A"), words
        assert found["msg_id"] == sent[2]["msg_id"]
    assert ask("topic", "update", topic, "--perm", "R")[0]["was"] == {"perm": 6}
    assert ask("topic", "update", topic, "-q", "3")[0]["perm"] == "R--"
    ask("message", "query", "key", topic, "nope", exit_code=3)
    removed = ask("topic", "delete", topic, "-y")
    assert {row["result"] for row in removed} == {"changed"}
    ask("topic", "show", topic, exit_code=3)


def test_cluster_and_broker(ask: OurMqadmin, servers: Servers) -> None:
    async def version() -> str | None:
        try:
            return str(ask("cluster", "list")[0]["version"])
        except AssertionError:
            return None

    # A Java broker answers "NoSuchElementException" until it has taken its first samples.
    asyncio.run(eventually(version, lambda found: found is not None))
    cluster = ask("cluster", "list")[0]

    assert (cluster["broker"], cluster["version"]) == (servers.broker.name, "V4_9_7")
    assert cluster["in_tps"] is None or cluster["in_tps"] >= 0
    assert ask("broker", "config", "get", "brokerName")[0]["value"] == servers.broker.name


def test_offsets_of_a_group_that_was_never_online(ask: OurMqadmin, servers: Servers) -> None:
    topic, group = "CliOffline", "CliOfflineGroup"
    filled(ask, servers, topic)

    def reset(*words: str) -> list[tuple[int | None, int]]:
        rows = ask("offset", "reset", group, topic, *words, "-y")
        return [(row["old_offset"], row["new_offset"]) for row in rows]

    assert reset("--to", "latest", "--dry-run") == [(None, 2)] * 2
    assert reset("--to", "latest") == [(None, 2)] * 2
    assert reset("--to", "-1") == [(2, 1)] * 2
    assert reset("--to", "-1h") == [(1, 0)] * 2
    assert [row["consumer_offset"] for row in ask("offset", "show", group, topic)] == [0, 0]
    assert [row["lag"] for row in ask("group", "lag", group, topic)] == [2, 2]
    assert group in [row["group"] for row in ask("group", "list")]


def test_a_java_group_is_seen_and_sent_back(
    ask: OurMqadmin, servers: Servers, toolbox: Toolbox
) -> None:
    topic = "CliOnline"
    filled(ask, servers, topic)
    job = consumer(toolbox, servers, topic, count=4)
    client_id = job.until("started")[-1]["clientId"]
    job.messages(4)

    shown = ask("rebalance", "show", job_group(topic), topic)
    assert [(row["client_id"], row["strategy"]) for row in shown] == [(client_id, "AVG")] * 2
    plan = ask("rebalance", "plan", job_group(topic), topic, "--add", "~second")
    assert [row["client_id"] for row in plan] == [client_id, "~second"]
    lag = ask("group", "lag", job_group(topic), topic)
    assert [row["client_id"] for row in lag] == [client_id] * 2
    # A broker moves a group only once it has a position in every queue.
    ask("wait", "lag", job_group(topic), topic, "--within", "2m")
    group = ask("group", "show", job_group(topic))[0]
    assert (group["online"], group["connections"][0]["client_id"]) == (True, client_id)
    ask("offset", "reset", job_group(topic), topic, "--to", "0", "-y", exit_code=1)

    def reset() -> None:
        moved = ask("offset", "reset", job_group(topic), topic, "--to", "earliest", "-y")
        assert [row["new_offset"] for row in moved] == [0, 0]
        # A fast consumer may have read everything again before its offset is looked at.
        assert {row["how"] for row in moved} <= {"moved", "read again"}

    assert len(job.every_again(reset, "keys", {f"k{i}" for i in range(4)})) >= 4
    job.stop()


def job_group(topic: str) -> str:
    return f"{topic}_GROUP"


def test_locks_of_a_java_orderly_consumer(
    ask: OurMqadmin, servers: Servers, toolbox: Toolbox
) -> None:
    topic = "CliLocks"
    filled(ask, servers, topic)
    job = consumer(toolbox, servers, topic, count=4, mode="orderly")
    client_id = job.until("started")[-1]["clientId"]
    job.messages(4)

    rows = [row for row in ask("lock", "list", "-g", job_group(topic)) if row["topic"] == topic]

    assert [(row["queue_id"], row["client_id"]) for row in rows] == [(0, client_id), (1, client_id)]
    assert {row["exact"] for row in rows} == {servers.are_ours}
    job.stop()
