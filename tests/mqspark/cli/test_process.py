"""A job as a process: its arguments and its end; Spark is not started."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mqspark.cli.process import LOCAL_SIZE, given_options, hint_at_local, parser_of, run_to_end
from mqspark.errors import BadOption
from tests.golden import REPOSITORY, Golden
from tests.waiting import wait


def end_with(error: Exception) -> int:
    def run() -> None:
        raise error

    return run_to_end(run, known=(BadOption, OSError))


def test_options_are_told_apart_at_their_first_equals_sign() -> None:
    options = parser_of("job", None, ["stats"]).parse_args(
        ["stats", "--option", "body=a=b", "--option", "topic=orders"]
    )

    assert given_options(options) == {"body": "a=b", "topic": "orders"}


def test_a_job_that_ends_says_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    assert run_to_end(lambda: None, known=()) == 0
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("error", "code"), [(BadOption("no such"), 2), (OSError("no disk"), 1)])
def test_an_error_of_ours_is_one_line_and_its_exit_code(
    error: Exception, code: int, capfd: pytest.CaptureFixture[str]
) -> None:
    assert end_with(error) == code
    told = capfd.readouterr()
    assert told.out == ""
    assert json.loads(told.err) == {"error": str(error)}


@pytest.mark.parametrize(
    ("master", "size", "hints"),
    [("local[2]", 3 << 30, True), ("local[2]", LOCAL_SIZE, False), ("yarn", 1, False)],
)
def test_where_the_local_engine_is_faster_it_is_told(
    master: str, size: int, hints: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    hint_at_local(master, size)

    told = capfd.readouterr().err
    assert bool(told) == hints
    if hints:
        assert json.loads(told)["hint"] == (
            "3.0 GiB on one machine: --engine local gives the same and is faster below 20 GiB"
        )


def test_a_bug_keeps_its_traceback() -> None:
    with pytest.raises(LookupError, match="a bug"):
        end_with(LookupError("a bug"))


HANGS = "import time; from mqspark.cli.process import end_with_stdin; end_with_stdin(); {}"
"""A job that would take ten minutes."""


def hanging(after: str = "") -> list[str]:
    return [sys.executable, "-c", HANGS.format(f"{after}time.sleep(600)")]


def test_a_job_ends_when_nobody_holds_its_standard_input() -> None:
    with subprocess.Popen(hanging(), stdin=subprocess.PIPE, cwd=REPOSITORY) as job:
        assert job.stdin is not None
        job.stdin.close()

        assert job.wait(60) == -signal.SIGTERM


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_job_ends_with_the_command_that_started_it(
    number: signal.Signals, golden: Golden, tmp_path: Path
) -> None:
    started = tmp_path / "started"
    job = hanging(
        f"import os, pathlib; pathlib.Path({str(started)!r}).write_text(str(os.getpid()));"
    )
    command = f"""
import sys
from mqadmin import program
from mqadmin.store import spark_job
spark_job.module_command = lambda *words: {job!r}
sys.exit(program.main(["pipeline", "stats", {str(golden.store("basic"))!r}]))
"""
    with subprocess.Popen([sys.executable, "-c", command], cwd=REPOSITORY) as parent:
        wait(lambda: started.exists() and started.read_text())
        parent.send_signal(number)
        parent.wait(60)

    wait(lambda: is_gone(int(started.read_text())))


def is_gone(process: int) -> bool:
    """Tell whether a process has ended, also if nobody has asked for its exit code."""
    try:
        return "Z" in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
