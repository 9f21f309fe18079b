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

import errno
from typing import Final

from storefmt.errors import StoreError

OUT_OF_SPACE: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
"""Errors of a disk without space, which is not broken and may get space again."""
NOT_OPENED: Final = frozenset({errno.EMFILE, errno.ENFILE})
"""Errors that only opening a file raises: nothing was done yet, and nothing is lost."""
OVERLOADED: Final = OUT_OF_SPACE | NOT_OPENED | {errno.ENOMEM}
"""Errors of a write on an intact disk: a resource ran out and may become available again."""


def disk_error(error: OSError, what: str, *, hint: str = "") -> str:
    """Return the text of a disk error: its cause, what was not done, and what to do next.

    Args:
        error: the error of the disk.
        what: what was not done, such as ``commit log not written``.
        hint: what to do next; empty for the usual remedy of such an error.
    """
    cause = (error.strerror or str(error)).lower()
    where = f" at {error.filename}" if error.filename else ""
    return f"{cause}: {what}{where}; {hint or _remedy(error)}"


def _remedy(error: OSError) -> str:
    """Return what the operator should do about an error."""
    if error.errno in NOT_OPENED:
        return "too many files and connections are open, raise `ulimit -n`"
    if error.errno == errno.ENOMEM:
        return "give the broker more memory"
    return "free space on its disk" if error.errno in OUT_OF_SPACE else "look at its disk"


class StoreLocked(StoreError):
    """Another process serves the store directory."""


class StoreFailed(StoreError):
    """Messages could not be made durable; the store is read-only from now on."""


class StoreFull(StoreFailed):
    """Space, descriptors or memory ran out; puts since the last write are undone."""
