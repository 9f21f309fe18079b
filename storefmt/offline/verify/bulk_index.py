"""Checks with numpy whether every entry and slot of an index file is in order.

    entries, a chunk at a time: hash, log offset, time; ``previous`` is the entry of the same
    slot before it, in this chunk or (``newest``) in an earlier one
    slots: each is the newest entry of its slot

Rule: this module makes no findings. ``check_index`` checks a file that is not in order entry by
entry, and imports this module only for large files.
"""

from array import array

import numpy as np
import numpy.typing as npt

from storefmt.errors import StoreError
from storefmt.formats import layout
from storefmt.formats.index import ENTRY, HEADER, SLOT, entry_pos, slot_pos
from storefmt.offline.verify.check_tree import TIME_MAX_MS, TIME_MIN_MS
from storefmt.offline.views.indexes import IndexView

ENTRIES_A_READ = 200_000
SLOTS_A_READ = 1 << 18
_ENTRY = np.dtype(layout.INDEX_ENTRY.numpy_fields())
assert _ENTRY.itemsize == ENTRY.size


def is_plain(
    view: IndexView, newest: "array[int]", *, log_end: int | None, any_count: bool
) -> bool:
    """Return whether every check of ``check_index`` would pass.

    Args:
        newest: a zero for each slot; zeros again if the answer is no.
        log_end: entries must lie before it; None for no such limit.
        any_count: accept a header that counts fewer entries, as while a broker runs or after a
            kill.
    """
    slots = np.frombuffer(newest, dtype=np.int32)
    try:
        good = _header_plain(view) and _entries_plain(view, slots, log_end, any_count)
        good = good and _slots_plain(view, slots, any_count)
    except StoreError:
        # The check entry by entry reports what is wrong.
        good = False
    if not good:
        slots[:] = 0
    return good


def _header_plain(view: IndexView) -> bool:
    header = view.header
    if view.shape is None or not 1 <= header.entry_count <= view.shape.entry_count:
        return False
    times = (header.begin_ms, header.end_ms)
    if header.entry_count > 1 and not all(TIME_MIN_MS <= ms <= TIME_MAX_MS for ms in times):
        return False
    return 0 <= header.begin_log_offset <= header.end_log_offset


def _entries_plain(
    view: IndexView, slots: npt.NDArray[np.int32], log_end: int | None, any_border: bool
) -> bool:
    header, count = view.header, view.entry_count
    low = header.begin_log_offset
    for first in range(1, count, ENTRIES_A_READ):
        size = min(ENTRIES_A_READ, count - first)
        data = view.file.read(entry_pos(first, slot_count=len(slots)), size * ENTRY.size)
        if len(data) < size * ENTRY.size:
            return False
        entries = np.frombuffer(data, dtype=_ENTRY)
        hashes = entries["key_hash"].astype(np.int64)
        offsets = entries["log_offset"].astype(np.int64)
        high = int(offsets[-1])
        if not any_border and first == 1 and offsets[0] != low:
            return False
        if offsets[0] < low or (np.diff(offsets) < 0).any() or high > header.end_log_offset:
            return False
        if log_end is not None and high >= log_end:
            return False
        if (hashes < 0).any() or (entries["time_diff_s"] < 0).any():
            return False
        # An entry that was never written: the header counts too many.
        if ((hashes == 0) & (offsets == 0) & (entries["time_diff_s"] == 0)).any() and first > 1:
            return False
        if not _chains_plain(hashes % len(slots), entries["previous"], first, slots):
            return False
        low = high
    return any_border or count <= 1 or low == header.end_log_offset


def _chains_plain(
    at: npt.NDArray[np.int64],
    previous: npt.NDArray[np.void],
    first: int,
    slots: npt.NDArray[np.int32],
) -> bool:
    """Return whether each entry is in its slot's chain; put the newest into ``slots``."""
    order = np.argsort(at, kind="stable")
    sorted_at = at[order]
    starts = np.ones(len(at), dtype=bool)
    starts[1:] = sorted_at[1:] != sorted_at[:-1]
    expected = np.empty(len(at), dtype=np.int64)
    expected[1:] = order[:-1] + first
    expected[starts] = slots[sorted_at[starts]]
    if (previous[order] != expected).any():
        return False
    ends = np.append(starts[1:], True)
    slots[sorted_at[ends]] = order[ends] + first
    return True


def _slots_plain(view: IndexView, slots: npt.NDArray[np.int32], any_count: bool) -> bool:
    used = int(np.count_nonzero(slots))
    if view.header.slot_count != used and not any_count:
        return False
    seen = 0
    end = slot_pos(len(slots))
    for low, high in view.file.extents(HEADER.size, end):
        start = max(0, low - HEADER.size) // SLOT.size
        stop = min(len(slots), -(-(high - HEADER.size) // SLOT.size))
        for number in range(start, stop, SLOTS_A_READ):
            size = min(SLOTS_A_READ, stop - number)
            data = view.file.read(slot_pos(number), size * SLOT.size)
            values = np.frombuffer(data, dtype=">i4")
            if len(values) < size or (values != slots[number : number + size]).any():
                return False
            seen += int(np.count_nonzero(values))
    # What lies in holes is zero; a slot at the border of two extents may be seen twice.
    return seen >= used
