"""The timer wheel in memory, and which of its pages its file does not have yet.

    memory   | page | page | page* | … |      * changed since the last ``take_changes``
    file     timerwheel, 38,707,200 bytes, mostly holes

Rule: the file is written in whole pages and only by the flush of ``timer_files``, never slot by
slot, so that it shows the wheel of one moment or, after a crash, pages of two successive moments.
Memory that no slot was ever written to is not taken from the system. A slot counts only for its
own tick: the rest of a round stays in the file until its slot is used again, as in 5.4.0.

Source: store/timer/TimerWheel.java (5.4.0).
"""

import mmap
from collections.abc import Iterator
from typing import Final

from mqserver.store.disk.disk import DiskFile
from storefmt.formats.timer import NO_POS, SLOT, SLOT_COUNT, SLOT_SIZE, WHEEL_SIZE, Slot

PAGE_SIZE: Final = 4096
_SLOTS_PER_PAGE: Final = PAGE_SIZE // SLOT_SIZE
_READ_SIZE: Final = 256 * PAGE_SIZE
_ALL_SLOTS: Final = 2 * SLOT_COUNT


class TimerWheel:
    """All slots of both rounds."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, WHEEL_SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._changed: set[int] = set()

    def load(self, file: DiskFile) -> None:
        """Take over the slots of a file of the right size; holes are not read.

        Raises:
            OSError: the file cannot be read.
        """
        pos = file.next_data(0)
        while pos is not None and pos < WHEEL_SIZE:
            pos -= pos % PAGE_SIZE
            data = file.pread(min(_READ_SIZE, WHEEL_SIZE - pos), pos)
            for start in range(0, len(data), PAGE_SIZE):
                page = data[start : start + PAGE_SIZE]
                if page.count(0) != len(page):
                    self._memory[pos + start : pos + start + len(page)] = page
            pos = file.next_data(pos + len(data)) if data else None

    def get(self, tick: int) -> Slot | None:
        """Return the slot of a tick; None if nothing was ever due then."""
        slot = Slot(*SLOT.unpack_from(self._memory, self._pos(tick)))
        return slot if slot.due_tick == tick else None

    def put_slot(self, slot: Slot) -> None:
        """Replace the slot of a tick."""
        pos = self._pos(slot.due_tick)
        SLOT.pack_into(self._memory, pos, *slot)
        self._changed.add(pos // PAGE_SIZE)

    def slots_from(self, tick: int) -> Iterator[Slot]:
        """Yield the slots that are due at a tick or later and have messages, in any order."""
        memory, empty = self._memory, bytes(PAGE_SIZE)
        for pos in range(0, WHEEL_SIZE, PAGE_SIZE):
            page = memory[pos : pos + PAGE_SIZE]
            if page != empty:
                for fields in SLOT.iter_unpack(page):
                    if fields[0] >= tick and fields[2] != NO_POS:
                        yield Slot(*fields)

    def damaged_slot(self) -> int | None:
        """Return the index of a slot that cannot be right; None if there is none.

        Such a slot has a tick that belongs to another place, or a chain that ends before it begins.
        """
        for start in range(0, WHEEL_SIZE, PAGE_SIZE):
            page = self._memory[start : start + PAGE_SIZE]
            if page.count(0) == len(page):
                continue
            for index, fields in enumerate(SLOT.iter_unpack(page), start // SLOT_SIZE):
                slot = Slot(*fields)
                is_used = slot.due_tick or slot.last_pos
                is_placed = slot.due_tick % _ALL_SLOTS == index
                is_chain = NO_POS <= slot.first_pos <= slot.last_pos and (
                    (slot.first_pos == NO_POS) == (slot.last_pos == NO_POS)
                )
                if is_used and not (is_placed and is_chain):
                    return index
        return None

    def take_changes(self) -> list[tuple[int, bytes]]:
        """Return position and content of each page that changed since the last call."""
        changed, self._changed = sorted(self._changed), set()
        return [
            (page * PAGE_SIZE, self._memory[page * PAGE_SIZE : (page + 1) * PAGE_SIZE])
            for page in changed
        ]

    def restore_changes(self, changes: list[tuple[int, bytes]]) -> None:
        """Mark pages as changed again whose content did not reach the disk."""
        self._changed.update(pos // PAGE_SIZE for pos, _ in changes)

    def close(self) -> None:
        """Free the memory."""
        self._memory.close()

    @staticmethod
    def _pos(tick: int) -> int:
        return tick % _ALL_SLOTS * SLOT_SIZE
