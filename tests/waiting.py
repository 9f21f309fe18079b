"""Waiting for what another task, thread or process does, on a machine of any speed.

    await until(lambda: held.count == 0)                     a condition, on the event loop
    await eventually(admin.topic_list, lambda found: ...)    what a coroutine answers
    wait(lambda: not path.exists())                          a condition, without a loop

Rule: nothing sleeps for a guess and nothing asserts at once what happens elsewhere: it is
asked for again until it holds. What did not hold in time is named in the error: by ``what``,
else by the source of the condition.
"""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

_T = TypeVar("_T")
TIMEOUT_S = 90.0
"""Long, since it is only ever waited for by a test that fails."""
TURN_COUNT = 1_000
"""Turns of a loop that pass without a pause: most conditions hold after a few."""
PAUSE_S = 0.005


async def until(
    holds: Callable[[], object], *, what: str = "", timeout_s: float = TIMEOUT_S
) -> None:
    """Let the loop turn until a condition holds.

    Raises:
        AssertionError: it did not in time.
    """
    turns = 0
    try:
        async with asyncio.timeout(timeout_s):
            while not holds():
                await asyncio.sleep(0 if turns < TURN_COUNT else PAUSE_S)
                turns += 1
    except TimeoutError:
        raise AssertionError(_late(holds, what, timeout_s)) from None


async def eventually(
    ask: Callable[[], Awaitable[_T]],
    holds: Callable[[_T], object] = bool,
    *,
    timeout_s: float = TIMEOUT_S,
    pause_s: float = 0.05,
) -> _T:
    """Return the first answer of ``ask`` for which ``holds`` is true.

    Raises:
        AssertionError: it did not hold in time; the last answer is in the text.
    """
    answer = await ask()
    try:
        async with asyncio.timeout(timeout_s):
            while not holds(answer):
                await asyncio.sleep(pause_s)
                answer = await ask()
    except TimeoutError:
        raise AssertionError(f"{_late(holds, '', timeout_s)}: still {answer!r}") from None
    return answer


def wait(
    ask: Callable[[], _T],
    holds: Callable[[_T], object] = bool,
    *,
    what: str = "",
    timeout_s: float = TIMEOUT_S,
    pause_s: float = 0.02,
) -> _T:
    """Return the first answer of ``ask`` for which ``holds`` is true; blocks meanwhile.

    Raises:
        AssertionError: it did not hold in time; the last answer is in the text.
    """
    end_s = time.monotonic() + timeout_s
    while not holds(answer := ask()):
        if time.monotonic() > end_s:
            late = _late(ask if holds is bool else holds, what, timeout_s)
            raise AssertionError(f"{late}: still {answer!r}")
        time.sleep(pause_s)
    return answer


def _late(condition: Callable[..., object], what: str, timeout_s: float) -> str:
    return f"not within {timeout_s:g} s: {what or _source(condition)}"


def _source(condition: Callable[..., object]) -> str:
    """Return the lines where a condition stands; its name where there are none."""
    try:
        return " ".join(inspect.getsource(condition).split())
    except (OSError, TypeError):
        return getattr(condition, "__name__", repr(condition))
