"""Ends of programs that run in a pseudo-terminal, waited for as long as they take.

    end_of(child)   it ends by itself      its exit code
    kill(child)     whatever it does       nothing is left

Rule: ``child.close`` alone gives a program a tenth of a second to end and then a signal,
after which there is no exit code; on a busy machine even a SIGKILL takes longer than that.
"""

import signal
from typing import Any

import pexpect


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
