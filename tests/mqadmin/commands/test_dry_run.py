"""With --dry-run a command asks nobody, keeps nothing and sends only reads."""

from pathlib import Path

import pytest

from tests.mqadmin.conftest import Result, Run, rows

# Code 61 is GET_TIMER_METRICS of RocketMQ 5.
READS = ("GET_", "QUERY_", "VIEW_", "SEARCH_", "PULL_MESSAGE", "request (61) ")


def check_reads(done: Result) -> None:
    """Check that a command with ``--explain`` has sent requests, only reads, and kept nothing."""
    sent = done.err.splitlines()
    assert sent
    assert [line for line in sent if not line.startswith(READS)] == []
    assert "undo" not in done.err


@pytest.mark.parametrize(
    "words",
    [
        ("topic", "create", "dry-new"),
        ("topic", "update", "dry", "-q", "9"),
        ("topic", "delete", "dry"),
        ("topic", "perm", "dry", "R"),
        ("topic", "order-conf", "dry", "broker-a:1"),
        ("group", "create", "dry-new"),
        ("group", "update", "dry", "--retry-max", "1"),
        ("group", "delete", "dry", "--offsets", "--topics"),
        ("broker", "config", "set", "defaultQueryMaxNum", "7"),
        ("broker", "write-perm", "wipe", "broker-a"),
        ("broker", "clean", "expired-queues"),
        ("broker", "clean", "unused-topics"),
        ("broker", "clean", "expired-log"),
        ("cluster", "rt"),
        ("namesrv", "config", "set", "orderMessageEnable", "true"),
        ("namesrv", "kv", "set", "dry", "k", "v"),
        ("undo", "1"),
    ],
    ids=" ".join,
)
def test_only_reads_are_sent(at: Run, env: dict[str, str], words: tuple[str, ...]) -> None:
    at("topic", "create", "dry", "-q", "2")
    at("group", "create", "dry")
    at("topic", "update", "dry", "-q", "3")
    journal = Path(env["HOME"]) / ".local" / "state" / "mqadmin" / "journal"
    kept = sorted(journal.iterdir())

    done = at(*words, "--dry-run", "--explain")
    at("topic", "update", "dry", "-q", "2")

    assert done.exit_code == 0, done.err
    assert "would change" in done.out
    check_reads(done)
    assert sorted(journal.iterdir())[: len(kept)] == kept


@pytest.mark.parametrize(
    ("words", "exit_code"),
    [
        (("namesrv", "kv", "delete", "dry", "none"), 3),
        (("broker", "write-perm", "add", "broker-a"), 0),
    ],
)
def test_only_reads_are_sent_where_nothing_would_change(
    at: Run, words: tuple[str, ...], exit_code: int
) -> None:
    done = at(*words, "--dry-run", "--explain")

    assert done.exit_code == exit_code, done.err
    check_reads(done)


def test_a_message_that_would_be_sent_is_not(at: Run) -> None:
    done = at("message", "send", "dry", "x", "--dry-run", "--explain")

    assert done.exit_code == 0, done.err
    assert "would change" in done.out
    assert "SEND_MESSAGE" not in done.err


def test_an_offset_that_would_move_stays(at: Run) -> None:
    at("topic", "create", "dry-offset", "-q", "1")
    reset = ("offset", "reset", "dry", "dry-offset", "--to", "latest")

    done = at(*reset, "--dry-run", "--explain", "-ojson")

    assert rows(done)[0]["changed"]
    assert not {"UPDATE_CONSUMER_OFFSET", "INVOKE_BROKER_TO_RESET_OFFSET"} & {*done.err.split()}
