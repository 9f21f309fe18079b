"""What one-shot commands import: nothing that is slow and not needed."""

import subprocess
import sys

import pytest

HEAVY = {"prompt_toolkit", "yaml", "msgpack", "numpy", "pyarrow", "pandas", "pyspark", "argparse"}
LOOP = {"asyncio", "ssl", "logging", "subprocess", "concurrent.futures"}
"""What an event loop loads: a third of the time of a command that asks one thing at a time."""

PROBE = """
import sys
from mqadmin.cli import main
exit_code = main(sys.argv[1:])
print(exit_code, *sorted(name for name in sys.modules), file=sys.stderr)
"""


def imported(*words: str) -> tuple[str, set[str]]:
    """Return the exit code of a command and the modules that its process imported."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *words], capture_output=True, text=True, check=True
    )
    exit_code, *names = done.stderr.splitlines()[-1].split()
    return exit_code, set(names)


@pytest.mark.parametrize("output", ["table", "json", "jsonl", "csv", "name"])
def test_a_one_shot_command_imports_nothing_heavy(output: str) -> None:
    exit_code, names = imported("topic", "list", "-n", "127.0.0.1:1", "-o", output)

    assert exit_code == "4"
    assert not (HEAVY | LOOP) & names
    assert not {name for name in names if name.split(".")[0] in {"server", "pipeline"}}
    # A tool has no producers and no consumers.
    assert (
        not {"mqclient.client.members", "mqclient.client.request_reply", "mqclient.message"} & names
    )


def test_finding_a_message_imports_what_finds_it() -> None:
    exit_code, names = imported(
        "message", "query", "id", "7F00000100002A9F0000000000000000", "-n", "127.0.0.1:1"
    )

    assert exit_code == "4"
    assert "mqclient.admin.message" in names
    assert not (HEAVY | LOOP) & names
    # Each of these costs a few ms, which a person waits for.
    assert not {"pathlib", "shutil", "traceback"} & names
    assert not {"mqclient.admin.admin", "storefmt.config.tables", "remoting.aio.tls"} & names
    assert (
        not {f"remoting.headers.{name}" for name in ("broker", "namesrv", "group", "message")}
        & names
    )


def test_a_one_shot_command_imports_no_other_command() -> None:
    _, names = imported("topic", "list", "-n", "127.0.0.1:1")

    loaded = {name for name in names if name.count(".") == 3 and name.startswith("mqadmin.comm")}
    assert loaded == {"mqadmin.commands.topic.list"}
    assert not {name for name in names if name.startswith("mqadmin.shell")}


def test_a_script_does_not_import_the_terminal() -> None:
    _, names = imported("shell", "-c", "context list")

    assert "prompt_toolkit" not in names
