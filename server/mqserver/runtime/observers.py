"""Calls every function that was added for an event.

store.dispatched.add(function)    before the start
store.dispatched(entries)         when entries were dispatched
"""

from collections.abc import Callable
from typing import Generic, ParamSpec

P = ParamSpec("P")


class Observers(Generic[P]):
    """The functions to call at one kind of event, in the order in which they were added.

    Rule: if a function raises, those after it are called nevertheless, because they depend on the
    event and not on each other. The caller gets the first error at the end.
    """

    __slots__ = ("_functions",)

    def __init__(self) -> None:
        self._functions: list[Callable[P, None]] = []

    def add(self, function: Callable[P, None]) -> None:
        """Call ``function`` at each event from now on."""
        self._functions.append(function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> None:
        """Call all functions with the arguments of one event."""
        first: Exception | None = None
        for function in self._functions:
            try:
                function(*args, **kwargs)
            except Exception as error:
                first = first or error
        if first is not None:
            raise first
