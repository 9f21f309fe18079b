"""``message get``: messages by whatever is known of them.

    BROKER:QUEUE:OFFSET or QUEUE:OFFSET in a topic      a place
    32 or 56 hex digits with a port in them             an offset id
    anything else in a topic                            a unique id, else a key

Requests: as the ``message query`` verb that fits.
"""

import re
from dataclasses import dataclass
from typing import Annotated, Final

from mqadmin.call import Call
from mqadmin.errors import NotFound, Usage
from mqadmin.findmessage import find_message, is_offset_id
from mqadmin.messages import MESSAGE_COLUMNS, MessageRow, row_of
from mqadmin.parameters import Kind, argument, option
from mqadmin.places import choose_queue
from mqadmin.reading import message_at
from mqadmin.registry import command
from mqadmin.rows import Outcome, one
from mqclient.consumer.pull_consumer import PullConsumer
from storefmt.names import TOOLS_GROUP

PLACE: Final = re.compile(r"(?:(?P<broker>[^:]+):)?(?P<queue>\d+):(?P<offset>\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """What is known of the message."""

    what: Annotated[str, argument("an id, a key or QUEUE:OFFSET", metavar="ID|KEY|PLACE")]
    topic: Annotated[
        str | None, option("its topic; for an offset id it is known", short="t", kind=Kind.TOPIC)
    ] = None
    no_body: Annotated[bool, option("leave the body out")] = False


@command(
    "message get",
    "find messages by an id, a key or a place, whichever it is",
    examples=(
        ("mqadmin message get 7F00000100002A9F0000000000000000", "by the id of a broker"),
        ("mqadmin message get o-17 --topic orders", "by a key, or the id of a producer"),
        ("mqadmin message get broker-a:3:17 --topic orders", "entry 17 of queue 3"),
    ),
    rows=MessageRow,
    columns=MESSAGE_COLUMNS,
)
async def get(call: Call, args: Arguments) -> Outcome:
    """Return the message, or every one with the key.

    Raises:
        Usage: it is no offset id, and no topic is given.
        NotFound: there is none.
        NoRoute: there is no such topic.
    """
    body = not args.no_body
    if is_offset_id(args.what):
        message = await find_message(call, args.what, topic=None)
        return one(row_of(message, warn=call.warn, body=body))
    if args.topic is None:
        raise Usage(f"{args.what} is no offset id", hint="add --topic TOPIC to look for it there")
    place = PLACE.fullmatch(args.what)
    if place is not None:
        return one(await _at(call, args.topic, place, body=body))
    # Only a look-up by key needs the calls about messages.
    from mqclient.admin.message import MessageCalls

    messages = MessageCalls(await call.client())
    found = await messages.query_message(args.topic, args.what, unique=True)
    if not found:
        found = await messages.query_message(args.topic, args.what)
    if not found:
        raise NotFound(
            f"no message with id or key {args.what} in topic {args.topic}",
            hint="check both; brokers index a message some moments after they stored it",
        )
    rows = [row_of(message, warn=call.warn, body=body) for message in found]
    return one(rows[0]) if len(rows) == 1 else Outcome(rows)


async def _at(call: Call, topic: str, place: re.Match[str], *, body: bool) -> MessageRow:
    consumer = PullConsumer(await call.client(), TOOLS_GROUP)
    queue = choose_queue(await consumer.queues(topic), place["queue"], place["broker"])
    found = await message_at(consumer, queue, int(place["offset"]))
    if found is None or found.queue_offset != int(place["offset"]):
        raise NotFound(
            f"queue {queue.broker_name}:{queue.queue_id} of topic {topic} has no message at "
            f"{place['offset']}",
            hint=f"`topic status {topic}` shows the ends",
        )
    return row_of(found, warn=call.warn, body=body)
