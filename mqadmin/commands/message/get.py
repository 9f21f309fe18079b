"""``message get``: messages by whatever is known of them.

    BROKER:QUEUE:OFFSET or QUEUE:OFFSET in a topic      a place
    32 or 56 hex digits with a port in them             an offset id
    anything else in a topic                            a unique id, else a key

Requests: as the ``message query`` verb that fits.
"""

import re
from typing import Final

import click

from mqadmin.cli.declare import command
from mqadmin.cli.decorators import no_body_option
from mqadmin.cli.types import TOPIC
from mqadmin.cluster.brokers import choose_queue
from mqadmin.errors import NotFound, Usage
from mqadmin.messages.broker_reader import message_at
from mqadmin.messages.find import find_message, is_offset_id
from mqadmin.messages.message_rows import MESSAGE_COLUMNS, MessageRow, row_of
from mqadmin.output.rows import Outcome, one
from mqadmin.session.call import Call
from mqclient.consumer.pull_consumer import PullConsumer
from storefmt.names import TOOLS_GROUP

PLACE: Final = re.compile(r"(?:(?P<broker>[^:]+):)?(?P<queue>\d+):(?P<offset>\d+)")


@command(
    "message get",
    examples=(
        ("mqadmin message get 7F00000100002A9F0000000000000000", "by the id of a broker"),
        ("mqadmin message get o-17 --topic orders", "by a key, or the id of a producer"),
        ("mqadmin message get broker-a:3:17 --topic orders", "entry 17 of queue 3"),
    ),
    rows=MessageRow,
    columns=MESSAGE_COLUMNS,
)
@click.argument("what", metavar="ID|KEY|PLACE", help="an id, a key or QUEUE:OFFSET")
@click.option("--topic", "-t", type=TOPIC, help="its topic; for an offset id it is known")
@no_body_option
async def get(call: Call, *, what: str, topic: str | None, no_body: bool) -> Outcome:
    """Return the message, or every one with the key.

    Raises:
        Usage: it is no offset id, and no topic is given.
        NotFound: there is none.
        NoRoute: there is no such topic.
    """
    body = not no_body
    if is_offset_id(what):
        message = await find_message(call, what, topic=None)
        return one(row_of(message, warn=call.warn, body=body))
    if topic is None:
        raise Usage(f"{what} is no offset id", hint="add --topic TOPIC to look for it there")
    place = PLACE.fullmatch(what)
    if place is not None:
        return one(await _at(call, topic, place, body=body))
    # Only a look-up by key needs the calls about messages.
    from mqclient.admin.message import MessageCalls

    messages = MessageCalls(await call.client())
    found = await messages.query_message(topic, what, unique=True)
    if not found:
        found = await messages.query_message(topic, what)
    if not found:
        raise NotFound(
            f"no message with id or key {what} in topic {topic}",
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
