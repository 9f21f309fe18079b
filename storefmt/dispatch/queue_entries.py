"""The bytes of a queue that is rebuilt from the log's records and the old entries.

    |history|filler|entry k|entry k+1|…|0 0 0|     files of one size, named by first byte

Rule: a queue that starts inside a file begins with fillers, or with old entries that point before
the log (history, whose records the log no longer contains). An entry that no record has is a
filler. If the old entry had the address of an ext unit for the same record, it may stay.

Source: store/ConsumeQueue.java#putMessagePositionInfo, #fillPreBlank (4.9.7).
"""

from collections.abc import Callable, Iterable, Iterator

from storefmt.formats.consumequeue import CQ_ENTRY, ENTRY_SIZE, FILLER_SIZE, CqEntry, is_ext_address


def file_parts(pos: int, size: int, *, file_size: int) -> Iterator[tuple[int, int, int]]:
    """Yield (first byte of the file, position in it, size) of each file's part of a range."""
    end = pos + size
    while pos < end:
        in_file = pos % file_size
        part = min(file_size - in_file, end - pos)
        yield pos - in_file, in_file, part
        pos += part


def is_history(entry: CqEntry, log_min: int) -> bool:
    """Return whether an old entry is a filler or points before the first byte of the log."""
    if entry.size == FILLER_SIZE:
        return entry.is_filler
    return entry.size > 0 and 0 <= entry.log_offset < log_min


def keep_ext_addresses(
    new: bytearray,
    old: Iterable[tuple[int, tuple[int, int, int]]],
    may_stay: Callable[[int, int], bool] = lambda address, tags_code: True,
) -> None:
    """Put the ext addresses of old entries into the new entries of the same records.

    Args:
        new: entries with plain tags codes.
        old: number of an entry in ``new``, and the old entry in its place.
        may_stay: returns whether an address may replace a tags code.
    """
    for number, was in old:
        if is_ext_address(was[2]):
            entry = CQ_ENTRY.unpack_from(new, number * ENTRY_SIZE)
            if entry[:2] == was[:2] and may_stay(was[2], entry[2]):
                CQ_ENTRY.pack_into(new, number * ENTRY_SIZE, *was)
