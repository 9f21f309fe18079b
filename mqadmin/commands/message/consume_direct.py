"""``message consume-direct``: hand one stored message to one live consumer, and see how it went.

Request: CONSUME_MESSAGE_DIRECTLY at the broker that has the message; the broker asks the
client, whose listener runs as for any other message. No offset moves.
"""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.direct import SUCCESS, Handed, hand_over
from mqadmin.findmessage import split_ids
from mqadmin.parameters import Kind, argument, option
from mqadmin.registry import Java, JavaOption, command
from mqadmin.rows import PARTLY, WOULD_CHANGE, Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which message, and to whom."""

    id: Annotated[str, argument("an offset id, or with --topic a unique id; A,B for two")]
    group: Annotated[str, argument("the consumer group", kind=Kind.GROUP)]
    client: Annotated[
        str | None, option("this member; the first one if left out", kind=Kind.CLIENT)
    ] = None
    topic: Annotated[str | None, option("where to look for a unique id", kind=Kind.TOPIC)] = None


@command(
    "message consume-direct",
    "hand a stored message to a live consumer",
    examples=(
        ("mqadmin message consume-direct 7F0000010000... billing", "to a member of billing"),
        ("mqadmin message consume-direct AC11... billing --topic orders", "by its unique id"),
    ),
    details="The listener runs with all its side effects. Exit code 1 where it did not succeed.",
    rows=Handed,
    writes=True,
    java=(
        Java(
            "queryMsgById",
            (
                JavaOption("i", "msgId", "id", required=True),
                JavaOption("g", "consumerGroup", "group"),
                JavaOption("d", "clientId", "client"),
                JavaOption("s", "sendMessage"),
                JavaOption("u", "unitName"),
            ),
            is_branch=True,
        ),
        Java(
            "queryMsgByUniqueKey",
            (
                JavaOption("t", "topic", "topic", required=True),
                JavaOption("i", "msgId", "id", required=True),
                JavaOption("a", "showAll", has_arg=False),
                JavaOption("g", "consumerGroup", "group"),
                JavaOption("d", "clientId", "client"),
            ),
            is_branch=True,
        ),
    ),
)
async def consume_direct(call: Call, args: Arguments) -> Outcome:
    """Return one row a message: what the listener said.

    Raises:
        NotFound: no such message, or nobody of the group is online.
    """
    rows = [
        await hand_over(call, one, topic=args.topic, group=args.group, client_id=args.client)
        for one in split_ids([args.id])
    ]
    bad = [row for row in rows if row.result not in (*SUCCESS, WOULD_CHANGE)]
    return Outcome(rows, exit_code=0 if not bad else 1 if len(bad) == len(rows) else PARTLY)
