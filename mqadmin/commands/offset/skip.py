"""``offset skip``: let a group pass over what waits, or over so many messages of each queue.

Requests: as ``offset reset``, which does the work.
"""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.errors import Usage
from mqadmin.offsetchange import OFFSET_COLUMNS, OffsetChange
from mqadmin.offsetreset import Reset, move_group
from mqadmin.parameters import Kind, argument, option
from mqadmin.positions import parse_position
from mqadmin.registry import Java, JavaOption, command
from mqadmin.rows import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which group and topic, and how much."""

    group: Annotated[str, argument("the consumer group", kind=Kind.GROUP)]
    topic: Annotated[str, argument("the topic", kind=Kind.TOPIC)]
    count: Annotated[int | None, argument("messages of each queue; all that waits if left out")] = (
        None
    )
    queue: Annotated[
        tuple[str, ...],
        option("only this queue", metavar="ID|BROKER:ID", kind=Kind.QUEUE),
    ] = ()


@command(
    "offset skip",
    "let a group pass over messages",
    examples=(
        ("mqadmin offset skip billing orders --dry-run", "what would be passed over"),
        ("mqadmin offset skip billing orders 1 --queue broker-a:0 -y", "one that is in the way"),
    ),
    details="A number works only while no member is online.",
    rows=OffsetChange,
    columns=OFFSET_COLUMNS,
    writes=True,
    java=(
        Java(
            "skipAccumulatedMessage",
            (
                JavaOption("g", "group", "group", required=True),
                JavaOption("t", "topic", "topic", required=True),
                JavaOption("f", "force"),
                JavaOption("c", "cluster", since_5=True),
            ),
        ),
    ),
)
async def skip_messages(call: Call, args: Arguments) -> Outcome:
    """Return one row a queue, with the offsets before and after.

    Raises:
        Usage: the number is not positive.
        NoRoute, NotFound, Refused: as ``offset reset``.
    """
    if args.count is not None and args.count < 1:
        raise Usage(f"{args.count} messages cannot be passed over", hint="a number above zero")
    to = parse_position("latest" if args.count is None else f"+{args.count}")
    wish = Reset(group=args.group, topic=args.topic, to=to, queue=args.queue)
    return await move_group(call, wish, title=f"offset skip {args.group} {args.topic}")
