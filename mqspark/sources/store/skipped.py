"""What a job's user should hear of its tasks: damage that they passed over, and slow workers.

    with collect_notes() as skipped:
        table = job(…)          plan, read: ``note`` ── tasks on workers: an accumulator ──┐
    skipped.count()             each place once  <──────────────────────────────────────────┘

Rule: whoever reads the bytes notes the place, so that nobody reads them again to count. A place is
noted once, however often it is read, and though Spark may run a task twice. Without
``collect_notes`` nothing is kept.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

Note = tuple[str, int] | str
"""A file of a store and a position in it, or a host whose workers have no compiled kernels."""


class TaskNotes:
    """The notes of the tasks of this process, and of its workers."""

    def __init__(self) -> None:
        self.here: set[Note] = set()
        self._of_workers: list[Any] = []

    def accumulator(self, context: Any) -> Any:
        """Return an accumulator of notes for a Spark context; its value counts, too."""
        from pyspark.accumulators import AccumulatorParam

        class Union(AccumulatorParam[set[Note]]):
            """Joins sets."""

            def zero(self, value: set[Note]) -> set[Note]:
                return set()

            def addInPlace(self, value1: set[Note], value2: set[Note]) -> set[Note]:  # noqa: N802
                value1 |= value2
                return value1

        made = context.accumulator(set(), Union())
        self._of_workers.append(made)
        return made

    def count(self) -> int:
        """Return the number of places with damage that were passed over."""
        return sum(isinstance(each, tuple) for each in self._all())

    def slow_hosts(self) -> list[str]:
        """Return the names of machines that decode without the compiled kernels."""
        return sorted(each for each in self._all() if isinstance(each, str))

    def _all(self) -> set[Note]:
        return self.here.union(*(accumulator.value for accumulator in self._of_workers))


_listening: list[TaskNotes] = []


@contextmanager
def collect_notes() -> Iterator[TaskNotes]:
    """Yield what collects the places that are passed over while the block runs."""
    skipped = TaskNotes()
    _listening.append(skipped)
    try:
        yield skipped
    finally:
        _listening.remove(skipped)


def collecting() -> TaskNotes | None:
    """Return what collects places now, None if nothing does."""
    return _listening[-1] if _listening else None


def note(path: str, pos: int) -> None:
    """Note that damage at a position of a file, or a file that is missing, is passed over."""
    for notes in _listening:
        notes.here.add((path, pos))


def note_slow(host: str) -> None:
    """Note that a machine decodes without the compiled kernels."""
    for notes in _listening:
        notes.here.add(host)
