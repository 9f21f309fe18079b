"""``top`` at a real broker: rows for scripts, and a terminal for people."""

import sys

import pexpect

from mqadmin.shell.server import ServerAddresses
from tests.mqadmin.conftest import Run
from tests.mqadmin.typed import end_of, kill


def test_once_gives_rows(at: Run) -> None:
    at("topic", "create", "TOPPED", "-q", "1")
    at("message", "send", "TOPPED", "m")
    # A broker tells the progress of groups that it has settings of.
    at("group", "create", "TOPPERS")
    at("offset", "reset", "TOPPERS", "TOPPED", "--to", "0", "-y")

    found = at.rows("top", "--once", "--interval", "0.05")

    rows = {(row["kind"], row["name"]): row for row in found}
    assert rows["broker", "broker-a"]["disk_ratio"] > 0
    assert rows["topic", "TOPPED"]["in_tps"] == 0
    assert rows["group", "TOPPERS"]["lag"] == 1


def test_without_a_terminal_it_says_what_to_do(at: Run) -> None:
    done = at("top")

    assert done.exit_code == 2
    assert "--once" in done.err


def test_it_draws_takes_keys_and_ends(servers: ServerAddresses) -> None:
    words = ["-m", "mqadmin", "top", "-n", servers.namesrv, "--interval", "0.2"]
    child = pexpect.spawn(sys.executable, words, dimensions=(24, 60), timeout=60)
    try:
        child.expect("broker-a")
        child.send("s")
        child.expect("lag")
        child.send("q")
        assert end_of(child) == 0
    finally:
        kill(child)


def test_nobody_answers(run: Run) -> None:
    assert run("top", "--once", "-n", "127.0.0.1:1").exit_code == 4
