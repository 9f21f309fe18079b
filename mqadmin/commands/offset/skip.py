"""``offset skip``: let a group pass over what waits, or over so many messages of each queue.

Requests: as ``offset reset``, which does the work.
"""

import click

from mqadmin.changes.offset_change import OFFSET_COLUMNS, OffsetChange
from mqadmin.changes.offset_reset import Reset, move_group
from mqadmin.cli.declare import command
from mqadmin.cli.decorators import group_argument, topic_argument
from mqadmin.cli.positions import parse_position
from mqadmin.cli.types import QUEUE, Integer
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call


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
    help="messages of each queue; all that waits if left out",
)
@click.option("--queue", type=QUEUE, multiple=True, help="only this queue")
async def skip_messages(
    call: Call, *, group: str, topic: str, count: int | None, queue: tuple[str, ...]
) -> Outcome:
    """Return one row a queue, with the offsets before and after.

    Raises:
        NoRoute, NotFound, Refused: as ``offset reset``.
    """
    to = parse_position("latest" if count is None else f"+{count}")
    wish = Reset(group=group, topic=topic, to=to, queue=queue)
    return await move_group(call, wish, title=f"offset skip {group} {topic}")
