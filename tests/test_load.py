"""The tool that keeps the processors busy says what the command said."""

import re
import subprocess
import sys

import pytest


def run(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "tests.load", *words], capture_output=True, text=True, check=False
    )


def test_a_command_runs_as_often_as_asked() -> None:
    done = run("--busy", "1", "--times", "2", "--", "true")

    assert done.returncode == 0
    lines = [re.sub(r"\d+ s$", "N s", line) for line in done.stdout.splitlines()]
    assert lines == [f"run {number} of 2: exit code 0 after N s" for number in (1, 2)]


def test_the_first_failure_ends_the_runs() -> None:
    done = run("--busy", "1", "--times", "3", "--", "sh", "-c", "exit 7")

    assert done.returncode == 7
    assert "run 1 of 3: exit code 7" in done.stdout
    assert "run 2" not in done.stdout


def test_a_command_with_a_share_has_one_processor() -> None:
    real_time = "import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))"
    if subprocess.run(
        [sys.executable, "-c", real_time], capture_output=True, check=False
    ).returncode:
        pytest.skip("no process may have a real-time priority here")
    asked = "import os; print(len(os.sched_getaffinity(0)))"

    done = run("--share", "0.9", "--", sys.executable, "-c", asked)

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("1\n")
