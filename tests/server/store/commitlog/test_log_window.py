"""A moving window gives the same records as single reads."""

import random
from pathlib import Path
from unittest.mock import patch

from mqserver.store.commitlog.log_files import CommitLog
from mqserver.store.commitlog.log_window import WINDOW_SIZE, LogWindow
from mqserver.store.disk.disk import RealDisk
from storefmt.formats.consumequeue_ext import ExtUnit

FILE_SIZE = 200_000


def log_in(directory: Path, data: bytes) -> CommitLog:
    bases = list(range(0, len(data), FILE_SIZE))
    for base in bases:
        chunk = data[base : base + FILE_SIZE].ljust(FILE_SIZE, b"\0")
        (directory / f"{base:020d}").write_bytes(chunk)
    return CommitLog(RealDisk(), directory, file_size=FILE_SIZE, bases=bases, end=len(data))


class Even:
    """Takes the records whose first byte is even."""

    by_properties: object | None = "looked at"

    def takes_unit(self, unit: ExtUnit) -> bool:
        """Tell nothing."""
        return True

    def work_for(self, record: bytes) -> int:
        return 1

    def takes_record(self, record: bytes) -> bool:
        """Tell whether the first byte is even."""
        return record[0] % 2 == 0


def test_records_are_the_bytes_of_the_log(tmp_path: Path) -> None:
    rng = random.Random(3)
    data = rng.randbytes(500_000)
    log = log_in(tmp_path, data)
    window = LogWindow(log, Even())
    pos = 0

    while pos < len(data):
        size = min(rng.choice([100, 3_000, 90_000]), FILE_SIZE - pos % FILE_SIZE, len(data) - pos)
        assert window.record(pos, size) == data[pos : pos + size]
        pos += size + rng.choice([0, 0, 500, 2 * WINDOW_SIZE])


def test_neighbours_cost_one_read(tmp_path: Path) -> None:
    log = log_in(tmp_path, bytes(FILE_SIZE))
    window = LogWindow(log, Even())

    with patch.object(log, "read", wraps=log.read) as read:
        for pos in range(0, WINDOW_SIZE, 1_000):
            assert window.record(pos, 1_000) == bytes(1_000)

    assert read.call_count <= 2


def test_what_is_not_written_is_none(tmp_path: Path) -> None:
    window = LogWindow(log_in(tmp_path, bytes(1_000)), Even())

    assert window.record(900, 200) is None
    assert window.record(2_000, 10) is None


def test_wanted_are_those_the_test_takes(tmp_path: Path) -> None:
    window = LogWindow(log_in(tmp_path, bytes(range(256)) * 4), Even())

    assert window.holds_wanted(2, 10)
    assert not window.holds_wanted(13, 10)
    assert window.holds_wanted(5_000, 10)
