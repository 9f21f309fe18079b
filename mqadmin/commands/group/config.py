"""``group config``: show the settings of a consumer group.

Request: GET_ALL_SUBSCRIPTIONGROUP_CONFIG on each master.
"""

import asyncio

from mqadmin.changes.group_change import GroupSettings, later_settings
from mqadmin.cli.declare import Call, Outcome, command
from mqadmin.cli.decorators import group_argument
from mqadmin.cluster.brokers import masters
from mqadmin.errors import ItemNotFound


@command(
    "group config",
    examples=(("mqadmin group config billing -o yaml", "all settings, broker by broker"),),
    rows=GroupSettings,
    columns=("broker", "consume_enable", "retry_max_times", "retry_queue_nums", "broker_id"),
)
@group_argument()
async def group_config(call: Call, *, group: str) -> Outcome:
    """Return one row for each broker that has the group.

    Raises:
        ItemNotFound: none has settings of it.
    """
    admin = await call.admin()
    nodes = await masters(admin, every=True)
    tables = await asyncio.gather(*(admin.subscription_groups(node.address) for node in nodes))
    rows = [
        GroupSettings.of(
            table.groups[group],
            group=group,
            cluster=node.cluster,
            broker=node.broker,
            address=node.address,
            **later_settings(table.groups[group]),
        )
        for node, table in zip(nodes, tables, strict=True)
        if group in table.groups
    ]
    if not rows:
        raise ItemNotFound(
            f"no broker has settings for group {group}", hint="`group list` shows the groups"
        )
    return Outcome(rows)
