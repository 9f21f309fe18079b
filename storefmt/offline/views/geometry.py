"""Finds the file sizes and slot counts of a store, which only the broker's settings contain.

    mappedFileSizeCommitLog     the size that most log files have
    mappedFileSizeConsumeQueue  the size that most queue files have
    maxHashSlotNum, maxIndexNum solved from  size = 40 + 4 * slots + 20 * entries

Rule: many pairs of slot and entry counts give the same size of an index file, and its header only
counts the used ones. The right pair is the one with which the entries make sense: entry 1 has the
header's first log offset, the last entry has its last, and each entry is in the chain of its own
slot. For a file that is empty or damaged, another file of the same size gives the answer.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from storefmt.errors import StoreError
from storefmt.formats.consumequeue import ENTRY_SIZE
from storefmt.formats.index import (
    ENTRY,
    ENTRY_COUNT,
    HEADER,
    SLOT,
    SLOT_COUNT,
    IndexEntry,
    IndexHeader,
    entry_pos,
    index_file_size,
    slot_pos,
)
from storefmt.offline.views.tree import FileSpan, Tree
from storefmt.store_file import OpenFiles, StoreFile

TRY_ALL_SIZE_MAX: Final = 4 << 20
"""Up to this file size (bytes) every pair of counts is tried; larger files are searched."""
_SAMPLE: Final = 40
_GOOD_ENOUGH: Final = 0.8


class IndexShape(NamedTuple):
    """Slots and entries (entry 0 included) that an index file has room for."""

    slot_count: int
    entry_count: int


@dataclass(frozen=True, slots=True)
class Geometry:
    """File sizes in bytes and counts; 0 if the store has no file of that kind."""

    log_file_size: int
    queue_file_size: int
    index_slot_count: int
    index_entry_count: int


def detect(tree: Tree, files: OpenFiles) -> tuple[Geometry, dict[int, IndexShape]]:
    """Return the store's geometry, and the shape of the index files of each size."""
    shapes = index_shapes(tree.index, files)
    usual = shapes.get(usual_size(tree.index), IndexShape(0, 0))
    queue_spans = [span for spans in tree.queue_files.values() for span in spans]
    geometry = Geometry(
        usual_size(tree.log),
        usual_size(queue_spans, multiple=ENTRY_SIZE),
        *usual,
    )
    return geometry, shapes


def usual_size(spans: Iterable[FileSpan], *, multiple: int = 1) -> int:
    """Return the most frequent file size in bytes; of two equally frequent ones the larger."""
    counts = Counter(span.size for span in spans if span.size and span.size % multiple == 0)
    return max(counts, key=lambda size: (counts[size], size), default=0)


def index_shapes(spans: Iterable[FileSpan], files: OpenFiles) -> dict[int, IndexShape]:
    """Return the shape of the index files by file size, if one file of that size shows it."""
    votes: dict[int, Counter[IndexShape]] = {}
    for span in spans:
        try:
            shape = detect_shape(files.open(span.path))
        except StoreError:
            # The reader of this file reports the error; another file can still show the shape.
            continue
        if shape is not None:
            votes.setdefault(span.size, Counter())[shape] += 1
    return {size: found.most_common(1)[0][0] for size, found in votes.items()}


def detect_shape(file: StoreFile) -> IndexShape | None:
    """Return the shape of one index file, None if its content does not show it."""
    if file.size < HEADER.size:
        return None
    try:
        header = IndexHeader.decode(file.read(0, HEADER.size))
    except StoreError:
        return None
    best: tuple[float, IndexShape] | None = None
    for slot_count in _candidates(file, header):
        entry_count, rest = divmod(file.size - slot_pos(slot_count), ENTRY.size)
        if slot_count <= 0 or rest or entry_count < header.entry_count:
            continue
        score = _score(file, header, slot_count)
        if score > (best[0] if best else _GOOD_ENOUGH):
            best = score, IndexShape(slot_count, entry_count)
        if score == 1.0:
            break
    return best[1] if best else None


def _candidates(file: StoreFile, header: IndexHeader) -> Iterator[int]:
    if file.size == index_file_size(SLOT_COUNT, ENTRY_COUNT):
        yield SLOT_COUNT
    yield header.slot_count
    if file.size <= TRY_ALL_SIZE_MAX:
        yield from range(1, (file.size - HEADER.size) // SLOT.size + 1)
    elif header.entry_count > 1:
        yield from _searched(file, header) if header.end_log_offset else _ending(file, header)


def _searched(file: StoreFile, header: IndexHeader) -> Iterator[int]:
    # The newest entry holds the header's last log offset: where that number lies, the
    # entry lies, and its distance from the start gives the number of slots.
    last_offset = header.end_log_offset.to_bytes(8, "big", signed=True)
    before = entry_pos(header.entry_count - 1, slot_count=0) + 4
    tail = b""
    for pos, data in file.windows(HEADER.size):
        chunk, chunk_pos = tail + data, pos - len(tail)
        match_pos = chunk.find(last_offset)
        while match_pos >= 0:
            slot_count, rest = divmod(chunk_pos + match_pos - before, SLOT.size)
            if rest == 0 and slot_count > 0:
                yield slot_count
            match_pos = chunk.find(last_offset, match_pos + 1)
        tail = data[-7:]


def _ending(file: StoreFile, header: IndexHeader) -> Iterator[int]:
    # If only the first record of a log has keys, its log offset is 0, which cannot be searched for.
    # The newest entry ends the bytes that are not zero: with ``previous``, or with the hash.
    end = HEADER.size
    for pos, data in file.windows(HEADER.size):
        if used := len(data.rstrip(b"\0")):
            end = pos + used
    word = end - 1 - (end - 1 - HEADER.size) % SLOT.size
    newest = entry_pos(header.entry_count - 1, slot_count=0)
    for field_pos in (0, ENTRY.size - SLOT.size):
        yield (word - field_pos - newest) // SLOT.size


def _score(file: StoreFile, header: IndexHeader, slot_count: int) -> float:
    last = header.entry_count - 1
    if last < 1:
        return 0.0
    numbers = sorted({*range(1, min(_SAMPLE, last) + 1), *range(max(1, last - _SAMPLE), last + 1)})
    good = 0
    for seen, number in enumerate(numbers, 1):
        good += _fits(file, header, slot_count, number)
        # A wrong guess shows at once; few of them are read to the end.
        if seen == 4 and good < 2:
            return 0.0
    return good / len(numbers)


def _fits(file: StoreFile, header: IndexHeader, slot_count: int, number: int) -> bool:
    data = file.read(entry_pos(number, slot_count=slot_count), ENTRY.size)
    if len(data) < ENTRY.size:
        return False
    entry = IndexEntry.decode(data)
    if not header.begin_log_offset <= entry.log_offset <= header.end_log_offset:
        return False
    if number == 1 and entry.log_offset != header.begin_log_offset:
        return False
    if number == header.entry_count - 1 and entry.log_offset != header.end_log_offset:
        return False
    if entry.key_hash < 0 or not 0 <= entry.previous < number:
        return False
    slot = file.read(slot_pos(entry.key_hash % slot_count), SLOT.size)
    return number <= int.from_bytes(slot, "big", signed=True) < header.entry_count
