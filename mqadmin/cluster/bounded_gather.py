"""Ask about many things, a few at a time, and yield the answers in order.

    items  g1 g2 g3 g4 g5 ...        width 3
           [asked......] waiting     g1 is yielded, then g4 is asked about

Rule: at most ``width`` answers are held, however many items there are, so that a listing of
thousands costs the memory of a screenful. An error ends the iteration and cancels the pending
requests.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Final, TypeVar

T = TypeVar("T")
R = TypeVar("R")


PARALLEL_MAX: Final = 32
"""Number of parallel requests of a command that asks about every group or topic."""


async def each(items: Iterable[T], ask: Callable[[T], Awaitable[R]]) -> list[R]:
    """Return ``await ask(item)`` for each item in order, ``PARALLEL_MAX`` of them at a time."""
    return [result async for result in bounded_gather(items, ask)]


async def bounded_gather(
    items: Iterable[T], ask: Callable[[T], Awaitable[R]], *, width: int = PARALLEL_MAX
) -> AsyncIterator[R]:
    """Yield ``await ask(item)`` for each item in order, with ``width`` of them in progress."""
    waiting: deque[asyncio.Future[R]] = deque()
    left = iter(items)
    try:
        while True:
            while len(waiting) < width:
                item = next(left, None)
                if item is None:
                    break
                waiting.append(asyncio.ensure_future(ask(item)))
            if not waiting:
                return
            yield await waiting.popleft()
    finally:
        for future in waiting:
            future.cancel()
        # Wait for the cancelled tasks, so that no task outlives the command.
        await asyncio.gather(*waiting, return_exceptions=True)
