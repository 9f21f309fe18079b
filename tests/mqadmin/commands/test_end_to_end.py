"""Commands against running servers: what is written is read back, by every way to ask."""

import json
from pathlib import Path

import pytest

from mqadmin.shell.server import ServerAddresses
from storefmt.formats.sysflag import COMPRESSED
from tests.mqadmin.conftest import Run, cells, rows


def test_a_topic_is_created_once_and_then_unchanged(at: Run) -> None:
    first = at.rows("topic", "create", "created", "-q", "3")
    again = at.rows("topic", "create", "created", "-q", "3")
    other = at("topic", "create", "created", "-q", "4", "-ojson")

    assert (first[0]["result"], first[0]["read_queues"]) == ("changed", 3)
    assert again[0]["result"] == "unchanged"
    assert other.exit_code == 1
    assert other.rows[0]["result"] == "refused"
    names = [row["topic"] for row in at.rows("topic", "list", "--kind", "normal")]
    assert "created" in names


def test_an_update_changes_only_what_is_named(at: Run, topic: str) -> None:
    changed = at.row("topic", "update", topic, "--perm", "R")
    java = at.rows("updateTopic", "-c", "DefaultCluster", "-t", topic, "-r", "5")

    assert (changed["perm"], changed["read_queues"], changed["was"]) == ("R--", 2, {"perm": 6})
    assert (java[0]["perm"], java[0]["read_queues"], java[0]["write_queues"]) == ("R--", 5, 2)
    replaced = at.row("topic", "update", topic, "-q", "1", "--replace")
    assert (replaced["perm"], replaced["write_queues"]) == ("RW-", 1)
    assert at("topic", "update", "never-made", "-q", "1").exit_code == 3


def test_a_topic_is_deleted_only_after_a_yes(at: Run, topic: str) -> None:
    assert at("topic", "delete", topic).exit_code == 2
    refused = at("topic", "delete", topic, stdin="n\n", can_ask=True)
    assert (refused.exit_code, "not confirmed" in refused.err) == (1, True)
    assert at("topic", "show", topic).exit_code == 0
    agreed = at("topic", "delete", topic, "-ojson", stdin="y\n", can_ask=True)
    assert {row["result"] for row in rows(agreed)} == {"changed"}
    assert at("topic", "show", topic).exit_code == 3
    assert at("topic", "delete", topic, "-y").exit_code == 3


def test_a_message_is_found_by_key_by_both_ids_and_by_offset(at: Run, topic: str) -> None:
    words = ("--key", "k1", "--key", "k2", "--tag", "paid", "-p", "region=eu", "--queue", "1")
    sent = at.row("message", "send", topic, "hello", *words)

    assert (sent["status"], sent["queue_id"], sent["queue_offset"]) == ("SEND_OK", 1, 0)
    ways = [
        ("message", "query", "key", topic, "k2"),
        ("message", "query", "unique-key", topic, sent["unique_key"]),
        ("message", "query", "id", sent["msg_id"]),
        ("message", "query", "id", sent["unique_key"], "--topic", topic),
        ("message", "query", "offset", topic, "broker-a:1", "0"),
        ("queryMsgByKey", "-t", topic, "-k", "k1"),
        ("queryMsgById", "-i", sent["msg_id"]),
        ("queryMsgByUniqueKey", "-t", topic, "-i", sent["unique_key"]),
        ("queryMsgByOffset", "-t", topic, "-b", "broker-a", "-i", "1", "--offset", "0"),
    ]
    for words in ways:
        found = at.rows(*words)
        assert len(found) == 1, words
        row = found[0]
        assert (row["body"], row["tags"], row["keys"]) == ("hello", "paid", ["k1", "k2"]), words
        assert row["msg_id"] == sent["msg_id"]
        assert row["properties"]["region"] == "eu"
        assert row["store_time"].endswith("Z")
    unique = ("message", "query", "unique-key", topic, sent["unique_key"])
    assert at(*unique, "--from", "-1d").exit_code == 0
    assert at(*unique, "--to", "-1d").exit_code == 3


@pytest.mark.parametrize(
    "words",
    [
        ("message", "query", "key", "{topic}", "nope"),
        ("message", "query", "unique-key", "{topic}", "7F000001000051AF0000000000000000"),
        ("message", "query", "offset", "{topic}", "0", "7"),
        ("message", "query", "offset", "{topic}", "9", "0"),
        ("message", "query", "key", "no-such-topic", "k"),
        ("message", "tail", "no-such-topic"),
        ("topic", "show", "no-such-topic"),
        ("topic", "route", "no-such-topic"),
        ("topicStatus", "-t", "no-such-topic"),
        ("group", "show", "no-such-group"),
        ("group", "lag", "no-such-group"),
        ("offset", "show", "no-such-group"),
        ("offset", "reset", "G", "no-such-topic", "--to", "earliest", "-y"),
        ("rebalance", "show", "no-such-group", "{topic}"),
        ("topic", "create", "x", "--cluster", "NoCluster"),
        ("topic", "create", "x", "--broker", "no-broker"),
        ("broker", "config", "get", "noSuchKey"),
    ],
)
def test_what_is_not_there_exits_3(at: Run, words: tuple[str, ...], topic: str) -> None:
    done = at(*(word.format(topic=topic) for word in words))

    assert (done.exit_code, done.out) == (3, ""), done
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1


def test_bodies_come_from_a_file_from_stdin_and_as_bytes(
    at: Run, topic: str, tmp_path: Path
) -> None:
    file = tmp_path / "body"
    file.write_bytes(b"\xff\x00")

    assert at("message", "send", topic, "--file", str(file), "--key", "f").exit_code == 0
    assert at("message", "send", topic, "-", "--key", "s", stdin="from stdin").exit_code == 0
    assert at("message", "send", topic, "--file", str(tmp_path / "none")).exit_code == 3
    assert at("message", "send", topic).exit_code == 2
    row = at.row("message", "query", "key", topic, "f")
    assert (row["body_base64"], "body" in row) == ("/wA=", False)
    assert at.row("message", "query", "key", topic, "s")["body"] == "from stdin"
    bare = at.row("message", "query", "key", topic, "s", "--no-body")
    assert not {"body", "body_base64"} & set(bare)


def test_a_large_body_is_compressed_on_the_way_and_shown_as_it_was(at: Run, topic: str) -> None:
    body = "x" * 10_000

    assert at("message", "send", topic, body, "--key", "big").exit_code == 0

    row = at.row("message", "query", "key", topic, "big")
    assert (row["body"], row["sys_flag"] & COMPRESSED) == (body, COMPRESSED)
    assert row["body_size"] < 100


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--file", "{big}"), "at most 4194304"),
        (("x", "-p", "a=" + "y" * 33_000), "at most 32767"),
    ],
)
def test_a_message_over_the_limits_exits_2(
    at: Run, topic: str, tmp_path: Path, words: tuple[str, ...], text: str
) -> None:
    big = tmp_path / "big"
    big.write_bytes(b"x" * (4 * 1024 * 1024 + 1))

    done = at("message", "send", topic, *(word.format(big=big) for word in words))

    assert done.exit_code == 2
    assert text in done.err


def test_tail_reads_from_the_start_by_tag_and_ends_by_count(at: Run, topic: str) -> None:
    for number in range(4):
        at("message", "send", topic, f"m{number}", "--tag", "AB"[number % 2])

    every = at("message", "tail", topic, "--from", "earliest", "--no-follow", "-ojsonl")
    some = at(
        "message", "tail", topic, "--from", "earliest", "--count", "2", "--tag", "B", "-ojsonl"
    )
    none = at("message", "tail", topic, "--no-follow", "-ojson")

    bodies = sorted(json.loads(line)["body"] for line in every.out.splitlines())
    assert bodies == ["m0", "m1", "m2", "m3"]
    assert sorted(json.loads(line)["body"] for line in some.out.splitlines()) == ["m1", "m3"]
    assert rows(none) == []


def test_offsets_of_a_group_are_reset_and_read_back(at: Run, topic: str) -> None:
    for number in range(6):
        at("message", "send", topic, f"m{number}", "--queue", str(number % 2))

    def reset(*words: str) -> list[tuple[object, object, object]]:
        made = at.rows("offset", "reset", "G1", topic, *words, "-y")
        return cells(made, "old_offset", "new_offset", "changed")

    assert reset("--to", "latest", "--dry-run") == [(None, 3, True)] * 2
    assert reset("--to", "latest") == [(None, 3, True)] * 2
    assert reset("--to", "latest") == [(3, 3, False)] * 2
    assert reset("--to", "-1") == [(3, 2, True)] * 2
    assert reset("--to", "1", "--queue", "broker-a:0") == [(2, 1, True)]
    shown = at.rows("offset", "show", "G1", topic)
    assert [row["consumer_offset"] for row in shown] == [1, 2]
    assert reset("--to", "-1h") == [(1, 0, True), (2, 0, True)]
    assert reset("--to", "now") == [(0, 3, True)] * 2
    java = at("resetOffsetByTime", "-g", "G1", "-t", topic, "-s", "1000", "-y", "-o", "json")
    assert [row["new_offset"] for row in rows(java)] == [0, 0]
    assert at("offset", "reset", "G1", topic, "--to", "latest").exit_code == 2


def test_the_lag_of_a_group_is_what_is_left(at: Run, topic: str) -> None:
    for number in range(3):
        at("message", "send", topic, f"m{number}", "--queue", "0")
    at("offset", "reset", "G2", topic, "--to", "+1", "-y")

    lag = at.rows("group", "lag", "G2", topic)
    java = at.rows("consumerProgress", "-g", "G2", "-s", "true")

    mine = next(row for row in lag if row["queue_id"] == 0)
    assert (mine["broker_offset"], mine["consumer_offset"], mine["lag"]) == (3, 1, 2)
    assert mine["client_id"] is None
    assert java == lag
    names = [row["group"] for row in at.rows("group", "list")]
    assert "G2" in names
    shown = at.row("group", "show", "G2")
    assert (shown["online"], shown["connections"]) == (False, [])
    assert topic in shown["topics"]


def test_a_plan_deals_out_the_queues(at: Run, topic: str) -> None:
    at("offset", "reset", "G3", topic, "--to", "earliest", "-y")

    made = at.rows("rebalance", "plan", "G3", topic, "--add", "b,a", "--queues", "3")
    circle = ("--strategy", "AVG_BY_CIRCLE")
    other = at.rows("rebalance", "plan", "G3", topic, "--add", "a", "--add", "b", *circle)

    assert [row["client_id"] for row in made] == ["a", "a", "b"]
    assert cells(other, "client_id", "strategy") == [("a", "AVG_BY_CIRCLE"), ("b", "AVG_BY_CIRCLE")]
    assert at("rebalance", "plan", "G3", topic).exit_code == 2
    assert at("rebalance", "plan", "G3", topic, "--remove", "zz").exit_code == 2
    shown = at("rebalance", "show", "G3", topic, "-ojson")
    assert [row["client_id"] for row in rows(shown)] == [None, None]
    assert "has no members online" in shown.err


def test_clusters_brokers_and_settings_are_listed(at: Run, servers: ServerAddresses) -> None:
    cluster = at.row("cluster", "list")
    broker = at.row("broker", "list")
    setting = at.row("broker", "config", "get", "brokerName")

    assert (cluster["broker"], cluster["address"]) == ("broker-a", servers.broker)
    assert (cluster["version"], broker["role"]) == ("V4_9_7", "master")
    assert setting["value"] == "broker-a"
    by_address = at("getBrokerConfig", "-b", servers.broker, "--output=name")
    assert by_address.exit_code == 0


def test_columns_sorting_and_headers_are_chosen(at: Run) -> None:
    at("topic", "create", "sorted-a", "-q", "1")
    at("topic", "create", "sorted-b", "-q", "1")
    chosen = ("--columns", "kind,topic", "--sort", "-topic", "--no-headers")

    done = at("topic", "list", "--kind", "normal", *chosen)

    lines = [line.split() for line in done.out.splitlines() if "sorted-" in line]
    assert lines == [["normal", "sorted-b"], ["normal", "sorted-a"]]


def test_explain_prints_each_request_on_the_error_stream(at: Run, servers: ServerAddresses) -> None:
    done = at("topic", "list", "-o", "name", "--explain")

    assert f"GET_ALL_TOPIC_LIST_FROM_NAMESERVER (206) {servers.namesrv}" in done.err
    assert "0 SUCCESS" in done.err
    assert "206" not in done.out
