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
    named_settings,
)
from mqadmin.cli.declare import command
from mqadmin.cli.decorators import Where, group_argument, on_masters
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call


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
@click.option("--replace", is_flag=True, help="reset what is not named, as Java does")
@click.option("--create", is_flag=True, help="make it where it is not there")
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
    """Return one row a broker, with the old values of what changed.

    Raises:
        BadCall: the name is none for a group.
        NotFound: there is no such cluster or broker.
    """
    wanted = WantedGroup(base=as_java_makes(group), named=named, replace=replace)
    return await change_groups(call, [wanted], where=where, update=True, create=create)
