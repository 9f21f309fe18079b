"""Replaces a small state file so that a crash leaves either the old or the new content.

    1. write  topics.json.tmp, fsync
    2. rename topics.json     -> topics.json.bak
    3. rename topics.json.tmp -> topics.json, fsync the directory

Rule: at every moment ``path`` or ``path.bak`` holds a complete content; a reader uses ``.bak``
if ``path`` is missing or damaged. Step 2 must never replace a good ``.bak`` by a damaged file:
a reader that will write later (``load_state_file``) first moves the damaged file away.

Source: common/MixAll.java#string2File, which uses the same names but no fsync.
"""

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from storefmt.config.tables import load_config

LOG = logging.getLogger(__name__)

_Value = TypeVar("_Value")


class Files:
    """The file operations used here; tests replace some by ones that fail or lose data."""

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
        """Return whether the file exists."""
        return path.exists()

    def sync_directory(self, path: Path) -> None:
        """Wait until the names in a directory are on the disk."""
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


REAL_FILES = Files()


def load_state_file(
    path: Path, decode: Callable[[bytes], _Value], *, files: Files = REAL_FILES
) -> _Value | None:
    """Return the content of a file written by ``write_atomic``, or of its ``.bak``.

    The result is None if neither exists. If only the ``.bak`` can be read, a warning is logged
    and the damaged file is kept as ``.damaged``.

    Raises:
        ConfigDamaged: at least one of the two exists and neither can be read.
        OSError: the damaged file cannot be renamed.
    """
    passed_over: list[str] = []
    content = load_config(path, decode, passed_over=passed_over)
    for problem in passed_over:
        damaged = path.with_name(path.name + ".damaged")
        files.rename(path, damaged)
        files.sync_directory(path.parent)
        LOG.warning(
            "%s; its previous content was read from %s.bak, and later changes are lost; "
            "the damaged file is kept as %s", problem, path.name, damaged.name,
        )  # fmt: skip
    return content


def write_atomic(
    path: Path, text: str, *, files: Files = REAL_FILES, keeps_old: bool = True
) -> None:
    """Replace the content of ``path`` by ``text`` (UTF-8); the old content goes to ``.bak``.

    This takes one fsync of the file and one of its directory, so call it in a worker thread if
    the event loop must not wait. The directory has to exist.

    Args:
        path: the file to replace.
        text: the new content.
        files: the file operations.
        keeps_old: whether to keep the old content as ``.bak``; if not, ``path`` exists at every
            moment.

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
