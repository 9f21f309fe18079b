"""Who is told of an event: ``store.dispatched.add(told)``, then ``store.dispatched(entries)``."""

from collections.abc import Callable
from typing import Generic, ParamSpec

P = ParamSpec("P")


class Observers(Generic[P]):
    """The functions that are told of one kind of event, in the order in which they were added.

    Rule: an exception of one of them ends the telling and reaches the teller.
    """

    __slots__ = ("_told",)

    def __init__(self) -> None:
        self._told: list[Callable[P, None]] = []

    def add(self, told: Callable[P, None]) -> None:
        """Let ``told`` be called at each event from now on."""
        self._told.append(told)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> None:
        """Tell all of them of one event."""
        for told in self._told:
            told(*args, **kwargs)
