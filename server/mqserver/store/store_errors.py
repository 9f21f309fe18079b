"""Errors of a running store; they belong to the tree of ``storefmt.errors``.

    StoreError
    ├── StoreLocked    another broker, ours or Java's, serves this directory
    └── StoreFailed    a write or flush failed: none of it may be acknowledged
        └── StoreFull  space, descriptors or memory ran out: the store takes messages
                       again when there is some

Rule: after a ``StoreFailed`` that is not a ``StoreFull``, the store is read-only until a
restart. A failed fsync may have dropped the pages it could not write, and a second fsync
would then succeed without them.
"""

from storefmt.errors import StoreError


def disk_error(error: OSError, what: str, *, hint: str) -> str:
    """Return the text of a disk error: its cause, what was not done, and the hint.

    Args:
        what: what was not done, such as ``commit log not written``.
        hint: what to do next.
    """
    cause = (error.strerror or str(error)).lower()
    where = f" at {error.filename}" if error.filename else ""
    return f"{cause}: {what}{where}; {hint}"


class StoreLocked(StoreError):
    """Another process serves the store directory."""


class StoreFailed(StoreError):
    """Messages could not be made durable; the store is read-only from now on."""


class StoreFull(StoreFailed):
    """Space, descriptors or memory ran out; puts since the last write are undone."""
