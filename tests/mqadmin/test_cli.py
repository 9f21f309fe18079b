"""The program as a process: pipes that close, Ctrl-C, bytes that are no text."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from mqadmin.shell.server import ServerAddresses
from tests.mqadmin.conftest import Run

PROGRAM = [sys.executable, "-m", "mqadmin"]
POSIX = {
    "PATH": os.environ["PATH"],
    "LC_ALL": "POSIX",
    "PYTHONUTF8": "0",
    "PYTHONPATH": os.getcwd(),
    "PYTHONCOERCECLOCALE": "0",
}
"""Variables of a program whose locale knows ASCII alone."""


def ran(*words: str | bytes, **more: Any) -> subprocess.CompletedProcess[bytes]:
    """Run a line in a process until its end."""
    return subprocess.run([*PROGRAM, *words], capture_output=True, **more)


@contextmanager
def running(*words: str) -> Iterator[tuple[subprocess.Popen[bytes], IO[bytes], IO[bytes]]]:
    """Run a line in a process; gives the process and its two outputs."""
    with subprocess.Popen(
        [*PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        try:
            yield child, child.stdout, child.stderr
            child.wait()
        finally:
            child.kill()


def test_a_reader_that_goes_away_is_no_error(servers: ServerAddresses) -> None:
    words = [*PROGRAM, "topic", "list", "-n", servers.namesrv]
    reader, writer = os.pipe()
    os.close(reader)

    with os.fdopen(writer, "wb") as closed:
        done = subprocess.run(words, stdout=closed, stderr=subprocess.PIPE, check=False)

    assert (done.returncode, done.stderr) == (141, b"")


def test_ctrl_c_ends_a_tail_quietly_with_130(at: Run, servers: ServerAddresses) -> None:
    at("topic", "create", "INTERRUPTED", "-q", "1")
    at("message", "send", "INTERRUPTED", "one")
    words = ["message", "tail", "INTERRUPTED", "--from", "earliest", "-o", "jsonl"]
    with running(*words, "-n", servers.namesrv) as (child, out, err):
        assert b'"body": "one"' in out.readline()

        child.send_signal(signal.SIGINT)

        assert child.wait(60) == 130
        assert err.read() == b""


@pytest.mark.parametrize(
    ("number", "exit_code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["INT", "TERM"]
)
def test_json_is_closed_when_a_tail_is_interrupted(
    at: Run, servers: ServerAddresses, number: signal.Signals, exit_code: int
) -> None:
    # One message each: what has come of a second one when the signal does is anybody's guess.
    topic = f"CLOSED-{exit_code}"
    at("topic", "create", topic, "-q", "1")
    at("message", "send", topic, "one")
    words = ["message", "tail", topic, "--from", "earliest", "-o", "json"]
    with running(*words, "-n", servers.namesrv) as (child, out, err):
        head = out.readline() + out.read(10)
        child.send_signal(number)
        tail = out.read()

        assert child.wait(90) == exit_code
        assert err.read() == b""
    assert [row["body"] for row in json.loads(head + tail)] == ["one"]


def test_servers_that_a_line_started_end_with_it(tmp_path: Path) -> None:
    words = ["embedded", "--store", str(tmp_path), "--port", "0", "-o", "jsonl"]
    with running(*words) as (child, out, err):
        assert json.loads(out.readline())["store"] == str(tmp_path)
        assert (tmp_path / "abort").exists()
        child.send_signal(signal.SIGTERM)

        assert child.wait(90) == 143
        assert err.read() == b""
    # A broker that was shut down cleanly takes it away.
    assert not (tmp_path / "abort").exists()


@pytest.mark.parametrize(
    ("module", "says"),
    [
        ("mqadmin.program", b""),
        ("mqadmin.cli.parse", b""),
        ("mqadmin.commands.topic.list", b"error: interrupted\n"),
        ("mqclient.client.instance", b"error: interrupted\n"),
    ],
)
def test_ctrl_c_while_modules_load_is_quiet(
    servers: ServerAddresses, module: str, says: bytes
) -> None:
    """The process sends itself the signal as it looks for one of its modules."""
    program = (
        "import os, signal, sys\n"
        "class Interrupting:\n"
        "    @staticmethod\n"
        "    def find_spec(name, path=None, target=None):\n"
        f"        if name == {module!r}:\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupting)\n"
        "from mqadmin.__main__ import main\n"
        "sys.exit(main())\n"
    )
    words = [sys.executable, "-c", program, "topic", "list", "-n", servers.namesrv]

    done = subprocess.run(words, capture_output=True, check=False)

    assert (done.returncode, done.stderr) == (130, says)


def test_bytes_that_are_no_text_travel_as_they_are(at: Run, servers: ServerAddresses) -> None:
    at("topic", "create", "BYTES", "-q", "1")
    words = ("message", "send", "BYTES", "-n", servers.namesrv, "--key")

    ran(*words, "raw", "-", input=b"\xff\xfe\x00", check=True)
    ran(*words, "arg", b"\xff\xfe", check=True)

    assert '"body_base64": "//4A"' in at("message", "query", "key", "BYTES", "raw", "-ojson").out
    assert '"body_base64": "//4="' in at("message", "query", "key", "BYTES", "arg", "-ojson").out


def test_output_is_utf_8_in_any_locale(servers: ServerAddresses, at: Run) -> None:
    at("topic", "create", "LOCALE", "-q", "1")
    at("message", "send", "LOCALE", "日本", "--key", "k")
    words = ["message", "query", "key", "LOCALE", "k", "-o", "json", "-n", servers.namesrv]

    done = ran(*words, env=POSIX, check=True)

    assert "日本".encode() in done.stdout


def test_words_are_utf_8_in_any_locale(servers: ServerAddresses, at: Run) -> None:
    at("topic", "create", "WORDS", "-q", "1")
    words = ["message", "send", "WORDS", "日本", "--key", "鍵", "-n", servers.namesrv]

    ran(*(word.encode() for word in words), env=POSIX, check=True)

    assert '"body": "日本"' in at("message", "query", "key", "WORDS", "鍵", "-ojson").out


def test_a_key_that_is_no_text_is_wrong_usage(servers: ServerAddresses) -> None:
    done = ran("message", "send", "T", "body", "--key", b"\xff", "-n", servers.namesrv)

    assert done.returncode == 2
    assert b"is not UTF-8 text" in done.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_stream_that_is_closed_is_no_error(servers: ServerAddresses, closed: str) -> None:
    script = f'exec "$@" {closed}'
    words = [*PROGRAM, "topic", "list", "-n", servers.namesrv, "-o", "name"]

    done = subprocess.run(["sh", "-c", script, "sh", *words], capture_output=True, check=False)

    assert (done.returncode, done.stderr) == (0, b"")
    assert (b"TBW102" in done.stdout) is (" >&-" not in f" {closed}")


def test_an_error_without_a_place_to_tell_it_is_still_an_exit_code() -> None:
    words = ["sh", "-c", 'exec "$@" 2>&-', "sh", *PROGRAM, "nonsense"]

    done = subprocess.run(words, check=False)

    assert done.returncode == 2
