"""``queue show``: the entries of a consume queue, as a broker reads them.

Request: QUERY_CONSUME_QUEUE at the master of the queue; ``--store`` reads the files.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from mqadmin.call import Call
from mqadmin.errors import NotFound, Usage
from mqadmin.parameters import Kind, argument, option
from mqadmin.places import choose_queue, masters
from mqadmin.registry import Java, JavaOption, Needs, command
from mqadmin.rows import Outcome, Row
from mqclient.client import routes
from remoting.bodies import MessageQueue

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which entries."""

    topic: Annotated[str, argument("the topic", kind=Kind.TOPIC)]
    queue: Annotated[str, argument("the queue", metavar="QUEUE", kind=Kind.QUEUE)]
    start: Annotated[int | None, option("queue offset to begin at; the first if left out")] = None
    count: Annotated[int, option("so many at most", short="c")] = 10
    group: Annotated[
        str | None, option("say whether this group's filter takes them", kind=Kind.GROUP)
    ] = None
    broker: Annotated[str | None, option("the broker, for a bare id", kind=Kind.BROKER)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueEntry(Row):
    """One entry: where its record lies in the log, and its size in bytes.

    ``taken`` says whether the filter of ``--group`` takes the message, None without a group.
    """

    topic: str
    broker: str | None
    queue_id: int
    queue_offset: int
    log_offset: int
    size: int
    tags_code: int
    taken: bool | None
    min_offset: int
    max_offset: int


@command(
    "queue show",
    "show entries of a consume queue",
    examples=(
        ("mqadmin queue show orders broker-a:3 --start 17", "ten entries from 17 on"),
        ("mqadmin queue show orders 3 --store DIR", "out of the files of a stopped broker"),
    ),
    rows=QueueEntry,
    columns=("queue_id", "queue_offset", "log_offset", "size", "tags_code", "taken"),
    needs=Needs.EITHER,
    java=(
        Java(
            "queryCq",
            (
                JavaOption("t", "topic", "topic", required=True),
                JavaOption("q", "queue", "queue", required=True),
                JavaOption("i", "index", "start", required=True),
                JavaOption("c", "count", "count"),
                JavaOption("b", "broker", "broker"),
                JavaOption("g", "consumer", "group"),
            ),
        ),
    ),
)
async def show_queue(call: Call, args: Arguments) -> Outcome:
    """Return one row an entry.

    Raises:
        NoRoute: there is no such topic.
        NotFound: the queue has no such entry, or there is no such queue.
        Usage: the count is not positive.
    """
    if args.count < 1:
        raise Usage(f"--count {args.count}: expected 1 or more")
    if call.is_offline:
        return _offline(call, args)
    admin = await call.admin()
    queue, address = await _find(admin, args)
    start = args.start if args.start is not None else await admin.min_offset(queue)
    found = await admin.query_consume_queue(
        address,
        args.topic,
        queue.queue_id,
        queue_offset=start,
        count=args.count,
        group=args.group,
    )
    return Outcome(
        [
            QueueEntry(
                topic=args.topic,
                broker=queue.broker_name,
                queue_id=queue.queue_id,
                queue_offset=start + spot,
                log_offset=entry.physic_offset,
                size=entry.physic_size,
                tags_code=entry.tags_code,
                taken=entry.eval if args.group is not None else None,
                min_offset=found.min_queue_index,
                max_offset=found.max_queue_index,
            )
            for spot, entry in enumerate(found.queue_data or [])
        ]
    )


async def _find(admin: "Admin", args: Arguments) -> tuple[MessageQueue, str]:
    route = await admin.topic_route(args.topic)
    addresses = routes.masters(route)
    broker = args.broker
    if broker is not None and ":" in broker:
        # Java's -b takes an address; queues go by the broker's name.
        (place,) = await masters(admin, broker=broker)
        broker = place.broker
    queue = choose_queue(routes.subscribe_queues(args.topic, route), args.queue, broker)
    return queue, addresses[queue.broker_name]


def _offline(call: Call, args: Arguments) -> Outcome:
    # A store is read by numpy, which nobody should wait for who asks a broker.
    from storefmt.offline.views.storedir import StoreDir

    number = args.queue.rpartition(":")[2]
    if not number.isdecimal():
        raise Usage(f"{args.queue!r} is no queue", hint="as 3")
    with StoreDir.open(call.store_dir) as store:
        if (args.topic, int(number)) not in set(store.queues()):
            raise NotFound(f"no queue {number} of topic {args.topic} in {store.root}")
        view = store.queue(args.topic, int(number))
        start = args.start if args.start is not None else view.min_offset
        return Outcome(
            [
                QueueEntry(
                    topic=args.topic,
                    broker=None,
                    queue_id=int(number),
                    queue_offset=queue_offset,
                    log_offset=entry.log_offset,
                    size=entry.size,
                    tags_code=entry.tags_code,
                    taken=None,
                    min_offset=view.min_offset,
                    max_offset=view.max_offset,
                )
                for queue_offset, entry in view.entries(start, args.count)
            ]
        )
