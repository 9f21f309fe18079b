"""Golden stores by one name, what the tools make of a store, and a look that shows any change."""

import hashlib
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from storefmt.formats.message import Record
from storefmt.offline import Report, StoreDir, verify
from storefmt.offline.output_dir import OutputDirectory
from storefmt.offline.repair.rebuild import RebuildResult, StoreShape, rebuild
from storefmt.offline.repair.repair import RepairResult, repair
from tests.golden import Golden

HEALTHY = (
    "basic",
    "kinds",
    "kinds-lmq",
    "retention",
    "ipv6",
    "default-geometry",
    "slave/master",
    "slave/slave",
    "v5",
    "crash/mmap/recovered",
    "crash/checkpoint/recovered",
)
QUEUES_KNOWN = (
    "basic",
    "kinds",
    "kinds-lmq",
    "retention",
    "ipv6",
    "default-geometry",
    "slave/slave",
)
"""Stores whose ``expected`` file has what the real 4.9.7 store read."""


def store_of(golden: Golden, name: str) -> Path:
    """Return a private copy of a store; ``slave/master`` is a member of a family."""
    family, _, member = name.rpartition("/")
    return golden.family(family, member) if family else golden.store(name)


def records_in(path: Path | str) -> list[Record]:
    """Return the records of a store, in log order."""
    with StoreDir.open(path) as store:
        return [item for item in store.records() if isinstance(item, Record)]


def report_of(path: Path, **options: Any) -> Report:
    """Verify a store; the time it took is left out, so that reports can be compared."""
    with StoreDir.open(path) as store:
        return replace(verify(store, **options), seconds=0.0)


def repaired(path: Path, out: Path) -> RepairResult:
    """Repair a store into a new directory."""
    with StoreDir.open(path) as store:
        return repair(store, OutputDirectory.make(out, source=path))


def rebuilt(path: Path, out: Path, shape: StoreShape | None = None) -> RebuildResult:
    """Rebuild the queues and the index of a store in a new directory."""
    with StoreDir.open(path) as store:
        return rebuild(store, OutputDirectory.make(out, source=path), shape=shape)


def state_of(directory: Path) -> dict[str, tuple[int, int, str]]:
    """Return size, change time and hash of everything below ``directory``."""
    found = {}
    for path in sorted(directory.rglob("*")):
        status = path.stat()
        found[str(path.relative_to(directory))] = (
            status.st_size,
            status.st_mtime_ns,
            _hash(path) if path.is_file() else "",
        )
    return found


def _hash(path: Path) -> str:
    digest = hashlib.sha256()
    descriptor = os.open(path, os.O_RDONLY)
    try:
        size, pos = os.fstat(descriptor).st_size, 0
        while pos < size:
            try:
                start = os.lseek(descriptor, pos, os.SEEK_DATA)
            except OSError:  # ENXIO: only a hole is left
                break
            pos = os.lseek(descriptor, start, os.SEEK_HOLE)
            digest.update(f"{start}:{pos}".encode() + os.pread(descriptor, pos - start, start))
    finally:
        os.close(descriptor)
    return digest.hexdigest()
