"""Errors of a running store; they belong to the tree of ``storefmt.errors``.

    StoreError
    ├── StoreLocked    another broker, ours or Java, serves this directory
    └── StoreFailed    a write or flush did not succeed: nothing of it is acknowledged
        └── StoreFull  something ran out, space, descriptors or memory: the store takes
                       messages again when there is some

Rule: after ``StoreFailed`` (and not ``StoreFull``) the store only reads, for good. A
failed fsync may have dropped the pages it could not write, and a second fsync would
then succeed without them.
"""

from storefmt.errors import StoreError


def disk_error(error: OSError, what: str, *, hint: str) -> str:
    """Return the text of a disk error: its cause first, then what was not done, then the hint.

    Args:
        what: what was not done, as ``commit log not written``.
        hint: what to do next.
    """
    cause = (error.strerror or str(error)).lower()
    where = f" at {error.filename}" if error.filename else ""
    return f"{cause}: {what}{where}; {hint}"


class StoreLocked(StoreError):
    """The store directory is served by another process."""


class StoreFailed(StoreError):
    """Messages could not be made durable; the store is read-only from now on."""


class StoreFull(StoreFailed):
    """Space, descriptors or memory ran out; what was put since the last write is undone."""
