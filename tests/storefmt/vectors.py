"""Small stores in ``data/`` that real Java classes wrote; README.md there says how."""

import io
import json
import lzma
import tarfile
from functools import cache
from pathlib import Path

from storefmt.formats.dledger import DledgerEntry, walk_entries
from storefmt.formats.message import Record

DATA = Path(__file__).resolve().parent / "data"


@cache
def files_of(name: str) -> dict[str, bytes]:
    """Return every file of ``data/<name>.tar.xz`` by its path in the store."""
    raw = lzma.decompress((DATA / f"{name}.tar.xz").read_bytes())
    with tarfile.open(fileobj=io.BytesIO(raw)) as tar:
        found = {member.name: tar.extractfile(member) for member in tar if member.isfile()}
    return {path: file.read() for path, file in found.items() if file is not None}


@cache
def expected_of(name: str) -> dict:
    """Return what Java said when it wrote the store."""
    return json.loads((DATA / f"{name}.json").read_text())


def unpack(name: str, root: Path) -> Path:
    """Write the files of ``data/<name>.tar.xz`` below ``root``."""
    for path, data in files_of(name).items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    return root


def raft_entries() -> list[DledgerEntry]:
    """Return the entries of the Raft log of the store ``dledger``, in order."""
    return [
        item
        for path, data in sorted(files_of("dledger").items())
        if path.startswith("dledger-n0/data/")
        for _, item in walk_entries(
            lambda pos, size, data=data: data[pos : pos + size],
            base=int(Path(path).name),
            size=len(data),
        )
        if isinstance(item, DledgerEntry)
    ]


def raft_records() -> list[Record]:
    """Return the message records inside the entries."""
    return [record for entry in raft_entries() if (record := entry.record()) is not None]
