"""The places of damage that reading a log passes over, for whoever wants to tell how many.

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


class Skipped:
    """The places that were noted in this process, and those of workers."""

    def __init__(self) -> None:
        self.here: set[Place] = set()
        self._of_workers: list[Any] = []

    def accumulator(self, context: Any) -> Any:
        """Return an accumulator of sets of places for a Spark context; its value counts, too."""
        from pyspark.accumulators import AccumulatorParam

        class Places(AccumulatorParam[set[Place]]):
            """Joins sets of places."""

            def zero(self, value: set[Place]) -> set[Place]:
                return set()

            def addInPlace(self, value1: set[Place], value2: set[Place]) -> set[Place]:  # noqa: N802
                value1 |= value2
                return value1

        made = context.accumulator(set(), Places())
        self._of_workers.append(made)
        return made

    def count(self) -> int:
        """Return the number of places."""
        return len(self.here.union(*(one.value for one in self._of_workers)))


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
