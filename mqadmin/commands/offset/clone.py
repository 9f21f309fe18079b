"""``offset clone``: give a group the offsets of another one.

    offsets of FROM --> each within its queue --> UPDATE_CONSUMER_OFFSET for TO --> read back

Requests: GET_BROKER_CLUSTER_INFO, GET_ALL_CONSUMER_OFFSET, GET_CONSUMER_LIST_BY_GROUP,
GET_MIN_OFFSET, GET_MAX_OFFSET, UPDATE_CONSUMER_OFFSET, QUERY_CONSUMER_OFFSET. Java's tool sends
one request to the broker (CLONE_GROUP_OFFSET), which copies all topics and says nothing.
"""

import click

from mqadmin.changes.offset_change import (
    OFFSET_COLUMNS,
    OffsetChange,
    check_offline,
    keep,
    moves_to,
    offsets_of,
    row_of,
    store,
)
from mqadmin.cli.declare import command
from mqadmin.cli.types import GROUP, TOPIC
from mqadmin.cluster.brokers import masters
from mqadmin.errors import Usage
from mqadmin.output.rows import PARTLY, WOULD_CHANGE, Outcome
from mqadmin.session.call import Call
from storefmt.names import RETRY_PREFIX
from storefmt.paths import check_group_name


@command(
    "offset clone",
    examples=(
        ("mqadmin offset clone billing billing-new --dry-run", "what would move"),
        ("mqadmin offset clone billing billing-new --topic orders -y", "in one topic"),
    ),
    details="The retry topic of the group is its own and is not copied.",
    rows=OffsetChange,
    columns=OFFSET_COLUMNS,
    writes=True,
)
@click.argument("source", type=GROUP, metavar="FROM", help="the group to copy")
@click.argument("target", type=GROUP, metavar="TO", help="the group that gets it")
@click.option("--topic", type=TOPIC, multiple=True, help="only in this topic")
async def clone_offsets(call: Call, *, source: str, target: str, topic: tuple[str, ...]) -> Outcome:
    """Return one row a queue; queues that are no more are named in a note (exit code 5).

    Raises:
        NotFound: the first group has no offset.
        Refused: members of the second one are online.
    """
    check_group_name(target)
    if source == target:
        raise Usage(f"{source} and {target} are the same group")
    admin = await call.admin()
    places = {at.broker: at.address for at in await masters(admin, every=True)}
    wanted = await offsets_of(admin, source, places, topic)
    moves, missing = [], []
    for name, spots in sorted(wanted.items()):
        if name.startswith(RETRY_PREFIX) and name not in topic:
            continue
        found, absent = await moves_to(admin, target, name, spots)
        moves += found
        missing += absent
    notes = (f"no queue any more: {', '.join(missing)}",) if missing else ()
    exit_code = PARTLY if missing else 0
    if call.dry_run:
        rows = [row_of(target, move, WOULD_CHANGE) for move in moves]
        return Outcome(rows, exit_code=exit_code, notes=notes)
    await check_offline(admin, target, places.values())
    await call.confirm(f"give group {target} {len(moves)} offsets of {source}?")
    keep(call, admin, target, moves, title=f"offset clone {source} {target}")
    rows = [await store(admin, target, move) for move in moves]
    return Outcome(rows, exit_code=exit_code, notes=notes)
