"""``message tail``: follow a topic: each message as it is stored, until Ctrl-C.

    one task a queue:  PULL_MESSAGE (held by the broker up to 15 s) --> rows

Requests: GET_ROUTEINFO_BY_TOPIC, the offset to start at, then PULL_MESSAGE again and
again. No offset is committed: a tail is no consumer that anybody else would notice.
"""

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import KW_ONLY, dataclass, replace
from typing import Annotated, Final

from mqadmin.allowance import Allowance
from mqadmin.call import Call
from mqadmin.errors import Usage
from mqadmin.jsonwish import JsonWish, parse_json_wish
from mqadmin.messages import MESSAGE_COLUMNS, MessageRow, row_of
from mqadmin.namevalue import parse_name_value
from mqadmin.parameters import Kind, argument, option
from mqadmin.places import choose_queue
from mqadmin.registry import Needs, command
from mqadmin.rows import Outcome, Row
from mqadmin.times import parse_start, parse_time
from mqadmin.wanted import Filter, parse_pattern
from mqclient.consumer.pull import PullResult, PullStatus
from mqclient.consumer.pull_consumer import PullConsumer
from mqclient.errors import TimedOut, Unreachable
from mqclient.message import MessageExt
from remoting.bodies import MessageQueue
from storefmt.names import TOOLS_GROUP

HOLD_MS: Final = 15_000
RETRY_S: Final = 1.0
AHEAD_MAX: Final = 256
"""Messages read ahead of the printer, over all queues."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """What to follow."""

    topic: Annotated[str, argument("the topic", kind=Kind.TOPIC)]
    from_: Annotated[
        str,
        option("earliest, latest or a TIME", metavar="WHERE", kind=Kind.TIME, parse=parse_start),
    ] = "latest"
    count: Annotated[int | None, option("end after so many", short="c")] = None
    bytes: Annotated[int | None, option("end before bodies of more bytes in all")] = None
    scan: Annotated[int | None, option("end after so many were looked at")] = None
    tag: Annotated[str, option("only these tags, as 'A || B'", short="t")] = "*"
    grep: Annotated[
        re.Pattern[str] | None,
        option("with this pattern in the body", metavar="PATTERN", parse=parse_pattern),
    ] = None
    key: Annotated[str | None, option("with this key or unique key", short="k")] = None
    property: Annotated[
        tuple[tuple[str, str], ...],
        option("with this property", short="p", metavar="NAME=VALUE", parse=parse_name_value),
    ] = ()
    json: Annotated[
        JsonWish | None,
        option("with this in a JSON body", metavar="PATH[=VALUE]", parse=parse_json_wish),
    ] = None
    queue: Annotated[
        str | None, option("only this queue", metavar="ID|BROKER:ID", kind=Kind.QUEUE)
    ] = None
    no_follow: Annotated[bool, option("end at what is there now")] = False
    no_body: Annotated[bool, option("leave the bodies out")] = False


@command(
    "message tail",
    "follow a topic: print messages as they come",
    examples=(
        ("mqadmin message tail orders", "what comes from now on; Ctrl-C ends it"),
        ("mqadmin message tail orders --from earliest --count 10 -o jsonl", "the first ten"),
        ("mqadmin message tail orders --from -1h --no-follow", "the last hour, then end"),
        ("mqadmin message tail orders --grep 'error|failed'", "by what is in the body"),
        ("mqadmin message tail orders -p region=eu --json total=0", "by property and field"),
        ("mqadmin message tail orders --store DIR", "as a broker on this machine writes it"),
    ),
    rows=MessageRow,
    columns=MESSAGE_COLUMNS,
    needs=Needs.EITHER,
)
async def tail(call: Call, args: Arguments) -> Outcome:
    """Return rows that go on until ``--count`` or Ctrl-C.

    Raises:
        NoRoute: there is no such topic.
        NotFound: there is no such queue.
    """
    if call.is_offline:
        return _stored(call, args)
    if args.count is not None and args.count < 1:
        raise Usage(f"--count {args.count}: expected 1 or more")
    consumer = PullConsumer(await call.client(), TOOLS_GROUP)
    queues = await consumer.queues(args.topic)
    if args.queue is not None:
        queues = [choose_queue(queues, args.queue, None)]
    starts = await asyncio.gather(
        *(_start(consumer, queue, args.from_, call.now_ms()) for queue in queues)
    )
    ends = None
    if args.no_follow:
        ends = await asyncio.gather(*(consumer.max_offset(queue) for queue in queues))
    scan, size = Allowance(args.scan, "--scan"), Allowance(args.bytes, "--bytes")
    followers = [
        Follower(
            call,
            consumer,
            queue,
            starts[spot],
            end=ends[spot] if ends else None,
            tag=args.tag,
            wanted=_wanted(args),
            scan=scan,
        )
        for spot, queue in enumerate(queues)
    ]
    return Outcome(_rows(call, followers, args, size), follow=True)


def _wanted(args: Arguments) -> Filter:
    return Filter(key=args.key, body=args.grep, property=args.property, json=args.json)


def _stored(call: Call, args: Arguments) -> Outcome:
    # A store is read by numpy, which nobody should wait for who asks a broker.
    from mqadmin.followstore import Follow, follow

    number = None if args.queue is None else args.queue.rpartition(":")[2]
    if number is not None and not number.isdecimal():
        raise Usage(f"{args.queue!r} is no queue", hint="as 3")
    tags = [tag.strip() for tag in args.tag.split("||")]
    wish = Follow(
        start=args.from_,
        wanted=replace(_wanted(args), topic=args.topic, tags=() if "*" in tags else tuple(tags)),
        count=args.count,
        bytes_max=args.bytes,
        scan=args.scan,
        follow=not args.no_follow,
        body="none" if args.no_body else "inflated",
        queue_id=None if number is None else int(number),
    )
    return follow(call, wish)


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
    """As many messages were looked at as ``--scan`` allows."""


@dataclass(slots=True)
class Follower:
    """Reads one queue from ``queue_offset`` on, up to ``end`` where there is one.

    ``scan`` is how many messages all of them may look at together.
    """

    call: Call
    consumer: PullConsumer
    queue: MessageQueue
    queue_offset: int
    _: KW_ONLY
    end: int | None
    tag: str
    wanted: Filter
    scan: Allowance

    async def run(self, out: "asyncio.Queue[MessageExt | Exception | None]") -> None:
        """Put messages into ``out``; None at the end, an error where it cannot go on.

        ``ScanOver`` ends them all.
        """
        try:
            while self.end is None or self.queue_offset < self.end:
                pulled = await self._pull()
                for message in pulled.messages if pulled is not None else ():
                    if self.end is not None and message.queue_offset >= self.end:
                        continue
                    if not self.scan.take():
                        await out.put(ScanOver())
                        return
                    if self.wanted.wants(message.record):
                        await out.put(message)
        except Exception as error:
            await out.put(error)
        else:
            await out.put(None)

    async def _pull(self) -> PullResult | None:
        """Pull once and move on; None where the broker is away for a moment."""
        try:
            pulled = await self.consumer.pull(
                self.queue,
                queue_offset=self.queue_offset,
                subscription=self.tag,
                suspend_ms=HOLD_MS if self.end is None else 0,
            )
        except (TimedOut, Unreachable) as error:
            self.call.warn(f"{error}; trying again")
            await asyncio.sleep(RETRY_S)
            return None
        if self.end is not None and pulled.status is PullStatus.NO_NEW_MSG:
            self.queue_offset = self.end
        else:
            self.queue_offset = pulled.next_offset
        return pulled


async def _rows(
    call: Call, followers: list[Follower], args: Arguments, size: Allowance
) -> AsyncIterator[Row]:
    """Yield the messages of all queues as they come."""
    out: asyncio.Queue[MessageExt | Exception | None] = asyncio.Queue(AHEAD_MAX)
    tasks = [asyncio.create_task(follower.run(out)) for follower in followers]
    left = args.count
    running = len(tasks)
    try:
        while running and left != 0:
            found = await out.get()
            if found is None:
                running -= 1
            elif isinstance(found, ScanOver):
                break
            elif isinstance(found, Exception):
                raise found
            else:
                row = row_of(found, warn=call.warn, body=not args.no_body)
                if not size.take(row.body_size):
                    break
                yield row
                left = None if left is None else left - 1
    finally:
        for task in tasks:
            task.cancel()
