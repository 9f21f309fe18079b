"""Read the messages of a topic as rows, from brokers or from a store directory.

``message print``, ``message query time`` and ``dead-letter show`` have different options, but all
use this module.
"""

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from itertools import islice, takewhile

from mqadmin.cluster.brokers import choose_queue
from mqadmin.errors import Usage
from mqadmin.messages.broker_reader import QueueSpan, read_spans, spans_of
from mqadmin.messages.filter import RecordFilter
from mqadmin.messages.limits import Limit
from mqadmin.messages.message_rows import MessageRow, row_of
from mqadmin.output.rows import Outcome, Row
from mqadmin.session.call import Call
from mqclient.consumer.pull_consumer import PullConsumer
from remoting.bodies import MessageQueue
from storefmt.names import TOOLS_GROUP


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageQuery:
    """Which messages of a topic to read.

    Attributes:
        queue: ``ID`` or ``BROKER:ID``; None for all. ``broker`` selects all its queues.
        start: skip entries before this queue offset.
        tags: an expression of tags, as ``A || B``.
        bytes_max: stop before the stored bodies exceed this many bytes in total.
        parent: the topic whose route is that of ``topic``, which is a light queue.
        scan: check at most this many messages of each queue; only with brokers.
    """

    topic: str
    filter: RecordFilter
    queue: str | None = None
    broker: str | None = None
    start: int | None = None
    tags: str = "*"
    limit: int | None = None
    bytes_max: int | None = None
    scan: int | None = None
    parent: str | None = None
    no_body: bool = False
    count_tags: bool = False


async def browse(call: Call, query: MessageQuery) -> Outcome:
    """Return the messages, queue by queue.

    Raises:
        NoRoute: the topic does not exist.
        ItemNotFound: the queue does not exist.
        Usage: ``scan`` was given for a store directory.
    """
    if query.scan is not None and call.is_offline:
        raise Usage(f"--scan {query.scan}", hint="--scan works only with brokers, not with --store")
    if query.parent is not None and call.is_offline:
        raise Usage("--parent is for brokers", hint="a directory has the queue by its own name")
    size = Limit(query.bytes_max)
    if call.is_offline:
        rows = takewhile(lambda row: size.spend(row.body_size), stored_rows(call, query))
        return Outcome(rows)
    consumer, spans = await consumer_and_spans(call, query)
    if query.scan is not None:
        spans = [replace(span, end=min(span.end, span.start + query.scan)) for span in spans]
    return Outcome(_online(call, consumer, spans, query, size))


async def consumer_and_spans(
    call: Call, query: MessageQuery
) -> tuple[PullConsumer, list[QueueSpan]]:
    """Return a consumer and the spans to read."""
    consumer, queues = await consumer_and_queues(call, query)
    spans = await spans_of(consumer, queues, begin_ms=query.filter.begin_ms, start=query.start)
    return consumer, spans


async def consumer_and_queues(
    call: Call, query: MessageQuery
) -> tuple[PullConsumer, list[MessageQueue]]:
    """Return a consumer and the queues to read."""
    client = await call.client()
    if query.parent is not None:
        client.share_route(query.topic, query.parent)
    consumer = PullConsumer(client, TOOLS_GROUP)
    queues = await consumer.queues(query.topic)
    if query.queue is not None:
        queues = [choose_queue(queues, query.queue, query.broker)]
    elif query.broker is not None:
        queues = [queue for queue in queues if queue.broker_name == query.broker]
    return consumer, queues


async def _online(
    call: Call, consumer: PullConsumer, spans: list[QueueSpan], query: MessageQuery, size: Limit
) -> AsyncIterator[Row]:
    counts: Counter[str] = Counter()
    async for message in read_spans(
        consumer, spans, query.filter, tags=query.tags, count_max=query.limit
    ):
        row = row_of(message, warn=call.warn, body=not query.no_body)
        if not size.spend(row.body_size):
            break
        counts[message.tags or ""] += 1
        yield row
    _tell_tags(call, query, counts)


def stored_rows(call: Call, query: MessageQuery) -> Iterator[MessageRow]:
    """Yield the messages of a store; the filter of ``query`` must name the topic."""
    # Reading a store needs numpy, which commands that ask brokers should not load.
    from mqadmin.messages.record_rows import OffsetRange, message_rows
    from storefmt.offline.views.storedir import StoreDir

    allowed = {tag.strip() for tag in query.tags.split("||")}
    counts: Counter[str] = Counter()
    with StoreDir.open(call.store_dir) as store:
        rows = message_rows(
            store,
            query.filter,
            offsets=OffsetRange(),
            count_max=None,
            body="none" if query.no_body else "inflated",
            warn=call.warn,
        )
        for row in islice((row for row in rows if _passes(row, query, allowed)), query.limit):
            counts[row.tags or ""] += 1
            yield row
    _tell_tags(call, query, counts)


def _passes(row: MessageRow, query: MessageQuery, allowed: set[str]) -> bool:
    if query.start is not None and row.queue_offset < query.start:
        return False
    if query.queue is not None and query.queue.rpartition(":")[2] != str(row.queue_id):
        return False
    return "*" in allowed or (row.tags or "") in allowed


def _tell_tags(call: Call, query: MessageQuery, counts: Counter[str]) -> None:
    if query.count_tags:
        for tag, count in counts.most_common():
            call.warn(f"tag {tag or 'none'}: {count}")
