"""What ``rebuild`` makes of one store, and how a task puts its part of it in place.

Rule: a task writes into a directory of its own, and renames its files when they are whole, since
Spark may run a task twice.
"""

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple


class RebuildTarget(NamedTuple):
    """A store, its number among all stores, and the directory that is made."""

    number: int
    directory: str
    out: str
    with_index: bool


@contextmanager
def draft_of(target: RebuildTarget, *, depth: int, to: str = "") -> Iterator[RebuildTarget]:
    """Give a ``with`` block a target of its own, and then move its files to their place.

    Args:
        target: the store and its final directory.
        depth: the depth below the directory of the files or directories that are moved whole.
        to: the directory of ``target.out`` into which they are moved.
    """
    apart = Path(target.out) / f".part-{uuid.uuid4().hex}"
    apart.mkdir()
    try:
        yield target._replace(out=str(apart))
        for made in sorted(apart.glob("/".join("*" * depth))):
            place = Path(target.out) / to / made.relative_to(apart)
            place.parent.mkdir(parents=True, exist_ok=True)
            if not place.exists():
                os.rename(made, place)
    finally:
        shutil.rmtree(apart)
