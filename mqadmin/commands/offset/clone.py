"""``offset clone``: give a group the offsets of another one.

    offsets of FROM --> each within its queue --> UPDATE_CONSUMER_OFFSET for TO --> read back

Requests: GET_BROKER_CLUSTER_INFO, GET_ALL_CONSUMER_OFFSET, GET_CONSUMER_LIST_BY_GROUP,
GET_MIN_OFFSET, GET_MAX_OFFSET, UPDATE_CONSUMER_OFFSET, QUERY_CONSUMER_OFFSET. Java's tool sends
one request to the broker (CLONE_GROUP_OFFSET), which copies all topics and says nothing.
"""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.errors import Usage
from mqadmin.offsetchange import (
    OFFSET_COLUMNS,
    OffsetChange,
    check_offline,
    keep,
    moves_to,
    offsets_of,
    row_of,
    store,
)
from mqadmin.parameters import Kind, argument, option
from mqadmin.places import masters
from mqadmin.registry import Java, JavaOption, command
from mqadmin.rows import PARTLY, WOULD_CHANGE, Outcome
from storefmt.names import RETRY_PREFIX
from storefmt.paths import check_group_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """From whom, to whom, and in which topics."""

    source: Annotated[str, argument("the group to copy", metavar="FROM", kind=Kind.GROUP)]
    target: Annotated[str, argument("the group that gets it", metavar="TO", kind=Kind.GROUP)]
    topic: Annotated[tuple[str, ...], option("only in this topic", kind=Kind.TOPIC)] = ()


@command(
    "offset clone",
    "give a group the offsets of another one",
    examples=(
        ("mqadmin offset clone billing billing-new --dry-run", "what would move"),
        ("mqadmin offset clone billing billing-new --topic orders -y", "in one topic"),
    ),
    details="The retry topic of the group is its own and is not copied.",
    rows=OffsetChange,
    columns=OFFSET_COLUMNS,
    writes=True,
    java=(
        Java(
            "cloneGroupOffset",
            (
                JavaOption("s", "srcGroup", "source", required=True),
                JavaOption("d", "destGroup", "target", required=True),
                JavaOption("t", "topic", "topic", required=True),
                JavaOption("o", "offline"),
            ),
        ),
    ),
)
async def clone_offsets(call: Call, args: Arguments) -> Outcome:
    """Return one row a queue; queues that are no more are named in a note (exit code 5).

    Raises:
        NotFound: the first group has no offset.
        Refused: members of the second one are online.
    """
    check_group_name(args.target)
    if args.source == args.target:
        raise Usage(f"{args.source} and {args.target} are the same group")
    admin = await call.admin()
    places = {at.broker: at.address for at in await masters(admin, every=True)}
    wanted = await offsets_of(admin, args.source, places, args.topic)
    moves, missing = [], []
    for topic, spots in sorted(wanted.items()):
        if topic.startswith(RETRY_PREFIX) and topic not in args.topic:
            continue
        found, absent = await moves_to(admin, args.target, topic, spots)
        moves += found
        missing += absent
    notes = (f"no queue any more: {', '.join(missing)}",) if missing else ()
    exit_code = PARTLY if missing else 0
    if call.dry_run:
        rows = [row_of(args.target, move, WOULD_CHANGE) for move in moves]
        return Outcome(rows, exit_code=exit_code, notes=notes)
    await check_offline(admin, args.target, places.values())
    await call.confirm(f"give group {args.target} {len(moves)} offsets of {args.source}?")
    keep(call, admin, args.target, moves, title=f"offset clone {args.source} {args.target}")
    rows = [await store(admin, args.target, move) for move in moves]
    return Outcome(rows, exit_code=exit_code, notes=notes)
