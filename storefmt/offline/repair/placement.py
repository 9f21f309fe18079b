"""Decides which queue entry each record of a log gets, as the dispatch of a broker would.

    record says queue offset 7 ── 7 is next, or its old entry is there ──> entry 7
                                └ else: wait for the next record of this queue to tell
                                        whether a record is missing, the topic was made
                                        again (0, 1, …), or the field is damaged

Rule: the offsets within a queue have no gaps. No CRC covers the queue offset of a record, so a
single offset out of order is not believed; two in a row are believed, and so is an offset whose
old entry points at the record. Records of prepared and rolled back transactions get no entry, and
delayed records have their delivery time in place of the hash of the tag.

Source: store/ConsumeQueue.java#putMessagePositionInfo, #multiDispatchLmqQueue,
store/CommitLog.java#checkMessageAndReturnSize, store/DefaultMessageStore.java
#CommitLogDispatcherBuildConsumeQueue (4.9.7).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

from storefmt.errors import BadCall, StoreError
from storefmt.formats.javahash import tags_code
from storefmt.formats.message import RECORD_SIZE_MIN, Record
from storefmt.formats.properties import DELAY, TAGS, parse_properties
from storefmt.names import SCHEDULE_TOPIC, is_light, parse_delay_levels
from storefmt.offline.verify.missing import is_known_topic
from storefmt.offline.views.config import LMQ_OFFSETS, ConfigTables, read_config
from storefmt.offline.views.matching import copies_of, has_entry
from storefmt.offline.views.opened import Opened
from storefmt.offline.views.queues import QueueView
from storefmt.offline.views.tree import QueueKey
from storefmt.paths import check_topic_name

TOPIC_SIZE_MAX: Final = 255
_DELAY_UNKNOWN_MS: Final = 1000
_TAGS: Final = f"{TAGS}\x01".encode()


class Placed(NamedTuple):
    """One entry of a queue.

    Attributes:
        slot: the queue offset that the entry gets.
        claimed: the queue offset in the record; it differs from ``slot`` if the field is damaged.
        copy: whether this is an additional entry, in a queue of a multi-dispatch.
        gap: number of entries before this one that have no record; ``after`` is the log offset
            of the record before those, -1 for none.
    """

    key: QueueKey
    slot: int
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
    suspect: Placed | None = None


@dataclass(slots=True)
class Placement:
    """Decides the queue entries of each record, in log order.

    Attributes:
        store: its old queues are evidence, and its config shows which topics were deleted.
        delays_ms: delay of each level, in ms, as ``parse_delays`` gives them.
        log_min: log offset of the first byte of the log.
        deleted: topics whose records get no queue, and how many there were.
        notes: sentences about records whose queue offset was not believed.
    """

    store: Opened
    delays_ms: dict[int, int]
    log_min: int
    deleted: dict[str, int] = field(default_factory=dict)
    bad_names: dict[str, int] = field(default_factory=dict)
    rows: dict[QueueKey, _Row] = field(default_factory=dict)
    lost_size: int = 0
    _light: bool = False
    _known: dict[str, bool] = field(default_factory=dict)
    _config: ConfigTables = field(default_factory=ConfigTables)

    def __post_init__(self) -> None:
        self._light = self.store.paths.config_file(LMQ_OFFSETS).is_file()
        self._config = read_config(self.store)
        self._known = dict.fromkeys((topic for topic, _ in self.store.tree.queues), True)

    def hole(self, size: int) -> None:
        """Note that ``size`` bytes of the log are lost, so that records may be missing."""
        self.lost_size += size

    def record(self, record: Record, log_offset: int) -> Iterator[Placed]:
        """Yield the entries that this record makes certain, which may be earlier ones."""
        for placed in self.claims(record, log_offset):
            yield from self.take(placed)

    def claims(self, record: Record, log_offset: int) -> Iterator[Placed]:
        """Yield the entries that a record claims, whether they are believed or not."""
        if not has_entry(record):
            return
        code = self.tags_code(record)
        for topic, queue_ids, queue_offset in copies_of(record):
            key = topic, self._copy_queue(topic, queue_ids)
            if is_name(topic):
                yield Placed(key, queue_offset, log_offset, record.size, code, queue_offset, True)
        key, k = (record.topic, record.queue_id), record.queue_offset
        yield Placed(key, k, log_offset, record.size, code, k, False)

    def take(self, placed: Placed) -> Iterator[Placed]:
        """Yield the entries that the next claim of its queue makes certain."""
        if placed.copy or self._has_queue(*placed.key):
            yield from self._take(placed)

    def take_run(self, key: QueueKey, first: int, count: int, last_log_offset: int) -> bool:
        """Accept claims that follow one another from entry ``first`` on, or none of them.

        Args:
            last_log_offset: of the last of them.
        """
        row = self.rows.get(key)
        if row is None or row.suspect is not None or row.next != first:
            return False
        row.next = first + count
        row.last_log_offset, row.lost_size = last_log_offset, self.lost_size
        return True

    def finish(self) -> Iterator[Placed]:
        """Yield the entries that still waited for the next record of their queue."""
        for row in self.rows.values():
            yield from self._settle(row, None)

    def tags_code(self, record: Record) -> int:
        """Return the tags code of the record's entry."""
        if record.topic == SCHEDULE_TOPIC:
            properties = parse_properties(record.properties_raw)
            level = _level(properties.get(DELAY, ""))
            level = min(level, max(self.delays_ms, default=0))
            if level > 0:
                return record.store_ms + self.delays_ms.get(level, _DELAY_UNKNOWN_MS)
            return tags_code(properties.get(TAGS))
        raw = record.properties_raw
        start = raw.find(_TAGS)
        if start < 0:
            return 0
        # Nearly always it is there once, and no other name ends with it.
        if (start == 0 or raw[start - 1] == 2) and raw.find(_TAGS, start + 1) < 0:
            stop = raw.find(b"\x02", start)
            tag = raw[start + len(_TAGS) : stop if stop >= 0 else len(raw)]
            return tags_code(str(tag, "utf-8", "replace"))
        return tags_code(record.tags)

    def view(self, key: QueueKey) -> QueueView | None:
        """Return the old queue, None where there is none."""
        return self.store.queue(*key) if key in self.store.tree.queues else None

    def _copy_queue(self, topic: str, queue_ids: tuple[int, ...]) -> int:
        """Return the queue of a copy: the record's own, or 0 for light queues."""
        for queue_id in queue_ids:
            if (topic, queue_id) in self.store.tree.queues:
                return queue_id
        return 0 if self._light and is_light(topic) else queue_ids[0]

    def _has_queue(self, topic: str, queue_id: int) -> bool:
        if queue_id < 0 or not is_name(topic):
            self.bad_names[topic] = self.bad_names.get(topic, 0) + 1
            return False
        known = self._known.get(topic)
        if known is None:
            known = self._known[topic] = is_known_topic(topic, self._config)
        if not known:
            self.deleted[topic] = self.deleted.get(topic, 0) + 1
        return known

    def _take(self, placed: Placed) -> Iterator[Placed]:
        row = self.rows.get(placed.key)
        if row is None:
            row = self.rows[placed.key] = _Row()
        if row.suspect is not None:
            yield from self._settle(row, placed)
        if placed.slot == row.next or self._is_plausible(row, placed):
            yield self._accept(row, placed)
        else:
            row.suspect = placed

    def _accept(self, row: _Row, placed: Placed) -> Placed:
        # Where the log begins at 0, so did every queue.
        before = 0 if row.next is None and self.log_min == 0 else row.next
        row.next = placed.slot + 1
        if before is not None and placed.slot > before:
            placed = placed._replace(gap=placed.slot - before, after=row.last_log_offset)
        row.last_log_offset = placed.log_offset
        row.lost_size = self.lost_size
        return placed

    def _is_plausible(self, row: _Row, placed: Placed) -> bool:
        k = placed.slot
        if k < 0 or k * RECORD_SIZE_MIN > placed.log_offset + RECORD_SIZE_MIN:
            return False
        if row.next is None:
            if k == 0 or self._is_old_entry(placed, k):
                return True
            return self.log_min > 0 or self.lost_size > 0
        if self._is_old_entry(placed, k):
            # A topic that was deleted and made again, or records that were lost.
            return True
        return 0 < (k - row.next) * RECORD_SIZE_MIN <= self.lost_size - row.lost_size

    def _settle(self, row: _Row, following: Placed | None) -> Iterator[Placed]:
        """Decide about a record with an unexpected offset, now that the next one is known."""
        suspect, row.suspect = row.suspect, None
        if suspect is None:
            return
        expected = row.next
        if following is not None and following.slot == suspect.slot + 1:
            slot = suspect.slot
        elif following is not None and following.slot == expected:
            # The row goes on without it: an old copy of some record.
            return
        elif expected is None:
            slot = max(0, following.slot - 1) if following is not None else 0
        elif following is None and suspect.slot == 0 and not self._is_old_entry(suspect, expected):
            slot = 0
        else:
            slot = expected
        if slot >= 0 and slot * RECORD_SIZE_MIN <= suspect.log_offset + RECORD_SIZE_MIN:
            yield self._accept(row, suspect._replace(slot=slot))

    def _is_old_entry(self, placed: Placed, slot: int) -> bool:
        view = self.view(placed.key)
        if view is None:
            return False
        try:
            entry = view.entry(slot)
        except StoreError:
            return False
        return entry.log_offset == placed.log_offset and entry.size == placed.size


# Asked for every record; topics are few.
@lru_cache(maxsize=4096)
def is_name(topic: str) -> bool:
    """Return whether a topic may become the name of a directory."""
    try:
        check_topic_name(topic, size_max=TOPIC_SIZE_MAX)
    except BadCall:
        return False
    return True


def parse_delays(text: str) -> dict[int, int]:
    """Return the delay in ms of each level of a ``messageDelayLevel``, from 1.

    Raises:
        BadCall: a part is not a number and a unit.
    """
    return dict(enumerate(parse_delay_levels(text), 1))


def _level(text: str) -> int:
    return int(text) if len(text) < 10 and text.isascii() and text.isdigit() else 0
