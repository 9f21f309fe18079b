"""Programs in a pseudo-terminal that are slow to end."""

import sys

import pexpect
import pytest

from tests.mqadmin.typed import end_of, kill

SLOW_TO_END = """
import os, sys, time
print("ready", flush=True)
input()
# The terminal is closed, and the program goes on for a while.
for number in (0, 1, 2):
    os.close(number)
time.sleep(0.5)
os._exit(7)
"""
DEAF = """
import signal, time
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGCONT):
    signal.signal(number, signal.SIG_IGN)
print("ready", flush=True)
time.sleep(600)
"""


def program(text: str) -> "pexpect.spawn[bytes]":
    child = pexpect.spawn(sys.executable, ["-c", text], timeout=60)
    child.expect("ready")
    return child


def test_exit_code_is_that_of_the_program_however_late_it_ends() -> None:
    child = program(SLOW_TO_END)

    child.sendline("")

    assert end_of(child) == 7


def test_end_by_a_signal_is_no_exit_code() -> None:
    child = program(DEAF)

    child.kill(9)

    with pytest.raises(AssertionError, match="ended by signal 9"):
        end_of(child)


def test_killed_program_is_gone() -> None:
    child = program(DEAF)

    kill(child)
    kill(child)

    assert child.signalstatus == 9
    assert not child.isalive()
