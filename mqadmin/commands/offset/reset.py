"""``offset reset``: move a group to another place in topics.

Requests: those of ``_shared.py``.
"""

import click

from mqadmin.changes.offset_change import OFFSET_COLUMNS, OffsetChange
from mqadmin.changes.write import first_of_names
from mqadmin.cli.declare import Call, Outcome, argument, command
from mqadmin.cli.decorators import group_argument, only_on_broker, option_group
from mqadmin.cli.positions import POSITION
from mqadmin.cli.types import QUEUE, TOPIC
from mqadmin.commands.offset._shared import Reset, move_group, within_option


@command(
    "offset reset",
    examples=(
        ("mqadmin offset reset billing orders --to -1h --dry-run", "what would move"),
        ("mqadmin offset reset billing orders --to latest -y", "skip all waiting messages"),
        ("mqadmin offset reset billing orders --to -5 --queue broker-a:0", "5 back, one queue"),
        ("mqadmin offset reset billing orders --to -1h --broker broker-a", "on one broker"),
        ("mqadmin offset reset billing orders bills --to -1h -y", "two topics at once"),
    ),
    details="While members are online, a broker of 4.9 moves them only to earliest, latest or a "
    "time, in all queues; one of 5.x also moves single queues, and to any offset. The broker then "
    "asks the members to move, and the command checks each queue: the exit code is 5 if "
    "some queues did not move, and 1 if none did. `undo` treats several topics as one change. A "
    "time without a date is today's, in the time zone of this machine; a time in the future is "
    "refused.",
    rows=OffsetChange,
    columns=OFFSET_COLUMNS,
    writes=True,
)
@option_group(
    "reset",
    Reset,
    group_argument(),
    argument("topic", nargs=-1, type=TOPIC, required=True, metavar="TOPIC", help="the topics"),
    click.option(
        "--to", type=POSITION, required=True, help="earliest, latest, a TIME, +N, -N or N"
    ),
    click.option("--queue", type=QUEUE, multiple=True, help="only this queue"),
    only_on_broker,
    click.option("--cpp", is_flag=True, help="use the request form of C++ clients"),
    click.option("--only-back", is_flag=True, help="skip queues whose offset would move forward"),
    within_option,
)
async def reset_offset(call: Call, *, reset: Reset) -> Outcome:
    """Return one row for each queue, with the offsets before and after.

    Raises:
        NoRoute: the topic does not exist.
        ItemNotFound: the queue does not exist.
        ServerRefused: members are online and the position is not a time.
    """
    return await move_group(
        call, reset, title=f"offset reset {reset.group} {first_of_names(reset.topic)}"
    )
