"""Filters at work while a command still prints."""

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mqadmin.call import Workplace
from mqadmin.errors import Usage
from mqadmin.shell.engine import Shell
from mqadmin.shell.filters import stage_of
from mqadmin.shell.pipe import Enough, Pipe
from mqadmin.shell.server import Addresses
from tests.mqadmin.conftest import Result, console_of

Run = Callable[..., Result]


def pipe(out: io.StringIO, *filters: str) -> Pipe:
    return Pipe([stage_of(words.split()) for words in filters], out)


def test_lines_come_out_as_they_come_in() -> None:
    out = io.StringIO()
    through = pipe(out, "grep a", "uniq")

    through.write("ab\nb\na")
    assert out.getvalue() == "ab\n"
    through.write("x\n")
    assert out.getvalue() == "ab\nax\n"
    through.write("last a")
    through.finish()

    assert out.getvalue() == "ab\nax\nlast a\n"


def test_what_needs_the_end_comes_at_the_end() -> None:
    out = io.StringIO()
    through = pipe(out, "tail 2", "sort -r", "count")

    through.write("a\nb\nc\n")
    assert out.getvalue() == ""
    through.finish()

    assert out.getvalue() == "2\n"


def test_a_filter_that_has_enough_ends_the_command() -> None:
    out = io.StringIO()
    through = pipe(out, "head 2", "count")

    with pytest.raises(Enough):
        through.write("a\nb\nc\n")
    through.finish()

    assert out.getvalue() == "2\n"


def test_a_filter_that_cannot_read_a_line_says_so_at_that_line() -> None:
    with pytest.raises(Usage, match="record: the rows before are no json"):
        pipe(io.StringIO(), "record").write("TOPIC\n")


def test_records_of_json_lines_are_numbered() -> None:
    out = io.StringIO()
    through = pipe(out, "record")

    for row in ({"topic": "T"}, {"topic": "U"}):
        through.write(json.dumps(row) + "\n")

    assert out.getvalue() == "-- 1 --\ntopic: T\n-- 2 --\ntopic: U\n"


def test_a_command_that_never_ends_is_ended_by_head(run: Run, servers: Addresses) -> None:
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


def test_watch_is_the_commands_own(env: dict[str, str], servers: Addresses) -> None:
    ticks: list[float] = []

    def pause(seconds: float) -> None:
        ticks.append(seconds)
        if len(ticks) == 2:
            raise KeyboardInterrupt

    console, out, err = console_of(env)
    workplace = Workplace(pause=pause, namesrv=servers.namesrv)
    shell = Shell(console, workplace)

    watched = shell.run("watch 0.5 broker list")
    refused = [shell.run(line) for line in ("watch topic create T", "watch help", "watch 0 topic")]
    workplace.link.close()
    console.out.flush()

    assert (watched, ticks) == (0, [0.5, 0.5])
    assert out.getvalue().decode().count("ADDRESS") == 2
    assert refused == [2, 2, 2], err.getvalue()
