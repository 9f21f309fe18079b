"""``message consume-direct``: hand one stored message to one live consumer, and see how it went.

Request: CONSUME_MESSAGE_DIRECTLY at the broker that has the message; the broker asks the
client, whose listener runs as for any other message. No offset moves.
"""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.direct import Handed, hand_over
from mqadmin.parameters import Kind, argument, option
from mqadmin.registry import command
from mqadmin.rows import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which message, and to whom."""

    id: Annotated[str, argument("an offset id, or with --topic a unique id")]
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
)
async def consume_direct(call: Call, args: Arguments) -> Outcome:
    """Return one row: what the listener said.

    Raises:
        NotFound: no such message, or nobody of the group is online.
    """
    return await hand_over(call, args.id, topic=args.topic, group=args.group, client_id=args.client)
