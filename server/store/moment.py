"""When something was, so that what changed since can be told by the times of files.

Rule: a file shows the time of its last change, which no program can set back (its
modification time can be). That says what is in a file only while the operating system runs
on: after a power cut a file may show less than what was written, or more than its time tells.
"""

import time
from pathlib import Path
from typing import Final, NamedTuple

_BOOT_FILE: Final = Path("/proc/sys/kernel/random/boot_id")
_CLOCK_OF_FILES: Final = 5
"""CLOCK_REALTIME_COARSE of Linux, which no file system is behind."""


class Moment(NamedTuple):
    """A point in time; whatever file changes later shows this time or a later one."""

    boot: str
    """Which run of the operating system; empty where nobody can tell."""
    changed_ns: int


UNKNOWN: Final = Moment("", 0)


def present() -> Moment:
    """Return the present of this machine, ``UNKNOWN`` where it does not tell."""
    try:
        return Moment(_BOOT_FILE.read_text().strip(), time.clock_gettime_ns(_CLOCK_OF_FILES))
    except OSError:
        return UNKNOWN
