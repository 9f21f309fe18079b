"""Starts expensive work a few at a time, and that of each address in turn.

    add(ip, start) ── started in this turn of the event loop, or in a later one

    await pieces.turn(ip) ── a piece of longer work, in this turn or in a later one

Some kinds of work cost the server more than their peer, and cannot be divided into slices:

    TLS handshakes   half a millisecond each, for a ClientHello that costs nothing
    gRPC calls       the first step of a method, which asks a broker
    pieces of them   of what is as long as the client likes, each less than a millisecond

Rule: a turn of the loop starts ``count_a_turn`` at most. An address with a thousand of them delays
the next one of another address by one.

Source: ours; Java has threads for both.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

HANDSHAKES_A_TURN: Final = 4
HANDSHAKES_WAITING: Final = 1_024
"""The handshakes of one address that may wait; they begin within a second or two."""
CALLS_A_TURN: Final = 16
PIECES_A_TURN: Final = 2


class Starts:
    """Work of one kind that is about to start.

    Args:
        count_a_turn: how much of it starts in one turn of the loop.
        waiting_max: how much of it may wait for one address; None for no limit of its own.
    """

    def __init__(self, count_a_turn: int, *, waiting_max: int | None = None) -> None:
        self._count_a_turn = self._left_count = count_a_turn
        self._waiting_max = waiting_max
        self._waiting: dict[str, deque[Callable[[], None]]] = {}
        self._is_counting = False

    @property
    def waiting_count(self) -> int:
        """The work that waits for a later turn."""
        return sum(map(len, self._waiting.values()))

    def add(self, ip: str, start: Callable[[], None]) -> bool:
        """Call ``start`` as soon as it is the turn of work for the address ``ip``.

        Returns:
            False if too much of it waits; then nothing will be called.
        """
        waiting = self._waiting.setdefault(ip, deque())
        if self._waiting_max is not None and len(waiting) >= self._waiting_max:
            return False
        waiting.append(start)
        self._start_some()
        return True

    def may_start(self) -> bool:
        """Count work that starts now; return False if others have to start before."""
        if self._waiting or not self._left_count:
            return False
        self._count()
        self._left_count -= 1
        return True

    def _count(self) -> None:
        if not self._is_counting:
            self._is_counting = True
            asyncio.get_running_loop().call_soon(self._next_turn)

    def _start_some(self) -> None:
        # First, so that a start that raises cannot keep the others from their turn.
        self._count()
        while self._waiting and self._left_count:
            self._left_count -= 1
            ip = next(iter(self._waiting))
            waiting = self._waiting.pop(ip)
            start = waiting.popleft()
            if waiting:
                self._waiting[ip] = waiting
            start()

    def _next_turn(self) -> None:
        self._is_counting = False
        self._left_count = self._count_a_turn
        if self._waiting:
            self._start_some()


class Pieces:
    """Lets coroutines go on with a piece of work, a few in a turn of the loop.

    Args:
        count_a_turn: how many pieces begin in one turn.
    """

    def __init__(self, count_a_turn: int = PIECES_A_TURN) -> None:
        self._starts = Starts(count_a_turn)

    async def turn(self, ip: str) -> None:
        """Wait until a piece of work for the address ``ip`` may begin."""
        if self._starts.may_start():
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def begin() -> None:
            # The caller may have been cancelled meanwhile.
            if not turn.done():
                turn.set_result(None)

        self._starts.add(ip, begin)
        await turn
