"""Drops stores from the page cache, and delays the reads of cold data."""

import os
import threading
from pathlib import Path

import pytest

from mqserver.store.disk.nowait import ColdRead


def forget_file(path: Path) -> None:
    """Drop a file from the page cache."""
    fd = os.open(path, os.O_RDWR)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def forget(store: Path) -> None:
    """Drop every file of a store from the page cache."""
    for path in (*store.rglob("commitlog/*"), *store.rglob("consumequeue/*/*/*")):
        forget_file(path)


def hold_cold_reads(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Let every thread that reads cold data wait for the event that is returned."""
    may_read, warm = threading.Event(), ColdRead.warm

    def late(cold: ColdRead) -> None:
        assert may_read.wait(60)
        warm(cold)

    monkeypatch.setattr(ColdRead, "warm", late)
    return may_read


def skip_unless_cold(count: int) -> None:
    """Skip a test in which no read was cold: the system has to tell what it has in memory."""
    if not count:
        pytest.skip("this file system does not tell what it has in memory")
