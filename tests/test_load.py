"""The tool that keeps the processors busy says what the command said."""

import re
import sys

import pytest

from tests.programs import python


def load(*words: str, code: int = 0) -> str:
    return python("-m", "tests.load", *words, code=code).stdout


def test_a_command_runs_as_often_as_asked() -> None:
    told = load("--busy", "1", "--times", "2", "--", "true")

    lines = [re.sub(r"\d+ s$", "N s", line) for line in told.splitlines()]
    assert lines == [f"run {number} of 2: exit code 0 after N s" for number in (1, 2)]


def test_the_first_failure_ends_the_runs() -> None:
    told = load("--busy", "1", "--times", "3", "--", "sh", "-c", "exit 7", code=7)

    assert "run 1 of 3: exit code 7" in told
    assert "run 2" not in told


def test_a_command_with_a_share_has_one_processor() -> None:
    real_time = "import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))"
    if python("-c", real_time, code=None).returncode:
        pytest.skip("no process may have a real-time priority here")
    asked = "import os; print(len(os.sched_getaffinity(0)))"

    told = load("--share", "0.9", "--", sys.executable, "-c", asked)

    assert told.startswith("1\n")
