"""Finds everything that a repair has to change in a log, in one pass over it.

    holes     damage, zeros between records, missing files   → placeholders or a blank
    fixes     a queue offset or log offset that cannot be     → eight bytes
    end       nothing after it counts                         → zeros

Rule: the store is only read. Three sources show which messages were in a hole: the gaps that it
leaves in the queues, old queue entries that point into it, and the record itself if only its body
is damaged.
"""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import Final

from storefmt.errors import DamageKind, RecordDamaged, StoreError
from storefmt.formats.consumequeue import FILLER_SIZE, CqEntry
from storefmt.formats.message import (
    MAGIC_BLANK,
    RECORD_SIZE_MIN,
    Record,
    decode_record,
    layout_of,
)
from storefmt.formats.scan import SIZE_HOLDS
from storefmt.offline.repair.placeholder import LostMessage, Stamp, placeholder_size
from storefmt.offline.repair.placement import PlacedEntry, Placement, is_name
from storefmt.offline.verify.check_log import TORN
from storefmt.offline.views.effective_log import EffectiveItem, EffectiveLog, ProgressCall
from storefmt.offline.views.log_scan import Damage, End
from storefmt.offline.views.store_view import StoreView
from storefmt.offline.views.tree import QueueKey

HOLES_MAX: Final = 500_000
MESSAGES_MAX: Final = 1_000_000
MISSING_FILES_MAX: Final = 64
_HEAD_SIZE: Final = 8


@dataclass(slots=True)
class Hole:
    """Bytes of the log that no longer contain a record.

    Attributes:
        start, end: log offsets.
        reason: a damage kind, or ``missing_file`` …
        to_file_end: whether it reaches to the end of its file.
        stamp: time and host of a neighbour; None until a neighbour was read.
        messages: the messages that are known to have been in it.
    """

    start: int
    end: int
    reason: str
    to_file_end: bool
    stamp: Stamp | None = None
    messages: list[LostMessage] = field(default_factory=list)
    room: int = 0


@dataclass(slots=True)
class Fix:
    """A field of a record that is replaced: ``data`` goes to ``log_offset`` + ``pos``."""

    log_offset: int
    pos: int
    field: str
    old: int | str
    new: int | str
    data: bytes


class RepairPlan:
    """The changes that one log needs.

    Args:
        file_size: bytes of a log file.
    """

    def __init__(
        self, store: StoreView, placement: Placement, log: EffectiveLog, file_size: int
    ) -> None:
        self.holes: list[Hole] = []
        self.fixes: dict[tuple[int, str], Fix] = {}
        """By log offset of the record and field."""
        self.end = 0
        """Log offset after the last record or blank that stays."""
        self.cut: Hole | None = None
        self.unplaced: list[LostMessage] = []
        """Lost messages for which no bytes are left: their entries become fillers."""
        self.beyond: list[tuple[LostMessage, int]] = []
        """First of the messages of a queue after the end of the log, and how many."""
        self._store = store
        self._placement = placement
        self._log = log
        self._file_size = file_size
        self._stamp: Stamp | None = None
        self._starts: list[int] = []
        self._taken_back: set[int] = set()
        self._message_count = 0
        self._swallow = False

    def make(self, progress: ProgressCall) -> None:
        """Read the log and find all holes and fixes.

        Raises:
            StoreError: a file cannot be read, or there is too much damage to repair.
        """
        pos = self._log.min_offset
        base = pos
        for solid in self._log.items(progress):
            if solid.base != base:
                self._close_file(base, pos)
                self._missing_files(base + self._file_size, solid.base)
                base = pos = solid.base
            if solid.pos >= self._file_size:
                continue
            pos = self._plan_item(solid)
        self._finish(base, pos)

    def _plan_item(self, solid: EffectiveItem) -> int:
        """Handle one item of the log; return the log offset after it."""
        item, log_offset = solid.item, solid.log_offset
        if isinstance(item, Record):
            return self._take_record(item, log_offset)
        file_end = solid.base + self._file_size
        if isinstance(item, Damage):
            end = min(log_offset + item.size, file_end)
            if self._is_blank(solid, file_end - log_offset):
                return file_end
            lost = self._undamaged_head(solid, item)
            if lost is not None and not self._is_claimed(lost, log_offset):
                # What damaged the body may also have damaged the number of the queue.
                lost = self._owner(lost, log_offset) or lost
            if lost is not None and log_offset + lost.size <= file_end:
                self._add_hole(log_offset, end, str(item.error.kind), to_file_end=False)
                for placed in self._placement.record(lost, log_offset):
                    self._place(placed)
                return end
            whole = item.pos + item.size >= solid.span.size
            self._add_hole(
                log_offset, file_end if whole else end, str(item.error.kind), to_file_end=whole
            )
            self._placement.hole(end - log_offset)
            self._swallow = not whole and end - log_offset < RECORD_SIZE_MIN
            return file_end if whole else end
        if isinstance(item, End):
            self._add_hole(log_offset, file_end, "zeros", to_file_end=True)
            self._placement.hole(file_end - log_offset)
        return file_end

    def _take_record(self, record: Record, log_offset: int) -> int:
        end = log_offset + record.size
        stamp = Stamp(record.store_ms, record.store_host)
        self._stamp = stamp
        for hole in reversed(self.holes):
            if hole.stamp is not None:
                break
            hole.stamp = stamp
        if not self._swallow and not self._is_named(record):
            owned = self._owner(record, log_offset)
            if owned is not None:
                self._fix(record, log_offset, "topic", owned.topic)
                self._fix(record, log_offset, "queue_id", owned.queue_id)
                record = owned
        if self._swallow or not self._is_usable(record, log_offset):
            self._lose(record, log_offset)
            return end
        if record.properties_raw.endswith(TORN):
            # Its last page was never written; body and place are known.
            self._add_hole(log_offset, end, "torn_properties", to_file_end=False)
        else:
            self._fix(record, log_offset, "log_offset", log_offset)
        for placed in self._placement.record(record, log_offset):
            self._place(placed)
        return end

    def _lose(self, record: Record, log_offset: int) -> None:
        end = log_offset + record.size
        if self._swallow and self.holes:
            # Too few bytes for a record of their own, so the next record is replaced with them.
            self.holes[-1].end = end
            self.holes[-1].room += record.size
            for placed in self._placement.record(record, log_offset):
                self._place(placed)
        else:
            self._add_hole(log_offset, end, self._why_not(record), to_file_end=False)
            self._placement.hole(record.size)
        self._swallow = False

    def _is_usable(self, record: Record, log_offset: int) -> bool:
        """Return whether a broker may see a record; a hostile name would become a path."""
        if not self._is_named(record):
            return False
        return record.log_offset == log_offset or not self._is_elsewhere(record)

    def _is_named(self, record: Record) -> bool:
        return is_name(record.topic) and record.queue_id >= 0

    def _why_not(self, record: Record) -> str:
        return "stale_copy" if self._is_named(record) else "bad_topic"

    def _is_elsewhere(self, record: Record) -> bool:
        """Return whether the record also lies at its own log offset, so that this is a copy."""
        try:
            other = self._store.log.record_at(record.log_offset)
        except StoreError:
            return False
        return other == record

    def _undamaged_head(self, solid: EffectiveItem, item: Damage) -> Record | None:
        """Return the record if only its body is damaged."""
        if item.error.kind not in SIZE_HOLDS:
            return None
        data = self._store.log.open(solid.span).read(item.pos, item.size)
        try:
            record = decode_record(data, check_crc=False)
        except RecordDamaged:
            return None
        return record if self._is_named(record) else None

    def _is_blank(self, solid: EffectiveItem, left: int) -> bool:
        """Return whether there is a blank that fits the size that the file should have."""
        head = self._store.log.open(solid.span).read(solid.pos, _HEAD_SIZE)
        size, magic = head[:4], head[4:]
        return size == left.to_bytes(4, "big") and magic == MAGIC_BLANK.to_bytes(
            4, "big", signed=True
        )

    def _close_file(self, base: int, pos: int) -> None:
        """Complete a file that is not the last, whose records must reach to its end."""
        self._swallow = False
        end = base + self._file_size
        if pos < end:
            self._add_hole(pos, end, str(DamageKind.TRUNCATED), to_file_end=True)
            self._placement.hole(end - pos)

    def _missing_files(self, start: int, end: int) -> None:
        if (end - start) // self._file_size > MISSING_FILES_MAX:
            # A broker continues after the gap, so no placeholders are written for so many files.
            self._placement.hole(end - start)
            return
        for base in range(start, end, self._file_size):
            self._add_hole(base, base + self._file_size, "missing_file", to_file_end=True)
            self._placement.hole(self._file_size)

    def _finish(self, base: int, pos: int) -> None:
        self.end = pos
        while self.holes and self.holes[-1].to_file_end and self.holes[-1].end >= self.end:
            # No readable record follows: a broker would also cut here.
            self.cut = self.holes.pop()
            self._starts.pop()
            self.end = self.cut.start
        if self._swallow and self.holes and self.holes[-1].end == self.end:
            self.cut = self.holes.pop()
            self._starts.pop()
            self.end = self.cut.start
        for placed in self._placement.finish():
            self._place(placed)
        for key in self._store.queues():
            self._old_tail(key)

    def _read(self, log_offset: int, size: int) -> bytes:
        number = bisect_right(self._log.files, log_offset, key=lambda place: place[0]) - 1
        base, span = self._log.files[number]
        return self._store.log.open(span).read(log_offset - base, size)

    def _add_hole(self, start: int, end: int, reason: str, *, to_file_end: bool) -> None:
        if len(self.holes) >= HOLES_MAX:
            raise StoreError(
                f"more than {HOLES_MAX} damaged places up to log offset {start}, too many to "
                "repair; extract the records with `store carve`"
            )
        self.holes.append(Hole(start, end, reason, to_file_end, self._stamp, [], end - start))
        self._starts.append(start)

    def _place(self, placed: PlacedEntry) -> None:
        """Note which messages before a record are lost, from its place in its queue."""
        if placed.copy or placed.log_offset in self._taken_back:
            return
        mine = self._hole_at(placed.log_offset)
        if mine is not None:
            # Only its body is lost: it keeps its place.
            self._place_message(LostMessage(*placed.key, placed.queue_offset), mine)
        elif placed.queue_offset != placed.claimed:
            record = self._store.log.record_at(placed.log_offset)
            self._fix(record, placed.log_offset, "queue_offset", placed.queue_offset)
        first = placed.queue_offset - min(placed.gap, MESSAGES_MAX)
        for k in range(first, placed.queue_offset):
            message = LostMessage(*placed.key, k)
            entry = self._old_entry((message.topic, message.queue_id), k)
            hole = None if entry is None else self._hole_at(entry.log_offset)
            if hole is None and entry is not None and self._take_back(message, entry):
                continue
            self._place_message(message, hole or self._hole_between(placed, message))

    def _old_entry(self, key: QueueKey, queue_offset: int) -> CqEntry | None:
        view = self._placement.view(key)
        try:
            return None if view is None else view.entry(queue_offset)
        except StoreError:
            return None

    def _take_back(self, message: LostMessage, entry: CqEntry) -> bool:
        """Correct a record that names another queue than the old entry that points at it.

        Nothing is corrected if another old entry also points at the record.
        """
        log_offset = entry.log_offset
        try:
            record = self._store.log.record_at(log_offset)
        except StoreError:
            return False
        if self._is_claimed(record, log_offset):
            return False
        if record.size != entry.size or len(record.topic) != len(message.topic):
            return False
        self._taken_back.add(log_offset)
        self.fixes.pop((log_offset, "queue_offset"), None)
        self._fix(record, log_offset, "topic", message.topic)
        self._fix(record, log_offset, "queue_id", message.queue_id)
        self._fix(record, log_offset, "queue_offset", message.queue_offset)
        return True

    def _is_claimed(self, record: Record, log_offset: int) -> bool:
        """Return whether the old entry of the queue that a record names points at it."""
        entry = self._old_entry((record.topic, record.queue_id), record.queue_offset)
        return entry is not None and entry.log_offset == log_offset

    def _owner(self, record: Record, log_offset: int) -> Record | None:
        """Return the record with its right topic and queue, if an old entry shows them."""
        for topic, queue_id in self._store.queues():
            if len(topic) == len(record.topic):
                entry = self._old_entry((topic, queue_id), record.queue_offset)
                if entry is not None and (entry.log_offset, entry.size) == (
                    log_offset,
                    record.size,
                ):
                    return record._replace(topic=topic, queue_id=queue_id)
        return None

    def _fix(self, record: Record, log_offset: int, name: str, new: int | str) -> None:
        old: int | str = getattr(record, name)
        if old == new:
            return
        spans = layout_of(record.magic).spans(self._read(log_offset, record.size))
        span = next(span for span in spans if span.field.name == name)
        value = (
            new.encode() if isinstance(new, str) else new.to_bytes(span.size, "big", signed=True)
        )
        self.fixes[log_offset, name] = Fix(log_offset, span.pos, name, old, new, value)

    def _place_message(self, message: LostMessage, hole: Hole | None) -> None:
        if hole is None or self._message_count >= MESSAGES_MAX:
            if len(self.unplaced) < MESSAGES_MAX:
                self.unplaced.append(message)
            return
        hole.messages.append(message)
        hole.room -= _placeholder_size(message, hole)
        self._message_count += 1

    def _hole_at(self, log_offset: int) -> Hole | None:
        number = bisect_right(self._starts, log_offset) - 1
        if number < 0 or log_offset >= self.holes[number].end:
            return None
        return self.holes[number]

    def _hole_between(self, placed: PlacedEntry, message: LostMessage) -> Hole | None:
        """Return a hole with room for ``message``, before a record and after the one before it."""
        first = bisect_left(self._starts, placed.after)
        last = bisect_left(self._starts, placed.log_offset)
        between = (self.holes[number] for number in range(first, last))
        return next(
            (hole for hole in between if hole.room >= _placeholder_size(message, hole)), None
        )

    def _old_tail(self, key: QueueKey) -> None:
        """Find the lost messages at the end of a queue, by its old entries."""
        view, row = self._store.queue(*key), self._placement.rows.get(key)
        start = row.next if row is not None and row.next is not None else view.start_offset
        first, count = -1, 0
        for queue_offset, entry in view.entries(start):
            hole = self._hole_at(entry.log_offset) if 0 < entry.size < FILLER_SIZE else None
            if first < 0 and hole is not None:
                self._place_message(LostMessage(*key, queue_offset), hole)
            elif first < 0 and self._take_back(LostMessage(*key, queue_offset), entry):
                continue
            elif self._is_beyond(entry):
                first = queue_offset if first < 0 else first
                count += 1
            elif first >= 0 or row is not None or entry.log_offset >= self._log.min_offset:
                break
        if count:
            self.beyond.append((LostMessage(*key, first), count))

    def _is_beyond(self, entry: CqEntry) -> bool:
        """Return whether an old entry is sound and points at a record after the end."""
        reach = self.end + MISSING_FILES_MAX * self._file_size
        return (
            RECORD_SIZE_MIN <= entry.size <= self._file_size
            and self.end <= entry.log_offset < reach
        )


def _placeholder_size(message: LostMessage, hole: Hole) -> int:
    return placeholder_size(message, hole.stamp or Stamp(0, bytes(8)))
