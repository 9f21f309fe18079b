"""Read a topic pull by pull, as RocketMQ's own tool does; for ``--compat``.

    START   once per queue, before its pulls
    FOUND   before the messages of one pull; NO_MATCHED_MSG, NO_NEW_MSG, OFFSET_ILLEGAL alone

Rule: nothing is committed. Messages have the two properties that a client adds when it pulls, and
their bodies, which Java prints as numbers even if it omits the text.

Source: tools/command/message/PrintMessageSubCommand.java, ConsumeMessageCommand.java;
client/impl/consumer/PullAPIWrapper.java#processPullResult (4.9.7).
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from mqadmin.messages.browse import MessageQuery, consumer_and_queues
from mqadmin.messages.filter import RecordFilter
from mqadmin.messages.message_rows import MessageRow, row_of
from mqadmin.output.rows import Row
from mqadmin.session.call import Call
from mqclient.consumer.pull.pull_request import PullResult, PullStatus
from mqclient.consumer.pull_consumer import COUNT_MAX, PullConsumer
from remoting.bodies import MessageQueue
from storefmt.formats.javamaps import hash_order, queue_hash

START: Final = "START"
ENDS: Final = frozenset({PullStatus.NO_NEW_MSG, PullStatus.OFFSET_ILLEGAL})


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRow(Row):
    """How a pull ended; offsets in entries, ``cut_to`` is how many messages may be read."""

    topic: str
    broker: str
    queue_id: int
    status: str
    min_offset: int
    max_offset: int
    next_offset: int
    cut_to: int | None


@dataclass(frozen=True, slots=True)
class PullRange:
    """The part of a queue to read: from ``start`` (included) to ``end``, in entries.

    Attributes:
        to_end: whether ``end`` is included, as for consumeMessage.
    """

    queue: MessageQueue
    start: int
    end: int
    to_end: bool = False
    cut_to: int | None = None


async def pulls(call: Call, query: MessageQuery, *, is_consuming: bool) -> AsyncIterator[Row]:
    """Yield the pulls of printMsg and printMsgByQueue, or of consumeMessage if ``is_consuming``.

    Raises:
        NoRoute: the topic does not exist.
        ItemNotFound: the queue does not exist.
    """
    consumer, queues = await consumer_and_queues(call, query)
    if is_consuming:
        parts = await parts_to_consume(consumer, queues, query)
    else:
        parts = await parts_of(consumer, queues, query)
    async for row in pull_rows(call, consumer, parts, tags="*" if is_consuming else query.tags):
        yield row


def in_java_order(
    queues: Sequence[MessageQueue], *, parent: str | None = None
) -> list[MessageQueue]:
    """Return queues in the order of Java's set of them; those of a light queue as its parent's."""
    return hash_order(
        sorted(queues),
        lambda queue: queue_hash(parent or queue.topic, queue.broker_name, queue.queue_id),
    )


async def parts_of(
    consumer: PullConsumer, queues: Sequence[MessageQueue], query: MessageQuery
) -> list[PullRange]:
    """Return what printMsg and printMsgByQueue read: everything, or what lies between two times."""
    return [
        PullRange(queue, *await _ends(consumer, queue, query.filter, None))
        for queue in in_java_order(queues, parent=query.parent)
    ]


async def _ends(
    consumer: PullConsumer, queue: MessageQueue, record_filter: RecordFilter, start: int | None
) -> tuple[int, int]:
    low, high = await consumer.min_offset(queue), await consumer.max_offset(queue)
    if record_filter.begin_ms:
        low = await consumer.search_offset(queue, record_filter.begin_ms)
    if record_filter.end_ms:
        high = await consumer.search_offset(queue, record_filter.end_ms)
    return low if start is None else max(low, start), high


async def parts_to_consume(
    consumer: PullConsumer, queues: Sequence[MessageQueue], query: MessageQuery
) -> list[PullRange]:
    """Return what consumeMessage reads: the first queues use up its limit."""
    left, parts = query.limit or 0, []
    for queue in in_java_order(queues):
        if left == 0:
            break
        low, high = await _ends(consumer, queue, query.filter, query.start)
        if high - low > left:
            parts.append(PullRange(queue, low, low + left - 1, to_end=True, cut_to=left))
            left = 0
        else:
            parts.append(PullRange(queue, low, high, to_end=True))
            left -= high - low + 1
    return parts


async def pull_rows(
    call: Call, consumer: PullConsumer, parts: Sequence[PullRange], *, tags: str
) -> AsyncIterator[Row]:
    """Yield the pulls of each part and the messages that they found."""
    for part in parts:
        queue_offset, end = part.start, part.end + part.to_end
        yield _row(part, START, queue_offset)
        while queue_offset < end:
            count = min(end - queue_offset, COUNT_MAX) if part.to_end else COUNT_MAX
            pulled = await consumer.pull(
                part.queue, queue_offset=queue_offset, subscription=tags, count_max=count
            )
            queue_offset = pulled.next_offset
            yield _row(part, pulled.status.value, queue_offset)
            for message in pulled.messages:
                yield with_ends(row_of(message, warn=call.warn), pulled)
            if pulled.status in ENDS:
                break


def _row(part: PullRange, status: str, next_offset: int) -> PullRow:
    return PullRow(
        topic=part.queue.topic,
        broker=part.queue.broker_name,
        queue_id=part.queue.queue_id,
        status=status,
        min_offset=part.start,
        max_offset=part.end,
        next_offset=next_offset,
        cut_to=part.cut_to,
    )


def with_ends(row: MessageRow, pulled: PullResult) -> MessageRow:
    """Return a message with the properties that a client adds when it pulls."""
    ends = {"MIN_OFFSET": str(pulled.min_offset), "MAX_OFFSET": str(pulled.max_offset)}
    return replace(row, properties=row.properties | ends)
