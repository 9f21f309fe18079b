"""Follow the revive log, and revive what was popped and not acknowledged in time.

    pop ──ck──> revive log ──> table of open pops ── acknowledged ──> closed
    ack ──ack─> revive log ──┘                    └─ due ──> retry topic, bAck ──> closed

    retry topic   %RETRY%<group>_<topic>, one queue; reconsume times + 1
    dead letters  %DLQ%<group>, once a message was delivered retryMaxTimes + 1 times

Rule: the table is what the revive log says. A broker reads the log from the lowest open checkpoint
on, when it starts and when it is promoted, and follows it from then on; until it has caught up it
gives out nothing. After the messages that it revives it puts their acknowledgement, so that they
are not revived again. A crash between the two repeats messages that no consumer has seen yet.

A pop is as durable as its checkpoint: the queue offsets of a group move with it, in memory. The
saved consumer offsets count a pop only when its checkpoint is on the disk, and say which
checkpoints they count (``COUNTED_GROUP``); a start moves the offsets over all later ones. So no
crash loses a message, and none repeats one that was acknowledged.

An open checkpoint is written again after ``RENEW_MS``, so that a start never reads more than what
that time wrote, and that retention does not delete it.

Deleting a topic, or a group with its offsets, ends the open pops, and so does a reset of a group
to before what it has popped, because the queue then gives these messages again. An ended pop is
acknowledged in the log, some at a time. A message that lies after the checkpoint in the log was
not popped by it: it is of a topic that was deleted and created again under the same name.

Source: broker/processor/PopReviveService.java (5.4.0). It revives for ever; the dead letter topic
is this broker's.
"""

import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from mqserver.broker import names
from mqserver.broker.broker_context import BrokerContext, OwnPuts
from mqserver.broker.clients.consumer_offsets import NO_OFFSET, Place
from mqserver.broker.intervals import while_used
from mqserver.broker.pop.checkpoints import (
    COUNTED_GROUP,
    REVIVE_GROUP,
    REVIVE_QUEUE_COUNT,
    Acknowledged,
    PopCheckpoint,
    PopKey,
    ReviveRecords,
    read_record,
    revive_topic,
)
from mqserver.broker.pop.open_pops import OpenPop, OpenPops, open_count_max
from mqserver.broker.serving.cold_reads import WarmUp
from mqserver.broker.stored_properties import put_again
from mqserver.runtime.observers import Observers
from mqserver.runtime.periodic import Services, Wake
from mqserver.runtime.request import RequestRefused
from mqserver.store.disk.nowait import ColdRead
from mqserver.store.results import GetStatus, PutMessage, PutResult
from remoting.receipt import FIRST_POP_TIME
from storefmt.config.tables import ConsumerOffsets, SubscriptionGroup
from storefmt.errors import RecordDamaged
from storefmt.formats.message import Record, decode_records
from storefmt.formats.properties import (
    ORIGIN_MESSAGE_ID,
    RETRY_TOPIC,
    TAGS,
    parse_properties,
)
from storefmt.names import RETRY_PREFIX

LOG = logging.getLogger(__name__)

FOLLOW_MS: Final = 100
GRACE_MS: Final = 1_000
"""How long after its time a message is revived, so that an acknowledgement in time is first."""
RENEW_MS: Final = 1_800_000
READ_COUNT: Final = 32
STEP_COUNT_MAX: Final = 256
"""Records that one step reads before requests can run."""
STEP_PUTS_MAX: Final = 32
"""Messages that one step revives, or whose end it writes: each put takes some 0.1 ms."""
ORIGIN_GROUP: Final = "ORIGIN_GROUP"
_QUEUE_IDS: Final = range(REVIVE_QUEUE_COUNT)
_END: Final = frozenset({
    GetStatus.NO_MESSAGE_IN_QUEUE, GetStatus.NO_MATCHED_LOGIC_QUEUE, GetStatus.OFFSET_OVERFLOW_ONE,
})  # fmt: skip


def retry_topic_of(topic: str, group: str) -> str:
    """Return the topic in which a group's unacknowledged messages of a topic come again."""
    return topic if topic.startswith(RETRY_PREFIX) else f"{RETRY_PREFIX}{group}_{topic}"


def normal_topic_of(topic: str, group: str) -> str:
    """Return the topic that a group subscribes to, for that topic or its retry topic."""
    for separator in "_+":
        prefix = f"{RETRY_PREFIX}{group}{separator}"
        if topic.startswith(prefix):
            return topic[len(prefix) :]
    return topic


class _Uncounted(NamedTuple):
    """A pop whose checkpoint may not be on the disk yet."""

    log_offset: int
    queue_id: int
    """Queue of the revive log."""
    at: int
    place: Place
    start_offset: int


@dataclass(slots=True)
class _Ending:
    """Pops that are ended, and whose acknowledgements are not in the log yet.

    Attributes:
        number: queue of the revive log.
        pops: those that are left; the last one is next.
        place: the queue that was reset, None if everything of a topic or group is ended.
        low: the queue offset from which on their messages are ended.
    """

    number: int
    pops: list[OpenPop]
    place: Place | None = None
    low: int = 0


class ReviveLog:
    """The revive log of one broker, and the table of open pops that it gives.

    Args:
        context: the parts of the broker.
        puts: stores records of the revive log, and messages that come again.
    """

    def __init__(self, context: BrokerContext, puts: OwnPuts) -> None:
        config = context.config
        self.topic = revive_topic(config.broker_cluster_name)
        self._context, self._puts, self._store = context, puts, context.store
        self._records = ReviveRecords(
            cluster=config.broker_cluster_name, broker=config.broker_name, host=context.store_host
        )
        self._wake: Wake = lambda: None
        self._uncounted: deque[_Uncounted] = deque()
        self._endings: deque[_Ending] = deque()
        self._open_count_max = open_count_max(config.in_flight_size_max)
        self._next_queue = 0
        self.caught_up: Observers[[int]] = Observers()
        """Called with ``now_ms`` when this broker may give out messages."""
        self.look_again()

    def look_again(self) -> None:
        """Rebuild the table, because this broker serves pops from now on."""
        self._warm_up = WarmUp(self._context.cold, self.follow)
        self.is_caught_up = False
        """Whether the table has everything, so that this broker may give out messages."""
        self._queues = [OpenPops() for _ in _QUEUE_IDS]
        self._read_at = [self._saved(REVIVE_GROUP, number) + 1 for number in _QUEUE_IDS]
        self._counted = [
            max(self._saved(COUNTED_GROUP, number), self._read_at[number]) for number in _QUEUE_IDS
        ]

    def _saved(self, group: str, queue_id: int) -> int:
        assert NO_OFFSET == -1
        return self._context.offsets.get(group, self.topic, queue_id=queue_id)

    @property
    def open_count(self) -> int:
        """How many pops are open."""
        return sum(map(len, self._queues))

    def has_room(self, group: str) -> bool:
        """Return whether a group may have one more open pop: no more than there are free places."""
        count = sum(queue.count_of(group) for queue in self._queues)
        return count < self._open_count_max - self.open_count

    def left_count(self, place: Place) -> int:
        """Return how many messages of a queue a group has popped and not acknowledged."""
        return sum(queue.left_count(place) for queue in self._queues)

    def is_open(self, key: PopKey, queue_id: int, *, now_ms: int) -> bool:
        """Return whether a pop has messages that are not acknowledged.

        Args:
            key: the pop.
            queue_id: queue of the revive log that has its checkpoint.
            now_ms: the present time.
        """
        if self._queues[queue_id].get(key) is None:
            # Its checkpoint may be newer than the last look at the log.
            self.follow(now_ms)
        return self._queues[queue_id].get(key) is not None

    # What pops and acknowledgements write.

    def choose_queue(self) -> int:
        """Return the queue of the revive log for the next pop."""
        self._next_queue = (self._next_queue + 1) % REVIVE_QUEUE_COUNT
        return self._next_queue

    def put_checkpoint(self, checkpoint: PopCheckpoint, queue_id: int, *, now_ms: int) -> PutResult:
        """Put a checkpoint; it counts when the log has it.

        Raises:
            RequestRefused: the store does not accept it.
        """
        record = self._records.checkpoint(checkpoint, queue_id=queue_id, now_ms=now_ms)
        return self._put_record(record, now_ms)

    def count_pop(self, put: PutResult, queue_id: int, checkpoint: PopCheckpoint) -> None:
        """Let the saved offsets count a pop only when its checkpoint is on the disk."""
        key = checkpoint.key
        self._uncounted.append(
            _Uncounted(put.log_offset, queue_id, put.queue_offset, key.place, key.start_offset)
        )

    def acknowledge(
        self, acknowledged: Acknowledged, queue_id: int, *, deliver_ms: int, now_ms: int
    ) -> None:
        """Put an acknowledgement.

        Args:
            acknowledged: the messages.
            queue_id: queue of the revive log that has their checkpoint.
            deliver_ms: when they would come again, in ms since 1970.
            now_ms: the present time.

        Raises:
            RequestRefused: the store does not accept it.
        """
        record = self._records.acknowledgement(
            acknowledged, queue_id=queue_id, deliver_ms=deliver_ms, now_ms=now_ms
        )
        self._put_record(record, now_ms)

    def _put_record(self, record: PutMessage, now_ms: int) -> PutResult:
        """Put a record of the revive log, whose topic the first one creates."""
        count = REVIVE_QUEUE_COUNT
        self._context.topics.create_for_group(self.topic, queue_count=count, now_ms=now_ms)
        result = self._puts.put(record, now_ms)
        self._puts.commit_soon()
        return result

    # What ends pops.

    def end_topic(self, topic: str, *, now_ms: int) -> None:
        """End the open pops of a topic that is deleted."""
        self._drop(lambda place: place[0] == topic, now_ms=now_ms)

    def end_group(self, group: str, *, now_ms: int) -> None:
        """End the open pops of a group that is deleted with its offsets."""
        self._drop(lambda place: place[1] == group, now_ms=now_ms)

    def _drop(self, is_wanted: Callable[[Place], bool], *, now_ms: int) -> None:
        for ending in self._endings:
            if ending.place is not None and is_wanted(ending.place):
                ending.low = 0
        for number, queue in enumerate(self._queues):
            self._endings.append(_Ending(number, queue.drop(is_wanted)))
        self._write_endings(now_ms)

    def end_from(self, place: Place, queue_offset: int, *, now_ms: int) -> None:
        """End what a group has popped of a queue from an offset on, to which it was reset."""
        for ending in self._endings:
            if ending.place == place:
                ending.low = min(ending.low, queue_offset)
        for number, queue in enumerate(self._queues):
            self._endings.append(
                _Ending(number, queue.cut(place, queue_offset), place, queue_offset)
            )
        self._write_endings(now_ms)

    def _write_endings(self, now_ms: int) -> bool:
        """Put the acknowledgements of some ended pops; return False while there are more."""
        if self._store.is_copy:
            # The master writes them.
            self._endings.clear()
        left = STEP_PUTS_MAX
        while self._endings:
            ending = self._endings[0]
            while ending.pops:
                if not left:
                    return False
                left -= 1
                try:
                    self._write_end(ending, ending.pops[-1], now_ms)
                except RequestRefused as refused:
                    LOG.warning("could not write the end of a pop; trying again later: %s", refused)
                    return True
                ending.pops.pop()
            self._endings.popleft()
        return True

    def _write_end(self, ending: _Ending, pop: OpenPop, now_ms: int) -> None:
        queue_offsets = tuple(at for at in pop.left() if at >= ending.low)
        if queue_offsets and not pop.is_closed:
            acknowledged = Acknowledged(pop.checkpoint.key, queue_offsets)
            self.acknowledge(
                acknowledged, ending.number, deliver_ms=pop.checkpoint.revive_ms, now_ms=now_ms
            )
        self._queues[ending.number].finish(pop, queue_offsets)

    # What is saved.

    def saved_offsets(self, table: ConsumerOffsets) -> ConsumerOffsets:
        """Return the consumer offsets as they may be saved: what they count is on the disk.

        Args:
            table: a snapshot of all offsets; changed.
        """
        if self._store.is_copy or not self.is_caught_up or not self._store.has(self.topic):
            return table
        while self._uncounted and self._uncounted[0].log_offset < self._store.flushed_offset:
            self._uncounted.popleft()
        counted = list(self._read_at)
        for uncounted in self._uncounted:
            counted[uncounted.queue_id] = min(counted[uncounted.queue_id], uncounted.at)
            queues = table.offsets.get(uncounted.place[:2], {})
            if queues.get(uncounted.place[2], -1) > uncounted.start_offset:
                queues[uncounted.place[2]] = uncounted.start_offset
        done: dict[int, int] = {}
        for number, queue in enumerate(self._queues):
            oldest = queue.oldest()
            next_at = self._read_at[number] if oldest is None else oldest.at
            if next_at > 0:
                done[number] = next_at - 1
        table.offsets[self.topic, REVIVE_GROUP] = done
        table.offsets[self.topic, COUNTED_GROUP] = dict(enumerate(counted))
        return table

    # What follows the log.

    def schedule(self, services: Services) -> None:
        """Follow the log periodically, and again at once while there is more."""
        interval_ms = while_used(self._store, FOLLOW_MS, self.topic)
        self._wake = services.every(interval_ms, self.follow, name="popped messages", first_ms=0)

    def follow(self, now_ms: int) -> None:
        """Read what is new in the log, and revive what is due."""
        if self._store.is_copy or self._warm_up.is_running:
            return
        try:
            is_at_end = self._read()
            was_caught_up, self.is_caught_up = self.is_caught_up, self.is_caught_up or is_at_end
            if not was_caught_up and is_at_end:
                self.caught_up(now_ms)
            is_done = self._write_endings(now_ms) and is_at_end
            # What is ended has to be out of the table before the next messages are revived.
            is_done = is_done and (bool(self._endings) or self._revive(now_ms))
        except ColdRead as cold:
            self._warm_up.begin(cold)
            return
        self._warm_up.succeeded()
        if not is_done:
            self._wake()

    def _read(self) -> bool:
        """Read on in every queue; return False while there is more to read."""
        if not self._store.has(self.topic):
            return True
        left = STEP_COUNT_MAX
        for number in _QUEUE_IDS:
            while self._store.has(self.topic, number):
                if left <= 0:
                    return False
                count = self._read_some(number)
                if not count:
                    break
                left -= count
        return True

    def _read_some(self, number: int) -> int:
        """Read some records of one queue; return how many entries it passed."""
        start = self._read_at[number]
        result = self._store.reader.get_message(
            self.topic, number, start, count_max=READ_COUNT, may_wait=self._warm_up.may_wait
        )
        if result.status is GetStatus.FOUND:
            for record in self._whole(number, start, b"".join(result.chunks)):
                self._apply_record(number, record)
            self._read_at[number] = result.next_offset
            return result.next_offset - start
        if result.status in _END and start <= result.max_offset:
            return 0
        next_offset = result.next_offset
        if result.status is GetStatus.OFFSET_OVERFLOW_BADLY or next_offset == start:
            # The log ends before what was saved; everything that it has counts.
            next_offset = result.min_offset
        LOG.warning(
            "queue %d of the revive log was read up to %d but has %d to %d; continuing at %d",
            number, start, result.min_offset, result.max_offset, next_offset,
        )  # fmt: skip
        self._read_at[number] = next_offset
        return 1

    def _whole(self, number: int, start: int, data: bytes) -> list[Record]:
        try:
            return decode_records(data)
        except RecordDamaged as error:
            LOG.error("queue %d of the revive log, from %d on: %s", number, start, error)
            return _whole_records(data)

    def _apply_record(self, number: int, record: Record) -> None:
        decoded = read_record(record)
        if isinstance(decoded, PopCheckpoint):
            if record.log_offset < self._store.deleted_until(decoded.key.topic):
                return
            self._queues[number].open(
                decoded,
                at=record.queue_offset,
                log_offset=record.log_offset,
                store_ms=record.store_ms,
            )
            if not self.is_caught_up and record.queue_offset >= self._counted[number]:
                self._move(decoded)
        elif decoded is not None:
            self._queues[number].acknowledge(decoded.key, decoded.queue_offsets)

    def _move(self, checkpoint: PopCheckpoint) -> None:
        """Move a group's offset over what it popped shortly before the broker stopped."""
        key = checkpoint.key
        end = key.start_offset + checkpoint.distances[-1] + 1
        if end > self._context.offsets.get(key.group, key.topic, queue_id=key.queue_id):
            self._context.offsets.commit(
                key.group, key.topic, queue_id=key.queue_id, queue_offset=end
            )

    # What comes again.

    def _revive(self, now_ms: int) -> bool:
        """Revive what is due; return False while there is more."""
        left = STEP_PUTS_MAX
        for number, queue in enumerate(self._queues):
            oldest = queue.oldest()
            if oldest is not None and now_ms - oldest.store_ms >= RENEW_MS:
                self._renew(number, oldest, now_ms)
                left -= 1
            for pop in queue.due(now_ms - GRACE_MS, count_max=max(left, 1)):
                if left <= 0:
                    return False
                left -= len(pop.left())
                if not self._revive_pop(number, pop, now_ms):
                    return True
        return left > 0

    def _renew(self, number: int, pop: OpenPop, now_ms: int) -> None:
        try:
            self.put_checkpoint(pop.checkpoint._replace(done=pop.done), number, now_ms=now_ms)
        except RequestRefused as refused:
            LOG.warning(
                "could not renew a checkpoint of the revive log; trying again later: %s", refused
            )
        else:
            # It takes its new place when it is read.
            pop.store_ms = now_ms

    def _revive_pop(self, number: int, pop: OpenPop, now_ms: int) -> bool:
        """Put the messages of a pop that are left where they come again; False: try later.

        Raises:
            ColdRead: they are not in the page cache.
        """
        key = pop.checkpoint.key
        queue_offsets = tuple(pop.left())
        group = self._context.groups.get(key.group)
        if self._context.topics.get(normal_topic_of(key.topic, key.group)) is None or group is None:
            LOG.warning("%s of group %s is deleted, what it popped does not come again", *key[:2])
            records: list[Record] = []
        else:
            records = [
                record
                for queue_offset in queue_offsets
                if (record := self._record(pop, queue_offset)) is not None
            ]
        try:
            for record in records:
                assert group is not None
                self._puts.deliver(self._again(record, pop.checkpoint, group, now_ms), now_ms)
                self._queues[number].mark(pop, record.queue_offset)
            deliver_ms = pop.checkpoint.revive_ms
            done = Acknowledged(key, queue_offsets)
            self.acknowledge(done, number, deliver_ms=deliver_ms, now_ms=now_ms)
        except RequestRefused as refused:
            LOG.warning(
                "could not revive messages of group %s; trying again later: %s", key.group, refused
            )
            return False
        self._queues[number].acknowledge(key, queue_offsets)
        return True

    def _record(self, pop: OpenPop, queue_offset: int) -> Record | None:
        key = pop.checkpoint.key
        result = self._store.reader.get_message(
            key.topic, key.queue_id, queue_offset, count_max=1, may_wait=self._warm_up.may_wait
        )
        try:
            records = decode_records(b"".join(result.chunks))
        except RecordDamaged as error:
            LOG.error("cannot revive a damaged message: %s", error)
            return None
        if not records or records[0].queue_offset != queue_offset:
            LOG.warning(
                "message %d of queue %d of %s was deleted before group %s acknowledged it",
                queue_offset, key.queue_id, key.topic, key.group,
            )  # fmt: skip
            return None
        if records[0].log_offset > pop.log_offset:
            LOG.warning(
                "message %d of queue %d of %s is not revived, because it was stored after group %s "
                "popped: the topic was deleted and created again",
                queue_offset, key.queue_id, key.topic, key.group,
            )  # fmt: skip
            return None
        return records[0]

    def _again(
        self, record: Record, checkpoint: PopCheckpoint, group: SubscriptionGroup, now_ms: int
    ) -> PutMessage:
        """Return a message for the retry topic, or for the dead letter topic."""
        name = group.group_name
        named = parse_properties(record.properties_raw)
        # Java fills its map with the tag first.
        named = {**({TAGS: named[TAGS]} if TAGS in named else {}), **named}
        if record.reconsume_times >= group.retry_max_times:
            topic = names.dlq_topic(name)
            named.setdefault(RETRY_TOPIC, normal_topic_of(record.topic, name))
            named.setdefault(ORIGIN_MESSAGE_ID, record.msg_id)
        else:
            topic = retry_topic_of(record.topic, name)
        if record.reconsume_times == 0 or FIRST_POP_TIME not in named:
            named[FIRST_POP_TIME] = str(checkpoint.key.pop_time_ms)
        named[ORIGIN_GROUP] = name
        if self._context.topics.get(topic) is None:
            self._context.topics.create_for_group(topic, queue_count=1, now_ms=now_ms)
            if self._context.offsets.get(name, topic, queue_id=0) == NO_OFFSET:
                self._context.offsets.commit(name, topic, queue_id=0, queue_offset=0)
        message = put_again(record, named, topic=topic, queue_id=0)
        message.born_host = message.store_host = self._context.store_host
        message.reconsume_times += 1
        return message


def _whole_records(data: bytes) -> list[Record]:
    """Return the records before and after damaged ones, whose sizes are still right."""
    records, pos = [], 0
    while pos + 4 <= len(data):
        size = int.from_bytes(data[pos : pos + 4], "big")
        if size <= 0:
            break
        try:
            records += decode_records(data[pos : pos + size])
        except RecordDamaged:
            LOG.error("skipped a damaged record of the revive log")
        pos += size
    return records
