"""Acknowledgements of popped messages, and changes of their invisible time.

    ACK, BATCH_ACK    -> ack, bAck in the revive log; in order: the group's offset moves on
    CHANGE_INVISIBLE  -> a checkpoint for this message alone, then an ack of the old one

Codes 200051, 200053 and 200151.

Rule: as in Java, an acknowledgement is not compared with the open pops. One that is late, or for
a message that was not popped, is answered like any other and changes nothing. Impossible requests
are refused: a topic, queue or offset that does not exist, or a malformed receipt handle.

Source: broker/processor/AckMessageProcessor.java, ChangeInvisibleTimeProcessor.java (5.4.0).
"""

from collections.abc import Sequence

from mqserver.broker.cold_handler import reads_cold
from mqserver.broker.pop.checkpoints import (
    REVIVE_QUEUE_COUNT,
    Acknowledged,
    PopCheckpoint,
    PopKey,
)
from mqserver.broker.pop.order import Ack
from mqserver.broker.pop.pop_check import check_times
from mqserver.broker.pull.consume_steps import ACK, QUEUE_STEPS, Reading, check, check_role
from mqserver.broker.state import Broker
from mqserver.runtime.registry import handles
from mqserver.runtime.request import Request, RequestRefused
from mqserver.runtime.slices import Steps, chunks, decoded, in_slices
from remoting.bodies import BatchAck, BatchAckMessageRequestBody
from remoting.codes import LaterCode, ResponseCode
from remoting.command import Command
from remoting.frame import encode_frame
from remoting.header import Header
from remoting.headers import AckMessage, ChangeInvisibleTime, ChangeInvisibleTimeResponse
from remoting.receipt import ORDERED_REVIVE_QUEUE, ReceiptHandle, decode_receipt, real_topic

ACKS_PER_SLICE = 64
"""Acknowledgements that one slice handles before other requests can run."""


def _check_queue(broker: Broker, request: Request, topic: str, group: str, queue_id: int) -> None:
    reading = Reading(broker.context, ACK, request.conn, topic, group, queue_id, request.now_ms)
    check(reading, QUEUE_STEPS)


@handles(LaterCode.ACK_MESSAGE)
@reads_cold
def acknowledge(broker: Broker, request: Request) -> None:
    """Acknowledge one message.

    Raises:
        RequestRefused: topic, queue, offset or revive queue do not exist.
        BadHeader: the receipt handle is malformed.
    """
    check_role(broker.config)
    fields = request.command.header(AckMessage)
    topic, queue_id, queue_offset = fields.topic, fields.queue_id, fields.offset
    _check_queue(broker, request, topic, fields.consumer_group, queue_id)
    low, high = _bounds(broker, topic, queue_id)
    if not low <= queue_offset <= high:
        text = (
            f"offset is illegal, key:{topic}@{queue_id}, commit:{queue_offset}, store:{low}~{high}"
        )
        raise RequestRefused(ResponseCode.NO_MESSAGE, text)
    handle = decode_receipt(fields.extra_info)
    key = PopKey(topic, fields.consumer_group, queue_id, handle.start_offset, handle.pop_time_ms)
    _acknowledge(
        broker,
        key,
        (queue_offset,),
        handle.revive_queue_id,
        handle.invisible_ms,
        request.conn.address,
        request.now_ms,
    )
    _answer_when_safe(broker, request)


@handles(LaterCode.BATCH_ACK_MESSAGE)
@in_slices
def acknowledge_batch(broker: Broker, request: Request) -> Steps[Command | None]:
    """Acknowledge many messages; offsets that do not exist are skipped.

    Raises:
        RequestRefused: the revive queue does not exist, or the store refuses the record.
        BadBody: the bit set of the messages is malformed.
    """
    check_role(broker.config)
    body = request.command.body
    acks = (yield from decoded(BatchAckMessageRequestBody.decode, body)).acks if body else []
    if not acks:
        return request.command.response(ResponseCode.NO_MESSAGE)
    # Decode all of them before handling the first, so that a bad one refuses the whole request.
    for part in chunks(acks, ACKS_PER_SLICE):
        for ack in part:
            ack.queue_offsets()
        yield None
    for part in chunks(acks, ACKS_PER_SLICE):
        now_ms = broker.clock.now_ms()
        for ack in part:
            _acknowledge_pop(broker, ack, request.conn.address, now_ms)
        if len(acks) > ACKS_PER_SLICE:
            yield None
    _answer_when_safe(broker, request)
    return None


def _acknowledge_pop(broker: Broker, ack: BatchAck, peer: str, now_ms: int) -> None:
    """Acknowledge several messages of one pop."""
    topic = real_topic(ack.topic, ack.consumer_group, kind=ack.retry)
    low, high = _bounds(broker, topic, ack.queue_id)
    queue_offsets = tuple(offset for offset in ack.queue_offsets() if low <= offset <= high)
    if queue_offsets:
        key = PopKey(topic, ack.consumer_group, ack.queue_id, ack.start_offset, ack.pop_time)
        _acknowledge(
            broker, key, queue_offsets, ack.revive_queue_id, ack.invisible_time, peer, now_ms
        )


def _bounds(broker: Broker, topic: str, queue_id: int) -> tuple[int, int]:
    """Return the first queue offset of a queue, and its end."""
    return broker.store.min_offset(topic, queue_id), broker.store.max_offset(topic, queue_id)


def _acknowledge(
    broker: Broker,
    key: PopKey,
    queue_offsets: Sequence[int],
    revive_queue: int,
    invisible_ms: int,
    peer: str,
    now_ms: int,
) -> None:
    check_times(key.pop_time_ms, invisible_ms)
    if revive_queue == ORDERED_REVIVE_QUEUE:
        for queue_offset in queue_offsets:
            _acknowledge_ordered(broker, key, queue_offset, peer, now_ms)
        return
    _check_revive_queue(revive_queue)
    broker.pops.revive.acknowledge(
        Acknowledged(key, tuple(queue_offsets)),
        revive_queue,
        deliver_ms=key.pop_time_ms + invisible_ms,
        now_ms=now_ms,
    )


def _check_revive_queue(revive_queue: int) -> None:
    """Refuse a handle that this broker cannot have issued; Java creates a queue with this id."""
    if not 0 <= revive_queue < REVIVE_QUEUE_COUNT:
        text = (
            f"the receipt handle names queue {revive_queue} of the revive log, which has "
            f"{REVIVE_QUEUE_COUNT} queues; it is forged, or comes from a broker with a different "
            "reviveQueueNum"
        )
        raise RequestRefused(ResponseCode.MESSAGE_ILLEGAL, text)


def _acknowledge_ordered(
    broker: Broker, key: PopKey, queue_offset: int, peer: str, now_ms: int
) -> None:
    order, place = broker.pops.order, key.place
    topic, group, queue_id = key.topic, key.group, key.queue_id
    old = broker.offsets.get(group, topic, queue_id=queue_id)
    if queue_offset < old:
        return
    order.settle(place, old)
    if not order.is_out(place) and _is_newer(
        broker, topic, queue_id, queue_offset, key.pop_time_ms
    ):
        return
    what, following = order.acknowledge(
        place, queue_offset, pop_time_ms=key.pop_time_ms, group_offset=old
    )
    if what is Ack.WRONG:
        text = (
            f"offset is illegal, key:{topic}@{group}@{queue_id}, old:{old}, "
            f"commit:{queue_offset}, next:-1, /{peer}"
        )
        raise RequestRefused(ResponseCode.MESSAGE_ILLEGAL, text)
    if what is Ack.STALE:
        return
    broker.offsets.commit(group, topic, queue_id=queue_id, queue_offset=following)
    if order.blocked_until(place, None, now_ms=now_ms) is None:
        broker.pops.popper.unblocked(topic, group, queue_id)


@handles(LaterCode.CHANGE_MESSAGE_INVISIBLETIME)
@reads_cold
def change_invisible_time(broker: Broker, request: Request) -> None:
    """Extend the invisible time of a popped message; the answer has the parts of its new handle.

    Raises:
        RequestRefused: topic, queue, message or revive queue do not exist.
        BadHeader: the receipt handle is malformed.
    """
    check_role(broker.config)
    fields, now_ms = request.command.header(ChangeInvisibleTime), request.now_ms
    topic, queue_id = fields.topic, fields.queue_id
    _check_queue(broker, request, topic, fields.consumer_group, queue_id)
    low, high = _bounds(broker, topic, queue_id)
    if not low <= fields.offset < high:
        raise RequestRefused(ResponseCode.NO_MESSAGE, "not set any response code")
    handle = decode_receipt(fields.extra_info)
    check_times(handle.pop_time_ms, handle.invisible_ms)
    check_times(now_ms, fields.invisible_time)
    change = _change_ordered if handle.is_ordered else _change
    _answer_when_safe(broker, request, change(broker, fields, handle, now_ms))


def _change(
    broker: Broker, fields: ChangeInvisibleTime, handle: ReceiptHandle, now_ms: int
) -> ChangeInvisibleTimeResponse:
    _check_revive_queue(handle.revive_queue_id)
    _check_popped(broker, fields, handle, now_ms)
    # Two checkpoints of one message must differ, so that the old one alone is acknowledged.
    pop_time_ms = max(now_ms, handle.pop_time_ms + 1)
    place, queue_offset = (fields.topic, fields.consumer_group, fields.queue_id), fields.offset
    new = PopCheckpoint(PopKey(*place, queue_offset, pop_time_ms), fields.invisible_time, (0,))
    broker.pops.revive.put_checkpoint(new, handle.revive_queue_id, now_ms=now_ms)
    old = PopKey(*place, handle.start_offset, handle.pop_time_ms)
    broker.pops.revive.acknowledge(
        Acknowledged(old, (queue_offset,)),
        handle.revive_queue_id,
        deliver_ms=handle.expires_at_ms,
        now_ms=now_ms,
    )
    return ChangeInvisibleTimeResponse(
        pop_time=pop_time_ms,
        invisible_time=fields.invisible_time,
        revive_queue_id=handle.revive_queue_id,
    )


def _check_popped(
    broker: Broker, fields: ChangeInvisibleTime, handle: ReceiptHandle, now_ms: int
) -> None:
    """Refuse a handle from a deleted topic for a message of the new topic of the same name."""
    place, queue_offset = (fields.topic, fields.consumer_group, fields.queue_id), fields.offset
    # The times alone prove nothing, since the clock may have been set back in between.
    if _is_newer(broker, fields.topic, fields.queue_id, queue_offset, handle.pop_time_ms):
        key = PopKey(*place, handle.start_offset, handle.pop_time_ms)
        if not broker.pops.revive.is_open(key, handle.revive_queue_id, now_ms=now_ms):
            text = (
                f"message {queue_offset} of queue {fields.queue_id} of {fields.topic} was stored "
                "after this receipt handle was issued; the topic was deleted and created again"
            )
            raise RequestRefused(ResponseCode.NO_MESSAGE, text)


def _is_newer(broker: Broker, topic: str, queue_id: int, queue_offset: int, pop_ms: int) -> bool:
    """Return whether a message was stored after a time (ms) at which it should have been popped."""
    return broker.store.reader.store_time(topic, queue_id, queue_offset) > pop_ms


def _change_ordered(
    broker: Broker, fields: ChangeInvisibleTime, handle: ReceiptHandle, now_ms: int
) -> ChangeInvisibleTimeResponse:
    place = topic, group, queue_id = fields.topic, fields.consumer_group, fields.queue_id
    if fields.offset < broker.offsets.get(group, topic, queue_id=queue_id):
        return ChangeInvisibleTimeResponse()
    visible_ms = now_ms + fields.invisible_time
    broker.pops.order.hide(
        place, fields.offset, pop_time_ms=handle.pop_time_ms, visible_ms=visible_ms
    )
    if visible_ms <= now_ms:
        broker.pops.popper.unblocked(topic, group, queue_id)
    return ChangeInvisibleTimeResponse(
        pop_time=handle.pop_time_ms,
        invisible_time=visible_ms - handle.pop_time_ms,
        revive_queue_id=handle.revive_queue_id,
    )


def _answer_when_safe(broker: Broker, request: Request, header: Header | None = None) -> None:
    """Answer when the stored records are as safe as a message that was sent."""
    command = request.command
    if not command.is_oneway:
        frame = encode_frame(command.response(header=header))
        opaques, serialize = (command.opaque,), command.serialize
        broker.group_commit.ack(request.conn, frame, opaques=opaques, serialize=serialize)
