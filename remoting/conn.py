"""Matches answers with requests: the client side of one connection, without I/O.

    add ──> opaque 7 waits until its deadline ──┬── pop_waiter(7): the answer came
                                                ├── expired(now): it did not come in time
                                                └── drain(): the connection is gone

Rule: an opaque is unique among the requests that wait on ONE connection. The peer counts its own
requests, so only responses are matched here, never a request of the peer. ``pop_waiter`` returns
None for an answer that nothing waits for any more, and the caller drops it.

Source: remoting/netty/NettyRemotingAbstract.java#responseTable, #scanResponseTable.
"""

import heapq
from typing import Final, Generic, TypeVar

_W = TypeVar("_W")
_OPAQUE_MASK: Final = 0x7FFFFFFF
_STALE_COUNT_MIN: Final = 256


class PendingRequests(Generic[_W]):
    """The requests of one connection that wait for an answer.

    A waiter is whatever the caller wants to get back, for example a future or a callback.
    """

    __slots__ = ("_deadlines", "_next", "_waiting")

    def __init__(self) -> None:
        self._waiting: dict[int, tuple[int, _W]] = {}
        self._deadlines: list[tuple[int, int]] = []
        self._next = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def next_opaque(self) -> int:
        """Return a number that no request uses; a oneway request takes one as well."""
        opaque = self._next
        while opaque in self._waiting:
            opaque = (opaque + 1) & _OPAQUE_MASK
        self._next = (opaque + 1) & _OPAQUE_MASK
        return opaque

    def add(self, waiter: _W, deadline_ms: int) -> int:
        """Let ``waiter`` wait for an answer and return the opaque of its request."""
        opaque = self.next_opaque()
        self.put(opaque, waiter, deadline_ms)
        return opaque

    def put(self, opaque: int, waiter: _W, deadline_ms: int) -> None:
        """Let ``waiter`` wait for the answer to a request whose ``next_opaque`` was written."""
        self._waiting[opaque] = (deadline_ms, waiter)
        if len(self._deadlines) > _STALE_COUNT_MIN + 2 * len(self._waiting):
            # An answered request leaves its deadline in the heap. Most requests are answered, so
            # the heap would otherwise hold all the requests of one timeout.
            self._deadlines = [(until, key) for key, (until, _) in self._waiting.items()]
            heapq.heapify(self._deadlines)
        else:
            heapq.heappush(self._deadlines, (deadline_ms, opaque))

    def pop_waiter(self, opaque: int) -> _W | None:
        """Stop waiting for ``opaque`` and return its waiter, None when nothing waits."""
        entry = self._waiting.pop(opaque, None)
        return None if entry is None else entry[1]

    def expired(self, now_ms: int) -> list[_W]:
        """Stop waiting for all whose deadline is reached, and return them, the earliest first."""
        late = []
        while self._deadlines and self._deadlines[0][0] <= now_ms:
            deadline_ms, opaque = heapq.heappop(self._deadlines)
            entry = self._waiting.get(opaque)
            if entry is not None and entry[0] == deadline_ms:
                del self._waiting[opaque]
                late.append(entry[1])
        return late

    def next_deadline_ms(self) -> int | None:
        """Return the earliest deadline of the requests that wait, None when nothing waits."""
        while self._deadlines:
            deadline_ms, opaque = self._deadlines[0]
            entry = self._waiting.get(opaque)
            if entry is not None and entry[0] == deadline_ms:
                return deadline_ms
            heapq.heappop(self._deadlines)
        return None

    def drain(self) -> list[_W]:
        """Stop waiting for everything and return the waiters in the order they were added."""
        waiters = [waiter for _, waiter in self._waiting.values()]
        self._waiting.clear()
        self._deadlines.clear()
        return waiters
