"""Programs that a test runs to their end, from the root of this tree, and those that are missing.

    python("-m", "mqadmin", "store", "info", path).stdout    the Python of the tests
    ran("systemd-analyze", "verify", unit, code=None)        any program, with any exit code

Rule: a program that ends otherwise than the test expects is named with all that it said.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import NoReturn

import pytest

from tests.golden import REPOSITORY

TIMEOUT_S = 600.0
"""Long, since only a program that hangs takes it; shorter than the limit of a test."""


def ran(
    *words: str | PathLike[str],
    code: int | None = 0,
    env: Mapping[str, str] | None = None,
    cwd: Path = REPOSITORY,
    input: str = "",  # noqa: A002
    timeout_s: float = TIMEOUT_S,
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end and return what it said.

    Args:
        code: the exit code that it must have; None: the test asks for it.
        env: all of its variables; None: those of the tests.
        input: what it reads.
    """
    done = subprocess.run(
        words,
        cwd=cwd,
        env=env,
        input=input,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    if code is not None:
        assert done.returncode == code, f"{words} ended with {done.returncode}: {done}"
    return done


def python(
    *words: str | PathLike[str],
    code: int | None = 0,
    env: Mapping[str, str] | None = None,
    cwd: Path = REPOSITORY,
    input: str = "",  # noqa: A002
) -> subprocess.CompletedProcess[str]:
    """Run the Python of the tests to its end, as ``ran`` runs a program."""
    return ran(sys.executable, *words, code=code, env=env, cwd=cwd, input=input)


def installed(directory: Path, requirement: str) -> Path:
    """Return where the programs of a new environment with one package are; skip without PyPI."""
    subprocess.run([sys.executable, "-m", "venv", directory], check=True)
    pip = (directory / "bin" / "python", "-m", "pip", "install", "-q")
    done = ran(*pip, requirement, code=None)
    if done.returncode:
        pytest.skip(f"{requirement} cannot be installed: {done.stderr.strip().splitlines()[-1]}")
    return directory / "bin"


@contextmanager
def serving(
    module: str, conf: Path, *flags: str, env: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """Run a server of ours; it is killed at the end where it still runs.

    Args:
        module: the module that is run.
        conf: its settings.
        flags: further arguments.
        env: all of its variables; None: those of the tests.
    """
    with subprocess.Popen(
        [sys.executable, "-m", module, "-c", conf, *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
    ) as process:
        try:
            yield process
        finally:
            # Also after a failure: the end of Popen's context waits for the process.
            process.kill()


def absent(reason: str) -> NoReturn:
    """Skip a test for want of a program; under CI, where none is missing, fail it."""
    if os.environ.get("CI", "").lower() == "true":
        pytest.fail(reason)
    pytest.skip(reason)
