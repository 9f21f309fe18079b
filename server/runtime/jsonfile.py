"""Replaces a small state file so that a crash leaves the old or the new content.

    1. write  topics.json.tmp, fsync
    2. rename topics.json     -> topics.json.bak
    3. rename topics.json.tmp -> topics.json, fsync the directory

Rule: at every moment ``path`` or ``path.bak`` holds a complete content; a reader takes
``.bak`` when ``path`` is missing or damaged. Step 2 must never put a damaged file in the
place of the good ``.bak``: who reads in order to write later (``load_state_file``) puts the
damaged one aside first.

Source: common/MixAll.java#string2File, which writes the same names without fsync.
"""

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

from storefmt.config.tables import load_config

LOG = logging.getLogger(__name__)

_Value = TypeVar("_Value")


class Files(Protocol):
    """The file operations used here; tests put one in that fails or forgets."""

    def write_synced(self, path: Path, data: bytes) -> None:
        """Write a whole file and wait until it is on the disk."""
        ...

    def rename(self, source: Path, target: Path) -> None:
        """Rename ``source``, replacing ``target``."""
        ...

    def exists(self, path: Path) -> bool:
        """Return whether the file is there."""
        ...

    def sync_directory(self, path: Path) -> None:
        """Wait until the names in a directory are on the disk."""
        ...


class RealFiles:
    """The file system of this machine."""

    def write_synced(self, path: Path, data: bytes) -> None:
        """Write a whole file and wait until it is on the disk."""
        with path.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())

    def rename(self, source: Path, target: Path) -> None:
        """Rename ``source``, replacing ``target``."""
        source.replace(target)

    def exists(self, path: Path) -> bool:
        """Return whether the file is there."""
        return path.exists()

    def sync_directory(self, path: Path) -> None:
        """Wait until the names in a directory are on the disk."""
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


REAL_FILES = RealFiles()


def load_state_file(
    path: Path, decode: Callable[[bytes], _Value], *, files: Files = REAL_FILES
) -> _Value | None:
    """Return what a file of ``write_atomic`` holds, or its ``.bak``; None where neither is.

    Where only the ``.bak`` can be read, that is logged and the other one is kept as
    ``.damaged``.

    Raises:
        ConfigDamaged: one of the two is there and neither can be read.
        OSError: the damaged file cannot be put aside.
    """
    passed_over: list[str] = []
    found = load_config(path, decode, passed_over=passed_over)
    for problem in passed_over:
        damaged = path.with_name(path.name + ".damaged")
        files.rename(path, damaged)
        files.sync_directory(path.parent)
        LOG.warning(
            "%s; what it held before was read from %s.bak, and changes since then are lost; "
            "the damaged file is kept as %s", problem, path.name, damaged.name,
        )  # fmt: skip
    return found


def write_atomic(
    path: Path, text: str, *, files: Files = REAL_FILES, keeps_old: bool = True
) -> None:
    """Replace the content of ``path`` by ``text`` (UTF-8), the old one goes to ``.bak``.

    Takes one file fsync and one directory fsync: call it from a worker thread where
    the loop must not wait. The directory has to exist.

    Args:
        keeps_old: whether there is a ``.bak``; without one ``path`` is there at every moment.

    Raises:
        OSError: the disk refused; ``path`` or ``path.bak`` still holds the old content.
    """
    fresh = path.with_name(path.name + ".tmp")
    backup = path.with_name(path.name + ".bak")
    files.write_synced(fresh, text.encode())
    if keeps_old and files.exists(path):
        files.rename(path, backup)
    files.rename(fresh, path)
    files.sync_directory(path.parent)
