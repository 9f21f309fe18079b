"""Decides which queue entry each record of a log gets, as the dispatch of a broker would.

    record ── the entries that it claims ── its queue may exist? ── believed? ──> PlacedEntry

Rule: ``storefmt.dispatch`` says which entries a record claims, and which claims are believed at
once or when the next record of the queue is known. The old queues are evidence.

Source: store/ConsumeQueue.java#putMessagePositionInfo, #multiDispatchLmqQueue,
store/CommitLog.java#checkMessageAndReturnSize, store/DefaultMessageStore.java
#CommitLogDispatcherBuildConsumeQueue (4.9.7).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from storefmt.dispatch.queue_offsets import (
    IsOldEntry,
    is_copy_believed,
    is_plausible,
    settle_claim,
)
from storefmt.dispatch.record_entries import DueTimes, copy_queue_id, is_queued, tags_code_of
from storefmt.errors import BadCall, StoreError
from storefmt.formats.message import Record
from storefmt.offline.verify.missing import is_known_topic
from storefmt.offline.views.config import ConfigTables, has_light_queues, read_config
from storefmt.offline.views.matching import copies_of
from storefmt.offline.views.queues import QueueView
from storefmt.offline.views.store_view import StoreView
from storefmt.offline.views.tree import QueueKey
from storefmt.paths import DIRECTORY_NAME_SIZE_MAX, check_topic_name


class PlacedEntry(NamedTuple):
    """One entry of a queue.

    Attributes:
        queue_offset: where the entry is put.
        claimed: the queue offset in the record; it differs if the field is damaged.
        copy: whether this is an additional entry, in a queue of a multi-dispatch.
        gap: number of entries before this one that have no record; ``after`` is the log offset
            of the record before those, -1 for none.
    """

    key: QueueKey
    queue_offset: int
    log_offset: int
    size: int
    tags_code: int
    claimed: int
    copy: bool
    gap: int = 0
    after: int = -1


@dataclass(slots=True)
class _Row:
    """The state of one queue while the log is read."""

    next: int | None = None
    last_log_offset: int = -1
    lost_size: int = 0
    suspect: PlacedEntry | None = None
    has_copies: bool = False
    """The old queue has a further entry of a multi-dispatch."""


@dataclass(slots=True)
class Placement:
    """Decides the queue entries of each record, in log order.

    Attributes:
        store: its old queues are evidence, and its config shows which topics were deleted.
        delays_ms: delay of each level, in ms, from level 1 on.
        log_min: log offset of the first byte of the log.
        deleted: topics whose records get no queue, and how many there were.
        copies: topics that records of other topics name without getting an entry, and how many.
        notes: sentences about records whose queue offset was not believed.
    """

    store: StoreView
    delays_ms: Sequence[int]
    log_min: int
    deleted: dict[str, int] = field(default_factory=dict)
    bad_names: dict[str, int] = field(default_factory=dict)
    copies: dict[str, int] = field(default_factory=dict)
    rows: dict[QueueKey, _Row] = field(default_factory=dict)
    lost_size: int = 0
    _light: bool = False
    _due: DueTimes = field(init=False)
    _known: dict[str, bool] = field(default_factory=dict)
    _config: ConfigTables = field(default_factory=ConfigTables)

    def __post_init__(self) -> None:
        self._due = DueTimes(self.delays_ms)
        self._light = has_light_queues(self.store)
        self._config = read_config(self.store)
        self._known = dict.fromkeys((topic for topic, _ in self.store.tree.queues), True)

    def hole(self, size: int) -> None:
        """Note that ``size`` bytes of the log are lost, so that records may be missing."""
        self.lost_size += size

    def record(self, record: Record, log_offset: int) -> Iterator[PlacedEntry]:
        """Yield the entries that this record makes certain, which may be earlier ones."""
        for placed in self.claims(record, log_offset):
            yield from self.place_claim(placed)

    def claims(self, record: Record, log_offset: int) -> Iterator[PlacedEntry]:
        """Yield the entries that a record claims, whether they are believed or not."""
        if not is_queued(record.sys_flag):
            return
        raw = record.properties_raw
        code = tags_code_of(record.topic, raw, record.store_ms, due=self._due)
        for topic, queue_ids, queue_offset in copies_of(record):
            key = topic, self._copy_queue(topic, queue_ids)
            if is_name(topic) and key != (record.topic, record.queue_id):
                yield PlacedEntry(
                    key, queue_offset, log_offset, record.size, code, queue_offset, True
                )
        key, k = (record.topic, record.queue_id), record.queue_offset
        yield PlacedEntry(key, k, log_offset, record.size, code, k, False)

    def place_claim(self, placed: PlacedEntry) -> Iterator[PlacedEntry]:
        """Yield the entries that the next claim of its queue makes certain."""
        if placed.copy or self._has_queue(*placed.key):
            yield from self._place(placed)

    def take_run(
        self, key: QueueKey, first: int, count: int, last_log_offset: int, *, has_copies: bool
    ) -> bool:
        """Accept claims that follow one another from entry ``first`` on, or none of them.

        Args:
            last_log_offset: of the last of them.
            has_copies: some are additional entries, in a queue of a multi-dispatch.
        """
        row = self.rows.get(key)
        if row is None or row.suspect is not None or row.next != first:
            return False
        if has_copies and not self._light and not row.has_copies:
            return False
        row.next = first + count
        row.last_log_offset, row.lost_size = last_log_offset, self.lost_size
        return True

    def finish(self) -> Iterator[PlacedEntry]:
        """Yield the entries that were still waiting for the next record of their queue."""
        for row in self.rows.values():
            yield from self._settle(row, None)

    def view(self, key: QueueKey) -> QueueView | None:
        """Return the old queue, None where there is none."""
        return self.store.queue(*key) if key in self.store.tree.queues else None

    def _copy_queue(self, topic: str, queue_ids: tuple[int, ...]) -> int:
        """Return the queue of a copy: the record's own, or 0 for light queues."""
        for queue_id in queue_ids:
            if (topic, queue_id) in self.store.tree.queues:
                return queue_id
        return copy_queue_id(topic, queue_ids[0], enable_lmq=self._light)

    def _has_queue(self, topic: str, queue_id: int) -> bool:
        if queue_id < 0 or not is_name(topic):
            self.bad_names[topic] = self.bad_names.get(topic, 0) + 1
            return False
        is_known = self._known.get(topic)
        if is_known is None:
            is_known = self._known[topic] = is_known_topic(topic, self._config)
        if not is_known:
            self.deleted[topic] = self.deleted.get(topic, 0) + 1
        return is_known

    def _place(self, placed: PlacedEntry) -> Iterator[PlacedEntry]:
        row = self.rows.get(placed.key)
        if row is None:
            row = self.rows[placed.key] = _Row()
        if placed.copy and not self._is_copy_believed(row, placed):
            self.copies[placed.key[0]] = self.copies.get(placed.key[0], 0) + 1
            return
        if row.suspect is not None:
            yield from self._settle(row, placed)
        if placed.queue_offset == row.next or self._is_plausible(row, placed):
            yield self._accept(row, placed)
        else:
            row.suspect = placed

    def _accept(self, row: _Row, placed: PlacedEntry) -> PlacedEntry:
        # If the log begins at 0, so did every queue.
        before = 0 if row.next is None and self.log_min == 0 else row.next
        row.next = placed.queue_offset + 1
        if before is not None and placed.queue_offset > before:
            placed = placed._replace(gap=placed.queue_offset - before, after=row.last_log_offset)
        row.last_log_offset = placed.log_offset
        row.lost_size = self.lost_size
        return placed

    def _is_copy_believed(self, row: _Row, placed: PlacedEntry) -> bool:
        old = self._old_entries(placed)
        row.has_copies = row.has_copies or old(placed.queue_offset)
        makes_copies = self._light or row.has_copies
        return is_copy_believed(placed, old, expected=row.next, makes_copies=makes_copies)

    def _is_plausible(self, row: _Row, placed: PlacedEntry) -> bool:
        return is_plausible(
            placed,
            self._old_entries(placed),
            expected=row.next,
            lost_size=self.lost_size - row.lost_size,
            is_late=self.log_min > 0 or self.lost_size > 0,
        )

    def _settle(self, row: _Row, following: PlacedEntry | None) -> Iterator[PlacedEntry]:
        """Decide about a record with an unexpected offset, now that the next one is known."""
        suspect, row.suspect = row.suspect, None
        if suspect is None:
            return
        old = self._old_entries(suspect)
        queue_offset = settle_claim(suspect, old, expected=row.next, following=following)
        if queue_offset is not None:
            yield self._accept(row, suspect._replace(queue_offset=queue_offset))

    def _old_entries(self, placed: PlacedEntry) -> IsOldEntry:
        """Return the test whether an entry of the old queue points at a record."""

        def is_old_entry(queue_offset: int) -> bool:
            view = self.view(placed.key)
            try:
                entry = None if view is None else view.entry(queue_offset)
            except StoreError:
                return False
            return entry is not None and entry[:2] == (placed.log_offset, placed.size)

        return is_old_entry


# Asked for every record; topics are few.
@lru_cache(maxsize=4096)
def is_name(topic: str) -> bool:
    """Return whether a topic may become the name of a directory."""
    try:
        check_topic_name(topic, size_max=DIRECTORY_NAME_SIZE_MAX)
    except BadCall:
        return False
    return True
