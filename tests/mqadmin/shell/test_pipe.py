"""Filters at work while a command still prints."""

import io
import json
import os
import select
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TextIO

import pytest

from mqadmin.errors import CommandError, Usage
from mqadmin.session.call import Workplace
from mqadmin.shell.engine import Shell
from mqadmin.shell.filters import stage_of
from mqadmin.shell.pipe import Pipe, PipeClosed
from mqadmin.shell.server import ServerAddresses
from tests.mqadmin.conftest import Run, console_of


def pipe(*filters: str) -> tuple[Pipe, io.StringIO]:
    """Return filters in a row, and what gets their lines."""
    out = io.StringIO()
    return Pipe([stage_of(words.split()) for words in filters], out), out


def test_lines_come_out_as_they_come_in() -> None:
    through, out = pipe("grep a", "uniq")

    through.write("ab\nb\na")
    assert out.getvalue() == "ab\n"
    through.write("x\n")
    assert out.getvalue() == "ab\nax\n"
    through.write("last a")
    through.finish()

    assert out.getvalue() == "ab\nax\nlast a\n"


def test_what_needs_the_end_comes_at_the_end() -> None:
    through, out = pipe("tail 2", "sort -r", "count")

    through.write("a\nb\nc\n")
    assert out.getvalue() == ""
    through.finish()

    assert out.getvalue() == "2\n"


def test_a_filter_that_has_enough_ends_the_command() -> None:
    through, out = pipe("head 2", "count")

    with pytest.raises(PipeClosed):
        through.write("a\nb\nc\n")
    through.finish()

    assert out.getvalue() == "2\n"


def test_a_filter_that_cannot_read_a_line_says_so_at_that_line() -> None:
    with pytest.raises(Usage, match="record: its input is not JSON"):
        pipe("record")[0].write("TOPIC\n")


def test_records_of_json_lines_are_numbered() -> None:
    through, out = pipe("record")

    for row in ({"topic": "T"}, {"topic": "U"}):
        through.write(json.dumps(row) + "\n")

    assert out.getvalue() == "-- 1 --\ntopic: T\n-- 2 --\ntopic: U\n"


def test_a_command_that_never_ends_is_ended_by_head(run: Run, servers: ServerAddresses) -> None:
    lines = [
        f"connect {servers.namesrv}",
        "topic create PIPED -q 1",
        *("message send PIPED m" for _ in range(3)),
        "message tail PIPED --from earliest | grep PIPED | head 2 | count",
    ]

    done = run("shell", "-c", "\n".join(lines))

    assert (done.exit_code, done.out.splitlines()[-1]) == (0, "2")


def test_help_goes_through_filters_and_into_files(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "help.txt"

    done = run("shell", "-c", f"help topic list | head 1\nhelp > {file}")

    assert done.out.startswith("topic list: ")
    assert len(done.out.splitlines()) == 1
    assert "Words of the shell itself" in file.read_text()


def test_watch_is_the_commands_own(env: dict[str, str], servers: ServerAddresses) -> None:
    ticks: list[float] = []

    def pause(seconds: float) -> None:
        ticks.append(seconds)
        if len(ticks) == 2:
            raise KeyboardInterrupt

    console, out, err = console_of(env)
    workplace = Workplace(pause=pause, namesrv=servers.namesrv)
    shell = Shell(console, workplace)

    watched = shell.run_text("watch 0.5 broker list")
    refused = [
        shell.run_text(line) for line in ("watch topic create T", "watch help", "watch 0 topic")
    ]
    workplace.link.close()
    console.out.flush()

    assert (watched, shell.last_exit, ticks) == (130, 2, [0.5, 0.5])
    assert out.getvalue().decode().count("ADDRESS") == 2
    assert refused == [2, 2, 2], err.getvalue()


def test_another_word_is_a_program_that_gets_the_lines() -> None:
    through, out = pipe("tr a-z A-Z", "head 1")

    through.write("one\ntwo\n")
    through.finish()

    assert out.getvalue() == "ONE\n"


def test_a_program_that_fails_or_is_not_there_is_told() -> None:
    with pytest.raises(CommandError, match="false ended with exit code 1"):
        pipe("false")[0].finish()
    with pytest.raises(Usage, match="unknown filter or program `no-such-program`"):
        stage_of(["no-such-program"])


@pytest.fixture
def reading() -> Iterator[tuple[TextIO, int]]:
    """Return a stream with a file, as standard output has one, and where to read what it gets."""
    read, write = os.pipe()
    with open(write, "w", encoding="utf-8") as out:
        yield out, read
    os.close(read)


def arrived(read: int) -> bytes:
    """Return what comes next; nothing once nobody can write any more."""
    ready, _, _ = select.select([read], [], [], 30)
    assert ready, "nothing came"
    return os.read(read, 1000)


def test_a_last_program_shows_each_line_at_once(reading: tuple[TextIO, int]) -> None:
    out, read = reading
    through = Pipe([stage_of(["grep", "a"]), stage_of(["cat"])], out)

    for line in (b"one a\n", b"two a\n"):
        through.write(line.decode())
        assert arrived(read) == line
    through.finish()


def test_a_program_that_has_ended_ends_the_command() -> None:
    through, out = pipe("sed 1q")

    with pytest.raises(PipeClosed):
        through.write("a line\n" * 100_000)
    through.finish()

    assert out.getvalue() == "a line\n"


def test_ctrl_c_that_ends_a_program_is_no_failure_of_it() -> None:
    out = io.StringIO()
    through = Pipe([stage_of(["sh", "-c", "echo said; kill -INT $$"])], out)

    through.finish()

    assert out.getvalue() == "said\n"


def test_no_program_is_left_behind_an_error(reading: tuple[TextIO, int]) -> None:
    out, read = reading
    through = Pipe([stage_of(["record"]), stage_of(["sleep", "1000"])], out)

    with closing(through), pytest.raises(Usage):
        through.write("{}\nno json\n")
    out.close()

    assert arrived(read) == b""


def test_a_file_gets_what_a_program_writes(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    file.write_text("before\n")

    done = run("shell", "-c", f"help | tr a-z A-Z | head 1 >> {file}; help | sed 1q >> {file}")

    first, second, third = file.read_text().splitlines()
    assert (done.exit_code, first, second) == (0, "before", third.upper())
