"""``offset reset``, ``offset skip``: move a group to another place, or past what waits.

    nobody online   read old, work out new, UPDATE_CONSUMER_OFFSET, read back
    members online  INVOKE_BROKER_TO_RESET_OFFSET: the broker tells every member

A member that is online would overwrite an offset stored behind its back with its own
within seconds; so it has to be told, and the request for that takes a time only.

Requests: GET_ROUTEINFO_BY_TOPIC, GET_CONSUMER_LIST_BY_GROUP, GET_ALL_CONSUMER_OFFSET,
GET_MIN_OFFSET, GET_MAX_OFFSET, SEARCH_OFFSET_BY_TIMESTAMP, QUERY_CONSUMER_OFFSET to read
back, and the two above.
"""

import click

from mqadmin.changes.offset_change import OFFSET_COLUMNS, OffsetChange
from mqadmin.changes.offset_reset import Reset, move_group, reset_options
from mqadmin.cli.declare import Call, Outcome, command
from mqadmin.cli.decorators import group_argument, topic_argument
from mqadmin.cli.positions import parse_position
from mqadmin.cli.types import QUEUE, Integer


@command(
    "offset reset",
    examples=(
        ("mqadmin offset reset billing orders --to -1h --dry-run", "what would move"),
        ("mqadmin offset reset billing orders --to latest -y", "skip what is waiting"),
        ("mqadmin offset reset billing orders --to -5 --queue broker-a:0", "5 back, one queue"),
        ("mqadmin offset reset billing orders --to -1h --broker broker-a", "on one broker"),
    ),
    details="While members are online, only earliest, latest or a time can be asked for.",
    rows=OffsetChange,
    columns=OFFSET_COLUMNS,
    writes=True,
)
@reset_options
async def reset_offset(call: Call, *, reset: Reset) -> Outcome:
    """Return one row for each queue, with the offsets before and after.

    Raises:
        NoRoute: there is no such topic.
        NotFound: there is no such queue.
        Refused: members are online and the place is no time.
    """
    return await move_group(call, reset, title=f"offset reset {reset.group} {reset.topic}")


@command(
    "offset skip",
    examples=(
        ("mqadmin offset skip billing orders --dry-run", "what would be passed over"),
        ("mqadmin offset skip billing orders 1 --queue broker-a:0 -y", "one that is in the way"),
    ),
    details="A number works only while no member is online.",
    rows=OffsetChange,
    columns=OFFSET_COLUMNS,
    writes=True,
)
@group_argument()
@topic_argument()
@click.argument(
    "count",
    type=Integer(min=1),
    required=False,
    help="messages to skip in each queue; all that wait if left out",
)
@click.option("--queue", type=QUEUE, multiple=True, help="only this queue")
async def skip_messages(
    call: Call, *, group: str, topic: str, count: int | None, queue: tuple[str, ...]
) -> Outcome:
    """Return one row for each queue, with the offsets before and after.

    Raises:
        NoRoute, NotFound, Refused: as ``offset reset``.
    """
    to = parse_position("latest" if count is None else f"+{count}")
    reset = Reset(group=group, topic=topic, to=to, queue=queue)
    return await move_group(call, reset, title=f"offset skip {group} {topic}")
