"""Virtual time, and the processes that live in it.

    heap of (ms, tie, event) ──> one event at a time ──> observer ──> the next one

Rule: whatever happens is an event of the heap, and randomness comes from one ``random.Random``.
A coroutine of the real code is driven by hand: where it would wait for the network or a store, it
awaits a :class:`Parked`, whose answer is an event as well.
"""

import heapq
import random
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, Final, NamedTuple, TypeVar

TRACE_MAX: Final = 400
"""So many of the newest notes are kept."""

T = TypeVar("T")
Call = Callable[..., None]


class Note(NamedTuple):
    """Something worth to be printed when a run fails."""

    at_ms: float
    who: str
    what: str
    details: tuple[object, ...]

    def __str__(self) -> str:
        return f"{self.at_ms:9.1f} {self.who:4} {self.what} " + " ".join(map(str, self.details))


class World:
    """The time of one run.

    Args:
        seed: of its randomness.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.now_ms = 0.0
        self.event_count = 0
        self.trace: deque[Note] = deque(maxlen=TRACE_MAX)
        self.after_event: Callable[[], None] = lambda: None
        self._heap: list[tuple[float, int, Call, tuple[Any, ...]]] = []
        self._tie = 0

    def at(self, delay_ms: float, call: Call, *args: Any) -> None:
        """Call a function after some time."""
        self._tie += 1
        heapq.heappush(self._heap, (self.now_ms + delay_ms, self._tie, call, args))

    def run_until(self, end_ms: float) -> None:
        """Let everything happen that is due until then."""
        heap = self._heap
        while heap and heap[0][0] <= end_ms:
            self.now_ms, _, call, args = heapq.heappop(heap)
            self.event_count += 1
            call(*args)
            self.after_event()
        self.now_ms = end_ms

    def chance(self, probability: float) -> bool:
        """Return True with this probability."""
        return probability > 0 and self.random.random() < probability

    def note(self, who: str, what: str, *details: object) -> None:
        """Remember something for the trace of a failure."""
        self.trace.append(Note(self.now_ms, who, what, details))


class Process:
    """One process: it can be killed, started again and paused, and has a clock of its own.

    Args:
        world: its time.
        name: unique in the world.
        rate: how fast its steady clock goes.
    """

    def __init__(self, world: World, name: str, *, rate: float) -> None:
        self.world = world
        self.name = name
        self.rate = rate
        self.is_alive = False
        self.is_off = False
        """Whether its machine has no power, so that nothing answers at its address."""
        self.generation = 0
        self._is_paused = False
        self._deferred: list[tuple[int, Call, tuple[Any, ...]]] = []

    # The clock that the real code is given.

    def steady_ms(self) -> int:
        """Return the steady clock of this machine."""
        return int(self.world.now_ms * self.rate) + 1_000

    def now_ms(self) -> int:
        """Return its wall clock."""
        return self.steady_ms()

    @property
    def is_reachable(self) -> bool:
        """Return whether it lives and does not stand still."""
        return self.is_alive and not self._is_paused

    # Events.

    def later(self, delay_ms: float, call: Call, *args: Any) -> None:
        """Call a function after some time on the clock of this process, if it still lives."""
        self.world.at(delay_ms / self.rate, self.arrive, self.generation, call, *args)

    def arrive(self, generation: int, call: Call, *args: Any) -> None:
        """Carry out an event of one life of this process: now, or when its pause ends."""
        if generation != self.generation or not self.is_alive:
            return
        if self._is_paused:
            self._deferred.append((generation, call, args))
            return
        call(*args)

    def pause(self) -> None:
        """Let time go on without this process."""
        self._is_paused = True

    def resume(self) -> None:
        """Carry out what came during the pause."""
        self._is_paused = False
        deferred, self._deferred = self._deferred, []
        for generation, call, args in deferred:
            self.world.at(0, self.arrive, generation, call, *args)

    def begin_life(self) -> None:
        """Start the process; a subclass goes on from here."""
        self.generation += 1
        self.is_alive, self.is_off = True, False

    def end_life(self, *, is_off: bool = False) -> None:
        """End the process without a word."""
        self.is_alive, self.is_off = False, is_off
        self._is_paused = False
        self._deferred.clear()

    # Coroutines.

    def drive(
        self, coroutine: Coroutine[Any, Any, T], done: Callable[[T], None] = lambda result: None
    ) -> None:
        """Carry out a coroutine of the real code, as long as this process lives.

        Args:
            coroutine: it awaits only ``Parked``, directly or not.
            done: called with its result.
        """
        self._step(coroutine, done, None, None)

    def _step(
        self,
        coroutine: Coroutine[Any, Any, T],
        done: Callable[[T], None],
        value: object,
        error: Exception | None,
    ) -> None:
        try:
            parked = coroutine.send(value) if error is None else coroutine.throw(error)
        except StopIteration as stop:
            done(stop.value)
            return
        assert isinstance(parked, Parked), f"{coroutine} waits for {parked}"
        generation, is_resumed = self.generation, False

        def resume(value: object = None, error: Exception | None = None) -> None:
            nonlocal is_resumed
            if not is_resumed:
                is_resumed = True
                self.arrive(generation, self._step, coroutine, done, value, error)

        parked.start(resume)


Resume = Callable[..., None]


class Parked(Awaitable[Any]):
    """What a coroutine waits for.

    Args:
        start: called with a function that resumes the coroutine with a value or ``error=``; only
            its first call counts.
    """

    def __init__(self, start: Callable[[Resume], None]) -> None:
        self.start = start

    def __await__(self) -> Generator["Parked", Any, Any]:
        return (yield self)
