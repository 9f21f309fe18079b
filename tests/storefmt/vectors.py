"""Small stores in ``data/`` that real Java classes wrote; README.md there says how."""

import io
import json
import lzma
import tarfile
from functools import cache
from pathlib import Path

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
