"""``message get``: find messages by an id, a key or a place.

Requests: those of the ``message query`` that fits; see ``mqadmin.messages.find``.
"""

import click

from mqadmin.cli.declare import Call, Outcome, argument, command, one
from mqadmin.cli.decorators import no_body_option
from mqadmin.cli.types import TOPIC
from mqadmin.messages.find import find_messages
from mqadmin.messages.message_rows import MESSAGE_COLUMNS, MessageRow, row_of


@command(
    "message get",
    examples=(
        ("mqadmin message get 7F00000100002A9F0000000000000000", "by an offset id"),
        ("mqadmin message get o-17 --topic orders", "by a key or a unique id"),
        ("mqadmin message get broker-a:3:17 --topic orders", "entry 17 of queue 3"),
    ),
    rows=MessageRow,
    columns=MESSAGE_COLUMNS,
)
@argument("what", metavar="ID|KEY|PLACE", help="an id, a key or QUEUE:OFFSET")
@click.option("--topic", "-t", type=TOPIC, help="topic of the message; not needed for an offset id")
@no_body_option
async def get_message(call: Call, *, what: str, topic: str | None, no_body: bool) -> Outcome:
    """Return the message, or every one with the key.

    Raises:
        Usage: it is not an offset id, and no topic is given.
        ItemNotFound: the message does not exist.
        NoRoute: the topic does not exist.
    """
    messages = await find_messages(call, what, topic=topic)
    rows = [row_of(message, warn=call.warn, body=not no_body) for message in messages]
    return one(rows[0]) if len(rows) == 1 else Outcome(rows)
