"""``message query id``: the message with an offset id or a unique id.

Requests: VIEW_MESSAGE_BY_ID, or QUERY_MESSAGE in ``--topic``.
"""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.findmessage import find_message
from mqadmin.messages import MESSAGE_COLUMNS, MessageRow, row_of
from mqadmin.parameters import Kind, argument, option
from mqadmin.registry import Java, JavaOption, Needs, command
from mqadmin.rows import Outcome, one


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which message."""

    id: Annotated[str, argument("an offset id, or with --topic a unique id")]
    topic: Annotated[str | None, option("where to look for a unique id", kind=Kind.TOPIC)] = None
    no_body: Annotated[bool, option("leave the body out")] = False


CONSUME = "`message consume-direct ID GROUP --client CLIENT` does that"
SEND = "`message resend ID` does that"


@command(
    "message query id",
    "find a message by its id",
    examples=(
        ("mqadmin message query id 7F00000100002A9F0000000000000000", "by offset id"),
        ("mqadmin message query id 7F0000013A2118B4AAC2... --topic orders", "by unique id"),
    ),
    rows=MessageRow,
    columns=MESSAGE_COLUMNS,
    needs=Needs.EITHER,
    java=(
        Java(
            "queryMsgById",
            (
                JavaOption("i", "msgId", "id", required=True),
                JavaOption("g", "consumerGroup", why_not=CONSUME),
                JavaOption("d", "clientId", why_not=CONSUME),
                JavaOption("s", "sendMessage", why_not=SEND),
                JavaOption("u", "unitName", why_not=SEND),
            ),
        ),
    ),
)
async def query_id(call: Call, args: Arguments) -> Outcome:
    """Return the message.

    Raises:
        BadCall: that is no id.
        NotFound: no message has this id.
        Usage: it looks like a unique id and no topic is given.
    """
    if call.is_offline:
        # A store is read by numpy, which nobody should wait for who asks a broker.
        from mqadmin.offline import stored_message

        return stored_message(call, args.id, no_body=args.no_body)
    found = await find_message(await call.admin(), args.id, topic=args.topic)
    return one(row_of(found, body=not args.no_body))
