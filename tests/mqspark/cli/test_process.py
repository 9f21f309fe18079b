"""A job as a process: its arguments and its end; Spark is not started."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mqspark.cli import process
from mqspark.cli.process import (
    LOCAL_SIZE,
    choose_engine,
    given_options,
    parser_of,
    run_to_end,
    started_spark,
)
from mqspark.errors import BadOption
from tests.golden import REPOSITORY, Golden
from tests.waiting import wait


def end_with(error: Exception) -> int:
    def run() -> None:
        raise error

    return run_to_end(run, expected=(BadOption, OSError))


def test_options_are_told_apart_at_their_first_equals_sign() -> None:
    options = parser_of("job", None, ["stats"]).parse_args(
        ["stats", "--option", "body=a=b", "--option", "topic=orders"]
    )

    assert given_options(options) == {"body": "a=b", "topic": "orders"}


def test_a_job_that_ends_says_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    assert run_to_end(lambda: None, expected=()) == 0
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
    ("size", "master", "submitted", "engine", "why"),
    [
        (3 << 30, None, False, "local", "3.0 GiB of log on one machine; Spark's start takes"),
        (LOCAL_SIZE, None, False, "spark", "20.0 GiB of log, above the 20 GiB"),
        (3 << 30, "local[2]", False, "spark", "--master is local[2]; --engine local gives"),
        (LOCAL_SIZE, "local[2]", False, "spark", "--master is local[2]"),
        (1, "yarn", False, "spark", "--master is yarn"),
        (1, None, True, "spark", "spark-submit started this job"),
    ],
)
def test_the_engine_follows_from_master_and_size(
    size: int, master: str | None, submitted: bool, engine: str, why: str
) -> None:
    chosen, told = choose_engine(size, master=master, submitted=submitted)

    assert chosen == engine
    assert told.startswith(f"engine {engine}: {why}")


def test_the_start_of_spark_is_told_apart(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    masters: list[str] = []
    clock = iter([100.0, 109.8, 114.04])
    monkeypatch.setattr(process, "session", lambda master, **_: masters.append(master))
    monkeypatch.setattr("time.monotonic", lambda: next(clock))

    with started_spark(None):
        assert capfd.readouterr().err == ""

    assert masters == ["local[*]"]
    told = json.loads(capfd.readouterr().err)
    assert told == {"hint": "Spark took 9.8 s to start and 4.2 s for the job"}


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
from mqadmin.store_access import spark_job
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
