"""One opened index file: its header, its slots, its entries and the chain of a key.

Rule: a chain only contains hashes, so its entries are candidates. ``views.lookup`` compares the
keys of the records themselves.

Source: store/index/IndexFile.java#selectPhyOffset.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from storefmt.errors import DamageKind, RecordDamaged
from storefmt.formats.index import (
    ENTRY,
    HEADER,
    SLOT,
    IndexEntry,
    IndexHeader,
    decode_slots,
    entry_pos,
    index_key,
    select_offsets,
    slot_of,
    slot_pos,
    walk_chain,
)
from storefmt.formats.javahash import index_key_hash
from storefmt.offline.views.geometry import IndexShape
from storefmt.offline.views.tree import FileSpan
from storefmt.store_file import OpenFiles, StoreFile

ENTRIES_A_READ: Final = 50_000


@dataclass(frozen=True)
class IndexView:
    """One index file.

    Attributes:
        name: relative to the store.
        shape: None if the number of slots is unknown.
    """

    span: FileSpan
    name: str
    shape: IndexShape | None
    open_files: OpenFiles

    @property
    def file(self) -> StoreFile:
        """Return the open file."""
        return self.open_files.open(self.span.path)

    @cached_property
    def header(self) -> IndexHeader:
        """Return the header; raise RecordDamaged if the file is shorter."""
        return IndexHeader.decode(self.file.read(0, HEADER.size))

    @property
    def entry_count(self) -> int:
        """Return the next free entry, at most what the file has room for."""
        room = self._shape.entry_count
        held = (self.span.size - slot_pos(self._shape.slot_count)) // ENTRY.size
        return max(0, min(self.header.entry_count, room, held))

    @property
    def _shape(self) -> IndexShape:
        if self.shape is None:
            raise RecordDamaged(
                f"{self.name}: no number of slots fits its {self.span.size} bytes and its "
                "entries; delete the file and let the broker rebuild it",
                kind=DamageKind.BAD_SIZE,
                field="slot_count",
                found=self.span.size,
            )
        return self.shape

    @property
    def fill_size(self) -> int:
        """Return the bytes up to the end of the newest entry."""
        return entry_pos(self.entry_count, slot_count=self._shape.slot_count)

    def entry(self, number: int) -> IndexEntry:
        """Return entry ``number``, 0 < number < ``entry_count``."""
        pos = entry_pos(number, slot_count=self._shape.slot_count)
        return IndexEntry.decode(self.file.read(pos, ENTRY.size).ljust(ENTRY.size, b"\0"))

    def entries(self) -> Iterator[tuple[int, IndexEntry]]:
        """Yield (number, entry) from the oldest entry, which has number 1, to the newest."""
        end, slot_count = self.entry_count, self._shape.slot_count
        for first in range(1, end, ENTRIES_A_READ):
            count = min(ENTRIES_A_READ, end - first)
            data = self.file.read(entry_pos(first, slot_count=slot_count), count * ENTRY.size)
            whole = len(data) - len(data) % ENTRY.size
            entries = map(IndexEntry._make, ENTRY.iter_unpack(data[:whole]))
            yield from enumerate(entries, first)

    def slots(self) -> Iterator[tuple[int, int]]:
        """Yield (slot, newest entry) of each slot that is not zero; holes are skipped."""
        end = min(slot_pos(self._shape.slot_count), self.span.size)
        pos = HEADER.size
        for first, last in self.file.extents(HEADER.size, end):
            # Extents begin at blocks of the disk, but slots need not.
            pos = max(pos, first - (first - HEADER.size) % SLOT.size)
            while pos < last:
                size = min(ENTRIES_A_READ * SLOT.size, last - pos + -(last - pos) % SLOT.size)
                data = self.file.read(pos, min(size, end - pos))
                values = decode_slots(data[: len(data) - len(data) % SLOT.size])
                number = (pos - HEADER.size) // SLOT.size
                yield from ((slot, value) for slot, value in enumerate(values, number) if value)
                pos += size

    def chain(self, topic: str, key: str) -> Iterator[tuple[int, IndexEntry]]:
        """Yield (number, entry) of the slot of ``key``, newest first.

        Raises:
            RecordDamaged: the chain turns in a circle; what came before was yielded.
        """
        slot = slot_of(index_key(topic, key), slot_count=self._shape.slot_count)
        first = int.from_bytes(self.file.read(slot_pos(slot), SLOT.size), "big", signed=True)
        return walk_chain(first, read_entry=self.entry, entry_count=self.entry_count)

    def offsets(
        self, topic: str, key: str, *, begin_ms: int, end_ms: int, count_max: int
    ) -> list[int]:
        """Return the log offsets (newest first) that may have ``key``, hash clashes included.

        A chain that turns in a circle gives the offsets before the circle closes.
        """
        return select_offsets(
            _until_damaged(self.chain(topic, key)),
            key_hash=index_key_hash(index_key(topic, key)),
            begin_ms=self.header.begin_ms,
            query_begin_ms=begin_ms,
            query_end_ms=end_ms,
            count_max=count_max,
        )


def _until_damaged(chain: Iterator[tuple[int, IndexEntry]]) -> Iterator[tuple[int, IndexEntry]]:
    while True:
        try:
            yield next(chain)
        except (StopIteration, RecordDamaged):
            # A broken chain is a finding of ``verify``; a query gives what can be read,
            # and looks into the log where it needs to be complete.
            return
