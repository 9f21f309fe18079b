"""What a person sees: the shell's screen, read back by a terminal emulator."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pexpect
import pyte
import pytest

from mqadmin.shell.server import EmbeddedServer, ServerAddresses
from tests.mqadmin.conftest import Run
from tests.mqadmin.typed import WAIT_S, end_of, kill, spawn_shell
from tests.ports import free_ports

CURSOR_QUERY = b"\x1b[6n"


class Screen:
    """A shell in a terminal of a given size."""

    def __init__(self, env: dict[str, str], *, columns: int, lines: int, words: list[str]) -> None:
        self.screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self._answered_count = 0
        self.child = spawn_shell(env, *words, columns=columns, lines=lines)

    def types(self, keys: str, *texts: str) -> list[str]:
        """Press keys; return the lines of the screen once all of the texts are on it."""
        self.child.send(keys)
        return self.shows(*texts)

    def shows(self, *texts: str) -> list[str]:
        """Return the lines of the screen once all of the texts are on it."""
        until_s = time.monotonic() + WAIT_S
        while not all(any(text in line for line in self.lines()) for text in texts):
            if time.monotonic() > until_s:
                raise AssertionError(
                    f"never saw {texts}; the screen is\n" + "\n".join(self.lines())
                )
            self.read()
        return self.lines()

    def read(self) -> None:
        """Take what has been printed, and answer where the cursor is."""
        try:
            data = self.child.read_nonblocking(65536, timeout=0.2)
        except pexpect.TIMEOUT:
            return
        self.raw += data
        self._stream.feed(data)
        # A question may come in two pieces.
        if self.raw.count(CURSOR_QUERY) > self._answered_count:
            self._answered_count = self.raw.count(CURSOR_QUERY)
            cursor = self.screen.cursor
            self.child.send(f"\x1b[{cursor.y + 1};{cursor.x + 1}R")

    def lines(self) -> list[str]:
        """Return the screen as lines of text."""
        return [line.rstrip() for line in self.screen.display]

    def resize(self, *, columns: int, lines: int) -> None:
        """Make the window another size."""
        self.child.setwinsize(lines, columns)
        self.screen.resize(lines, columns)


Start = Callable[..., Screen]


@pytest.fixture
def start(env: dict[str, str], servers: ServerAddresses, tmp_path: Path) -> Iterator[Start]:
    """Return a function that starts a shell on the servers."""
    env["XDG_STATE_HOME"] = str(tmp_path / "state")
    started: list[Screen] = []

    def start_shell(
        *, columns: int = 100, lines: int = 24, plain: bool = False, namesrv: str = servers.namesrv
    ) -> Screen:
        more = {"NO_COLOR": "1"} if plain else {}
        made = Screen({**env, **more}, columns=columns, lines=lines, words=["-n", namesrv])
        started.append(made)
        if namesrv == servers.namesrv:
            made.shows("DefaultCluster>")
        return made

    yield start_shell
    for made in started:
        kill(made.child)


def test_the_menu_opens_while_typing_and_the_hint_shows_the_syntax(start: Start) -> None:
    shell = start()

    lines = shell.types("topic s", "status", "topic show · topic static grow")

    assert any("topic s" in line for line in lines)
    shell.types("how ", "topic show TOPIC")


def test_a_server_that_answers_again_is_seen_without_a_key(start: Start) -> None:
    port = free_ports(1)
    shell = start(namesrv=f"127.0.0.1:{port}")
    shell.shows(f"127.0.0.1:{port} (away)>")

    with EmbeddedServer(namesrv_port=port):
        shell.shows("DefaultCluster>")


def test_an_unknown_topic_is_told_before_enter(at: Run, start: Start) -> None:
    at("topic", "create", "orders_seen", "-q", "1")
    shell = start()

    shell.types("topic show ordes_seen ", "unknown topic `ordes_seen`; did you mean orders_seen?")


def test_words_are_coloured_and_not_with_no_color(start: Start) -> None:
    coloured, plain = start(), start(plain=True)

    for shell in (coloured, plain):
        shell.types("cluster list ", "cluster list")
        shell.types("\r", "ADDRESS")

    assert b"\x1b[0;32m" in coloured.raw
    for number in range(30, 38):
        assert f";{number}m".encode() not in plain.raw


def test_a_narrow_terminal_cuts_the_table_and_follows_a_resize(
    start: Start, servers: ServerAddresses
) -> None:
    shell = start(columns=40)
    keys = "\x0ccluster list --columns cluster,broker,version,address\r"

    narrow = shell.types(keys, "broker-a")
    shell.resize(columns=120, lines=30)
    wide = shell.types(keys, f"DefaultCluster  broker-a  V4_9_7   {servers.broker}")

    assert all(len(line) <= 40 for line in narrow)
    assert any(len(line) > 40 for line in wide)


def test_wide_characters_stay_in_their_columns(at: Run, start: Start) -> None:
    at("topic", "create", "WIDE", "-q", "1")
    at("message", "send", "WIDE", "日本語", "--tag", "x", "--key", "k1")
    at("message", "send", "WIDE", "plain", "--tag", "y", "--key", "k1")
    shell = start(columns=80)

    shell.types("\x0cmessage query key WIDE k1 --columns body,tags\r", "BODY", "plain")

    found = {
        shell.screen.buffer[row][8].data
        for row, line in enumerate(shell.screen.display)
        if any(text in line for text in ("日", "plain  "))
    }
    assert found == {"x", "y"}


def test_ctrl_c_drops_the_line_and_ctrl_d_leaves(start: Start) -> None:
    shell = start()

    shell.types("half a li", "half a li")
    shell.types("\x03")
    shell.types("exit-code-of-nothing\r", "[2]>")
    shell.types("\x04")

    assert end_of(shell.child) == 0


def test_a_long_result_is_paged_and_the_prompt_comes_back(
    env: dict[str, str], start: Start
) -> None:
    env["PAGER"] = "head -n 3"
    shell = start(lines=12)

    lines = shell.types("help\r", "mqadmin: inspect", "DefaultCluster>")

    assert not any("Global options" in line for line in lines)
