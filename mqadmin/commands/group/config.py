"""``group config``: the settings of a consumer group on every broker.

Request on each master: GET_ALL_SUBSCRIPTIONGROUP_CONFIG.
"""

import asyncio

from mqadmin.changes.group_change import GroupSettings
from mqadmin.cli.declare import command
from mqadmin.cli.decorators import group_argument
from mqadmin.cluster.brokers import masters
from mqadmin.errors import NotFound
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call


@command(
    "group config",
    examples=(("mqadmin group config billing -o yaml", "all settings, broker by broker"),),
    rows=GroupSettings,
    columns=("broker", "consume_enable", "retry_max_times", "retry_queue_nums", "broker_id"),
)
@group_argument()
async def group_config(call: Call, *, group: str) -> Outcome:
    """Return one row a broker that has the group.

    Raises:
        NotFound: none has settings of it.
    """
    admin = await call.admin()
    places = await masters(admin, every=True)
    tables = await asyncio.gather(*(admin.subscription_groups(at.address) for at in places))
    rows = [
        GroupSettings.of(
            table.groups[group],
            group=group,
            cluster=place.cluster,
            broker=place.broker,
            address=place.address,
        )
        for place, table in zip(places, tables, strict=True)
        if group in table.groups
    ]
    if not rows:
        raise NotFound(
            f"no broker has settings of group {group}", hint="`group list` shows the groups"
        )
    return Outcome(rows)
