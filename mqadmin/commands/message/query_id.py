"""``message query id``: the message with an offset id or a unique id.

Requests: VIEW_MESSAGE_BY_ID, or QUERY_MESSAGE in ``--topic``.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.findmessage import find_message, split_ids
from mqadmin.messages import MESSAGE_COLUMNS, MessageRow, row_of
from mqadmin.parameters import Kind, argument, option
from mqadmin.registry import Branch, Java, JavaOption, Needs, command
from mqadmin.rows import Outcome, Row, one


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which messages."""

    id: Annotated[tuple[str, ...], argument("an offset id, or with --topic a unique id")]
    topic: Annotated[str | None, option("where to look for a unique id", kind=Kind.TOPIC)] = None
    no_body: Annotated[bool, option("leave the body out")] = False


@command(
    "message query id",
    "find a message by its id",
    examples=(
        ("mqadmin message query id 7F00000100002A9F0000000000000000", "by offset id"),
        ("mqadmin message query id 7F0000013A2118B4AAC2... --topic orders", "by unique id"),
        ("mqadmin message query id 7F00000100002A9F... 7F00000100002A9F...", "two at once"),
    ),
    rows=MessageRow,
    columns=MESSAGE_COLUMNS,
    needs=Needs.EITHER,
    direct=True,
    java=(
        Java(
            "queryMsgById",
            (
                JavaOption("i", "msgId", "id", required=True),
                JavaOption("g", "consumerGroup"),
                JavaOption("d", "clientId"),
                JavaOption("s", "sendMessage"),
                JavaOption("u", "unitName"),
                JavaOption("t", "topic", "topic", since_5=True),
                JavaOption("c", "cluster", since_5=True),
                JavaOption("f", "bodyFormat", since_5=True),
            ),
            branches=(
                Branch(("g", "d"), "message consume-direct"),
                Branch(("s",), "message resend"),
            ),
        ),
    ),
)
async def query_id(call: Call, args: Arguments) -> Outcome:
    """Return the message, or one row for each of several.

    Raises:
        BadCall: that is no id.
        NotFound: no message has this id.
        Usage: it looks like a unique id and no topic is given.
    """
    ids = split_ids(args.id)
    if call.is_offline:
        # A store is read by numpy, which nobody should wait for who asks a broker.
        from mqadmin.offline import stored_messages

        return stored_messages(call, ids, no_body=args.no_body)
    if len(ids) == 1:
        return one(await _row(call, ids[0], args))
    return Outcome(_rows(call, ids, args))


async def _rows(call: Call, ids: list[str], args: Arguments) -> AsyncIterator[Row]:
    for message_id in ids:
        yield await _row(call, message_id, args)


async def _row(call: Call, message_id: str, args: Arguments) -> MessageRow:
    found = await find_message(call, message_id, topic=args.topic)
    return row_of(found, warn=call.warn, body=not args.no_body)
