"""``offset reset``: move a group to another place in a topic.

    nobody online   read old, work out new, UPDATE_CONSUMER_OFFSET, read back
    members online  INVOKE_BROKER_TO_RESET_OFFSET: the broker tells every member

A member that is online would overwrite an offset stored behind its back with its own
within seconds; so it has to be told, and the request for that takes a time only.

Requests: GET_ROUTEINFO_BY_TOPIC, GET_CONSUMER_LIST_BY_GROUP, GET_ALL_CONSUMER_OFFSET,
GET_MIN_OFFSET, GET_MAX_OFFSET, SEARCH_OFFSET_BY_TIMESTAMP, QUERY_CONSUMER_OFFSET to read
back, and the two above.
"""

from mqadmin.changes.offset_change import OFFSET_COLUMNS, OffsetChange
from mqadmin.changes.offset_reset import Reset, move_group, reset_options
from mqadmin.cli.declare import command
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call


@command(
    "offset reset",
    examples=(
        ("mqadmin offset reset billing orders --to -1h --dry-run", "what would move"),
        ("mqadmin offset reset billing orders --to latest -y", "skip what is waiting"),
        ("mqadmin offset reset billing orders --to -5 --queue broker-a:0", "5 back, one queue"),
        ("mqadmin offset reset billing orders --to -1h --broker broker-a", "on one broker"),
    ),
    details="While members are online only earliest, latest and a time can be asked for.",
    rows=OffsetChange,
    columns=OFFSET_COLUMNS,
    writes=True,
)
@reset_options
async def reset_offset(call: Call, *, reset: Reset) -> Outcome:
    """Return one row a queue, with the offsets before and after.

    Raises:
        NoRoute: there is no such topic.
        NotFound: there is no such queue.
        Refused: members are online and the place is no time.
    """
    return await move_group(call, reset, title=f"offset reset {reset.group} {reset.topic}")
