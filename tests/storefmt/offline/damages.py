"""Damage of whole files, made to the golden store ``basic``."""

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

from storefmt.formats import layout
from storefmt.formats.message import RECORD_SIZE_MIN
from storefmt.formats.scan import scan_log
from tests.storefmt.broken import flip, overwrite

SEED: Final = 20261121
LOG_OFFSET_POS: Final = layout.MESSAGE.part("queue_offset").struct().size


def _logs(root: Path) -> list[Path]:
    return sorted((root / "commitlog").iterdir())


def _swap(one: Path, other: Path) -> None:
    aside = one.with_name("aside")
    one.rename(aside)
    other.rename(one)
    aside.rename(other)


def _single(path: Path) -> bool:
    """Return whether a log file holds one large record and a blank."""
    head = path.read_bytes()[:4]
    return int.from_bytes(head) + RECORD_SIZE_MIN * 100 > path.stat().st_size // 2


def swap_single_records(root: Path) -> None:
    """Swap two log files of one record each: no second record says where they belong."""
    one, other = [path for path in _logs(root) if _single(path)][:2]
    _swap(one, other)


def double_a_single_record(root: Path) -> None:
    """Put a copy of a log file of one record in the place of another."""
    one, other = [path for path in _logs(root) if _single(path)][:2]
    shutil.copy(one, other)


def reverse_the_log(root: Path) -> None:
    """Give the first file the name of the last one, and so on."""
    logs = _logs(root)
    for one, other in zip(logs[: len(logs) // 2], reversed(logs), strict=False):
        _swap(one, other)


def leave_the_log_alone(root: Path) -> None:
    """Delete everything but the commit log."""
    for path in root.iterdir():
        if path.name != "commitlog":
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def leave_one_log_file(root: Path) -> None:
    """Delete everything but one file from the middle of the log."""
    leave_the_log_alone(root)
    for number, path in enumerate(_logs(root)):
        if number != 3:
            path.unlink()


def lose_the_config(root: Path) -> None:
    """Delete config/."""
    shutil.rmtree(root / "config")


def lose_two_log_files(root: Path) -> None:
    """Delete two files that follow each other."""
    for path in _logs(root)[1:3]:
        path.unlink()


def zero_pages(root: Path) -> None:
    """Zero some pages of every log file, as a disk may."""
    numbers = random.Random(SEED)
    for path in _logs(root):
        for _ in range(3):
            overwrite(path, numbers.randrange(path.stat().st_size // 4096) * 4096, bytes(4096))


def random_derived_files(root: Path) -> None:
    """Fill queues, index and checkpoint with noise."""
    numbers = random.Random(SEED)
    for part in ("consumequeue", "index", "checkpoint"):
        for path in [root / part, *(root / part).rglob("*")]:
            if path.is_file():
                path.write_bytes(numbers.randbytes(path.stat().st_size))


def longer_files(root: Path) -> None:
    """Make the last log file, a queue file and an index file sparse and huge."""
    queue = min((root / "consumequeue").rglob("0" * 20))
    for path in (_logs(root)[-1], queue, min((root / "index").iterdir())):
        os.truncate(path, 1 << 40)


def names_behind_any_log(root: Path) -> None:
    """Add log files whose names are numbers that no log reaches."""
    for start in ("9" * 20, f"{(1 << 63) - 1:020d}"):
        shutil.copy(_logs(root)[0], root / "commitlog" / start)


def repeat_records(root: Path) -> None:
    """Overwrite the last four records with two that are before them, as a broken copy may."""
    path = next(path for path in reversed(_logs(root)) if any(path.read_bytes()[:8]))
    raw = path.read_bytes()
    starts, end = scan_log(raw, 0, len(raw))
    again = raw[starts[-6] : starts[-4]]
    path.write_bytes((raw[: starts[-4]] + again).ljust(end, b"\0") + raw[end:])


def change_a_log_offset(root: Path) -> None:
    """Let one record say that it lies elsewhere."""
    path = _logs(root)[0]
    raw = path.read_bytes()
    starts, _ = scan_log(raw, 0, len(raw))
    flip(path, starts[5] + LOG_OFFSET_POS + 7)


DAMAGES: Final[tuple[Callable[[Path], None], ...]] = (
    swap_single_records,
    double_a_single_record,
    reverse_the_log,
    leave_the_log_alone,
    leave_one_log_file,
    lose_the_config,
    lose_two_log_files,
    zero_pages,
    random_derived_files,
    longer_files,
    names_behind_any_log,
)
LOG_OFFSETS: Final[tuple[Callable[[Path], None], ...]] = (repeat_records, change_a_log_offset)
"""Records that lie elsewhere than they say."""
