"""``message tail``: follow a topic and show each message as it is stored, until Ctrl-C.

    one task per queue:  PULL_MESSAGE (held by the broker up to 15 s) --> rows

Requests: GET_ROUTEINFO_BY_TOPIC, the offset to start at, then PULL_MESSAGE again and
again. No offset is committed, so other consumers do not notice a tail.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Final

from mqadmin.cli.declare import Call, Needs, Outcome, Row, command
from mqadmin.cli.decorators import tag_expression, topic_argument
from mqadmin.cluster.brokers import choose_queue
from mqadmin.messages.filter import RecordFilter
from mqadmin.messages.limits import Limit
from mqadmin.messages.message_rows import MESSAGE_COLUMNS, MessageRow, row_of
from mqadmin.messages.tail import TailOptions, tail_options
from mqadmin.output.times import parse_time
from mqclient.consumer.pull.pull_request import PullResult, PullStatus
from mqclient.consumer.pull_consumer import PullConsumer
from mqclient.errors import TimedOut, Unreachable
from mqclient.message import MessageExt
from remoting.bodies import MessageQueue
from storefmt.names import TOOLS_GROUP

HOLD_MS: Final = 15_000
RETRY_S: Final = 1.0
AHEAD_MAX: Final = 256
"""How many messages are read ahead of the printer, over all queues."""


@command(
    "message tail",
    examples=(
        ("mqadmin message tail orders", "new messages, until Ctrl-C"),
        ("mqadmin message tail orders --from earliest --count 10 -o jsonl", "the first ten"),
        ("mqadmin message tail orders --from -1h --no-follow", "the last hour, then exit"),
        ("mqadmin message tail orders --grep 'error|failed'", "by text in the body"),
        ("mqadmin message tail orders -p region=eu --json total=0", "by property and field"),
        ("mqadmin message tail orders --store DIR", "from the store of a broker on this machine"),
    ),
    rows=MessageRow,
    columns=MESSAGE_COLUMNS,
    needs=Needs.EITHER,
)
@topic_argument()
@tag_expression
@tail_options
async def tail_topic(call: Call, *, topic: str, tag: str, tail: TailOptions) -> Outcome:
    """Return rows that continue until ``--count`` or Ctrl-C.

    Raises:
        NoRoute: the topic does not exist.
        ItemNotFound: the queue does not exist.
    """
    if call.is_offline:
        from mqadmin.store_access.follow_log import follow

        record_filter = tail.filter(topic=topic, tags=_tags(tag))
        return follow(call, tail, record_filter, body="none" if tail.no_body else "inflated")
    consumer = PullConsumer(await call.client(), TOOLS_GROUP)
    queues = await consumer.queues(topic)
    if tail.queue is not None:
        queues = [choose_queue(queues, tail.queue, None)]
    now_ms = call.now_ms()
    starts = await asyncio.gather(*(_start(consumer, mq, tail.from_, now_ms) for mq in queues))
    ends: Sequence[int | None] = [None] * len(queues)
    if tail.no_follow:
        ends = await asyncio.gather(*(consumer.max_offset(mq) for mq in queues))
    looks = Limit(tail.scan)
    followers = [
        QueueTail(call, consumer, mq, start, end=end, tag=tag, wanted=tail.filter(), scan=looks)
        for mq, start, end in zip(queues, starts, ends, strict=True)
    ]
    return Outcome(_rows(call, followers, tail), follow=True)


def _tags(expression: str) -> tuple[str, ...]:
    """Return the tags of ``A || B``; empty for all."""
    tags = tuple(tag.strip() for tag in expression.split("||"))
    return () if "*" in tags else tags


async def _start(consumer: PullConsumer, queue: MessageQueue, start: str, now_ms: int) -> int:
    if start == "earliest":
        return await consumer.min_offset(queue)
    if start == "latest":
        return await consumer.max_offset(queue)
    wanted_ms = parse_time(start, now_ms=now_ms)
    if wanted_ms >= now_ms:
        return await consumer.max_offset(queue)
    return await consumer.search_offset(queue, wanted_ms)


class ScanOver(Exception):
    """The number of messages that ``--scan`` allows was checked."""


@dataclass(slots=True)
class QueueTail:
    """Reads one queue from ``queue_offset`` on, up to ``end`` if it is set.

    ``scan`` is how many messages all queues together may check.
    """

    call: Call
    consumer: PullConsumer
    queue: MessageQueue
    queue_offset: int
    _: KW_ONLY
    end: int | None
    tag: str
    wanted: RecordFilter
    scan: Limit

    async def put_messages(self, out: "asyncio.Queue[MessageExt | Exception | None]") -> None:
        """Put messages into ``out``; None at the end, an error if it cannot continue.

        ``ScanOver`` ends all queues.
        """
        try:
            while self.end is None or self.queue_offset < self.end:
                pulled = await self._pull()
                for message in pulled.messages if pulled is not None else ():
                    if self.end is not None and message.queue_offset >= self.end:
                        continue
                    if not self.scan.spend():
                        await out.put(ScanOver())
                        return
                    if self.wanted.wants(message.record):
                        await out.put(message)
        except Exception as error:
            await out.put(error)
        else:
            await out.put(None)

    async def _pull(self) -> PullResult | None:
        """Pull once and advance; None if the broker is away for a moment."""
        try:
            pulled = await self.consumer.pull(
                self.queue,
                queue_offset=self.queue_offset,
                subscription=self.tag,
                suspend_ms=HOLD_MS if self.end is None else 0,
            )
        except (TimedOut, Unreachable) as error:
            self.call.warn(f"{error}; retrying")
            await asyncio.sleep(RETRY_S)
            return None
        if self.end is not None and pulled.status is PullStatus.NO_NEW_MSG:
            self.queue_offset = self.end
        else:
            self.queue_offset = pulled.next_offset
        return pulled


async def _rows(call: Call, followers: list[QueueTail], tail: TailOptions) -> AsyncIterator[Row]:
    """Yield the messages of all queues as they come."""
    out: asyncio.Queue[MessageExt | Exception | None] = asyncio.Queue(AHEAD_MAX)
    tasks = [asyncio.create_task(follower.put_messages(out)) for follower in followers]
    left, size = tail.count, Limit(tail.bytes_)
    running = len(tasks)
    try:
        while running and left != 0:
            batch = await out.get()
            if batch is None:
                running -= 1
            elif isinstance(batch, ScanOver):
                break
            elif isinstance(batch, Exception):
                raise batch
            else:
                row = row_of(batch, warn=call.warn, body=not tail.no_body)
                if not size.spend(row.body_size):
                    break
                yield row
                left = None if left is None else left - 1
    finally:
        for task in tasks:
            task.cancel()
