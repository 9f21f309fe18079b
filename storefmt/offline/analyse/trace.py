"""Finds every record of a store that belongs to one message, in the order of time.

    unique key ─┐                                  ┌─> every record with its unique key
    key ────────┼─> index, then uncovered log ──> ids ─> ops of its half messages
    offset id ──┘   (nothing there: the whole log)     └─> copies in other queues

Rule: the index gives candidates, and the record decides. The parts of the log that no index file
covers are read; if the index finds nothing, the whole log is read, and ``notes`` say so. A message
without a unique key is followed by the offset id that its retries carry.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from storefmt.errors import NotInStore, StoreError
from storefmt.formats.consumequeue import is_ext_address
from storefmt.formats.message import Record
from storefmt.formats.properties import (
    KEY_SEPARATOR,
    NAME_VALUE_SEPARATOR,
    ORIGIN_MESSAGE_ID,
    PROPERTY_SEPARATOR,
)
from storefmt.names import HALF_TOPIC, OP_HALF_TOPIC, SCHEDULE_TOPIC, TopicKind, kind_of
from storefmt.offline.analyse.message_history import (
    StepKind,
    describe,
    detail_of,
    own_topic,
)
from storefmt.offline.views.lookup import TIME_MAX_MS, by_offset_id, gaps, record_or_none
from storefmt.offline.views.matching import copies_of
from storefmt.offline.views.store_view import StoreView
from storefmt.offline.views.tree import QueueKey

LogRange = tuple[int, int | None]
"""Log offsets (bytes) from the first up to the second; None for the end of the log."""
IDS_MAX: Final = 256
"""Largest number of messages that is followed for one key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceStep:
    """One step; ``at_ms`` is when it was stored, ``due_ms`` when a delay ends (0 for none).

    Attributes:
        record: the record that shows the step; for ``copy`` the one that is copied.
        queue: (topic, queue id, queue offset) under which readers find it.
        decides: (queue id, queue offset) of the half message that an op is about.
    """

    step: StepKind
    at_ms: int
    record: Record
    queue: tuple[str, int, int]
    detail: str
    due_ms: int = 0
    decides: tuple[tuple[int, int], ...] = ()


@dataclass(slots=True)
class TraceResult:
    """The steps of a message in time order, and notes on how they were found."""

    steps: list[TraceStep]
    notes: list[str]


Scanning = Callable[[frozenset[str], list[LogRange]], Iterable[Record]]
"""Returns the records of some ranges of the log that ``pattern_of`` some words matches; the result
may contain others as well."""


def trace(
    store: StoreView,
    which: str,
    *,
    topic: str | None = None,
    scan: bool = False,
    scanning: Scanning | None = None,
) -> TraceResult:
    """Return the steps of the messages that ``which`` names.

    Args:
        which: an offset id, a unique key, or a key of the user.
        topic: only messages that were sent to this topic.
        scan: read the whole log, whatever the index contains.
        scanning: reads the log, for example on Spark; None to read it in this process.

    Raises:
        NotInStore: no record has it.
    """
    search = _Search(store, topic, scanning or partial(_walked, store))
    first = by_offset_id(store, which)
    if first is not None and topic in (None, own_topic(first)):
        search.add([first])
    else:
        search.look([which], scan=scan)
        if not search.records and not scan:
            search.look([which], scan=True)
    if not search.records:
        of = f" of topic {topic}" if topic else ""
        raise NotInStore(
            f"no message{of} with id or key {which!r} in {store.root}; the index and the whole "
            "log were read"
        )
    own = [r for r in search.records.values() if kind_of(r.topic) is not TopicKind.TRACE]
    ids = sorted({unique for r in own if (unique := r.unique_key)})
    if len(ids) > IDS_MAX:
        search.notes.append(f"{len(ids)} messages have this key; only {IDS_MAX} are followed")
    if ids and (ids != [which] or first is not None):
        search.look(ids[:IDS_MAX], scan=scan)
    anonymous = [r.msg_id for r in own if not r.unique_key]
    if anonymous:
        search.notes.append("the message has no unique key; the whole log was read for its retries")
        search.look(anonymous, scan=True)
    # A request to delete a timer has another key: it lies after it in the timer's queue.
    for waiting in [r for r in own if kind_of(r.topic) is TopicKind.TIMER and r.unique_key]:
        search.add(_recalls(store, waiting))
    records = sorted(search.records.values(), key=lambda r: (r.store_ms, r.log_offset))
    steps = _steps(store, records)
    return TraceResult(steps, [*search.notes, *_pending(steps)])


@dataclass(slots=True)
class _Search:
    """Collects records by the ids in them."""

    store: StoreView
    topic: str | None
    scanning: Scanning
    records: dict[int, Record] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, records: Iterable[Record]) -> None:
        """Keep records of the topic, and the trace records of clients about them."""
        for record in records:
            if self.topic in (None, own_topic(record)) or kind_of(record.topic) is TopicKind.TRACE:
                self.records.setdefault(record.log_offset, record)

    def look(self, words: list[str], *, scan: bool) -> None:
        """Add every record that has one of ``words`` as key, unique key or origin."""
        keys = frozenset(words)
        covered: list[tuple[int, int]] = []
        if not scan:
            covered = self._index(keys)
        ranges = list(gaps(self.store, covered))
        end = self.store.log.end
        size = sum((end if stop is None else stop) - start for start, stop in ranges)
        if size > 0:
            self._say(covered, size)
            records = self.scanning(keys, ranges)
            self.add(record for record in records if _names(record, keys))

    def _say(self, covered: list[tuple[int, int]], size: int) -> None:
        note = (
            f"{size} bytes of the log that no index file covers were read"
            if covered
            else f"the index has no entry; the whole log, {size} bytes, was read"
        )
        if note not in self.notes:
            self.notes.append(note)

    def _index(self, keys: frozenset[str]) -> list[tuple[int, int]]:
        covered = []
        topics = sorted({topic for topic, _ in self.store.queues()} | {HALF_TOPIC})
        for view in self.store.index_files:
            try:
                header, offsets = view.header, set[int]()
                for topic in topics:
                    for word in keys:
                        list(view.chain(topic, word))
                        offsets.update(
                            view.offsets(
                                topic, word, begin_ms=0, end_ms=TIME_MAX_MS, count_max=1 << 30
                            )
                        )
            except StoreError:
                # A damaged file covers nothing: the log itself is read there.
                continue
            covered.append((header.begin_log_offset, header.end_log_offset))
            for log_offset in sorted(offsets):
                record = record_or_none(self.store, log_offset)
                if record is not None and _names(record, keys):
                    self.add([record])
        return covered


def pattern_of(words: Iterable[str]) -> str:
    """Return an expression (of ``re`` and of RE2) for properties that have one of ``words``.

    It is the whole value of a property, or one of several between blanks.
    """
    either = "|".join(re.escape(word) for word in sorted(words))
    before = f"[{NAME_VALUE_SEPARATOR}{KEY_SEPARATOR}]"
    return f"{before}(?:{either})(?:[{PROPERTY_SEPARATOR}{KEY_SEPARATOR}]|$)"


def _walked(store: StoreView, wanted: frozenset[str], ranges: list[LogRange]) -> Iterator[Record]:
    quick = re.compile(pattern_of(wanted).encode("utf-8", "replace"))
    for start, end in ranges:
        for record in store.log.sound_records(start, end):
            if quick.search(record.properties_raw):
                yield record


def _names(record: Record, wanted: frozenset[str]) -> bool:
    if record.unique_key in wanted or not wanted.isdisjoint(record.keys):
        return True
    delay = describe(record).delay
    if delay is not None and delay.deletes in wanted:
        return True
    return record.properties.get(ORIGIN_MESSAGE_ID) in wanted


def _steps(store: StoreView, records: list[Record]) -> list[TraceStep]:
    steps = []
    for record in records:
        history = describe(record)
        steps.append(
            TraceStep(
                step=history.step,
                at_ms=record.store_ms,
                record=record,
                queue=(record.topic, record.queue_id, record.queue_offset),
                detail=detail_of(record, history),
                due_ms=_due_ms(store, record, history.due_ms),
            )
        )
        steps += _copies(store, record)
    steps += _decisions(store, records)
    return sorted(steps, key=lambda s: (s.at_ms, s.record.log_offset, s.step is StepKind.COPY))


def _due_ms(store: StoreView, record: Record, said: int) -> int:
    """Return when a wait ends, by the queue of the level or else by the record."""
    if record.topic != SCHEDULE_TOPIC or not said:
        return said
    try:
        view = store.queue(record.topic, record.queue_id)
        code = view.entry(record.queue_offset).tags_code
        if is_ext_address(code):
            unit = view.ext_unit(code)
            code = unit.tags_code if unit is not None else 0
    except StoreError:
        # The queue is damaged or not dispatched yet: the level still says how long.
        return said
    return code if code > 0 else said


def _copies(store: StoreView, record: Record) -> Iterator[TraceStep]:
    for topic, queue_ids, queue_offset in copies_of(record):
        there = [number for number in queue_ids if (topic, number) in store.tree.queues]
        yield TraceStep(
            step=StepKind.COPY,
            at_ms=record.store_ms,
            record=record,
            queue=(topic, there[0] if there else queue_ids[0], queue_offset),
            detail=f"one more entry, in queue {topic}" + ("" if there else ", which is gone"),
        )


def _decisions(store: StoreView, records: list[Record]) -> Iterator[TraceStep]:
    """Yield the op records that decide the half messages among ``records``."""
    halves = {(r.queue_id, r.queue_offset): r for r in records if r.topic == HALF_TOPIC}
    committed = {
        r.prepared_transaction_offset for r in records if describe(r).step is StepKind.COMMIT
    }
    given_up = {r.unique_key for r in records if describe(r).step is StepKind.GIVEN_UP}
    for queue_id in sorted({queue_id for queue_id, _ in halves}):
        open_ones = {offset for number, offset in halves if number == queue_id}
        first = min(r.log_offset for (number, _), r in halves.items() if number == queue_id)
        for op in _behind(store, (OP_HALF_TOPIC, queue_id), first):
            for offset in sorted(open_ones.intersection(describe(op).half_queue_offsets)):
                half = halves[queue_id, offset]
                if half.log_offset in committed:
                    step, fate = StepKind.OP, "committed"
                elif half.unique_key in given_up:
                    step, fate = StepKind.OP, "given up"
                else:
                    step, fate = StepKind.ROLLBACK, "rolled back"
                yield TraceStep(
                    step=step,
                    at_ms=op.store_ms,
                    record=op,
                    queue=(op.topic, op.queue_id, op.queue_offset),
                    detail=f"half message {offset} is decided: {fate}",
                    decides=((queue_id, offset),),
                )
                open_ones.discard(offset)
            if not open_ones:
                break


def _recalls(store: StoreView, waiting: Record) -> Iterator[Record]:
    """Yield the records that cancel a waiting timer, until it is due."""
    due_ms = describe(waiting).due_ms
    for record in _behind(store, (waiting.topic, waiting.queue_id), waiting.log_offset):
        if record.store_ms > due_ms:
            return
        delay = describe(record).delay
        if delay is not None and delay.deletes == waiting.unique_key:
            yield record


def _behind(store: StoreView, key: QueueKey, after: int) -> Iterator[Record]:
    """Yield the records of a queue that lie after a log offset."""
    if key not in store.tree.queues:
        return
    view = store.queue(*key)
    low, high = view.start_offset, view.max_offset
    while low < high:
        middle = (low + high) // 2
        try:
            earlier = view.entry(middle).log_offset < after
        except StoreError:
            # A file of the queue is missing: begin at its start, and skip the gap.
            low = view.start_offset
            break
        low, high = (middle + 1, high) if earlier else (low, middle)
    for _, entry in view.entries(low):
        record = record_or_none(store, entry.log_offset)
        if record is not None:
            yield record


def _pending(steps: list[TraceStep]) -> Iterator[str]:
    """Yield a sentence for each message whose transaction has not ended."""
    halves = {
        s.record.unique_key: s for s in steps if s.step in (StepKind.HALF, StepKind.HALF_CHECK)
    }
    ended = {s.record.unique_key for s in steps if s.step in (StepKind.COMMIT, StepKind.GIVEN_UP)}
    decided = {offset for s in steps if s.step is StepKind.ROLLBACK for offset in s.decides}
    for key, newest in halves.items():
        if key not in ended and newest.queue[1:] not in decided:
            yield f"the transaction of {key} is pending: neither committed nor rolled back"
