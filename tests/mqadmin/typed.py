"""Programs that run in a pseudo-terminal; their ends are waited for as long as they take.

    spawn_shell(env)  the shell of mqadmin
    end_of(child)     it ends by itself      its exit code
    kill(child)       whatever it does       nothing is left

Rule: ``child.close`` alone gives a program a tenth of a second to end and then a signal,
after which there is no exit code; on a busy machine even a SIGKILL takes longer than that.
"""

import os
import signal
import sys
from typing import Any, Final

import pexpect

WAIT_S: Final = 60.0


def spawn_shell(
    env: dict[str, str], *words: str, columns: int, lines: int, encoding: str | None = None
) -> "pexpect.spawn[Any]":
    """Start the shell of mqadmin in a terminal of this size; without encoding it gives bytes."""
    settings = {"PATH": os.environ["PATH"], "PYTHONPATH": os.getcwd(), "TERM": "xterm-256color"}
    return pexpect.spawn(
        sys.executable,
        ["-m", "mqadmin", "shell", *words],
        env={**settings, **env},
        encoding=encoding,
        timeout=WAIT_S,
        dimensions=(lines, columns),
    )


def end_of(child: "pexpect.spawn[Any]") -> int:
    """Wait until a program ends by itself; returns its exit code."""
    child.expect(pexpect.EOF)
    child.wait()
    child.close()
    assert child.signalstatus is None, f"ended by signal {child.signalstatus}"
    return int(child.exitstatus)


def kill(child: "pexpect.spawn[Any]") -> None:
    """End a program that may have ended already."""
    if child.isalive():
        child.kill(signal.SIGKILL)
        child.wait()
    child.close()
