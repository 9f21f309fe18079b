"""``offset reset``: move a group to another place in a topic.

    nobody online   read old, work out new, UPDATE_CONSUMER_OFFSET, read back
    members online  INVOKE_BROKER_TO_RESET_OFFSET: the broker tells every member

A member that is online would overwrite an offset stored behind its back with its own
within seconds; so it has to be told, and the request for that takes a time only.

Requests: GET_ROUTEINFO_BY_TOPIC, GET_CONSUMER_LIST_BY_GROUP, GET_ALL_CONSUMER_OFFSET,
GET_MIN_OFFSET, GET_MAX_OFFSET, SEARCH_OFFSET_BY_TIMESTAMP, QUERY_CONSUMER_OFFSET to read
back, and the two above.
"""

from dataclasses import dataclass
from typing import Final

from mqadmin.call import Call
from mqadmin.offsetchange import OFFSET_COLUMNS, OffsetChange
from mqadmin.offsetreset import Reset, move_group
from mqadmin.positions import parse_timestamp
from mqadmin.registry import Java, JavaOption, command
from mqadmin.rows import Outcome

EXACT: Final = "as `offset reset GROUP TOPIC --to N --queue BROKER:ID`, for an offset N"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(Reset):
    """Which group, which topic, and where to."""


@command(
    "offset reset",
    "move a group to another place in a topic",
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
    java=(
        Java(
            "resetOffsetByTime",
            (
                JavaOption("g", "group", "group", required=True),
                JavaOption("t", "topic", "topic", required=True),
                JavaOption("s", "timestamp", "to", required=True, parse=parse_timestamp),
                JavaOption("f", "force"),
                JavaOption("c", "cplus", "cpp", has_arg=False),
                JavaOption("b", "broker", "broker", since_5=True),
                JavaOption("q", "queue", "queue", since_5=True),
                JavaOption("", "offset", since_5=True, refused=EXACT),
            ),
        ),
    ),
)
async def reset_offset(call: Call, args: Arguments) -> Outcome:
    """Return one row a queue, with the offsets before and after.

    Raises:
        NoRoute: there is no such topic.
        NotFound: there is no such queue.
        Refused: members are online and the place is no time.
    """
    return await move_group(call, args, title=f"offset reset {args.group} {args.topic}")
