"""Files and directories of a simulated disk, each with every state it may have after a crash.

    Inode       content and length now, and what each un-synced part was since its last sync
    Directory   names now, names on the disk, and the changes in between

Rule: ``after_crash`` and ``names_after`` take one number for each doubt, in the order of
``doubts``; the highest one stands for what programs see now.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

SECTOR: Final = 512


class Inode:
    """Content of one file: what programs see, and what the disk may have of it."""

    __slots__ = ("_owned", "modified", "sectors", "seen", "sizes")

    def __init__(self, content: bytes | bytearray = b"", modified: int = 0) -> None:
        self.seen = content
        self.modified = modified
        self.sizes: list[int] = []
        """Earlier lengths since the last sync, the synced one first."""
        self.sectors: dict[int, list[bytes]] = {}
        """Earlier contents of each sector since the last sync, the synced one first."""
        self._owned = False

    def _own(self) -> bytearray:
        if not self._owned or not isinstance(self.seen, bytearray):
            self.seen = bytearray(self.seen)
            self._owned = True
        return self.seen

    def write(self, data: bytes | bytearray | memoryview, pos: int) -> None:
        """Write bytes, which are un-synced afterwards."""
        seen = self._own()
        end = pos + len(data)
        sectors = range(pos // SECTOR * SECTOR, end, SECTOR)
        before = [bytes(seen[start : start + SECTOR]) for start in sectors]
        if end > len(seen):
            self.sizes.append(len(seen))
            seen.extend(bytes(end - len(seen)))
        seen[pos:end] = data
        for start, old in zip(sectors, before, strict=True):
            if seen[start : start + SECTOR] != old:
                self.sectors.setdefault(start, []).append(old)

    def resize(self, size: int) -> None:
        """Set the length, which is un-synced afterwards."""
        seen = self._own()
        if size == len(seen):
            return
        self.sizes.append(len(seen))
        for start in range(size // SECTOR * SECTOR, len(seen), SECTOR):
            self.sectors.setdefault(start, []).append(bytes(seen[start : start + SECTOR]))
        del seen[size:]
        seen.extend(bytes(size - len(seen)))

    def sync(self) -> None:
        """Make content and length durable."""
        self.sizes = []
        self.sectors = {}

    def doubts(self) -> Iterator[int]:
        """Yield how many contents each un-synced part may have; the last one is the present."""
        if self.sizes:
            yield len(self.sizes) + 1
        for versions in self.sectors.values():
            yield len(versions) + 1

    def after_crash(self, choice: Iterator[int]) -> "Inode":
        """Return the file after a crash; ``choice`` has one number for each doubt."""
        self._owned = False
        if not self.sizes and not self.sectors:
            return Inode(self.seen, self.modified)
        size = [*self.sizes, len(self.seen)][next(choice)] if self.sizes else len(self.seen)
        left = bytearray(self.seen[:size])
        left.extend(bytes(size - len(left)))
        for start, versions in self.sectors.items():
            number = next(choice)
            if number < len(versions) and start < size:
                left[start : start + SECTOR] = versions[number].ljust(SECTOR, b"\0")[: size - start]
        return Inode(bytes(left), self.modified)


class Change(NamedTuple):
    """One change of names in a directory."""

    name: str
    entry: "Inode | Directory | None"
    """What the name stands for now; None for a name that is gone."""
    source: str = ""
    """The former name if the entry was renamed."""


class Directory:
    """The names of one directory: what programs see, and what the disk has."""

    __slots__ = ("changes", "now", "synced")

    def __init__(self) -> None:
        self.now: dict[str, Inode | Directory] = {}
        self.synced: dict[str, Inode | Directory] = {}
        self.changes: list[Change] = []

    def change(self, change: Change) -> None:
        """Change a name, which is un-synced afterwards."""
        self.changes.append(change)
        _apply(self.now, change, change.entry)

    def sync(self) -> None:
        """Make all names durable."""
        self.synced = dict(self.now)
        self.changes = []

    def names_after(self, choice: Iterator[int]) -> "dict[str, Inode | Directory]":
        """Return the names after a crash; ``choice`` has one number for each change."""
        names = dict(self.synced)
        for change in self.changes:
            if next(choice):
                entry = names.get(change.source) if change.source else change.entry
                if entry is not None or not change.source:
                    _apply(names, change, entry)
        return names


def _apply(
    names: dict[str, Inode | Directory], change: Change, entry: Inode | Directory | None
) -> None:
    if change.source:
        names.pop(change.source, None)
    if entry is None:
        names.pop(change.name, None)
    else:
        names[change.name] = entry
