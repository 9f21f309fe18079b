"""``message query offset``: the message at a place of a queue.

Requests: GET_ROUTEINFO_BY_TOPIC, PULL_MESSAGE.
"""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.errors import NotFound, Usage
from mqadmin.messages import MESSAGE_COLUMNS, MessageRow, row_of
from mqadmin.parameters import Kind, argument, option
from mqadmin.places import choose_queue
from mqadmin.registry import Java, JavaOption, Needs, command
from mqadmin.rows import Outcome, one
from mqclient.consumer.pull_consumer import PullConsumer
from storefmt.names import TOOLS_GROUP


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which message."""

    topic: Annotated[str, argument("the topic", kind=Kind.TOPIC)]
    queue: Annotated[str, argument("the queue", metavar="QUEUE", kind=Kind.QUEUE)]
    queue_offset: Annotated[int, argument("its place in the queue", metavar="OFFSET")]
    broker: Annotated[str | None, option("the broker, for a bare id", kind=Kind.BROKER)] = None
    no_body: Annotated[bool, option("leave the body out")] = False


@command(
    "message query offset",
    "show the message at a place of a queue",
    examples=(("mqadmin message query offset orders broker-a:3 17", "entry 17 of queue 3"),),
    rows=MessageRow,
    columns=MESSAGE_COLUMNS,
    needs=Needs.EITHER,
    java=(
        Java(
            "queryMsgByOffset",
            (
                JavaOption("b", "brokerName", "broker", required=True),
                JavaOption("t", "topic", "topic", required=True),
                JavaOption("i", "queueId", "queue", required=True),
                JavaOption("o", "offset", "queue_offset", required=True),
                JavaOption("f", "bodyFormat", since_5=True),
            ),
        ),
    ),
)
async def query_offset(call: Call, args: Arguments) -> Outcome:
    """Return the message.

    Raises:
        NotFound: the queue has no such entry; the error says which it has.
        NoRoute: there is no such topic.
    """
    if args.queue_offset < 0:
        raise Usage(f"queue offset {args.queue_offset} is negative")
    if call.is_offline:
        # A store is read by numpy, which nobody should wait for who asks a broker.
        from mqadmin.offline import stored_at

        number = args.queue.rpartition(":")[2]
        if not number.isdecimal():
            raise Usage(f"{args.queue!r} is no queue", hint="as 3")
        return stored_at(call, args.topic, int(number), args.queue_offset, no_body=args.no_body)
    consumer = PullConsumer(await call.client(), TOOLS_GROUP)
    queue = choose_queue(await consumer.queues(args.topic), args.queue, args.broker)
    pulled = await consumer.pull(queue, queue_offset=args.queue_offset, count_max=1)
    for message in pulled.messages:
        if message.queue_offset == args.queue_offset:
            return one(row_of(message, warn=call.warn, body=not args.no_body))
    raise NotFound(
        f"queue {queue.broker_name}:{queue.queue_id} of topic {args.topic} has no message at "
        f"{args.queue_offset}",
        hint=f"it has {pulled.min_offset} to {pulled.max_offset - 1}"
        if pulled.max_offset > pulled.min_offset
        else "it is empty",
    )
