"""The timer: messages enter the wheel, and leave it when their time has come.

    rmq_sys_wheel_timer   | 5 | 6 | 7 | 8 |           queue offset: the next one to enter
    wheel                 | 10:00:04 | 10:00:05 | …   read: the slot that is delivered next

Rule: a slot is delivered when its tick has ended, oldest message first. Messages are put in groups,
and the next group is put when the one before is safe, as a message that was sent. So at any moment
everything before the queue offset is in the wheel or delivered, and everything in slots before
``read_ms`` is delivered. ``flush_job`` makes one such moment durable, after the commit log. What
was delivered after that moment is found in the log when the broker starts (``delivered``).

A message enters the wheel before any slot is delivered that is due at the same time, unless
``BACKLOG_MAX`` messages wait to enter: so a recall that was acknowledged before the time holds.

The wheel has room for two weeks, and messages wait in it for two days (timerRollWindowSlot) or two
thirds of the time that the log keeps its files, whichever is less. Later ones are
stored again then, so that their record is not deleted with its file.

All times are those of the wall clock, because producers and the files give times of this kind. If
the clock is set back, slots that have ended stay ended, as in 5.4.0.
Source: store/timer/TimerMessageStore.java (5.4.0).
"""

import logging
from collections.abc import Callable
from typing import Final, NamedTuple

from mqserver.broker.broker_context import BrokerContext, OwnPuts
from mqserver.broker.intervals import while_used
from mqserver.broker.queue_records import QueueRecords
from mqserver.broker.serving.cold_reads import WarmUp
from mqserver.broker.timer.delivered import Delivered, first_uncounted
from mqserver.broker.timer.draining import Draining, check_unit
from mqserver.broker.timer.metrics import TimingCounts
from mqserver.broker.timer.timer_messages import (
    AT_ONCE_MS,
    SPARE_SLOTS,
    TimerMessage,
    delivery,
    read_timer_message,
    roll,
    roll_message,
    timer_message,
)
from mqserver.broker.undelivered import route_waiting
from mqserver.runtime.periodic import Services, Wake
from mqserver.runtime.request import RequestRefused
from mqserver.store.disk.nowait import ColdRead, no_wait
from mqserver.store.results import PutMessage
from mqserver.store.timer.timer_files import TimerFiles, TimerFlush
from remoting.codes import ResponseCode
from storefmt.errors import RecordDamaged
from storefmt.formats.javahash import string_hash
from storefmt.formats.message import decode_record
from storefmt.formats.timer import NO_POS, SLOT_COUNT, TimerCheckpoint, TimerUnit
from storefmt.names import TIMER_TOPIC

LOG = logging.getLogger(__name__)

GROUP_COUNT: Final = 128
"""Messages that are put before sends and pulls can run: about 5 ms."""
ENTER_COUNT: Final = 256
"""Messages that enter the wheel before sends and pulls can run: about 5 ms."""
CHAIN_COUNT: Final = 2_048
"""Units of a slot that are read before sends and pulls can run."""
EMPTY_COUNT: Final = 10_000
"""Slots without a message that are passed at once."""
BACKLOG_MAX: Final = 10_000
DELIVER_MS: Final = 50
TAIL_STEPS: Final = 8
RETRY_MS: Final = 1_000
CLOCK_BACK_MS: Final = 3_600_000
"""How far the clock may have been set back; a checkpoint from a later time is damaged."""
DOUBT_MS: Final = 3_600_000
"""How much of what a checkpoint without a sum counts as delivered is looked up in the log."""
SAVE_READ_MS: Final = 60_000
"""How far the slot to read may be ahead of the saved one while no message is delivered."""
_COUNTED: Final = frozenset({ResponseCode.SUCCESS, ResponseCode.FLUSH_DISK_TIMEOUT})


class _Leaving(NamedTuple):
    """A message that leaves the wheel, or the queue before it."""

    place: int
    """Position of its unit, or its queue offset if it has none."""
    topic: str
    """Its real topic if the metrics count it; "" otherwise."""
    message: PutMessage | None
    """What is put; None if it is recalled, lost or already delivered."""


class TimerService:
    """Delivers the timer messages of one broker.

    Args:
        context: the parts of the broker; the store has the messages and the files.
        puts: stores messages under their real topic.
    """

    def __init__(self, context: BrokerContext, puts: OwnPuts) -> None:
        self.metrics = TimingCounts()
        self.delivered_count = 0
        """How many messages this broker has put under their real topic, or stored again."""
        self._context, self._puts, self._store = context, puts, context.store
        self._config = context.config.store
        self._precision_ms = self._config.timer_precision_ms
        self._queue = QueueRecords(context.store, TIMER_TOPIC, 0, name="the timer")
        self._wake: Wake = lambda: None
        self._has_removed = False
        self._running: TimerFlush | None = None
        self._forget()

    def schedule(self, services: Services) -> None:
        """Deliver messages periodically, and again at once while there are more."""
        interval_ms = while_used(self._store, DELIVER_MS, TIMER_TOPIC)
        self._wake = services.every(
            interval_ms, self.deliver_due, name="timer messages", first_ms=0
        )

    def deliver_due(self, now_ms: int) -> bool:
        """Do one ``step`` on a master that accepts messages; return whether there is more to do.

        Raises:
            OSError: a file of the timer cannot be read, written or removed.
        """
        if self._store.is_copy:
            self.stand_down()
            return False
        return not self._puts.refusal() and self.step(now_ms)

    def _forget(self) -> None:
        self._files: TimerFiles | None = None
        self._tail: Delivered | None = None
        self._is_caught_up = False
        self._done_until = (0, 0)
        self.queue_offset = 0
        """Queue offset of the next message that enters the wheel."""
        self.read_ms = 0
        """The slot that is delivered next, as epoch ms."""
        self._write_ms = 0
        self._counted_until_ms = 0
        self._slot: Draining | None = None
        self._group_log_offset: int | None = None
        """Log offset before the group that waits until it is safe; None without such a group."""
        self._look_ms = 0
        self._warm_up = WarmUp(self._context.cold, self._look_now)
        self._flushing: TimerFlush | None = None
        self._flushed: tuple[int, int, int] | None = None
        self._flushed_ms = 0
        self._version = TimerCheckpoint()

    # State.

    def checkpoint(self) -> TimerCheckpoint:
        """Return the progress as the file has it."""
        return TimerCheckpoint(
            last_read_ms=self.read_ms,
            log_flush_pos=0 if self._files is None else self._files.log.end,
            queue_offset=self.queue_offset,
            master_queue_offset=self.queue_offset,
            state_version=self._version.state_version,
            version_ms=self._version.version_ms,
            version_counter=self._version.version_counter,
        )

    def close(self) -> None:
        """Close the files; a later ``step`` opens them again."""
        if self._files is not None:
            self._files.close()
        self._forget()

    def stand_down(self) -> None:
        """Deliver nothing while another broker is the master; a later ``step`` starts over.

        The log of a slave follows that of its master, so files of its own would not fit it when
        it becomes the master; they are removed, and built again then.

        Raises:
            OSError: the disk refused to remove them.
        """
        if self._running is not None:
            return
        if self._files is not None:
            self.close()
        if self._context.config.is_slave and not self._has_removed:
            self._has_removed = True
            self.metrics.reset()
            if self._store.remove_timer_files():
                LOG.info("removed the files of the timer, because this broker is a slave")

    def step(self, now_ms: int) -> bool:
        """Let messages enter and leave the wheel; return whether there is more to do now.

        Call it every 50 ms, and again after other requests as long as it returns True.

        Raises:
            OSError: a file of the timer cannot be read or written.
        """
        if not self._config.timer_wheel_enable or self._group_log_offset is not None:
            return False
        if self._files is None and not self._open(now_ms):
            return False
        if not self._is_caught_up:
            return self._catch_up()
        if now_ms < self._look_ms:
            return False
        self._write_ms = max(self._write_ms, self._floor(now_ms))
        try:
            return self._enter_and_deliver(now_ms)
        except ColdRead as cold:
            self._warm(cold, now_ms)
            return False

    def _enter_and_deliver(self, now_ms: int) -> bool:
        more = self._enter(now_ms)
        if self._group_log_offset is not None:
            return False
        backlog = self._store.max_offset(TIMER_TOPIC, 0) - self.queue_offset
        if more and backlog < BACKLOG_MAX:
            return True
        return self._deliver(now_ms) or more

    def _floor(self, at_ms: int) -> int:
        return at_ms - at_ms % self._precision_ms

    # Start.

    def _open(self, now_ms: int) -> bool:
        """Open the files once there is a message; return whether there is one."""
        if not self._store.has(TIMER_TOPIC, 0):
            return False
        self._has_removed = False
        self._write_ms = self._floor(now_ms)
        self._files = self._store.timer_files()
        self._begin(self._files)
        return True

    def _begin(self, files: TimerFiles) -> None:
        """Take over the progress of the files, or start over with the whole queue."""
        point, tick_ms = files.checkpoint, self._precision_ms
        # Slots further back may already have messages of the next round.
        oldest_ms = self._write_ms - (SLOT_COUNT - SPARE_SLOTS) * tick_ms
        if point.last_read_ms and point.last_read_ms < oldest_ms:
            files.lost = f"the timer did not run for longer than {SLOT_COUNT} slots"
        elif point.queue_offset > self._store.max_offset(TIMER_TOPIC, 0):
            files.lost = f"the queue has fewer messages than the checkpoint ({point.queue_offset})"
        elif point.last_read_ms > self._write_ms + CLOCK_BACK_MS:
            files.lost = f"the checkpoint was written at {point.last_read_ms} ms, in the future"
        if files.lost:
            files.remove()
            point = files.checkpoint
            LOG.warning("rebuilding the files of the timer: %s", files.lost)
            self.metrics.reset()
        self._version = point
        self.queue_offset = point.queue_offset
        self.read_ms = self._floor(point.last_read_ms) or self._write_ms
        self._counted_until_ms = self.read_ms
        counted = files.delivered_log_offset if point.last_read_ms else self._store.min_log_offset
        if counted is None:
            # Nothing confirms the number, and if it is too high, messages are lost.
            self.read_ms = max(self._floor(point.last_read_ms - DOUBT_MS), oldest_ms)
        self._tail = Delivered(self._store, first_uncounted(self._store, counted, self.read_ms))
        self._done_until = self._write_ms, self._store.max_offset(TIMER_TOPIC, 0)
        self._slot, self._flushed, self._flushing = None, None, None
        self._is_caught_up = False

    def _catch_up(self) -> bool:
        """Read the log for deliveries that the checkpoint does not count; True until the end."""
        tail = self._tail
        assert tail is not None
        for _ in range(TAIL_STEPS):
            if not tail.step():
                self._is_caught_up = True
                if tail.count:
                    LOG.info("timer: found %d more deliveries in the log", tail.count)
                break
        return True

    # Messages enter the wheel.

    def _enter(self, now_ms: int) -> bool:
        """Let the next messages enter the wheel; return whether there are more."""
        files = self._files
        assert files is not None
        count = 0
        while count < ENTER_COUNT:
            records = self._queue.next(self.queue_offset, may_wait=self._warm_up.may_wait)
            self._warm_up.succeeded()
            self.queue_offset = self._queue.next_offset
            if not records:
                break
            late: list[_Leaving] = []
            for record in records:
                waiting = read_timer_message(record)
                is_over = waiting is None or self._is_done(waiting)
                if waiting is None or is_over or waiting.out_ms >= self._write_ms:
                    if late:
                        break
                    if waiting is not None and not is_over:
                        self._enter_one(files, waiting)
                    self.queue_offset = record.queue_offset + 1
                else:
                    late.append(self._late(waiting, now_ms))
                count += 1
            if late:
                self._put_group(late, self._entered_late, now_ms)
                return True
        return count >= ENTER_COUNT

    def _late(self, waiting: TimerMessage, now_ms: int) -> _Leaving:
        """Return a message that is due before it entered the wheel."""
        recalled = self._tail and self._tail.was_recalled(waiting)
        if recalled or waiting.deletes is not None:
            return _Leaving(waiting.record.queue_offset, "", None)
        message = delivery(waiting, enqueue_ms=AT_ONCE_MS, now_ms=now_ms)
        self._route(message, waiting, now_ms)
        return _Leaving(waiting.record.queue_offset, "", message)

    def _route(self, message: PutMessage, waiting: TimerMessage, now_ms: int) -> None:
        topic, log_offset = waiting.topic, waiting.record.log_offset
        route_waiting(self._context, message, topic=topic, log_offset=log_offset, now_ms=now_ms)

    def _entered_late(self, group: list[_Leaving]) -> None:
        self.queue_offset = group[-1].place + 1

    def _is_done(self, waiting: TimerMessage) -> bool:
        """Return whether a message entered the wheel or was delivered before a crash."""
        files, tail = self._files, self._tail
        assert files is not None
        if waiting.record.log_offset in files.replayed:
            return True
        return tail is not None and tail.takes(waiting)

    def _enter_one(self, files: TimerFiles, waiting: TimerMessage) -> None:
        record = waiting.record
        due_ms, is_roll = roll(waiting.out_ms, self._write_ms, config=self._config)
        is_deletion = waiting.deletes is not None
        files.enter(
            due_ms=due_ms,
            write_ms=self._write_ms,
            log_offset=record.log_offset,
            size=record.size,
            topic_hash=string_hash(waiting.topic),
            is_roll=is_roll,
            is_deletion=is_deletion,
        )
        self.metrics.add(waiting.topic, -1 if is_deletion else 1, now_ms=self._write_ms)

    # Messages leave the wheel.

    def _deliver(self, now_ms: int) -> bool:
        """Deliver some messages of the slots that have ended; return whether there is more."""
        files = self._files
        assert files is not None
        for _ in range(EMPTY_COUNT):
            if self._slot is None and not self._next_slot(files):
                return False
            if self._slot is not None:
                return self._drain(files, self._slot, now_ms)
        return True

    def _next_slot(self, files: TimerFiles) -> bool:
        """Begin with the next slot, or pass an empty one; return False if none has ended."""
        if self.read_ms >= self._write_ms:
            self._drop_tail(files)
            return False
        slot = files.wheel.get(self.read_ms // self._precision_ms)
        if slot is None or slot.last_pos == NO_POS:
            self.read_ms += self._precision_ms
        else:
            self._slot = Draining(slot, log_offset=self._store.written_offset)
        return True

    def _drop_tail(self, files: TimerFiles) -> None:
        """Forget earlier deliveries when everything that they may be about has been read."""
        read_ms, queue_offset = self._done_until
        if self._tail and self.read_ms >= read_ms and self.queue_offset >= queue_offset:
            self._tail = None
            files.replayed.clear()

    def _drain(self, files: TimerFiles, slot: Draining, now_ms: int) -> bool:
        try:
            if not slot.is_read:
                self._read_chain(files, slot)
                return True
            if not slot.positions:
                self._slot = None
                self.read_ms += self._precision_ms
                return True
            group = [
                self._leaving(files, slot, pos, now_ms)
                for pos in reversed(slot.positions[-GROUP_COUNT:])
            ]
        except RecordDamaged as error:
            if self._running is not None:
                # A thread still writes to the files that have to go.
                self._look_ms = now_ms + RETRY_MS
                return False
            self._rebuild(files, str(error))
            return True
        self._put_group(group, self._left, now_ms)
        return True

    def _left(self, group: list[_Leaving]) -> None:
        if self._slot is not None:
            del self._slot.positions[-len(group) :]
        for leaving in group:
            if leaving.topic:
                self.metrics.add(leaving.topic, -1, now_ms=self._write_ms)

    def _read_chain(self, files: TimerFiles, slot: Draining) -> None:
        """Read the next units of a slot, the newest ones first, and what they delete.

        Raises:
            RecordDamaged: the files of the timer do not fit together.
        """
        for _ in range(CHAIN_COUNT):
            unit = slot.next_unit(files.log, precision_ms=self._precision_ms)
            if unit is None:
                return
            if unit.is_deletion:
                waiting = self._waiting_at(unit, slot)
                if waiting is not None and waiting.deletes is not None:
                    slot.recalls.add(waiting.topic, waiting.deletes)
            else:
                slot.positions.append(slot.next_pos)
            slot.passed(unit)

    def _rebuild(self, files: TimerFiles, reason: str) -> None:
        """Build the damaged files again from the queue; what was delivered is found in the log."""
        files.lost = reason
        files.remove()
        self._begin(files)

    def _leaving(self, files: TimerFiles, slot: Draining, pos: int, now_ms: int) -> _Leaving:
        """Return the message to put for a unit, or none if it is recalled or delivered.

        Raises:
            RecordDamaged: the unit is not of the message that it names.
        """
        unit = files.log.read(pos)
        waiting = None if unit is None else self._waiting_at(unit, slot)
        if unit is None or waiting is None:
            return _Leaving(pos, "", None)
        message, topic = None, waiting.topic
        if self._tail is not None and self._tail.takes(waiting):
            # The metrics do not count what was delivered before the checkpoint.
            topic = topic if self.read_ms >= self._counted_until_ms else ""
        elif unit.is_roll:
            message = roll_message(waiting, enqueue_ms=unit.enqueue_ms, now_ms=now_ms)
        elif not slot.recalls.has(waiting):
            message = delivery(waiting, enqueue_ms=unit.enqueue_ms, now_ms=now_ms)
        if message is not None:
            self._route(message, waiting, now_ms)
        return _Leaving(pos, topic, message)

    def _waiting_at(self, unit: TimerUnit, slot: Draining) -> TimerMessage | None:
        """Return the message of a unit; None if the log no longer has it.

        Raises:
            RecordDamaged: the unit is not of the message that it names.
            ColdRead: it is not in the page cache; its neighbours are read with it.
        """
        try:
            with no_wait(not self._warm_up.may_wait):
                data = self._store.reader.read_record(unit.log_offset)
        except ColdRead as cold:
            cold.then = self._warm_next(slot)
            raise
        self._warm_up.succeeded()
        if unit.log_offset < self._store.min_log_offset:
            LOG.error(
                "timer message at log offset %d was deleted with its log file", unit.log_offset
            )
            return None
        record = None if data is None else decode_record(data)
        waiting = None if record is None else timer_message(record)
        check_unit(unit, topic=waiting and waiting.topic, size=record.size if record else 0)
        return waiting

    def _put_group(
        self, group: list[_Leaving], safe: Callable[[list[_Leaving]], None], now_ms: int
    ) -> None:
        """Put messages, and call ``safe`` with those that were put when they are safe.

        The others are put again later, and so are all if the store undoes them.
        """
        self._group_log_offset = self._store.written_offset
        put_count, count = 0, 0
        for leaving in group:
            if leaving.message is not None and not self._put_one(leaving.message, now_ms):
                self._look_ms = now_ms + RETRY_MS
                break
            count += leaving.message is not None
            put_count += 1
        put = group[:put_count]

        def ended(code: ResponseCode) -> None:
            if self._files is None or self._group_log_offset is None:
                return
            self._group_log_offset = None
            if code not in _COUNTED:
                LOG.warning("the timer waits, because its messages were not stored (code %d)", code)
                self._look_ms = now_ms + RETRY_MS
            elif put:
                self.delivered_count += count
                safe(put)
            self._wake()

        if count:
            self._puts.when_safe(ended)
        else:
            ended(ResponseCode.SUCCESS)

    def _put_one(self, message: PutMessage, now_ms: int) -> bool:
        """Put a message; return False if that has to be tried again."""
        try:
            self._puts.deliver(message, now_ms)
        except RequestRefused as refused:
            if refused.code != ResponseCode.MESSAGE_ILLEGAL:
                LOG.warning("the timer waits: %s", refused)
                return False
            LOG.error("skipped a timer message for %s: %s", message.topic, refused)
        return True

    # Cold reads.

    def _warm(self, cold: ColdRead, now_ms: int) -> None:
        """Go on when a thread has brought the bytes into the page cache."""

        self._look_ms = now_ms + RETRY_MS
        self._warm_up.begin(cold)

    def _look_now(self, now_ms: int) -> None:
        self._look_ms = 0
        self._wake()

    def _warm_next(self, slot: Draining) -> Callable[[bytes], None]:
        """Return what reads the messages of the next group into the page cache, in a thread."""
        files = self._files
        assert files is not None
        units = [files.log.read(pos) for pos in slot.positions[-GROUP_COUNT:]]
        parts = [(unit.log_offset, unit.record_size) for unit in units if unit is not None]
        return lambda data: self._store.reader.warm_parts(parts)

    # Progress on the disk.

    def flush_job(self, now_ms: int, *, at_end: bool = False) -> TimerFlush | None:
        """Return the job that makes the progress durable, when it is time and the log is there.

        Call it every 200 ms, and with ``at_end`` when the broker stops. Run the job in a thread,
        then pass it to ``end_flush``. An OSError says that a file of the timer cannot be read.
        """
        if self._files is None or not self._is_caught_up:
            return None
        if self._flushing is None or at_end:
            is_early = now_ms - self._flushed_ms < self._config.timer_flush_interval_ms
            if (is_early and not at_end) or not self._has_progress():
                return None
            self._begin_flush(self._files, now_ms)
        if self._flushing is None or self._flushing.log_offset > self._store.flushed_offset:
            return None
        self._running = self._flushing
        return self._running

    def _has_progress(self) -> bool:
        if self._flushed is None:
            return True
        *counts, read_ms = self._flushed
        has_counted = counts != [self.queue_offset, self.delivered_count]
        return has_counted or self.read_ms - read_ms >= SAVE_READ_MS

    def _begin_flush(self, files: TimerFiles, now_ms: int) -> None:
        self._flushed_ms = now_ms
        written = self._store.written_offset
        offsets = [written]
        if self._group_log_offset is not None:
            offsets.append(self._group_log_offset)
        if self._slot is not None:
            offsets.append(self._slot.log_offset)
        if self._tail is not None:
            offsets.append(self._tail.log_offset)
        self._version = self._version._replace(
            version_ms=now_ms, version_counter=self._version.version_counter + 1
        )
        files.drop_before(lambda log_offset: log_offset < self._store.min_log_offset)
        if self._flushing is not None:
            self._flushing.error = OSError("replaced by a newer one")
            files.end_flush(self._flushing)
        self._flushing = files.flush(self.checkpoint(), delivered=min(offsets), log_offset=written)
        self._flushed = self.queue_offset, self.delivered_count, self.read_ms

    def end_flush(self, job: TimerFlush) -> None:
        """Note how a job ended; if it failed, the next one does its work."""
        self._flushing = self._running = None
        if job.error is not None:
            LOG.error("could not write the files of the timer: %s", job.error)
            self._flushed = None
        if self._files is not None:
            self._files.end_flush(job)
