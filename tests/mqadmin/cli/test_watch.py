"""``--watch``: how the option is read, what is drawn, and how it ends."""

import pytest
from rich.text import Text

from mqadmin.cli.command import ParsedLine
from mqadmin.cli.parse import parse
from mqadmin.output.terminal.live import mark_changes
from mqadmin.session.call import Memory, Workplace
from mqadmin.shell.server import ServerAddresses
from tests.mqadmin.conftest import Run, run_words


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        (("topic", "list", "--watch"), 2.0),
        (("topic", "list", "--watch", "0.5"), 0.5),
        (("--watch", "5", "topic", "list"), 5.0),
        (("--watch", "topic", "list"), 2.0),
        (("topic", "list", "--watch=3"), 3.0),
        (("topic", "list", "--watch", "--sort", "topic"), 2.0),
        (("topic", "list"), None),
    ],
)
def test_seconds_may_be_left_out(words: tuple[str, ...], seconds: float | None) -> None:
    parsed = parse(words)

    assert isinstance(parsed, ParsedLine)
    assert parsed.command.name == "topic list"
    assert parsed.settings.watch == seconds


@pytest.mark.parametrize("text", ["0", "-1", "soon"])
def test_a_number_that_is_no_time_is_refused(run: Run, text: str) -> None:
    done = run("topic", "list", f"--watch={text}")

    assert done.exit_code == 2
    assert "--watch" in done.err


def test_a_write_is_not_repeated(run: Run) -> None:
    done = run("topic", "create", "T", "--watch", "-n", "127.0.0.1:1")

    assert done.exit_code == 2
    assert "makes changes" in done.err


def test_what_follows_by_itself_is_not_watched(at: Run) -> None:
    at("topic", "create", "NOT_WATCHED", "-q", "1")

    done = at("message", "tail", "NOT_WATCHED", "--watch")

    assert done.exit_code == 2
    assert "by itself" in done.err


def test_the_first_tick_ends_with_its_own_code(run: Run) -> None:
    assert run("topic", "list", "--watch", "-n", "127.0.0.1:1").exit_code == 4


def watched(
    env: dict[str, str], servers: ServerAddresses, *words: str, ticks: int, tty: bool = False
) -> str:
    """Watch for so many ticks, then press Ctrl-C; return what was printed."""
    left = [ticks]

    def pause(seconds: float) -> None:
        assert seconds == 3.0
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt

    workplace = Workplace(pause=pause)
    line = [*words, "--watch", "3", "-n", servers.namesrv]
    done = run_words(line, env, workplace, out_is_tty=tty)
    workplace.link.close()
    assert (done.exit_code, done.err) == (130, "")
    return done.out


def test_a_pipe_gets_a_block_a_tick(env: dict[str, str], servers: ServerAddresses) -> None:
    text = watched(env, servers, "broker", "list", ticks=3)

    blocks = text.split("\n\n")
    assert blocks[0].startswith("BROKER")
    assert blocks == [blocks[0], blocks[0], blocks[0], ""]
    assert "\x1b" not in text


def test_json_lines_go_on_without_gaps(env: dict[str, str], servers: ServerAddresses) -> None:
    first, second = watched(env, servers, "broker", "list", "-ojsonl", ticks=2).splitlines()

    assert first == second


def test_a_terminal_is_drawn_over(env: dict[str, str], servers: ServerAddresses) -> None:
    text = watched(env, servers, "broker", "list", ticks=2, tty=True)

    assert text.count("broker list   every 3 s") >= 2
    # The second block is drawn where the first one was, and the cursor is shown in the end.
    assert text.count("\x1b[1A") >= 2
    assert "\x1b[7m" not in text.split("Ctrl-C ends")[-1]
    assert "\x1b[?25h" in text


def test_the_title_says_what_the_command_was_given(
    env: dict[str, str], servers: ServerAddresses
) -> None:
    text = watched(env, servers, "topic", "status", "SELF_TEST_TOPIC", ticks=1, tty=True)

    assert "topic status SELF_TEST_TOPIC   every 3 s" in text


def test_words_that_changed_are_marked_and_ages_are_not() -> None:
    before = ["T  LAG", "a   10  3 s ago", "b    2"]
    now = [Text(line) for line in ("T  LAG", "a    9  15 s ago", "b    2", "c    1")]

    mark_changes(before, now)

    marked = [[line.plain[span.start : span.end] for span in line.spans] for line in now]
    assert marked == [[], ["9"], [], ["c", "1"]]


def test_memory_keeps_one_object_a_class() -> None:
    memory = Memory()

    assert memory.of(list) is memory.of(list)
    assert memory.of(dict) == {}
