"""Delayed messages: they wait in the schedule topic until they are due.

    put:      topic, queue -> SCHEDULE_TOPIC_XXXX, queue level - 1
              properties   -> + REAL_TOPIC, REAL_QID     tag code -> due time (ms)
    due:      record read, put again under its real topic, delay offset of the level advanced

Rule: no message is delivered early or lost. A message is due when the delay of its level has
passed since it was stored. The steady clock measures that, so changing the wall clock of a
running broker makes no message early or late. For messages stored before the start, the stored
times are compared with the wall clock at the start; in any case such a message is due at most one
delay after the start. All times in this module are of the steady clock, except ``store_ms``.

``ClockSkew`` compares the two clocks to notice that the wall clock was changed:

    wall    10:00:00  10:00:01 │ 11:00:01  11:00:02      it is set forward an hour
    steady       100       101 │      101       102
    skew           a         a │   a + 1h    a + 1h

A store time cannot lie in the future. So of the skews of the last minutes, a message gets the one
that gives the latest store time that is not in the future. If every skew gives a time in the
future, the message counts as stored now. Steps of less than a tenth of a second are ignored.

The delay offset of a level advances only when the delivered message is safe. It is saved only
when that message is on the disk, even with ASYNC_FLUSH, so it is never ahead of the log. After a
crash it may be behind; then ``delivered`` finds the newer deliveries in the log, and they are not
repeated. The messages of a level are delivered in order.

Source: store/schedule/ScheduleMessageService.java, store/CommitLog.java#asyncPutMessage.
"""

import logging
import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Final

from mqserver.broker.broker_context import BrokerContext, OwnPuts
from mqserver.broker.delay.delivered import DeliveredTail, restore_message
from mqserver.broker.intervals import while_used
from mqserver.broker.queue_records import QueueRecords
from mqserver.broker.serving.cold_reads import WarmUp
from mqserver.broker.undelivered import route_waiting
from mqserver.runtime.clock import Times, read_together
from mqserver.runtime.observers import Observers
from mqserver.runtime.periodic import Services, Wake
from mqserver.runtime.request import RequestRefused
from mqserver.store.disk.nowait import ColdRead
from mqserver.store.results import DispatchEntry, PutMessage
from remoting.codes import ResponseCode
from storefmt.config.tables import DelayOffsets
from storefmt.formats.message import Record
from storefmt.formats.properties import (
    DELAY,
    REAL_QUEUE_ID,
    REAL_TOPIC,
    TIMER_NAMES,
    in_java_order,
)
from storefmt.names import SCHEDULE_TOPIC

LOG = logging.getLogger(__name__)


STEP_MS: Final = 100
LATELY_MS: Final = 600_000
"""Longest time from when a message gets its store time to when it is dispatched."""
_MARGIN_MS: Final = 250


class ClockSkew:
    """The skews (wall clock minus steady clock, ms) of a running broker, the present one last."""

    def __init__(self, times: Times) -> None:
        self.stepped = Observers[[int]]()
        """Called with the ms by which the wall clock was changed."""
        self._skews = [times.now_ms - times.steady_ms]
        self._ended_ms: list[int] = []
        """When each skew except the last one ended, by the steady clock."""

    @property
    def now_ms(self) -> int:
        """The present skew in ms."""
        return self._skews[-1]

    def observe(self, times: Times) -> None:
        """Compare both clocks; call this many times a second."""
        skew_ms = times.now_ms - times.steady_ms
        step_ms = skew_ms - self._skews[-1]
        if abs(step_ms) >= STEP_MS:
            self._ended_ms.append(times.steady_ms)
            self._skews.append(skew_ms)
            self.stepped(step_ms)
        while self._ended_ms and times.steady_ms - self._ended_ms[0] > LATELY_MS:
            del self._ended_ms[0], self._skews[0]

    def of(self, store_ms: int, *, steady_ms: int) -> int:
        """Return the skew (ms) that was valid when a message got its store time.

        Args:
            store_ms: the store time of the message, by the wall clock.
            steady_ms: the present time; the message was just dispatched.
        """
        until_ms = steady_ms + _MARGIN_MS
        fits = [skew_ms for skew_ms in self._skews if store_ms - skew_ms <= until_ms]
        return min(fits, default=store_ms - steady_ms)


TURN_COUNT_MAX: Final = 128
"""Messages that a level delivers before sends and pulls can run: about 2 ms."""
TAIL_SIZE_MAX: Final = 64 << 20
"""Bytes by which the log may grow, without deliveries, before the saved log offset is renewed.
So a start after a crash reads only about this much of the log to find deliveries."""
TAIL_STEPS: Final = 8
"""Steps of that reading before sends and pulls can run: about 2 ms."""
DELIVER_MS: Final = 50
RETRY_MS: Final = 1_000
"""How long a level waits after the store refused a message."""
_FOR_EVER: Final = (1 << 63) - 1
_SCHEDULE_BYTES: Final = SCHEDULE_TOPIC.encode()
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,20}")


class DelayLevels:
    """The delay of each level, from level 1 on, in ms."""

    def __init__(self, delays_ms: Sequence[int]) -> None:
        self._delays_ms = tuple(delays_ms)

    @property
    def highest(self) -> int:
        """The last level, which also replaces every higher one."""
        return len(self._delays_ms)

    def delay_ms(self, level: int) -> int:
        """Return the delay of a level in ms."""
        return self._delays_ms[level - 1]

    def level_of(self, text: str) -> int:
        """Return the level that the text of a DELAY property asks for, 0 for no delay.

        Raises:
            RequestRefused: the text is not an int32.
        """
        if _NUMBER.fullmatch(text) is None or not -(1 << 31) <= int(text) < 1 << 31:
            remark = f'java.lang.NumberFormatException: For input string: "{text[:80]}"'
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, remark + ", property DELAY")
        return min(max(int(text), 0), self.highest)


def redirect(
    message: PutMessage, named: Mapping[str, str], *, level: int, delay_ms: int, now_ms: int
) -> None:
    """Change a message into one that waits in the schedule topic.

    Args:
        message: changed in place.
        named: its properties in the map's insertion order, WAIT included.
        level: delay level, from 1 to the highest.
        delay_ms: delay of the level.
        now_ms: when the message is stored; the tag code is this plus the delay.
    """
    # A delay level goes first, as in 5.x, which then removes the properties of a timer.
    changed = {name: value for name, value in named.items() if name not in TIMER_NAMES}
    if int(changed[DELAY]) != level:
        changed[DELAY] = str(level)
    changed[REAL_TOPIC] = message.topic
    changed[REAL_QUEUE_ID] = str(message.queue_id)
    message.properties = in_java_order(changed).encode()
    message.topic, message.topic_bytes = SCHEDULE_TOPIC, _SCHEDULE_BYTES
    message.queue_id = level - 1
    message.tags_code = now_ms + delay_ms


@dataclass(slots=True)
class _DelayLevel:
    level: int
    delay_ms: int
    records: QueueRecords
    warm_up: WarmUp
    queue_offset: int
    """Queue offset of the first message that was not put again yet."""
    skews: deque[tuple[int, int]]
    """Queue offset from which a skew applies, and that skew (ms), for store times."""
    live_from: int = _FOR_EVER
    """Queue offset of the first message that was stored since the start."""
    look_ms: int = 0
    """When the queue is read next."""
    head_offset: int = -1
    head_due_ms: int = 0
    """When the message at ``head_offset`` is due, computed when it is first read."""


class DelayService:
    """Delivers the delayed messages of one broker.

    Args:
        context: the parts of the broker; the store has the schedule topic.
        puts: stores restored messages.
        levels: the delay of each level.
        stored: the content of delayOffset.json; None if there is no file.
    """

    def __init__(
        self,
        context: BrokerContext,
        puts: OwnPuts,
        *,
        levels: DelayLevels,
        stored: DelayOffsets | None,
    ) -> None:
        self._context = context
        self._puts = puts
        self._wake: Wake = lambda: None
        store, times = context.store, read_together(context.clock)
        self._started_ms = times.steady_ms
        self.skew = skew = ClockSkew(times)
        """The differences between the wall clock and the steady clock; ``observe`` them also while
        the broker does not call ``deliver``."""
        offsets = {} if stored is None else stored.offsets
        self._levels = [
            _DelayLevel(
                level,
                levels.delay_ms(level),
                QueueRecords(store, SCHEDULE_TOPIC, level - 1, name=f"delay level {level}"),
                WarmUp(context.cold, partial(self._look_now, level)),
                queue_offset=max(0, offsets.get(level, 0)),
                skews=deque([(0, skew.now_ms)]),
            )
            for level in range(1, levels.highest + 1)
        ]
        self._safe = dict(offsets)
        self._unsafe: deque[int] = deque()
        """Log offsets of the deliveries that are not safe yet, in the order of the puts."""
        log_offset = None if stored is None else stored.log_offset
        if log_offset is None:
            # The real broker wrote the file. What it delivered after that is delivered again, as
            # it would do itself; deliveries from here on are found.
            log_offset = store.flushed_offset
        self._durable = DelayOffsets(dict(offsets), log_offset=log_offset)
        self._settling: tuple[int, DelayOffsets] | None = None
        self.is_caught_up = False
        """Whether the log was read for earlier deliveries, so that this broker may deliver."""
        self._tail: DeliveredTail | None = None
        self.change_count = 0
        """Increases whenever the result of ``durable_offsets`` changes."""

    def schedule(self, services: Services) -> None:
        """Deliver messages periodically, and again at once while there are more."""
        interval_ms = while_used(self._context.store, DELIVER_MS, SCHEDULE_TOPIC)
        self._wake = services.every(
            interval_ms, self.deliver_due, name="delayed messages", first_ms=0
        )

    def deliver_due(self, now_ms: int) -> bool:
        """Deliver on a master that accepts messages; return whether there is more to do."""
        if self._context.store.is_copy:
            return False
        times = read_together(self._context.clock)
        if self._puts.refusal():
            self.skew.observe(times)
            return False
        count = self.deliver(times)
        if count:
            self._puts.commit_soon()
        return not self.is_caught_up or (count > 0 and self.next_look_ms() <= times.steady_ms)

    def offsets(self) -> DelayOffsets:
        """Return the delay offset of every level that has delivered, counting safe messages."""
        log_offset = self._durable.log_offset
        if self.is_caught_up:
            log_offset = min([self._context.store.written_offset, *islice(self._unsafe, 1)])
        return DelayOffsets(dict(sorted(self._safe.items())), log_offset=log_offset)

    def durable_offsets(self) -> DelayOffsets:
        """Return the delay offsets that may be saved: the disk has all deliveries they count."""
        return self._durable

    def look_again(self) -> None:
        """Read every level soon, because this broker delivers messages from now on."""
        self.is_caught_up = False
        for level in self._levels:
            level.look_ms = 0

    def adopt(self, delay_offsets: DelayOffsets) -> None:
        """Adopt a master's delay offsets where they are higher; this log has all they count."""
        is_further = False
        for level in self._levels:
            queue_offset = delay_offsets.offsets.get(level.level, 0)
            if queue_offset > self._safe.get(level.level, 0):
                self._move(level, queue_offset)
                is_further = True
        # The master's log offset is right only together with the master's delay offsets.
        log_offset = delay_offsets.log_offset if self._safe == delay_offsets.offsets else None
        if is_further or log_offset not in (None, self._durable.log_offset):
            self._durable = DelayOffsets(dict(sorted(self._safe.items())), log_offset=log_offset)
            self.change_count += 1

    def settle(self) -> None:
        """Let delay offsets count as durable once the log is flushed far enough; call it often."""
        if not self.is_caught_up:
            return
        # A second pass follows if there were more deliveries, and the log is flushed up to them.
        while self._settling is not None or self._is_unsettled():
            if self._settling is None:
                self._settling = self._context.store.written_offset, self.offsets()
            log_offset, safe = self._settling
            if log_offset > self._context.store.flushed_offset:
                return
            self._durable, self._settling = safe, None
            self.change_count += 1

    def _is_unsettled(self) -> bool:
        """Return whether delay offsets changed, or the log grew by ``TAIL_SIZE_MAX`` without."""
        saved, now = self._durable, self.offsets()
        if saved.offsets != now.offsets or saved.log_offset is None or now.log_offset is None:
            return True
        return now.log_offset - saved.log_offset >= TAIL_SIZE_MAX

    def stranded(self) -> dict[int, int]:
        """Return by level how many messages wait in levels that messageDelayLevel no longer has."""
        counts = {}
        for topic, queue_id in self._context.store.queues():
            level = queue_id + 1
            if topic == SCHEDULE_TOPIC and level > len(self._levels):
                count = self._context.store.max_offset(topic, queue_id) - self._safe.get(level, 0)
                if count > 0:
                    counts[level] = count
        return counts

    def dispatched(self, entries: list[DispatchEntry]) -> None:
        """Note the delayed messages that became visible."""
        # A look at each entry would cost a broker without delayed messages for nothing.
        if not self._context.store.has(SCHEDULE_TOPIC):
            return
        times: Times | None = None
        for entry in entries:
            if entry.topic == SCHEDULE_TOPIC:
                times = times or read_together(self._context.clock)
                self.arrived(
                    entry.queue_id, entry.queue_offset, store_ms=entry.store_ms, times=times
                )

    def arrived(self, queue_id: int, queue_offset: int, *, store_ms: int, times: Times) -> None:
        """Note that a message was stored in a queue of the schedule topic.

        Args:
            queue_id: level - 1.
            queue_offset: of the message, in entries.
            store_ms: its store time, by the wall clock.
            times: both clocks now.
        """
        self.skew.observe(times)
        if queue_id >= len(self._levels):
            return
        level = self._levels[queue_id]
        level.live_from = min(level.live_from, queue_offset)
        skew_ms = self.skew.of(store_ms, steady_ms=times.steady_ms)
        if skew_ms != level.skews[-1][1]:
            level.skews.append((queue_offset, skew_ms))
        if level.head_offset < 0:
            level.look_ms = min(level.look_ms, store_ms - skew_ms + level.delay_ms)

    def next_look_ms(self) -> int:
        """Return when ``deliver`` has to be called next, in ms of the steady clock."""
        return min(level.look_ms for level in self._levels)

    def deliver(self, times: Times) -> int:
        """Put every due message under its real topic; return how many. Call it every 50 ms."""
        self.skew.observe(times)
        if not self.is_caught_up and not self._catch_up():
            return 0
        return sum(
            self._deliver_level(level, times)
            for level in self._levels
            if level.look_ms <= times.steady_ms
        )

    def _catch_up(self) -> bool:
        """Skip what the log shows as delivered; return False while there is more to read."""
        if self._tail is None and self._durable.log_offset is not None:
            levels = [level.level for level in self._levels]
            self._tail = DeliveredTail(self._context.store, self._durable, levels)
        if self._tail is not None:
            for _ in range(TAIL_STEPS):
                if not self._tail.step():
                    break
            else:
                return False
            offsets, self._tail = self._tail.offsets(), None
            for level in self._levels:
                count = offsets.get(level.level, 0) - self._safe.get(level.level, 0)
                if count > 0:
                    LOG.info(
                        "delay level %d: found %d more deliveries in the log", level.level, count
                    )
                    self._move(level, offsets[level.level])
        self.is_caught_up = True
        return True

    def _move(self, level: _DelayLevel, queue_offset: int) -> None:
        """Let a level continue at a queue offset; everything before it was delivered."""
        level.queue_offset = self._safe[level.level] = queue_offset
        level.head_offset = -1

    def _deliver_level(self, level: _DelayLevel, times: Times) -> int:
        count, steady_ms = 0, times.steady_ms
        while count < TURN_COUNT_MAX:
            try:
                records = self._read(level)
            except ColdRead as cold:
                self._warm(level, cold, steady_ms)
                return count
            for record in records:
                due_ms = self._due_ms(level, record)
                if due_ms > steady_ms:
                    level.look_ms = due_ms
                    return count
                if not self._deliver_record(level, record, times.now_ms):
                    level.look_ms = steady_ms + RETRY_MS
                    return count
                count += 1
            if not records:
                # No message waits, so the next one to come is due one delay from now at the
                # earliest.
                level.head_offset = -1
                level.look_ms = steady_ms + level.delay_ms
                return count
        level.look_ms = steady_ms
        return count

    def _warm(self, level: _DelayLevel, cold: ColdRead, steady_ms: int) -> None:
        """Read the level again when a thread has brought its bytes into the page cache."""

        level.look_ms = steady_ms + RETRY_MS
        level.warm_up.begin(cold)

    def _look_now(self, number: int, now_ms: int) -> None:
        self._levels[number - 1].look_ms = 0
        self._wake()

    def _read(self, level: _DelayLevel) -> list[Record]:
        """Return the next waiting records, and skip queue offsets that do not exist.

        Raises:
            ColdRead: the records are not in the page cache.
        """
        records = level.records.next(level.queue_offset, may_wait=level.warm_up.may_wait)
        level.warm_up.succeeded()
        level.queue_offset = level.records.next_offset
        if self._safe.get(level.level, 0) > level.queue_offset:
            # Otherwise the next start would skip the messages between the two offsets.
            self._safe[level.level] = level.queue_offset
        return records

    def _due_ms(self, level: _DelayLevel, record: Record) -> int:
        if level.head_offset != record.queue_offset:
            skews = level.skews
            while len(skews) > 1 and skews[1][0] <= record.queue_offset:
                skews.popleft()
            stored_ms = record.store_ms - skews[0][1]
            if record.queue_offset < level.live_from:
                stored_ms = min(stored_ms, self._started_ms)
            level.head_offset = record.queue_offset
            level.head_due_ms = stored_ms + level.delay_ms
        return level.head_due_ms

    def _deliver_record(self, level: _DelayLevel, record: Record, now_ms: int) -> bool:
        message = restore_message(record)
        next_offset, log_offset = record.queue_offset + 1, self._context.store.written_offset
        if message is None:
            LOG.error(
                "skipped the delayed message at log offset %d, which names no topic or queue",
                record.log_offset,
            )
        else:
            try:
                route_waiting(
                    self._context,
                    message,
                    topic=message.topic,
                    log_offset=record.log_offset,
                    now_ms=now_ms,
                )
                log_offset = self._puts.deliver(message, now_ms).log_offset
            except RequestRefused as refused:
                LOG.warning("delay level %d cannot deliver yet: %s", level.level, refused)
                return False
        level.queue_offset = next_offset
        self._unsafe.append(log_offset)
        self._puts.when_safe(lambda code: self._delivered(level, next_offset, log_offset, code))
        return True

    def _delivered(
        self, level: _DelayLevel, next_offset: int, log_offset: int, code: ResponseCode
    ) -> None:
        self._unsafe.remove(log_offset)
        if code is ResponseCode.SUCCESS:
            self._safe[level.level] = max(next_offset, self._safe.get(level.level, 0))
        elif next_offset <= level.queue_offset:
            level.queue_offset = next_offset - 1
            level.look_ms = 0
            level.head_offset = -1
