"""The shell as a script: exit codes, its own words, pipes and files."""

import json
import os
import re
from pathlib import Path

import pytest

from mqadmin.session.call import Workplace
from mqadmin.shell.engine import Shell
from mqadmin.shell.server import ServerAddresses
from tests.mqadmin.conftest import Run, console_of
from tests.programs import python


def test_a_script_stops_at_the_first_line_that_fails(run: Run) -> None:
    done = run("shell", "-c", "context add a h:1\ncontext use nope\ncontext add b h:2")

    assert done.exit_code == 3
    names = run("context", "list", "-o", "name").out.split()
    assert names == ["a"]


def test_a_script_goes_on_when_told_to_and_keeps_the_failure(run: Run) -> None:
    text = "context use nope\ncontext add b h:2\n"

    done = run("shell", "--keep-going", "-c", text)

    assert done.exit_code == 3
    assert run("context", "list", "-o", "name").out.split() == ["b"]


def test_a_script_comes_from_a_file_or_from_standard_input(run: Run, tmp_path: Path) -> None:
    text = "# two contexts\ncontext add a h:1 \\\n  --use\n\ncontext list -o name # names\n"
    file = tmp_path / "script.mq"
    file.write_text(text)

    from_file = run("shell", str(file))
    from_stdin = run("shell", stdin=text)

    assert (from_file.exit_code, from_file.out.split()[-1]) == (0, "a")
    assert (from_stdin.exit_code, from_stdin.out.split()[-1], from_stdin.err) == (0, "a", "")


@pytest.mark.parametrize(
    ("text", "exit_code"),
    [
        ("", 0),
        ("exit 7\ncontext use nope", 7),
        ("exit", 0),
        ("exit now", 2),
        ("topc", 2),
        ("topic list", 2),
        ("context list 'a", 2),
        ("context list | no-such-program x", 2),
        ("context list | head x", 2),
        ("context list > /no/such/dir/file", 3),
        ("set output pdf", 2),
        ("set colour on", 2),
        ("use topic", 2),
        ("connect", 2),
        ("connect ''", 2),
        ("store open ''", 2),
        ("store open /no/such/dir", 3),
        ("shell", 2),
        ("watch", 2),
        ("help nope", 2),
        ("help topic list", 0),
        ("HELP", 0),
        ("mqadmin context list", 0),
        ("use context nope\ntopic list", 3),
        ("help; topc; help", 2),
        ("help; exit 7; topc", 7),
        ("help;;", 2),
    ],
)
def test_each_line_has_its_exit_code(run: Run, text: str, exit_code: int) -> None:
    assert run("shell", "-c", text).exit_code == exit_code


def test_commands_of_one_line_run_until_one_fails(run: Run) -> None:
    line = "context add a h:1; context use nope; context list -o name"

    stopped = run("shell", "-c", line)
    went_on = run("shell", "-c", line, "--keep-going")

    assert (stopped.exit_code, "\na\n" in stopped.out) == (3, False)
    assert (went_on.exit_code, went_on.out.splitlines()[-1]) == (3, "a")


def test_two_sources_of_lines_are_refused(run: Run, tmp_path: Path) -> None:
    assert run("shell", str(tmp_path / "none")).exit_code == 3
    assert run("shell", "file", "-c", "help").exit_code == 2
    assert run("shell", "--store", "x", "-c", "help").exit_code == 2


def test_output_is_set_piped_and_written(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    lines = [
        "context add one h:1",
        "context add two h:2",
        "set output json",
        f"context list > {file}",
        f"context list | json context | grep -v one >> {file}",
        "set output table",
        "context list --no-headers | head 1",
    ]

    done = run("shell", "-c", "\n".join(lines))

    text = file.read_text()
    assert json.loads(text[: text.rindex("]") + 1])[0]["context"] == "one"
    assert text.endswith("]\ntwo\n")
    assert done.out.splitlines()[-1].split()[0] == "one"


def test_connect_and_use_choose_the_servers(run: Run, servers: ServerAddresses) -> None:
    lines = [
        f"connect {servers.namesrv}",
        "topic create chosen -q 1",
        "use topic chosen",
        "message send chosen hello --key k",
        "message query key k -o json | json [0].body",
    ]

    done = run("shell", "-c", "\n".join(lines))

    assert (done.exit_code, done.err) == (0, "")
    assert done.out.splitlines()[-1] == "hello"


def test_the_embedded_servers_run_a_piped_script_and_keep_their_store(tmp_path: Path) -> None:
    command = ("-m", "mqadmin", "shell", "--embedded", "--store", tmp_path)
    first = "topic create T -q 1\nmessage send T hello --key k1\nmessage query key T k1 -o json\n"

    second = "message query key T k1 -o name\nmessage query key T k2\n"

    wrote = python(*command, input=first)
    read = python(*command, code=3, input=second)

    assert '"body": "hello"' in wrote.stdout
    assert wrote.stderr == ""
    assert re.fullmatch(r"[0-9A-F]{32}\n", read.stdout)


def test_servers_that_cannot_start_say_why(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no directory")
    words = ("shell", "--embedded", "-c", "help", "--store", tmp_path / "file")

    done = python("-m", "mqadmin", *words, code=1)

    assert "did not start" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_line_of_the_machines_shell_runs_and_its_code_is_kept(env: dict[str, str]) -> None:
    console, out, _ = console_of(env)
    shell = Shell(console, Workplace())

    assert shell.run_text("!exit 3") == 3
    assert shell.last_exit == 3
    assert shell.run_text("!true") == 0
    assert shell.run_text("clear") == 0
    assert out.getvalue() == b""


def test_the_machines_shell_leaves_the_rest_of_a_script_alone(env: dict[str, str]) -> None:
    longer_than_a_buffer = "# nothing\n" * 10_000

    script = f"!cat\n{longer_than_a_buffer}context add a h:1\ncontext list -o name\n"
    done = python("-m", "mqadmin", "shell", env={**os.environ, **env}, input=script)

    assert done.stdout.splitlines()[-1:] == ["a"]
    assert "nothing" not in done.stdout


def test_the_help_knows_pipes(env: dict[str, str]) -> None:
    console, out, _ = console_of(env)

    Shell(console, Workplace()).run_text("help pipes")

    assert "jq length" in out.getvalue().decode()
