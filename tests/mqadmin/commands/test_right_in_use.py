"""What people met on real clusters, and what the commands say now."""

import json
from pathlib import Path

import pytest

from mqadmin.output.topic_kinds import kind_of
from tests.mqadmin.conftest import Run, cells, rows
from tests.waiting import wait


def test_a_topic_that_takes_no_messages_is_named_with_its_permission(at: Run) -> None:
    at("topic", "create", "READ_ONLY", "-q", "1", "--perm", "R")

    done = at("message", "send", "READ_ONLY", "a body")

    assert done.exit_code == 1
    assert "topic READ_ONLY does not accept messages: its permission is R-- on broker-a" in done.err


def test_a_topic_that_a_send_has_made_is_told(at: Run) -> None:
    done = at("message", "send", "MADE_BY_SEND", "a body")

    assert done.exit_code == 0
    assert "topic MADE_BY_SEND did not exist: broker-a created it" in done.err
    # The broker tells the name server in its own time.
    wait(lambda: at("topic", "route", "MADE_BY_SEND").exit_code == 0)
    assert "did not exist" not in at("message", "send", "MADE_BY_SEND", "again").err


def test_a_person_is_asked_before_a_topic_is_made(at: Run) -> None:
    done = at("message", "send", "NOT_MADE", "a body", stdin="n\n", can_ask=True)

    assert done.exit_code == 1
    assert "topic NOT_MADE does not exist: send anyway, so that a broker creates it?" in done.err
    assert at("topic", "route", "NOT_MADE").exit_code == 3


def test_a_body_comes_from_standard_input_as_a_file(at: Run) -> None:
    at("topic", "create", "FROM_STDIN", "-q", "1")

    assert at("message", "send", "FROM_STDIN", "--file", "-", stdin="piped").exit_code == 0

    assert at.row("message", "query", "offset", "FROM_STDIN", "0", "0")["body"] == "piped"


def test_a_binary_body_is_told_by_its_size(at: Run, tmp_path: Path) -> None:
    body = tmp_path / "body"
    body.write_bytes(b"\xff" * 300)
    at("topic", "create", "BINARY", "-q", "1")
    at("message", "send", "BINARY", "--file", str(body), "--key", "k")

    table = at("message", "query", "key", "BINARY", "k").out
    as_json = at.row("message", "query", "key", "BINARY", "k")

    assert table.splitlines()[1].endswith("<300 bytes>")
    assert "body" not in as_json
    assert as_json["body_size"] == 300


def test_a_cluster_that_is_not_there_is_not_found(at: Run) -> None:
    done = at("topic", "list", "--cluster", "nope")

    assert (done.exit_code, done.out) == (3, "")
    assert "cluster 'nope' not found" in done.err


@pytest.mark.parametrize("address", ["", " ", ";"])
def test_an_empty_name_server_is_wrong_usage(run: Run, env: dict[str, str], address: str) -> None:
    env["NAMESRV_ADDR"] = "127.0.0.1:1"

    assert run("topic", "list", f"--namesrv={address}").exit_code == 2


@pytest.mark.parametrize(
    "words", [("topic", "create"), ("updateTopic", "-c", "DefaultCluster", "-t")]
)
def test_why_a_broker_refused_a_topic_is_in_the_table(at: Run, words: tuple[str, ...]) -> None:
    # A broker answers 1 (SYSTEM_ERROR) for every name that begins like one of its own.
    topic = "rmq_sys_OF_A_PERSON"

    done = at(*words, topic)

    assert done.exit_code == 1
    header, row = done.out.splitlines()
    assert header.split()[-2:] == ["RESULT", "REMARK"]
    assert row[header.index("RESULT") : header.index("REMARK")].strip() == "refused"
    remark = row[header.index("REMARK") :]
    assert remark.startswith(f"topic {topic}: ")
    assert remark.endswith(
        f"answered 1 SYSTEM_ERROR, The topic[{topic}] is conflict with system topic."
    )


def test_why_the_tool_itself_refused_a_topic_is_in_the_table(at: Run) -> None:
    at("topic", "create", "REFUSED_TWICE", "-q", "1")

    done = at("topic", "create", "REFUSED_TWICE", "-q", "5")

    assert done.exit_code == 1
    assert done.out.splitlines()[1].endswith("refused  it exists with other settings")


@pytest.mark.parametrize("topic", ["RMQ_SYS_ROCKSDB_TRANS_HALF_TOPIC", "rmq_sys_REVIVE_LOG_C"])
def test_topics_of_newer_brokers_are_system_topics(topic: str) -> None:
    assert kind_of(topic) == "system"


def test_offsets_are_exported_to_standard_output(at: Run) -> None:
    at("topic", "create", "ToStdout", "-q", "2")
    reset = at("offset", "reset", "exporters", "ToStdout", "--to", "earliest", "-y", "-ojson")
    assert [row["changed"] for row in reset.rows] == [True, True], reset

    done = at("offset", "export", "exporters", "--to", "-")

    assert done.exit_code == 0
    lines = [json.loads(line) for line in done.out.splitlines()]
    assert cells(lines, "topic", "queue_id") == [("ToStdout", 0), ("ToStdout", 1)]
    assert at("offset", "import", "-", "-y", stdin=done.out).exit_code == 0


def test_a_group_alone_lists_the_queues_of_all_its_topics(at: Run) -> None:
    for topic in ("FIRST_READ", "SECOND_READ"):
        at("topic", "create", topic, "-q", "1")
        at("offset", "reset", "two-topics", topic, "--to", "earliest", "-y")

    shown = at("rebalance", "show", "two-topics", "-ojson")

    assert [row["topic"] for row in rows(shown)] == ["FIRST_READ", "SECOND_READ"]
    assert "no members online" in shown.err
    planned = at.rows("rebalance", "plan", "two-topics", "--add", "a")
    assert cells(planned, "topic", "client_id") == [("FIRST_READ", "a"), ("SECOND_READ", "a")]
    drawn = at("rebalance", "plan", "two-topics", "--add", "a").out
    assert drawn.index("topic FIRST_READ\nthen (") < drawn.index("topic SECOND_READ\nthen (")
    for verb in ("show", "plan", "watch"):
        assert at("rebalance", verb, "nobody-knows-it").exit_code == 3
