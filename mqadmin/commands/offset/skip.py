"""``offset skip``: skip messages for a group.

Requests: those of ``_shared.py``.
"""

import click

from mqadmin.changes.offset_change import OFFSET_COLUMNS, OffsetChange
from mqadmin.cli.declare import Call, Outcome, argument, command
from mqadmin.cli.decorators import group_argument, of_cluster, topic_argument
from mqadmin.cli.positions import parse_position
from mqadmin.cli.types import QUEUE, Integer
from mqadmin.commands.offset._shared import Reset, move_group, within_option


@command(
    "offset skip",
    examples=(
        ("mqadmin offset skip billing orders --dry-run", "what would be skipped"),
        ("mqadmin offset skip billing orders 1 --queue broker-a:0 -y", "skip one message"),
    ),
    details="A count is possible only while no member is online.",
    rows=OffsetChange,
    columns=OFFSET_COLUMNS,
    writes=True,
)
@group_argument()
@topic_argument()
@argument(
    "count",
    type=Integer(min=1),
    required=False,
    help="messages to skip in each queue; all if left out",
)
@click.option("--queue", type=QUEUE, multiple=True, help="only this queue")
@of_cluster(help="only queues on brokers of this cluster")
@within_option
async def skip_messages(
    call: Call,
    *,
    group: str,
    topic: str,
    count: int | None,
    queue: tuple[str, ...],
    cluster: str | None,
    within: int,
) -> Outcome:
    """Return one row for each queue, with the offsets before and after.

    Raises:
        NoRoute, ItemNotFound, ServerRefused: as ``offset reset``.
    """
    to = parse_position("latest" if count is None else f"+{count}")
    reset = Reset(group=group, topic=(topic,), to=to, queue=queue, cluster=cluster, within=within)
    return await move_group(call, reset, title=f"offset skip {group} {topic}")
