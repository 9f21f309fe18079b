"""The golden stores: directories written by real RocketMQ brokers, with what Java says of them.

README.md lists the files of a set, and each set's README.md says how it was made. They are only
ever read; a test gets a private copy that it may change or break.
"""

import json
import lzma
import os
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
ROOT = Path(__file__).resolve().parent


class Golden:
    """Hands out copies of golden stores below one temporary directory.

    Args:
        scratch: where archives are unpacked, once each, and copies are made.
    """

    def __init__(self, scratch: Path) -> None:
        self._root = ROOT
        self._scratch = scratch
        self._copies = 0

    def store(self, name: str) -> Path:
        """Return a fresh copy of the store of the set ``name``."""
        return self._copy(self._unpacked(name, "store.tar.xz") / "store")

    def family(self, name: str, member: str) -> Path:
        """Return a fresh copy of one store of a set that holds several, as ``crash/torn``."""
        return self._copy(self._unpacked(name, "stores.tar.xz") / member)

    def damaged(self, case: str) -> Path:
        """Return a fresh copy of the ``basic`` store with the damage ``case`` done to it."""
        store = self.store("basic")
        for change in next(d for d in self.damages() if d["case"] == case)["changes"]:
            _apply(store, change)
        return store

    def damages(self) -> list[dict]:
        """Return every damage case: ``case``, ``changes`` and what they hit."""
        return json.loads((self._root / "damaged" / "damages.json").read_text())

    def expected(self, name: str, which: str = "expected") -> dict:
        """Return what the real Java code said of the set ``name``."""
        return json.loads(self._text(name, f"{which}.json"))

    def jsonl(self, name: str, which: str) -> Iterator[dict]:
        """Yield the lines of ``records``, ``cq``, ``index`` or ``actions`` of a set."""
        return (json.loads(line) for line in self._text(name, f"{which}.jsonl").splitlines())

    def conf(self, name: str) -> dict[str, str]:
        """Return the broker.conf the set was written with (geometry is only there)."""
        lines = (self._root / name / "broker.conf").read_text().splitlines()
        pairs = (line.split("=", 1) for line in lines if "=" in line and line[0] != "#")
        return {key.strip(): value.strip() for key, value in pairs}

    def _text(self, name: str, file_name: str) -> str:
        plain = self._root / name / file_name
        if plain.exists():
            return plain.read_text()
        with lzma.open(plain.with_name(file_name + ".xz"), "rt", encoding="utf-8") as text:
            return text.read()

    def _unpacked(self, name: str, archive: str) -> Path:
        target = self._scratch / "unpacked" / name
        if not target.exists():
            target.mkdir(parents=True)
            with tarfile.open(self._root / name / archive) as tar:
                tar.extractall(target, filter="tar")
        return target

    def _copy(self, source: Path) -> Path:
        self._copies += 1
        target = self._scratch / f"copy-{self._copies}"
        # Sparse files stay sparse: a stock store is gigabytes of holes.
        shutil.copytree(source, target, copy_function=_copy_sparse)
        return target


def _copy_sparse(source: str, target: str) -> None:
    size = os.path.getsize(source)
    with open(source, "rb") as reader, open(target, "wb") as writer:
        pos = 0
        while pos < size:
            try:
                start = os.lseek(reader.fileno(), pos, os.SEEK_DATA)
            except OSError:  # ENXIO: only a hole is left
                break
            pos = os.lseek(reader.fileno(), start, os.SEEK_HOLE)
            reader.seek(start)
            writer.seek(start)
            writer.write(reader.read(pos - start))
        writer.truncate(size)
    shutil.copystat(source, target)


def _apply(store: Path, change: dict) -> None:
    path = store / change["file"]
    match change["op"]:
        case "write":
            with path.open("r+b") as file:
                file.seek(change["offset"])
                file.write(_content(change, "new"))
        case "truncate":
            if not path.exists():
                shutil.copy(path.with_name(path.name.removesuffix(".bak")), path)
            os.truncate(path, change["to"])
        case "delete":
            path.unlink()
        case "create":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(_content(change, "hex"))
        case "copy":
            shutil.copy(store / change["from"], path)
        case "swap":
            other, spare = store / change["with"], path.with_name(path.name + ".swap")
            path.rename(spare)
            other.rename(path)
            spare.rename(other)
        case unknown:
            raise ValueError(f"damage operation {unknown!r} is not known")


def _content(change: dict, key: str) -> bytes:
    return bytes.fromhex(change[key]) if key in change else bytes(change["len"])
