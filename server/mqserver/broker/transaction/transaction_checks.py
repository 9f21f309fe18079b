"""Check half messages without a decision: ask their producers, and give up in the end.

    every transactionCheckInterval, one round over the half messages that exist at its start:

    op topic   ──d 7──d 8──d 11──┐ read in order
    half topic   7  8  9  10  11 ┘ 7 8 11 decided; 9 old: written again and asked; 10 young: stop

Rule: a round passes a half message only when it is decided, written again or given up. This
progress is the consumer offsets of CID_RMQ_SYS_TRANS, as in Java, and it is committed only when
everything that the round wrote is on the disk. So after any stop of the broker the next round finds
every open half message again. An op message for the original follows the copy of a message that is
asked about, so that a round does not find both. A round keeps almost nothing for the next one and
works in steps of limited size; for a decided transaction it reads one small record. A step that
needs bytes that are not in the page cache ends, and the next one continues when a thread has read
them.

``judge`` decides what to do with a half message by its properties and its age alone. A round of
``run_round`` begins when the one before is on the disk, and ends when it is on the disk itself.

There are four differences from Java. Only questions count towards transactionCheckMax: a round
within the immunity time of a message, or while no producer of its group is connected, does not.
(Java counts every round, so it gives up messages of which it has never asked a producer.) The
others are for fewer double deliveries. Java writes no op message with a copy; it skips one
that it reads, as over any other. A decision for a message that was copied and not asked about is
kept until a round reaches the copy, also over a start. An op message of a second decision for the
same message does not block the progress in the op topic.

Source: broker/transaction/queue/TransactionalMessageServiceImpl.java#check,
#needDiscard, #needSkip, #getImmunityTime,
broker/transaction/AbstractTransactionalMessageCheckListener.java (4.9.7).
"""

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final, NamedTuple

from mqserver.broker.broker_context import BrokerContext, OwnPuts
from mqserver.broker.clients.consumer_offsets import NO_OFFSET
from mqserver.broker.serving.cold_reads import WarmUp
from mqserver.broker.transaction.check_requests import CheckRequests
from mqserver.broker.transaction.half_messages import (
    GROUP,
    QUEUE_ID,
    check_request,
    check_times,
    copy_half_message,
    count_check,
    discard_message,
    first_offset,
    is_half_message,
    keep_first_offset,
    op_half_offset,
    op_message,
    producer_group,
)
from mqserver.runtime.periodic import Services
from mqserver.runtime.request import RequestRefused
from mqserver.store.disk.nowait import ColdRead
from mqserver.store.results import GetStatus
from remoting.codes import ResponseCode
from remoting.command import Command
from storefmt.errors import RecordDamaged
from storefmt.formats.message import Record, decode_records
from storefmt.formats.properties import (
    CHECK_IMMUNITY_TIME_IN_SECONDS,
    REAL_TOPIC,
    TRANSACTION_CHECK_TIMES,
    parse_properties,
)
from storefmt.names import CHECK_MAX_TIME_TOPIC, HALF_TOPIC, OP_HALF_TOPIC

LOG = logging.getLogger(__name__)


HOUR_MS: Final = 3_600_000
_FOR_EVER_MS: Final = (1 << 63) - 1


class CheckRules(NamedTuple):
    """When a producer is asked, and how often."""

    timeout_ms: int
    """Age from which a half message is checked (transactionTimeOut)."""
    count_max: int
    """How often a producer is asked at most (transactionCheckMax)."""
    reserved_ms: int
    """Age at which the log deletes a message (fileReservedTime)."""
    retention_ms: int = _FOR_EVER_MS
    """The present time of the clock that the log uses for that; this clock does not jump."""


def check_rules(context: BrokerContext) -> CheckRules:
    """Return the rules of a broker as its settings are now."""
    config = context.config
    return CheckRules(
        config.transaction_time_out_ms,
        config.transaction_check_max,
        config.store.file_reserved_time_h * HOUR_MS,
        context.store.cleaner.policy.clock_ms,
    )


class CheckResult(Enum):
    """What a round does with a half message without a decision."""

    TOO_YOUNG = auto()
    """The round ends before it."""
    ASK = auto()
    """It is written again, and a producer is asked."""
    SPARE = auto()
    """It is within its immunity time, or no producer of its group is connected: it is written
    again, and no producer is asked."""
    GIVE_UP = auto()
    """Its producers were asked too often, or it is older than the log keeps messages."""
    SKIP = auto()
    """It is passed: it was decided by its copy, or it is not valid."""


def judge(
    record: Record, named: Mapping[str, str], *, rules: CheckRules, now_ms: int
) -> CheckResult:
    """Return what a round does with a half message without a decision.

    Args:
        record: the half message.
        named: its properties.
        rules: the limits of age and count.
        now_ms: its age counts up to here.

    Returns:
        GIVE_UP, SPARE, ASK or TOO_YOUNG.
    """
    if is_asked_enough(named, rules):
        return CheckResult.GIVE_UP
    age_ms = now_ms - record.born_ms
    if min(now_ms, rules.retention_ms) - record.born_ms > rules.reserved_ms:
        return CheckResult.GIVE_UP
    immunity = named.get(CHECK_IMMUNITY_TIME_IN_SECONDS)
    if immunity is not None:
        return CheckResult.SPARE if age_ms < _immunity_ms(immunity, rules) else CheckResult.ASK
    # If it was born in the future, a clock is wrong and the age is of no use, so ask.
    return CheckResult.TOO_YOUNG if 0 <= age_ms < rules.timeout_ms else CheckResult.ASK


def is_asked_enough(named: Mapping[str, str], rules: CheckRules) -> bool:
    """Return whether the producers were asked as often as allowed."""
    return TRANSACTION_CHECK_TIMES in named and check_times(named) >= rules.count_max


def _immunity_ms(text: str, rules: CheckRules) -> int:
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdecimal() or len(digits) > 18 or text == "-1":
        return rules.timeout_ms
    return int(text) * 1_000


STEP_COUNT_MAX: Final = 256
"""Most passes of the loop in a step; each one reads records or handles a half message."""
READ_COUNT: Final = 32
READ_SIZE: Final = 256 * 1024
OP_READ_COUNT: Final = 128


@dataclass(slots=True)
class _CheckRound:
    """The state of one round over the half topic; all offsets are queue offsets."""

    half_offset: int
    half_end: int
    op_offset: int
    """All ops before this one are for half messages that the round has passed."""
    op_read: int
    op_end: int
    resolved: dict[int, int] = field(default_factory=dict)
    """Offset of a half message -> offset of the op that decided it."""
    done: set[int] = field(default_factory=set)
    """Ops from ``op_offset`` on that are not needed any more."""
    ahead: deque[Record] = field(default_factory=deque)
    """Half messages that were read in advance."""
    failed: bool = False
    absent: Counter[str] = field(default_factory=Counter)
    """Producer groups without a connection, and how many of their half messages wait."""


class _Progress(NamedTuple):
    log_end: int
    half_offset: int
    op_offset: int


class TransactionChecks:
    """The checks of one broker.

    Args:
        context: the parts of the broker; the store has the half topic and the op topic, and the
            offsets of CID_RMQ_SYS_TRANS are the progress.
        puts: stores the copies of half messages.
        producers: are asked for their decisions.
        rules: returns the rules; called for each message, because settings may change.
    """

    def __init__(
        self,
        context: BrokerContext,
        puts: OwnPuts,
        producers: CheckRequests,
        *,
        rules: Callable[[BrokerContext], CheckRules] = check_rules,
    ) -> None:
        self._context = context
        self._puts = puts
        self._producers = producers
        self._rules = rules
        self._round: _CheckRound | None = None
        self._progress: deque[_Progress] = deque()
        self._unsafe_count = 0
        self._spared: set[int] = set()
        """First queue offsets, which producers know, of messages that were not asked about."""
        self._spared_unknown_until: int | None = None
        """Half queue offset before which ``_spared`` may lack messages that were spared before
        the start; None before the first round."""
        self._may_wait = True
        self._missing: ColdRead | None = None

    def schedule(self, services: Services) -> None:
        """Do a round every transactionCheckInterval."""
        config = self._context.config
        services.every(
            lambda: config.transaction_check_interval_ms, self.check_half_messages,
            name="transactions",
        )  # fmt: skip

    def check_half_messages(self, now_ms: int) -> Awaitable[None] | None:
        """Return one round of checks, to be awaited; None on a slave."""
        return None if self._context.store.is_copy else run_round(self, self._context)

    def begin(self, now_ms: int) -> bool:
        """Begin a round; return False if one is running or not on the disk yet."""
        if not self.settle() or self._round is not None:
            return False
        self._context.topics.create_for_group(HALF_TOPIC, queue_count=1, now_ms=now_ms)
        half_offset, half_end = self._bounds(HALF_TOPIC)
        op_offset, op_end = self._bounds(OP_HALF_TOPIC)
        if self._spared_unknown_until is None:
            self._spared_unknown_until = half_end
        self._round = _CheckRound(half_offset, half_end, op_offset, op_offset, op_end)
        return True

    def step(self, now_ms: int, *, may_wait: bool = True) -> bool:
        """Do a limited part of the round; return whether there is more to do.

        Args:
            now_ms: the age of half messages counts up to here.
            may_wait: False ends the step where it would wait for the disk; ``take_missing``
                then returns what a thread has to read first.
        """
        walk = self._round
        if walk is None:
            return False
        self._may_wait = may_wait
        begun_at = walk.half_offset, walk.op_offset
        # Ops that this step read must be on the disk as well, before its progress is committed.
        log_end, more = self._context.store.written_offset, True
        questions: list[tuple[str, Command]] = []
        for _ in range(STEP_COUNT_MAX):
            if not (more := self._has_more(walk)):
                break
            try:
                record = self._undecided(walk)
            except ColdRead as cold:
                self._missing = cold
                break
            if record is None:
                continue
            try:
                event, put = self._handle_half_message(walk, record, questions, now_ms)
            except RequestRefused as refused:
                LOG.warning("could not check half messages; trying again later: %s", refused)
                more = False
                break
            if event is CheckResult.TOO_YOUNG:
                more = False
                break
            walk.ahead.popleft()
            walk.half_offset = record.queue_offset + 1
            log_end = max(log_end, put)
        if not more:
            self._end_round(walk)
        self._drop_done(walk)
        if begun_at != (walk.half_offset, walk.op_offset):
            progress = _Progress(log_end, walk.half_offset, walk.op_offset)
            self._unsafe_count += 1
            self._puts.when_safe(lambda code: self._stepped(walk, progress, questions, code))
        return more

    def take_missing(self) -> ColdRead | None:
        """Return what the last step needed and a thread has to read; None if nothing."""
        missing, self._missing = self._missing, None
        return missing

    def settle(self) -> bool:
        """Commit the progress whose records are on the disk; return whether none is left."""
        flushed = self._context.store.flushed_offset
        while self._progress and self._progress[0].log_end <= flushed:
            _, half_offset, op_offset = self._progress.popleft()
            self._commit(HALF_TOPIC, half_offset)
            self._commit(OP_HALF_TOPIC, op_offset)
        return not self._progress and not self._unsafe_count

    def _end_round(self, walk: _CheckRound) -> None:
        self._round = None
        for half_offset in [
            resolved_offset
            for resolved_offset in walk.resolved
            if resolved_offset < walk.half_offset
        ]:
            if not self._may_be_spared(walk, half_offset):
                walk.done.add(walk.resolved.pop(half_offset))
        for group, count in walk.absent.items():
            LOG.warning("no producer of group %s is connected, %d half messages wait", group, count)

    # A round.

    @staticmethod
    def _has_more(walk: _CheckRound) -> bool:
        # Ops for half messages that were passed are read as well, so that ``op_offset`` advances.
        return walk.half_offset < walk.half_end or walk.op_read < walk.op_end

    def _undecided(self, walk: _CheckRound) -> Record | None:
        """Return the next half message without a decision, or None after reading or skipping."""
        op = walk.resolved.pop(walk.half_offset, None)
        if op is not None:
            walk.done.add(op)
            if walk.ahead and walk.ahead[0].queue_offset == walk.half_offset:
                walk.ahead.popleft()
            walk.half_offset += 1
            return None
        if walk.op_read < walk.op_end:
            self._read_ops(walk)
            return None
        if not walk.ahead:
            self._read_halves(walk)
            return None
        if walk.ahead[0].queue_offset > walk.half_offset:
            walk.half_offset = walk.ahead[0].queue_offset
            return None
        return walk.ahead[0]

    def _handle_half_message(
        self, walk: _CheckRound, record: Record, questions: list[tuple[str, Command]], now_ms: int
    ) -> tuple[CheckResult, int]:
        """Handle a half message without a decision.

        Returns:
            What was done, and the log offset at which the record that was put ends; 0 for none.
        """
        named = parse_properties(record.properties_raw)
        if not is_half_message(record):
            LOG.error(
                "skipped the half message at log offset %d, which names no topic or queue",
                record.log_offset,
            )
            return CheckResult.SKIP, 0
        first = first_offset(named, record.queue_offset)
        event = self._judge(walk, record, named, now_ms)
        if event is not CheckResult.TOO_YOUNG and first in walk.resolved:
            walk.done.add(walk.resolved.pop(first))
            self._spared.discard(first)
            return CheckResult.SKIP, 0
        if event is CheckResult.TOO_YOUNG:
            return event, 0
        if event is CheckResult.GIVE_UP:
            self._spared.discard(first)
            return event, self._give_up(record, named, now_ms)
        if event is CheckResult.SPARE:
            named = keep_first_offset(named, queue_offset=record.queue_offset)
            self._spared.add(first)
        else:
            named = count_check(named)
            self._spared.discard(first)
        put = last = self._puts.put(
            copy_half_message(record, named, store_host=self._context.store_host), now_ms
        )
        group = producer_group(named)
        if event is CheckResult.ASK:
            if group is not None:
                questions.append(
                    (group, check_request(record, named, put, host=self._context.store_host))
                )
            # An op message for a spared one would be taken for its producer's decision.
            with suppress(RequestRefused):
                op = op_message(record, store_host=self._context.store_host, now_ms=now_ms)
                last = self._puts.put(op, now_ms)
        return event, last.log_offset + last.size

    def _judge(
        self, walk: _CheckRound, record: Record, named: Mapping[str, str], now_ms: int
    ) -> CheckResult:
        """Return what to do with a half message, which waits if no producer can be asked."""
        event = judge(record, named, rules=self._rules(self._context), now_ms=now_ms)
        group = producer_group(named)
        if event is not CheckResult.ASK or group is None:
            return event
        if self._producers.can_ask(group, named[REAL_TOPIC]):
            return event
        walk.absent[group] += 1
        return CheckResult.SPARE

    def _give_up(self, record: Record, named: Mapping[str, str], now_ms: int) -> int:
        LOG.error(
            "half message at log offset %d was not decided in time; moved it to %s",
            record.log_offset, CHECK_MAX_TIME_TOPIC,
        )  # fmt: skip
        self._context.topics.create_for_group(CHECK_MAX_TIME_TOPIC, queue_count=1, now_ms=now_ms)
        if not is_asked_enough(named, self._rules(self._context)):
            named = count_check(named)
        put = self._puts.put(discard_message(record, named), now_ms)
        return put.log_offset + put.size

    def _stepped(
        self,
        walk: _CheckRound,
        progress: _Progress,
        questions: list[tuple[str, Command]],
        code: ResponseCode,
    ) -> None:
        self._unsafe_count -= 1
        if code is not ResponseCode.SUCCESS:
            # The records of this step may be missing, so the next round begins before them.
            walk.failed = True
            if self._round is walk:
                self._round = None
        if walk.failed:
            return
        self._progress.append(progress)
        for group, command in questions:
            self._producers.ask(group, command)

    # The two topics.

    def _bounds(self, topic: str) -> tuple[int, int]:
        """Return the queue offset to continue from in a topic, and its end."""
        next_offset = self._context.offsets.get(GROUP, topic, queue_id=QUEUE_ID)
        first = self._context.store.min_offset(topic, QUEUE_ID)
        end = self._context.store.max_offset(topic, QUEUE_ID)
        if next_offset > end:
            LOG.warning(
                "checks of %s were at %d, but its queue ends at %d", topic, next_offset, end
            )
            next_offset = end
            self._commit(topic, end)
        return (first if next_offset == NO_OFFSET else max(next_offset, first)), end

    def _read_ops(self, walk: _CheckRound) -> None:
        records, next_offset = self._read(OP_HALF_TOPIC, walk.op_read, OP_READ_COUNT)
        for record in records:
            half_offset = op_half_offset(record)
            if half_offset is None:
                LOG.error("skipped a malformed op message at log offset %d", record.log_offset)
                walk.done.add(record.queue_offset)
            elif half_offset < walk.half_offset and not self._may_be_spared(walk, half_offset):
                walk.done.add(record.queue_offset)
            else:
                earlier = walk.resolved.get(half_offset)
                if earlier is not None:
                    walk.done.add(earlier)
                walk.resolved[half_offset] = record.queue_offset
        queue_offsets = {record.queue_offset for record in records}
        walk.done.update(set(range(walk.op_read, next_offset)) - queue_offsets)
        walk.op_read = next_offset
        self._drop_done(walk)

    def _may_be_spared(self, walk: _CheckRound, half_offset: int) -> bool:
        """Return whether the copy of a message that was passed may wait for this decision."""
        until = self._spared_unknown_until
        is_unknown = until is not None and walk.half_offset < until
        return is_unknown or half_offset in self._spared

    def _read_halves(self, walk: _CheckRound) -> None:
        records, next_offset = self._read(HALF_TOPIC, walk.half_offset, READ_COUNT)
        walk.ahead.extend(record for record in records if record.queue_offset < walk.half_end)
        if not walk.ahead:
            walk.half_offset = min(next_offset, walk.half_end)

    def _read(self, topic: str, queue_offset: int, count_max: int) -> tuple[list[Record], int]:
        """Return records from a queue offset on, and the next offset, which is always higher.

        Raises:
            ColdRead: the records are not in the page cache, and the step may not wait.
        """
        result = self._context.store.reader.get_message(
            topic, QUEUE_ID, queue_offset,
            count_max=count_max, size_max=READ_SIZE, may_wait=self._may_wait,
        )  # fmt: skip
        next_offset = max(result.next_offset, queue_offset + 1)
        if result.status is not GetStatus.FOUND:
            LOG.warning(
                "%s has no message at %d (%s); continuing at %d",
                topic, queue_offset, result.status.value, next_offset,
            )  # fmt: skip
            return [], next_offset
        try:
            return decode_records(b"".join(result.chunks)), next_offset
        except RecordDamaged as error:
            if count_max > 1:
                return self._read(topic, queue_offset, 1)
            LOG.error("skipped a damaged message of %s at %d: %s", topic, queue_offset, error)
            return [], next_offset

    @staticmethod
    def _drop_done(walk: _CheckRound) -> None:
        while walk.op_offset in walk.done:
            walk.done.remove(walk.op_offset)
            walk.op_offset += 1

    def _commit(self, topic: str, queue_offset: int) -> None:
        if self._context.offsets.get(GROUP, topic, queue_id=QUEUE_ID) != queue_offset:
            self._context.offsets.commit(GROUP, topic, queue_id=QUEUE_ID, queue_offset=queue_offset)


PAUSE_S: Final = 0.01
"""Seconds between two steps; a step takes two or three ms."""
SETTLE_S: Final = 0.1


async def run_round(checks: TransactionChecks, context: BrokerContext) -> None:
    """Run one round: check every half message that exists now.

    Args:
        checks: the checks; a round before this one is finished first.
        context: the clock gives the time of each step.
    """
    clock, is_warm = context.clock, asyncio.Event()
    warm_up = WarmUp(context.cold, lambda at_ms: is_warm.set())
    while not checks.begin(clock.now_ms()):
        await asyncio.sleep(SETTLE_S)
    while checks.step(clock.now_ms(), may_wait=warm_up.may_wait):
        missing = checks.take_missing()
        if missing is None:
            warm_up.succeeded()
            await asyncio.sleep(PAUSE_S)
        else:
            is_warm.clear()
            warm_up.begin(missing)
            await is_warm.wait()
    while not checks.settle():
        await asyncio.sleep(SETTLE_S)
