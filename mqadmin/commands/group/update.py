"""``group update``: change settings of a consumer group.

Requests: those of ``mqadmin.changes.group_change``.
"""

import click

from mqadmin.changes.group_change import (
    COLUMNS,
    GroupChange,
    GroupUpdate,
    as_java_makes,
    change_groups,
    named_settings,
)
from mqadmin.cli.declare import Call, Outcome, command
from mqadmin.cli.decorators import Where, group_argument, on_masters


@command(
    "group update",
    examples=(
        ("mqadmin group update billing --retry-max 3", "everything else as it was"),
        ("mqadmin group update billing --consume false", "stop it; `undo` lets it continue"),
        ("mqadmin group update billing --attributes +priority.factor=50", "on brokers of 5.x"),
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
        ItemNotFound: the cluster or broker does not exist.
    """
    group_update = GroupUpdate(base=as_java_makes(group), named=named, replace=replace)
    return await change_groups(call, [group_update], where=where, update=True, create=create)
