"""Begins TLS handshakes a few at a time, and those of each address in turn.

    a ClientHello has come ── add(ip, begin) ── begun in this turn of the loop, or in a later one

Rule: a handshake costs the server half a millisecond of its event loop and its peer almost nothing,
so a turn of the loop begins COUNT_A_TURN at most. An address that sends a thousand of them delays
the handshake of another address by one.

Source: ours; Java's handshakes have threads of their own.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

COUNT_A_TURN: Final = 4
WAITING_MAX: Final = 1_024
"""The handshakes of one address that may wait; they begin within a second or two."""


class Handshakes:
    """The handshakes of a process that are about to begin."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[Callable[[], None]]] = {}
        self._left_count = COUNT_A_TURN
        """How many may still begin in this turn of the loop."""
        self._is_counting = False

    @property
    def waiting_count(self) -> int:
        """The handshakes that wait for a later turn."""
        return sum(map(len, self._waiting.values()))

    def add(self, ip: str, begin: Callable[[], None]) -> bool:
        """Call ``begin`` as soon as it is the turn of a handshake of address ``ip``.

        Returns:
            False if too many handshakes of that address wait; then nothing will be called.
        """
        waiting = self._waiting.setdefault(ip, deque())
        if len(waiting) >= WAITING_MAX:
            return False
        waiting.append(begin)
        self._begin_some()
        return True

    def _begin_some(self) -> None:
        while self._waiting and self._left_count:
            self._left_count -= 1
            ip = next(iter(self._waiting))
            waiting = self._waiting.pop(ip)
            begin = waiting.popleft()
            if waiting:
                self._waiting[ip] = waiting
            begin()
        if not self._is_counting:
            self._is_counting = True
            asyncio.get_running_loop().call_soon(self._next_turn)

    def _next_turn(self) -> None:
        self._is_counting = False
        self._left_count = COUNT_A_TURN
        if self._waiting:
            self._begin_some()
