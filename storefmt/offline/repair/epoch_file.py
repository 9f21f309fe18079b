"""Repairs ``epoch.json`` of a store directory, whose broker must not run.

Rule: the old file is kept beside the new one as ``epoch.json.damaged``, and its ``.bak`` is
removed, because the broker would read it if the new file were damaged. The new file is renamed into
place.
"""

import fcntl
import os
from pathlib import Path
from typing import NamedTuple

from storefmt.config.epochs import FILE_NAME, Epochs, decode, encode, mend
from storefmt.errors import ConfigDamaged


class EpochState(NamedTuple):
    """The content of the file; ``problem`` is why a broker does not start with it."""

    epochs: Epochs
    problem: str


def read_epochs(root: Path) -> EpochState:
    """Return the content of the file, or the part of it that can be kept.

    Raises:
        OSError: the file exists and cannot be read.
    """
    path = root / FILE_NAME
    data = path.read_bytes() if path.exists() else encode(Epochs()).encode()
    try:
        return EpochState(decode(data), "")
    except ConfigDamaged as error:
        return EpochState(mend(data), str(error))


def mend_file(root: Path, *, epoch: int | None = None) -> EpochState:
    """Replace the file with one with which a broker starts, and return its content.

    Args:
        root: the store directory.
        epoch: the epoch that the store gets; None keeps what can be read.

    Raises:
        OSError: the file cannot be written, or a broker holds the lock of the store.
    """
    check_unlocked(root)
    path = root / FILE_NAME
    data = path.read_bytes() if path.exists() else b"{}"
    epochs = mend(data, epoch=epoch)
    fresh = path.with_name(path.name + ".tmp")
    with fresh.open("w", encoding="utf-8") as out:
        out.write(encode(epochs))
        out.flush()
        os.fsync(out.fileno())
    if path.exists():
        path.replace(path.with_name(path.name + ".damaged"))
    path.with_name(path.name + ".bak").unlink(missing_ok=True)
    fresh.replace(path)
    handle = os.open(root, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
    return EpochState(epochs, "")


def check_unlocked(root: Path) -> None:
    """Check that no broker, Java's or this project's, holds the lock of a store directory.

    Raises:
        BlockingIOError: a broker holds it.
    """
    lock = root / "lock"
    if not lock.exists():
        return
    with lock.open("r+b") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0)
        except OSError as error:
            text = f"{lock} is held by a running broker; stop it first"
            raise BlockingIOError(error.errno, text) from error
