"""``store trace`` and ``store tail``: the life of a message, and messages as they come."""

import json
import threading
from pathlib import Path

import pytest

from mqserver.pytest_plugin import RocketMQ
from tests.golden import Golden
from tests.mqadmin.commands.offline import run
from tests.mqadmin.commands.test_store_log import FIELDS
from tests.mqadmin.conftest import Result, cells
from tests.storefmt.offline.stores import state_of


def test_trace_rows_are_messages_with_a_step(golden: Golden) -> None:
    rows = run("store", "trace", golden.store("kinds"), "retry1").rows

    steps = [row for row in rows if row["step"] != "group"]
    groups = [row for row in rows if row["step"] == "group"]
    assert all(set(row) >= FIELDS | {"step", "step_ms", "step_time", "due_ms"} for row in rows)
    assert [row["step"] for row in steps] == ["store", "retry_delay", "retry", "dead_letter"]
    assert steps[1]["due_time"] < steps[2]["step_time"]
    assert {(row["topic"], row["group"]) for row in groups} >= {("kd-retry", "kd-fail")}
    assert all(row["detail"].endswith("has read or skipped it") for row in groups)
    assert rows.index(groups[0]) == len(steps)


def test_trace_of_nothing_is_exit_3(golden: Golden) -> None:
    ran = run("store", "trace", golden.store("ipv6"), "no-such-key", output="table")

    assert (ran.exit_code, ran.out) == (3, "")
    assert ran.err.startswith("error: no message with id or key")


def test_trace_says_when_the_log_was_read(kinds: Path) -> None:
    for file in (kinds / "index").iterdir():
        file.unlink()

    assert "whole log" in run("store", "trace", kinds, "commit-0").err


def test_tail_gives_what_log_gives(kinds: Path) -> None:
    tail = run("store", "tail", kinds, "--from", "earliest", "--no-follow", output="jsonl")
    log = run("store", "log", kinds, output="jsonl")

    assert tail.out == log.out


def test_tail_filters_and_counts(basic: Path) -> None:
    words = ("--from", "earliest", "--topic", "tiny", "--tag", "odd", "--count", "3")

    rows = run("store", "tail", basic, *words).rows

    assert cells(rows, "topic", "tags") == [("tiny", "odd")] * 3


def test_tail_takes_the_conditions_of_message_tail(basic: Path) -> None:
    words = ("--from", "earliest", "--topic", "tiny", "--no-follow")
    found = run("store", "tail", basic, *words).rows
    name, value = next(iter(found[0]["properties"].items()))

    rows = run("store", "tail", basic, *words, "-p", f"{name}={value}", "--queue", "0").rows
    scanned = run("store", "tail", basic, "--from", "earliest", "--scan", "2").rows

    assert rows == [
        row for row in found if row["properties"].get(name) == value and row["queue_id"] == 0
    ]
    assert len(rows) in range(1, len(found))
    assert len(scanned) == 2


def test_tail_from_a_time_begins_there(golden: Golden) -> None:
    lines = [line for line in golden.jsonl("basic", "records") if line["kind"] == "msg"]
    at = lines[1300]["storeTimestamp"]

    rows = run(
        "store", "tail", golden.store("basic"), "--from", str(at), "--no-follow", "--no-body"
    ).rows

    assert [row["log_offset"] for row in rows] == [
        line["phy"] for line in lines if line["storeTimestamp"] >= at
    ]


def test_tail_from_latest_has_nothing_to_show_of_a_store_at_rest(golden: Golden) -> None:
    ran = run("store", "tail", golden.store("v5"), "--no-follow")

    assert (ran.exit_code, ran.rows) == (0, [])


@pytest.mark.parametrize("words", [("--count", "0"), ("--from", "whenever")])
def test_wrong_words_of_tail_are_exit_2(golden: Golden, words: tuple[str, ...]) -> None:
    assert run("store", "tail", golden.store("ipv6"), *words).exit_code == 2


def test_tail_follows_a_running_broker(rocketmq: RocketMQ) -> None:
    found: list[Result] = []
    words = ("--topic", "store-tail-live", "--from", "earliest", "--count", "5")
    thread = threading.Thread(
        target=lambda: found.append(run("store", "tail", rocketmq.store, *words, output="jsonl"))
    )
    thread.start()
    for number in range(5):
        message = ("store-tail-live", f"body {number}", "--key", f"k{number}")
        assert run("message", "send", "-n", rocketmq.namesrv, *message).exit_code == 0
    thread.join(60)

    assert not thread.is_alive()
    rows = [json.loads(line) for line in found[0].out.splitlines()]
    assert [row["body"] for row in rows] == [f"body {number}" for number in range(5)]


def test_a_store_that_runs_can_be_traced(rocketmq: RocketMQ) -> None:
    run("message", "send", "-n", rocketmq.namesrv, "store-trace-live", "x", "--key", "live-1")

    rows = run("store", "trace", rocketmq.store, "live-1").rows

    assert [row["step"] for row in rows] == ["store"]


def test_names_from_a_store_cannot_steer_the_terminal(ipv6: Path) -> None:
    log = next((ipv6 / "commitlog").iterdir())
    data = log.read_bytes()
    log.write_bytes(data.replace(b"KEYS\x01", b"K\x1b[2\x01"))

    lines = (
        ("trace", ipv6, "k1", "--scan"),
        ("tail", ipv6, "--from", "earliest", "--no-follow"),
        ("hexdump", ipv6, "0"),
        ("stats", ipv6, "--by", "tag"),
    )
    for words in lines:
        ran = run("store", *words, output="table")
        assert "\x1b" not in ran.out + ran.err


def test_the_store_is_only_read(kinds: Path, tmp_path: Path) -> None:
    before = state_of(kinds)

    lines: tuple[tuple[str | Path, ...], ...] = (
        ("info", kinds),
        ("trace", kinds, "retry1", "--scan"),
        ("tail", kinds, "--from", "earliest", "--no-follow"),
        ("hexdump", kinds, "0"),
        ("stats", kinds),
        ("timeline", kinds),
        ("events", kinds),
        ("verify", kinds, "--deep"),
        ("export", kinds, "--to", tmp_path / "x.jsonl"),
        ("report", kinds, "--html", tmp_path / "x.html"),
    )
    for words in lines:
        assert run("store", *words).exit_code == 0, words

    assert state_of(kinds) == before
