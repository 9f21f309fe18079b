"""``group import``: create or change the consumer groups of a file.

The file is that of the 5.x tool's updateSubGroupList:

    [{"groupName": "billing", "retryMaxTimes": 3}, {"groupName": "mail"}, …]

Every entry is read before the first group is changed. A setting that an entry leaves out has the
default of Java's SubscriptionGroupConfig. ``undo`` treats the file as one change.

Requests: those of ``mqadmin.changes.group_change``.
"""

from pathlib import Path

from mqadmin.changes.group_change import COLUMNS, SETTINGS, GroupChange, GroupUpdate, change_groups
from mqadmin.changes.import_list import entries_of, list_argument
from mqadmin.cli.declare import Call, Outcome, command
from mqadmin.cli.decorators import Where, on_masters
from storefmt.config.tables import SubscriptionGroup


@command(
    "group import",
    examples=(
        ("mqadmin group import groups.json --dry-run", "what would change"),
        ("mqadmin group import groups.json --broker broker-a", "on one broker"),
    ),
    details='Entries are as {"groupName": "billing", "retryMaxTimes": 3, "consumeEnable": true}. '
    "A setting that is left out has the default of the broker.",
    rows=GroupChange,
    columns=COLUMNS,
    writes=True,
)
@list_argument
@on_masters
async def import_groups(call: Call, *, file: Path, where: Where) -> Outcome:
    """Return one row for each group and broker.

    Raises:
        Usage: the file is not a list of groups.
        BadCall: a name is not allowed for a group.
        ItemNotFound: the cluster or broker does not exist.
    """
    groups = entries_of(
        call,
        file,
        SubscriptionGroup.from_json,
        name=lambda group_settings: group_settings.group_name,
    )
    updates = [
        GroupUpdate(base=group, named={name: getattr(group, name) for name in SETTINGS})
        for group in groups
    ]
    return await change_groups(call, updates, where=where, update=True, create=True)
