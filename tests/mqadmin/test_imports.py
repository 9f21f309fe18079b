"""What one-shot commands import: nothing that is slow and not needed."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from mqadmin.shell.server import ServerAddresses
from tests.golden import REPOSITORY
from tests.programs import python

HEAVY = {"prompt_toolkit", "yaml", "msgpack", "numpy", "pyarrow", "pandas", "pyspark", "argparse"}
ELSEWHERE = {"difflib", "csv", "rich"}
"""What a wrong name, spreadsheets and a terminal need."""
LOOP = {"asyncio", "ssl", "logging", "subprocess", "concurrent.futures"}
"""What an event loop loads: a third of the time of a command that asks one thing at a time."""

PROBE = """
import sys
from mqadmin.program import main
exit_code = main(sys.argv[1:])
print(exit_code, *sorted(name for name in sys.modules), file=sys.stderr)
"""


def probed(program: str, *words: str, env: Mapping[str, str] = os.environ) -> CompletedProcess[str]:
    """Run a program without ``site``: what finds an editable installation imports modules, too."""
    path = os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "server"), *sys.path])
    return python("-S", "-c", program, *words, env={**env, "PYTHONPATH": path})


def imported(*words: str) -> tuple[str, set[str]]:
    """Return the exit code of a command and the modules that its process imported."""
    done = probed(PROBE, *words)
    exit_code, *names = done.stderr.splitlines()[-1].split()
    return exit_code, set(names)


def commands_in(names: set[str]) -> set[str]:
    """Return the modules of commands among some, without what the verbs of a noun share."""
    folders = {name.rpartition(".")[0] for name in names}
    return {
        name
        for name in names - folders
        if name.startswith("mqadmin.commands.") and not name.endswith("._shared")
    }


@pytest.mark.parametrize("output", ["table", "json", "jsonl", "csv", "name"])
def test_a_one_shot_command_imports_nothing_heavy(output: str) -> None:
    exit_code, names = imported("topic", "list", "-n", "127.0.0.1:1", "-o", output)

    assert exit_code == "4"
    assert not (HEAVY | ELSEWHERE | LOOP) & names
    assert not {name for name in names if name.split(".")[0] in {"mqserver", "mqspark"}}
    # A tool has no producers and no consumers.
    of_members = {
        f"mqclient.{name}" for name in ("client.members", "client.request_reply", "message")
    }
    assert not of_members & names


def test_rows_in_a_pipe_import_nothing_of_a_terminal(servers: ServerAddresses) -> None:
    exit_code, names = imported("topic", "list", "-n", servers.namesrv, "--timeout", "60")

    assert exit_code == "0"
    assert "mqadmin.output.table" in names
    assert not (HEAVY | ELSEWHERE | LOOP) & names


def test_finding_a_message_imports_what_finds_it() -> None:
    exit_code, names = imported(
        "message", "query", "id", "7F00000100002A9F0000000000000000", "-n", "127.0.0.1:1"
    )

    assert exit_code == "4"
    assert "mqclient.admin.message" in names
    assert not (HEAVY | ELSEWHERE | LOOP) & names
    # Each of these costs a few ms, which a person waits for.
    assert not {"pathlib", "shutil", "traceback"} & names
    assert not {"mqclient.admin.admin", "storefmt.config.tables", "remoting.aio.tls"} & names
    headers = {f"remoting.headers.{name}" for name in ("broker", "namesrv", "group", "message")}
    assert not headers & names


def test_a_one_shot_command_imports_no_other_command() -> None:
    _, names = imported("topic", "list", "-n", "127.0.0.1:1")

    assert commands_in(names) == {"mqadmin.commands.topic.list"}
    assert not {name for name in names if name.startswith("mqadmin.shell")}


def test_a_script_does_not_import_the_terminal() -> None:
    _, names = imported("shell", "-c", "context list")

    assert "prompt_toolkit" not in names


@pytest.mark.parametrize(
    "words",
    [("--help",), ("help", "topic"), ("topic", "-h"), ("topic",), ("topic", "lst"), ("topicLst",)],
)
def test_lists_of_commands_import_no_command(words: tuple[str, ...]) -> None:
    _, names = imported(*words)

    assert not commands_in(names)
    assert not (HEAVY | LOOP) & names


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("mqadmin ", set()),
        ("mqadmin topic ", set()),
        ("mqadmin topic --", set()),
        ("mqadmin topic list --", {"mqadmin.commands.topic.list"}),
        ("mqadmin topic show or", {"mqadmin.commands.topic.show"}),
    ],
)
def test_a_tab_imports_one_command_at_most(line: str, expected: set[str], tmp_path: Path) -> None:
    asked = {
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split(" ")) - 1),
        "_MQADMIN_COMPLETE": "bash_complete",
        "HOME": str(tmp_path),
    }
    program = PROBE.replace("main(sys.argv[1:])", "main()")

    done = probed(program, env={**os.environ, **asked})

    names = set(done.stderr.splitlines()[-1].split()[1:])
    assert commands_in(names) == expected
    assert not (HEAVY | LOOP) & names


def test_the_version_needs_neither_click_nor_dataclasses() -> None:
    assert not {"click", "dataclasses"} & imported("--version")[1]
