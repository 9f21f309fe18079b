"""Packing items in order into groups of a bounded size, for tasks and files."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

_T = TypeVar("_T")


def packed(
    items: Iterable[_T], size_of: Callable[[_T], int], *, size_max: int
) -> Iterator[tuple[_T, ...]]:
    """Yield the items in groups of at most ``size_max``; a larger item is a group of its own."""
    group: list[_T] = []
    size = 0
    for item in items:
        if group and size + size_of(item) > size_max:
            yield tuple(group)
            group, size = [], 0
        group.append(item)
        size += size_of(item)
    if group:
        yield tuple(group)
