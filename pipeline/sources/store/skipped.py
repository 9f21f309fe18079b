"""What a job's user should hear of its tasks: damage that they passed over, and slow workers.

    with noting() as skipped:
        table = job(…)          plan, read: ``note`` ── tasks on workers: an accumulator ──┐
    skipped.count()             each place once  <──────────────────────────────────────────┘

Rule: whoever reads the bytes notes the place, so that nobody reads them again to count. A place is
noted once, however often it is read, and though Spark may run a task twice. Without ``noting``
nothing is kept.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple


class Place(NamedTuple):
    """A file of a store and a position in it."""

    path: str
    pos: int


class Slow(NamedTuple):
    """A machine whose workers decode without the compiled kernels."""

    host: str


class Skipped:
    """What was noted in this process, and in workers."""

    def __init__(self) -> None:
        self.here: set[Place | Slow] = set()
        self._of_workers: list[Any] = []

    def accumulator(self, context: Any) -> Any:
        """Return an accumulator of sets for a Spark context; its value counts, too."""
        from pyspark.accumulators import AccumulatorParam

        class Union(AccumulatorParam[set[Place | Slow]]):
            """Joins sets."""

            def zero(self, value: set[Place | Slow]) -> set[Place | Slow]:
                return set()

            def addInPlace(  # noqa: N802
                self, value1: set[Place | Slow], value2: set[Place | Slow]
            ) -> set[Place | Slow]:
                value1 |= value2
                return value1

        made = context.accumulator(set(), Union())
        self._of_workers.append(made)
        return made

    def count(self) -> int:
        """Return the number of places."""
        return sum(isinstance(each, Place) for each in self._all())

    def slow_hosts(self) -> list[str]:
        """Return the names of machines that decode without the compiled kernels."""
        return sorted(each.host for each in self._all() if isinstance(each, Slow))

    def _all(self) -> set[Place | Slow]:
        return self.here.union(*(one.value for one in self._of_workers))


_listening: list[Skipped] = []


@contextmanager
def noting() -> Iterator[Skipped]:
    """Yield what collects the places that are passed over while the block runs."""
    skipped = Skipped()
    _listening.append(skipped)
    try:
        yield skipped
    finally:
        _listening.remove(skipped)


def listening() -> Skipped | None:
    """Return what collects places now, None if nothing does."""
    return _listening[-1] if _listening else None


def note(path: str, pos: int) -> None:
    """Note that damage at a position of a file, or a file that is missing, is passed over."""
    for one in _listening:
        one.here.add(Place(path, pos))


def note_slow(host: str) -> None:
    """Note that a machine decodes without the compiled kernels."""
    for one in _listening:
        one.here.add(Slow(host))
