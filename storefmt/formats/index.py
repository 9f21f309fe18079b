"""An index file: a hash table on disk from message keys to commit log positions.

    0        40                  40 + 4 * slots
    | header | slot 0, slot 1, … | entry 0, entry 1, … |
               4 bytes each        20 bytes each

    slot ──> newest entry ──previous──> older entry ──previous──> 0

Rule: entry 0 is never used, so that 0 in a slot or in ``previous`` ends a chain. The
number of slots and entries is not in the file; it comes from the broker's settings or
from the file's size. A chain holds every key of its slot and equal hashes of different
keys: compare hashes here, and the record itself afterwards. A damaged chain may turn in
a circle (the Java broker then hangs); ``walk_chain`` ends it.

Source: store/index/IndexFile.java, store/index/IndexHeader.java,
store/index/IndexService.java#buildKey (4.9.7).
"""

import sys
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Self

from storefmt.errors import BadCall, DamageKind, RecordDamaged
from storefmt.formats import layout
from storefmt.formats.javahash import index_key_hash

HEADER: Final = layout.INDEX_HEADER.struct()
SLOT: Final = layout.INDEX_SLOT.struct()
ENTRY: Final = layout.INDEX_ENTRY.struct()
SLOT_COUNT: Final = 5_000_000
"""Slots of a file unless ``maxHashSlotNum`` says otherwise."""
ENTRY_COUNT: Final = 20_000_000
"""Entries of a file, the unused entry 0 included, unless ``maxIndexNum`` says otherwise."""
PAGE_SLOTS: Final = 1024
"""Slots in 4 KiB, which are written together if one of them has changed."""
KEY_SEPARATOR: Final = "#"
TIME_DIFF_S_MAX: Final = 0x7FFFFFFF
assert HEADER.size == 40
assert SLOT.size == 4
assert ENTRY.size == 20


class IndexHeader(NamedTuple):
    """The first 40 bytes; ``entry_count`` is the next free entry and starts at 1."""

    begin_ms: int = 0
    end_ms: int = 0
    begin_log_offset: int = 0
    end_log_offset: int = 0
    slot_count: int = 0
    entry_count: int = 1

    @classmethod
    def decode(cls, data: bytes | memoryview) -> Self:
        """Return the header; a new file has entry_count 0, which Java reads as 1.

        Raises:
            RecordDamaged: fewer than 40 bytes.
        """
        if len(data) < HEADER.size:
            raise RecordDamaged(
                f"index header of {len(data)} bytes, expected {HEADER.size}; "
                "delete the file and let the broker rebuild it",
                kind=DamageKind.TRUNCATED,
                found=len(data),
                expected=HEADER.size,
            )
        header = cls(*HEADER.unpack_from(data))
        return header._replace(entry_count=1) if header.entry_count <= 0 else header

    def encode(self) -> bytes:
        """Return the 40 bytes."""
        return HEADER.pack(*self)


class IndexEntry(NamedTuple):
    """One key of one message; ``time_diff_s`` is in seconds, all other times in ms."""

    key_hash: int
    log_offset: int
    time_diff_s: int
    previous: int

    @classmethod
    def decode(cls, data: bytes | memoryview) -> Self:
        """Return the entry in 20 bytes."""
        return cls(*ENTRY.unpack(data))

    def encode(self) -> bytes:
        """Return the 20 bytes."""
        return ENTRY.pack(*self)


def index_file_size(slot_count: int, entry_count: int) -> int:
    """Return the size in bytes of an index file with this many slots and entries."""
    return HEADER.size + SLOT.size * slot_count + ENTRY.size * entry_count


def slot_pos(slot: int) -> int:
    """Return the byte position of slot number ``slot``."""
    return HEADER.size + SLOT.size * slot


def entry_pos(number: int, *, slot_count: int) -> int:
    """Return the byte position of entry ``number`` in a file with ``slot_count`` slots."""
    return HEADER.size + SLOT.size * slot_count + ENTRY.size * number


def decode_slots(data: bytes) -> "array[int]":
    """Return the entry number in each of some slots."""
    slots = array("i", data)
    if sys.byteorder == "little":
        slots.byteswap()
    return slots


def encode_slots(slots: "array[int] | memoryview") -> bytes:
    """Return the bytes of slots that hold these entry numbers."""
    return decode_slots(slots.tobytes()).tobytes()


def index_key(topic: str, key: str) -> str:
    """Return the text that is hashed for a key of a message of ``topic``."""
    return f"{topic}{KEY_SEPARATOR}{key}"


def slot_of(key: str, *, slot_count: int) -> int:
    """Return the hash slot of an index file that holds ``key``.

    Args:
        key: ``topic#key``, joined as Java joins it.
        slot_count: slots in the file, > 0 (5_000_000 by default).

    Returns:
        Slot number, 0 <= n < slot_count; its byte position is 40 + 4 * n.

    Raises:
        BadCall: ``slot_count`` is not positive.

    Source: store/index/IndexFile.java#selectPhyOffset.
    """
    if slot_count <= 0:
        raise BadCall(f"index file with {slot_count} slots; expected 1 or more")
    return index_key_hash(key) % slot_count


def time_diff_s(store_ms: int, *, begin_ms: int) -> int:
    """Return the seconds that an entry of a file begun at ``begin_ms`` holds for ``store_ms``."""
    if begin_ms <= 0:
        return 0
    # Java divides towards zero and then sets what is negative to 0.
    return min(max(store_ms - begin_ms, 0) // 1000, TIME_DIFF_S_MAX)


def walk_chain(
    first: int, *, read_entry: Callable[[int], IndexEntry], entry_count: int
) -> Iterator[tuple[int, IndexEntry]]:
    """Yield (entry number, entry) from the newest entry of a slot to the oldest.

    Args:
        first: what the slot holds; 0 or less, or beyond the entries, means an empty slot.
        read_entry: returns the entry of a number, 0 < number < ``entry_count``.
        entry_count: of the header (the next free entry).

    Raises:
        RecordDamaged: the chain turns in a circle or points at a newer entry; what came
            before was yielded. (A ``previous`` beyond the entries ends it, as in Java.)
    """
    number = first if first < entry_count else 0
    while number > 0:
        entry = read_entry(number)
        yield number, entry
        number = older_number(number, entry, entry_count=entry_count)


def older_number(number: int, entry: IndexEntry, *, entry_count: int) -> int:
    """Return the number of the entry before ``entry`` in its chain; 0 or less at the chain's end.

    Args:
        number: of ``entry``.
        entry_count: of the header; a ``previous`` beyond it ends the chain, as in Java.

    Raises:
        RecordDamaged: ``entry`` points at itself or at a newer entry.
    """
    if entry.previous >= entry_count:
        return 0
    if entry.previous >= number:
        # Entries are only ever linked to older ones, which have smaller numbers:
        # that also makes every walk finite.
        raise RecordDamaged(
            f"index entry {number}: previous is {entry.previous}, expected an older entry; "
            "delete the index file and let the broker rebuild it",
            kind=DamageKind.BAD_CHAIN,
            pos=number,
            field="previous",
            found=entry.previous,
            expected=number - 1,
        )
    return entry.previous


@dataclass(slots=True)
class KeyMatches:
    """The records of one index file that have a key hash, gathered entry by entry.

    Attributes:
        key_hash: hash of ``topic#key``.
        begin_ms: of the file's header.
        query_begin_ms: oldest wanted store time, ``query_end_ms`` the newest; both
            inclusive, seen in the whole seconds that entries hold.
        log_offsets: of the records found so far (bytes), newest first.

    Source: store/index/IndexFile.java#selectPhyOffset.
    """

    key_hash: int
    begin_ms: int
    query_begin_ms: int
    query_end_ms: int
    log_offsets: list[int] = field(default_factory=list)

    def accept_entry(self, entry: IndexEntry) -> bool:
        """Look at the next entry of the chain; return False if no older one can match."""
        if entry.time_diff_s < 0:
            return False
        stored_ms = self.begin_ms + entry.time_diff_s * 1000
        if stored_ms < self.query_begin_ms:
            return False
        if entry.key_hash == self.key_hash and stored_ms <= self.query_end_ms:
            self.log_offsets.append(entry.log_offset)
        return True


def select_offsets(
    chain: Iterable[tuple[int, IndexEntry]],
    *,
    key_hash: int,
    begin_ms: int,
    query_begin_ms: int,
    query_end_ms: int,
    count_max: int,
) -> list[int]:
    """Return the log offsets (bytes, newest first) that a chain has for ``key_hash``.

    Args:
        chain: as ``walk_chain`` yields it.
        begin_ms: of the file's header.
        query_begin_ms: oldest wanted store time, ``query_end_ms`` the newest; both
            inclusive, seen in the whole seconds that entries hold.
        count_max: stop after so many.

    Source: store/index/IndexFile.java#selectPhyOffset.
    """
    matches = KeyMatches(key_hash, begin_ms, query_begin_ms, query_end_ms)
    for _, entry in chain:
        if len(matches.log_offsets) >= count_max or not matches.accept_entry(entry):
            break
    return matches.log_offsets
