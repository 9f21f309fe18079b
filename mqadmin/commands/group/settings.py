"""``group config``, ``create``, ``update``, ``import``: show and change settings of groups.

Requests on each master: GET_ALL_SUBSCRIPTIONGROUP_CONFIG; a change is
UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, and GET_ALL_SUBSCRIPTIONGROUP_CONFIG again to read it back.

``import`` takes a file, as the 5.x tool's updateSubGroupList:

    [{"groupName": "billing", "retryMaxTimes": 3}, {"groupName": "mail"}, …]

Every entry is read before the first group is changed. Settings that an entry leaves out are
those of Java's SubscriptionGroupConfig. The file is one change for ``undo``.
"""

import asyncio
from pathlib import Path

import click

from mqadmin.changes.group_change import (
    COLUMNS,
    SETTINGS,
    GroupChange,
    GroupSettings,
    GroupUpdate,
    as_java_makes,
    change_groups,
    named_settings,
)
from mqadmin.changes.import_list import entries_of, list_argument
from mqadmin.cli.declare import Call, Outcome, command
from mqadmin.cli.decorators import Where, group_argument, on_masters
from mqadmin.cli.types import INTEGER
from mqadmin.cluster.brokers import masters
from mqadmin.errors import ItemNotFound
from storefmt.config.tables import SubscriptionGroup


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
    tables = await asyncio.gather(*(admin.subscription_groups(at.address) for at in nodes))
    rows = [
        GroupSettings.of(
            table.groups[group],
            group=group,
            cluster=node.cluster,
            broker=node.broker,
            address=node.address,
        )
        for node, table in zip(nodes, tables, strict=True)
        if group in table.groups
    ]
    if not rows:
        raise ItemNotFound(
            f"no broker has settings of group {group}", hint="`group list` shows the groups"
        )
    return Outcome(rows)


@command(
    "group create",
    examples=(
        ("mqadmin group create billing", "on every master, with the settings of a broker"),
        ("mqadmin group create billing --retry-max 3", "a dead letter after three retries"),
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
@click.option("--disabled", is_flag=True, help="its members may not consume yet")
@click.option("--no-broadcast", is_flag=True, help="its members may not broadcast")
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
        ItemNotFound: there is no such cluster or broker.
    """
    named = {
        "consume_enable": not disabled,
        "consume_broadcast_enable": not no_broadcast,
        "retry_max_times": retry_max,
        "retry_queue_nums": retry_queues,
    }
    wanted = GroupUpdate(base=SubscriptionGroup(group), named=named)
    return await change_groups(call, [wanted], where=where, update=False, create=True)


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
@named_settings
@click.option("--replace", is_flag=True, help="reset the settings that are not named, as Java does")
@click.option("--create", is_flag=True, help="create it where it does not exist")
@on_masters
async def update_group(
    call: Call,
    *,
    group: str,
    named: dict[str, object],
    replace: bool,
    create: bool,
    where: Where,
) -> Outcome:
    """Return one row for each broker, with the old values of what changed.

    Raises:
        BadCall: the name is not allowed for a group.
        ItemNotFound: there is no such cluster or broker.
    """
    wanted = GroupUpdate(base=as_java_makes(group), named=named, replace=replace)
    return await change_groups(call, [wanted], where=where, update=True, create=create)


@command(
    "group import",
    examples=(
        ("mqadmin group import groups.json --dry-run", "what would change"),
        ("mqadmin group import groups.json --broker broker-a", "on one broker"),
    ),
    details='Entries are as {"groupName": "billing", "retryMaxTimes": 3, "consumeEnable": true}. '
    "A setting that is left out has the default of a broker.",
    rows=GroupChange,
    columns=COLUMNS,
    writes=True,
)
@list_argument
@on_masters
async def import_groups(call: Call, *, file: Path, where: Where) -> Outcome:
    """Return one row for each group and broker.

    Raises:
        Usage: the file is no list of groups.
        BadCall: a name is not allowed for a group.
        ItemNotFound: there is no such cluster or broker.
    """
    groups = entries_of(call, file, SubscriptionGroup.from_json, name=lambda one: one.group_name)
    wanted = [
        GroupUpdate(base=group, named={name: getattr(group, name) for name in SETTINGS})
        for group in groups
    ]
    return await change_groups(call, wanted, where=where, update=True, create=True)
