"""The shell in a pseudo-terminal, driven key by key against running servers."""

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mqadmin.shell.server import ServerAddresses
from tests.mqadmin.conftest import Run
from tests.mqadmin.typed import end_of, kill, spawn_shell

TAB, UP, CTRL_C, CTRL_D, CTRL_R = "\t", "\x1b[A", "\x03", "\x04", "\x12"
CURSOR_QUERY, CURSOR_ANSWER = r"\x1b\[6n", "\x1b[1;1R"
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|\r")
PROMPT = r"DefaultCluster( \[\d+\])?>"


class Terminal:
    """A shell that somebody types at."""

    def __init__(self, env: dict[str, str], *words: str) -> None:
        plain = {"NO_COLOR": "1", **env}
        self.child = spawn_shell(plain, *words, columns=160, lines=40, encoding="utf-8")

    def type(self, keys: str) -> None:
        """Press keys."""
        self.child.send(keys)

    def line(self, text: str, *patterns: str) -> str:
        """Type a line and Enter; return what came up to the last of the patterns."""
        self.child.send(text + "\r")
        return "".join(self.until(pattern) for pattern in patterns)

    def until(self, pattern: str) -> str:
        """Return what came up to the pattern, without escapes."""
        shown = ""
        while self.child.expect([CURSOR_QUERY, pattern]) == 0:
            shown += self.child.before
            self.child.send(CURSOR_ANSWER)
        return ESCAPES.sub("", shown + self.child.before + self.child.after)

    def end(self) -> int:
        """Wait for the end and return the exit code."""
        return end_of(self.child)


@pytest.fixture
def terminal(
    env: dict[str, str], servers: ServerAddresses, tmp_path: Path
) -> Iterator[Callable[..., Terminal]]:
    """Return a function that starts a shell, on the servers unless words say otherwise."""
    started: list[Terminal] = []
    env["XDG_STATE_HOME"] = str(tmp_path / "state")

    def start(*words: str) -> Terminal:
        made = Terminal(env, *(words or ("-n", servers.namesrv)))
        started.append(made)
        if not words:
            made.until(PROMPT)
        return made

    yield start
    for made in started:
        kill(made.child)


def test_tab_completes_commands_and_live_topics(at: Run, terminal: Callable[..., Terminal]) -> None:
    at("topic", "create", "COMPLETED_BY_TAB", "-q", "1")
    shell = terminal()

    shell.type("topic sho")
    shell.until("show")
    shell.type(TAB + " COMPLETED")
    shell.until("COMPLETED_BY_TAB")

    assert "broker-a" in shell.line(TAB, "RW-")


@pytest.mark.parametrize("pause_s", [0.0, 0.02, 0.06])
def test_a_tab_that_is_typed_fast_is_not_lost(
    at: Run, terminal: Callable[..., Terminal], pause_s: float
) -> None:
    at("topic", "create", "TYPED_FAST", "-q", "1")
    shell = terminal()

    for key in f"topic rou{TAB}TYPED_F{TAB}-o csv\r":
        shell.child.send(key)
        time.sleep(pause_s)

    assert "DefaultCluster,broker-a" in shell.until("DefaultCluster,broker-a")


def test_a_failing_line_shows_its_error_and_exit_code_in_the_prompt(
    terminal: Callable[..., Terminal],
) -> None:
    shell = terminal()

    shown = shell.line("topic show no-such-topic", r"DefaultCluster \[3\]>")
    wrong = shell.line("topic lst", r"DefaultCluster \[2\]>")
    shell.line("broker list", "master", "DefaultCluster>")

    assert "error: topic no-such-topic" in shown
    assert "did you mean `topic list`?" in wrong


def test_an_unknown_command_is_told_while_it_is_typed(terminal: Callable[..., Terminal]) -> None:
    shell = terminal()

    shell.type("topc")

    shell.until("unknown command")


def test_ctrl_c_ends_the_command_and_ctrl_d_the_shell(
    at: Run, terminal: Callable[..., Terminal]
) -> None:
    at("topic", "create", "FOLLOWED", "-q", "1")
    at("message", "send", "FOLLOWED", "first-body")
    shell = terminal()

    shell.line("message tail FOLLOWED --from earliest --columns body", "first-body")
    at("message", "send", "FOLLOWED", "second-body")
    shell.until("second-body")
    shell.type(CTRL_C)
    shell.until(r"DefaultCluster \[130\]>")
    shell.type("half a line" + CTRL_C)
    shell.line("context list", "context list: no rows", PROMPT)
    shell.type(CTRL_D)

    assert shell.end() == 0


def test_exit_takes_a_code(terminal: Callable[..., Terminal]) -> None:
    shell = terminal()

    shell.line("exit 7")

    assert shell.end() == 7


def test_history_lasts_is_private_and_keeps_no_secret(
    terminal: Callable[..., Terminal], tmp_path: Path
) -> None:
    first = terminal()
    first.line("broker list --columns role", "master", PROMPT)
    first.line("context add x h:1 --secret-key hidden", "changed", PROMPT)
    first.type(CTRL_D)
    first.end()

    second = terminal()
    second.type(CTRL_R + "broker")
    second.until("list --columns role")
    second.type("\r\r")
    second.until("master")

    file = tmp_path / "state" / "mqadmin" / "history"
    assert file.stat().st_mode & 0o777 == 0o600
    assert "broker list" in file.read_text()
    assert "hidden" not in file.read_text()


def test_a_destructive_command_asks(at: Run, terminal: Callable[..., Terminal]) -> None:
    at("topic", "create", "ASKED_FOR", "-q", "1")
    shell = terminal()

    shell.line("topic delete ASKED_FOR", r"delete topic ASKED_FOR .*\[y/N\] ")
    shell.line("n", "not confirmed", r"\[1\]>")
    shell.line("topic delete ASKED_FOR", r"\[y/N\] ")
    shell.line("y", "changed")

    assert at("topic", "show", "ASKED_FOR").exit_code == 3


def test_without_a_server_it_starts_says_so_and_connect_mends_it(
    terminal: Callable[..., Terminal], servers: ServerAddresses
) -> None:
    shell = terminal("--no-color")
    shell.until("no server yet")
    shell.until("no server>")

    shell.line("topic list", "no name server given")
    shell.line(f"connect {servers.namesrv}")
    shell.line("broker list", "master")


def test_an_open_quote_goes_on_in_the_next_line(terminal: Callable[..., Terminal]) -> None:
    shell = terminal()

    shell.line("context show 'a")

    shell.line("b'", r"context 'a\\nb' not found")
