"""How much work something is: Python lines that run, the same number on every machine.

    lines_of(lambda: plan(50_000)) < 12 * lines_of(lambda: plan(5_000))     about linear

Rule: a limit in seconds says as much of the machine and its other users as of the code.
"""

import sys
from collections.abc import Callable
from types import FrameType


def lines_of(call: Callable[[], object]) -> int:
    """Run a function and return how many lines of Python it took."""
    count = 0

    def trace(frame: FrameType, event: str, argument: object) -> object:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)  # type: ignore[arg-type]
    try:
        call()
    finally:
        sys.settrace(before)
    return count
