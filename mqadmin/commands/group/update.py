"""``group update``: change the settings of a consumer group that are named, and only those.

Requests: as ``group create``.
"""

import click

from mqadmin.changes.group_change import (
    COLUMNS,
    GroupChange,
    WantedGroup,
    as_java_makes,
    change_groups,
)
from mqadmin.cli.declare import command
from mqadmin.cli.decorators import group_argument, on_masters
from mqadmin.cli.types import BOOLEAN, INTEGER
from mqadmin.output.rows import Outcome, exit_code_of
from mqadmin.session.call import Call
from storefmt.paths import check_group_name


@command(
    "group update",
    examples=(
        ("mqadmin group update billing --retry-max 3", "everything else as it was"),
        ("mqadmin group update billing --consume false", "stop it; `undo` lets it go on"),
    ),
    rows=GroupChange,
    columns=COLUMNS,
    writes=True,
)
@group_argument()
@click.option("--consume", type=BOOLEAN, help="its members may consume, or not")
@click.option(
    "--from-min", type=BOOLEAN, help="a member that is new may read from the first message"
)
@click.option("--broadcast", type=BOOLEAN, help="its members may broadcast")
@click.option("--retry-max", type=INTEGER, help="deliveries before a message is a dead letter")
@click.option("--retry-queues", type=INTEGER, help="queues of its retry topic")
@click.option("--broker-id", type=INTEGER, help="id of the broker that members read from")
@click.option(
    "--slow-broker-id", type=INTEGER, help="id of the broker that members read old messages from"
)
@click.option("--notify", type=BOOLEAN, help="members hear at once who comes and goes")
@click.option("--replace", is_flag=True, help="reset what is not named, as Java does")
@click.option("--create", is_flag=True, help="make it where it is not there")
@on_masters
async def update_group(
    call: Call,
    *,
    group: str,
    consume: bool | None,
    from_min: bool | None,
    broadcast: bool | None,
    retry_max: int | None,
    retry_queues: int | None,
    broker_id: int | None,
    slow_broker_id: int | None,
    notify: bool | None,
    replace: bool,
    create: bool,
    cluster: str | None,
    broker: str | None,
) -> Outcome:
    """Return one row a broker, with the old values of what changed.

    Raises:
        BadCall: the name is none for a group.
        NotFound: there is no such cluster or broker.
    """
    check_group_name(group)
    wanted = WantedGroup(
        base=as_java_makes(group),
        consume_enable=consume,
        consume_from_min_enable=from_min,
        consume_broadcast_enable=broadcast,
        retry_queue_nums=retry_queues,
        retry_max_times=retry_max,
        broker_id=broker_id,
        which_broker_when_consume_slowly=slow_broker_id,
        notify_consumer_ids_changed_enable=notify,
        replace=replace,
    )
    rows = await change_groups(
        call, [wanted], cluster=cluster, broker=broker, update=True, create=create
    )
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))
