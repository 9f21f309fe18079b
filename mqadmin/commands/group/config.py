"""``group config``: the settings of a consumer group on every broker.

Request on each master: GET_ALL_SUBSCRIPTIONGROUP_CONFIG.
"""

import asyncio
from dataclasses import dataclass

from mqadmin.changes.group_change import SETTINGS
from mqadmin.cli.declare import command
from mqadmin.cli.decorators import group_argument
from mqadmin.cluster.brokers import masters
from mqadmin.errors import NotFound
from mqadmin.output.rows import Outcome, Row
from mqadmin.session.call import Call


@dataclass(frozen=True, slots=True)
class GroupConfig(Row):
    """A group's settings on one broker."""

    group: str
    cluster: str
    broker: str
    consume_enable: bool
    consume_from_min_enable: bool
    consume_broadcast_enable: bool
    retry_queue_nums: int
    retry_max_times: int
    broker_id: int
    which_broker_when_consume_slowly: int
    notify_consumer_ids_changed_enable: bool


@command(
    "group config",
    examples=(("mqadmin group config billing -o yaml", "all settings, broker by broker"),),
    rows=GroupConfig,
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
    rows = []
    for place, table in zip(places, tables, strict=True):
        settings = table.groups.get(group)
        if settings is not None:
            values = (getattr(settings, name) for name in SETTINGS)
            rows.append(GroupConfig(group, place.cluster, place.broker, *values))
    if not rows:
        raise NotFound(
            f"no broker has settings of group {group}", hint="`group list` shows the groups"
        )
    return Outcome(rows)
