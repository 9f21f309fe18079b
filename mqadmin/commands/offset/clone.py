"""``offset clone``: give a group the offsets of another one.

    offsets of FROM --> each within its queue --> UPDATE_CONSUMER_OFFSET for TO --> read back

Java's tool sends the broker one request (CLONE_GROUP_OFFSET), which copies all topics and reports
nothing. Here every offset is checked before the first one is stored, and members of TO must not
be online.

Requests: those of ``mqadmin.changes.offset_copy``.
"""

import click

from mqadmin.changes.offset_change import OFFSET_COLUMNS, OffsetChange, offsets_of
from mqadmin.changes.offset_copy import store_offsets
from mqadmin.cli.declare import Call, Outcome, argument, command
from mqadmin.cli.types import GROUP, TOPIC
from mqadmin.cluster.brokers import masters
from mqadmin.errors import Usage
from storefmt.names import RETRY_PREFIX
from storefmt.paths import check_group_name


@command(
    "offset clone",
    examples=(
        ("mqadmin offset clone billing billing-new --dry-run", "what would move"),
        ("mqadmin offset clone billing billing-new --topic orders -y", "in one topic"),
    ),
    details="The retry topic of the group is not copied.",
    rows=OffsetChange,
    columns=OFFSET_COLUMNS,
    writes=True,
)
@argument("source", type=GROUP, metavar="FROM", help="the group to copy")
@argument("target", type=GROUP, metavar="TO", help="the group that gets the offsets")
@click.option("--topic", type=TOPIC, multiple=True, help="only in this topic")
async def clone_offsets(call: Call, *, source: str, target: str, topic: tuple[str, ...]) -> Outcome:
    """Return one row for each queue; queues that no longer exist are named in a note (exit code 5).

    Raises:
        ItemNotFound: the first group has no offset.
        ServerRefused: members of the second one are online.
    """
    check_group_name(target)
    if source == target:
        raise Usage(f"{source} and {target} are the same group")
    admin = await call.admin()
    nodes = {node.broker: node.address for node in await masters(admin, every=True)}
    offsets = {
        (target, name): spots
        for name, spots in (await offsets_of(admin, source, nodes, topic)).items()
        if not name.startswith(RETRY_PREFIX) or name in topic
    }
    return await store_offsets(
        call,
        offsets,
        groups=[target],
        addresses=nodes.values(),
        title=f"offset clone {source} {target}",
        question=lambda count: f"give group {target} {count} offsets of {source}?",
        missing="the queue no longer exists",
    )
