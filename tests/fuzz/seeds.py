"""Bytes to begin with: parts of the golden stores, and the frames of real processes."""

import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.facts import FACTS
from tests.golden import Golden
from tests.remoting.captures import SETS, Captured, frames
from tests.storefmt.vectors import files_of

STORES = ("basic", "kinds", "ipv6", "v5")
PER_STORE = 40


@cache
def _scratch() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="fuzz-seeds-")


@cache
def golden_store(name: str) -> Path:
    """Return a copy of a golden store, one for the whole process."""
    return Golden(Path(_scratch().name) / name).store(name)


@cache
def golden_records() -> tuple[bytes, ...]:
    """Return some records of every store, as their bytes."""
    found = []
    for name in STORES:
        golden = Golden(Path(_scratch().name) / name)
        root = golden_store(name)
        rows = [row for row in golden.jsonl(name, "records") if row["kind"] == "msg"]
        for row in rows[:: max(1, len(rows) // PER_STORE)]:
            with (root / "commitlog" / row["file"]).open("rb") as file:
                file.seek(row["pos"])
                found.append(file.read(row["size"]))
    return tuple(found)


def store_files(pattern: str, *, size: int) -> Iterator[bytes]:
    """Yield the first ``size`` bytes of every file of the stores that fits ``pattern``."""
    for name in STORES:
        for path in sorted(golden_store(name).glob(pattern)):
            if path.is_file():
                with path.open("rb") as file:
                    yield file.read(size)


def java_files(name: str, part: str) -> Iterator[bytes]:
    """Yield the files of a small store that real Java classes wrote, by a part of their path."""
    return (data for path, data in files_of(name).items() if part in path)


def captured() -> Iterator[Captured]:
    """Yield every recorded frame."""
    for name in SETS:
        yield from frames(FACTS, name)
