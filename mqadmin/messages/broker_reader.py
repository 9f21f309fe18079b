"""Read messages of a topic from brokers, queue by queue, up to the present end.

    queues -> where each begins and ends -> PULL_MESSAGE -> RecordFilter -> messages

Rule: nothing is committed, so consumers do not notice. The end is read before the first pull, so
that reading also ends for a topic that is written to all the time. Queues are read one after the
other, so that an interrupted reader can continue.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from mqadmin.messages.filter import RecordFilter
from mqclient.consumer.pull.pull_request import PullStatus
from mqclient.consumer.pull_consumer import PullConsumer
from mqclient.errors import NotFound
from mqclient.message import MessageExt
from remoting.bodies import MessageQueue


@dataclass(frozen=True, slots=True)
class QueueSpan:
    """A part of a queue, in entries: ``start`` included, ``end`` not."""

    queue: MessageQueue
    start: int
    end: int


async def spans_of(
    consumer: PullConsumer,
    queues: Sequence[MessageQueue],
    *,
    begin_ms: int | None = None,
    start: int | None = None,
) -> list[QueueSpan]:
    """Return the present span of each queue.

    Args:
        begin_ms: skip messages stored earlier; ``start`` skips entries before it.
    """
    return list(await asyncio.gather(*(_span(consumer, mq, begin_ms, start) for mq in queues)))


async def _span(
    consumer: PullConsumer, queue: MessageQueue, begin_ms: int | None, start: int | None
) -> QueueSpan:
    low, high = await asyncio.gather(consumer.min_offset(queue), consumer.max_offset(queue))
    if start is not None:
        low = max(low, start)
    if begin_ms is not None and begin_ms > 0:
        low = max(low, await consumer.search_offset(queue, begin_ms))
    return QueueSpan(queue, min(low, high), high)


async def read_spans(
    consumer: PullConsumer,
    spans: Sequence[QueueSpan],
    record_filter: RecordFilter,
    *,
    tags: str = "*",
    count_max: int | None = None,
) -> AsyncIterator[MessageExt]:
    """Yield the messages that pass the filter, one queue after the other.

    Args:
        tags: which tags brokers send, as ``A || B``.
        count_max: largest number of messages over all queues.
    """
    left = count_max
    for span in spans:
        async for message in read_queue(consumer, span, tags=tags, end_ms=record_filter.end_ms):
            if left is not None and left <= 0:
                return
            if record_filter.wants(message.record):
                left = None if left is None else left - 1
                yield message


async def read_queue(
    consumer: PullConsumer, span: QueueSpan, *, tags: str = "*", end_ms: int | None = None
) -> AsyncIterator[MessageExt]:
    """Yield the messages of one part of a queue, up to the first one stored after ``end_ms``."""
    queue_offset = span.start
    while queue_offset < span.end:
        pulled = await consumer.pull(span.queue, queue_offset=queue_offset, subscription=tags)
        for message in pulled.messages:
            if message.queue_offset >= span.end:
                return
            if end_ms is not None and message.store_ms > end_ms:
                return
            yield message
        if pulled.status is PullStatus.NO_NEW_MSG or pulled.next_offset <= queue_offset:
            return
        queue_offset = pulled.next_offset


async def message_at(
    consumer: PullConsumer, queue: MessageQueue, queue_offset: int
) -> MessageExt | None:
    """Return the first message at or behind an offset; None if no message is there."""
    try:
        pulled = await consumer.pull(queue, queue_offset=queue_offset, count_max=1)
    except NotFound:
        return None
    return pulled.messages[0] if pulled.messages else None
