"""The lock of a store directory: byte 0 of a file, as Java locks it.

Rule: a POSIX lock does not keep out its own process, and closing any descriptor of the file
drops it: two stores of one directory in one process are refused here.

Source: store/DefaultMessageStore.java#start (FileChannel.tryLock on byte 0).
"""

import errno
import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from server.store.errors import StoreLocked

_LOCKED: Final[set[tuple[int, int]]] = set()


def lock_file(path: Path) -> Callable[[], None]:
    """Lock a file, made if it is absent; returns what releases it.

    Raises:
        StoreLocked: another process, or this one, holds it.
    """
    known = path.stat() if path.exists() else None
    if known is not None and (known.st_dev, known.st_ino) in _LOCKED:
        raise StoreLocked(f"{path} is locked by this process; close its other store first")
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0)
        # Its time tells who was the last to open the store: ours is the first that counts.
        if os.pread(fd, 5, 0) != b"lock":
            os.pwrite(fd, b"lock", 0)
            os.fsync(fd)
    except OSError as error:
        os.close(fd)
        if error.errno not in (errno.EACCES, errno.EAGAIN):
            raise
        raise StoreLocked(
            f"{path} is locked by another broker, ours or Java; stop it first"
        ) from None
    found = os.fstat(fd)
    identity = (found.st_dev, found.st_ino)
    _LOCKED.add(identity)

    def release() -> None:
        _LOCKED.discard(identity)
        os.close(fd)

    return release
