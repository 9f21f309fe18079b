"""Acknowledgements of popped messages, and changes of their invisible time.

    ACK, BATCH_ACK    -> ack, bAck in the revive log; in order: the group's offset moves on
    CHANGE_INVISIBLE  -> a checkpoint for this message alone, then an ack of the old one

Rule: an acknowledgement is not compared with the open pops, as in Java. One that is late, or for
a message that was not popped, is answered like any other and changes nothing. What cannot be
meant is refused: a topic, queue or offset that does not exist, a text that is no receipt handle.

Source: broker/processor/AckMessageProcessor.java, ChangeInvisibleTimeProcessor.java (5.4.0).
"""

from collections.abc import Callable, Sequence

from remoting.bodies import BatchAck
from remoting.codes import ResponseCode
from remoting.headers import AckMessage, ChangeInvisibleTime, ChangeInvisibleTimeResponse
from remoting.receipt import ORDERED_REVIVE_QUEUE, ReceiptHandle, decode_receipt, real_topic
from server.broker import names
from server.broker.clients.offsets import Offsets
from server.broker.pop.checkpoints import (
    REVIVE_QUEUE_COUNT,
    Acknowledged,
    PopCheckpoint,
    PopKey,
)
from server.broker.pop.order import Ack, OrderedQueues
from server.broker.pop.revive import ReviveLog
from server.broker.topics import Topics
from server.runtime.request import RequestRefused
from server.store.store import MessageStore


def check_queue(topics: Topics, topic: str, queue_id: int, *, code: int, peer: str) -> None:
    """Refuse a topic or queue that does not exist, with Java's codes and texts.

    Args:
        topics: the topics.
        topic: the topic of a request.
        queue_id: the queue of a request.
        code: response code for a queue that does not exist.
        peer: address of the client.

    Raises:
        RequestRefused: one of them does not exist.
    """
    found = topics.get(topic)
    if found is None:
        text = names.see_later_faq(f"topic[{topic}] not exist, apply first please! ")
        raise RequestRefused(ResponseCode.TOPIC_NOT_EXIST, text)
    if not 0 <= queue_id < found.read_queue_nums:
        text = (
            f"queueId[{queue_id}] is illegal, topic:[{topic}] topicConfig."
            f"readQueueNums:[{found.read_queue_nums}] consumer:[/{peer}]"
        )
        raise RequestRefused(code, text)


class Acknowledger:
    """Handles the acknowledgements of one broker.

    Args:
        store: has the queues.
        topics: the topics.
        offsets: the consumer offsets, which acknowledgements in order move.
        revive: takes acknowledgements and checkpoints.
        order: the queues that are popped in order.
        on_free: called with topic, group and queue id when a queue is not blocked any more.
    """

    def __init__(
        self,
        store: MessageStore,
        *,
        topics: Topics,
        offsets: Offsets,
        revive: ReviveLog,
        order: OrderedQueues,
        on_free: Callable[[str, str, int], None],
    ) -> None:
        self._store = store
        self._topics = topics
        self._offsets = offsets
        self._revive = revive
        self._order = order
        self._on_free = on_free

    def acknowledge(self, fields: AckMessage, *, peer: str, now_ms: int) -> None:
        """Take one acknowledgement.

        Raises:
            RequestRefused: topic, queue, offset or revive queue do not exist.
            BadHeader: the receipt handle is none.
        """
        topic, queue_id, at = fields.topic, fields.queue_id, fields.offset
        illegal = ResponseCode.MESSAGE_ILLEGAL
        check_queue(self._topics, topic, queue_id, code=illegal, peer=peer)
        low = self._store.min_offset(topic, queue_id)
        high = self._store.max_offset(topic, queue_id)
        if not low <= at <= high:
            text = f"offset is illegal, key:{topic}@{queue_id}, commit:{at}, store:{low}~{high}"
            raise RequestRefused(ResponseCode.NO_MESSAGE, text)
        handle = decode_receipt(fields.extra_info)
        key = PopKey(
            topic, fields.consumer_group, queue_id, handle.start_offset, handle.pop_time_ms
        )
        self._take(key, (at,), handle.revive_queue_id, handle.invisible_ms, peer, now_ms)

    def acknowledge_batch(self, ack: BatchAck, *, peer: str, now_ms: int) -> None:
        """Take the acknowledgement of several messages of one pop.

        Offsets that do not exist are passed over, as in Java.

        Raises:
            RequestRefused: the revive queue does not exist, or the store refuses the record.
            BadBody: the bits of the messages are none.
        """
        topic = real_topic(ack.topic, ack.consumer_group, kind=ack.retry)
        low = self._store.min_offset(topic, ack.queue_id)
        high = self._store.max_offset(topic, ack.queue_id)
        found = tuple(at for at in ack.queue_offsets() if low <= at <= high)
        if not found:
            return
        key = PopKey(topic, ack.consumer_group, ack.queue_id, ack.start_offset, ack.pop_time)
        self._take(key, found, ack.revive_queue_id, ack.invisible_time, peer, now_ms)

    def _take(
        self,
        key: PopKey,
        queue_offsets: Sequence[int],
        revive_queue: int,
        invisible_ms: int,
        peer: str,
        now_ms: int,
    ) -> None:
        if revive_queue == ORDERED_REVIVE_QUEUE:
            for at in queue_offsets:
                self._take_ordered(key, at, peer, now_ms)
            return
        self._check_revive_queue(revive_queue)
        self._revive.acknowledge(
            Acknowledged(key, tuple(queue_offsets)),
            revive_queue,
            deliver_ms=key.pop_time_ms + invisible_ms,
            now_ms=now_ms,
        )

    @staticmethod
    def _check_revive_queue(revive_queue: int) -> None:
        """Refuse a handle that no broker wrote; Java makes a queue of this id."""
        if not 0 <= revive_queue < REVIVE_QUEUE_COUNT:
            text = (
                f"the receipt handle names queue {revive_queue} of the revive log, which has "
                f"{REVIVE_QUEUE_COUNT}; it is forged, or of a broker with another reviveQueueNum"
            )
            raise RequestRefused(ResponseCode.MESSAGE_ILLEGAL, text)

    def _take_ordered(self, key: PopKey, at: int, peer: str, now_ms: int) -> None:
        topic, group, queue_id = key.topic, key.group, key.queue_id
        old = self._offsets.get(group, topic, queue_id=queue_id)
        if at < old:
            return
        place = topic, group, queue_id
        self._order.settle(place, old)
        what, following = self._order.acknowledge(
            place, at, pop_time_ms=key.pop_time_ms, group_offset=old
        )
        if what is Ack.WRONG:
            text = (
                f"offset is illegal, key:{topic}@{group}@{queue_id}, old:{old}, commit:{at}, "
                f"next:-1, /{peer}"
            )
            raise RequestRefused(ResponseCode.MESSAGE_ILLEGAL, text)
        if what is Ack.STALE:
            return
        self._offsets.commit(group, topic, queue_id=queue_id, queue_offset=following)
        if self._order.blocked_until(place, None, now_ms=now_ms) is None:
            self._on_free(topic, group, queue_id)

    def change_invisible_time(
        self, fields: ChangeInvisibleTime, *, peer: str, now_ms: int
    ) -> ChangeInvisibleTimeResponse:
        """Hide a message for another while, and return the parts of its new receipt handle.

        Raises:
            RequestRefused: topic, queue, message or revive queue do not exist.
            BadHeader: the receipt handle is none.
        """
        topic, queue_id, at = fields.topic, fields.queue_id, fields.offset
        illegal = ResponseCode.MESSAGE_ILLEGAL
        check_queue(self._topics, topic, queue_id, code=illegal, peer=peer)
        low = self._store.min_offset(topic, queue_id)
        if not low <= at < self._store.max_offset(topic, queue_id):
            raise RequestRefused(ResponseCode.NO_MESSAGE, "not set any response code")
        handle = decode_receipt(fields.extra_info)
        if handle.is_ordered:
            return self._change_ordered(fields, handle, now_ms)
        self._check_revive_queue(handle.revive_queue_id)
        # Two checkpoints of one message must differ, so that the old one alone is acknowledged.
        pop_time_ms = max(now_ms, handle.pop_time_ms + 1)
        group = fields.consumer_group
        new = PopCheckpoint(
            PopKey(topic, group, queue_id, at, pop_time_ms), fields.invisible_time, (0,)
        )
        self._revive.put_checkpoint(new, handle.revive_queue_id, now_ms=now_ms)
        old = PopKey(topic, group, queue_id, handle.start_offset, handle.pop_time_ms)
        self._revive.acknowledge(
            Acknowledged(old, (at,)),
            handle.revive_queue_id,
            deliver_ms=handle.expires_at_ms,
            now_ms=now_ms,
        )
        return ChangeInvisibleTimeResponse(
            pop_time=pop_time_ms,
            invisible_time=fields.invisible_time,
            revive_queue_id=handle.revive_queue_id,
        )

    def _change_ordered(
        self, fields: ChangeInvisibleTime, handle: ReceiptHandle, now_ms: int
    ) -> ChangeInvisibleTimeResponse:
        group, topic, queue_id = fields.consumer_group, fields.topic, fields.queue_id
        if fields.offset < self._offsets.get(group, topic, queue_id=queue_id):
            return ChangeInvisibleTimeResponse()
        visible_ms = now_ms + fields.invisible_time
        self._order.hide(
            (topic, group, queue_id),
            fields.offset,
            pop_time_ms=handle.pop_time_ms,
            visible_ms=visible_ms,
        )
        if visible_ms <= now_ms:
            self._on_free(topic, group, queue_id)
        return ChangeInvisibleTimeResponse(
            pop_time=handle.pop_time_ms,
            invisible_time=visible_ms - handle.pop_time_ms,
            revive_queue_id=handle.revive_queue_id,
        )
