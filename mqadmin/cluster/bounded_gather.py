"""Ask about many things, a few at a time, and hand the answers on in order.

    items  g1 g2 g3 g4 g5 ...        width 3
           [asked......] waiting     g1 is yielded, then g4 is asked about

Rule: at most ``width`` answers are held, however many items there are: a listing of thousands
costs the memory of a screenful. An error ends the iteration and the questions on their way.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


async def bounded_gather(
    items: Iterable[T], ask: Callable[[T], Awaitable[R]], *, width: int
) -> AsyncIterator[R]:
    """Yield ``await ask(item)`` for each item in order, with ``width`` of them under way."""
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
        # Cancelled ones are waited for, so that none outlives the command.
        await asyncio.gather(*waiting, return_exceptions=True)
