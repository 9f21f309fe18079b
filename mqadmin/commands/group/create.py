"""``group create``: create a consumer group on masters, or on one broker.

Requests: those of ``mqadmin.changes.group_change``.
"""

import click

from mqadmin.changes.group_change import COLUMNS, GroupChange, GroupUpdate, change_groups
from mqadmin.cli.declare import Call, Outcome, command
from mqadmin.cli.decorators import Where, group_argument, on_masters
from mqadmin.cli.types import INTEGER
from storefmt.config.tables import SubscriptionGroup


@command(
    "group create",
    examples=(
        ("mqadmin group create billing", "on every master, with the default settings"),
        ("mqadmin group create billing --retry-max 3", "dead letters after three retries"),
    ),
    details="A group that exists with the same settings is left unchanged. One with other "
    "settings is refused; `group update` changes it.",
    rows=GroupChange,
    columns=COLUMNS,
    writes=True,
)
@group_argument()
@click.option(
    "--retry-max", type=INTEGER, default=16, help="retries before a message becomes a dead letter"
)
@click.option("--retry-queues", type=INTEGER, default=1, help="number of queues of its retry topic")
@click.option("--disabled", is_flag=True, help="do not allow its members to consume yet")
@click.option("--no-broadcast", is_flag=True, help="do not allow its members to broadcast")
@on_masters
async def create_group(
    call: Call,
    *,
    group: str,
    retry_max: int,
    retry_queues: int,
    disabled: bool,
    no_broadcast: bool,
    where: Where,
) -> Outcome:
    """Return one row for each broker.

    Raises:
        BadCall: the name is not allowed for a group.
        ItemNotFound: the cluster or broker does not exist.
    """
    named = {
        "consume_enable": not disabled,
        "consume_broadcast_enable": not no_broadcast,
        "retry_max_times": retry_max,
        "retry_queue_nums": retry_queues,
    }
    group_update = GroupUpdate(base=SubscriptionGroup(group), named=named)
    return await change_groups(call, [group_update], where=where, update=False, create=True)
