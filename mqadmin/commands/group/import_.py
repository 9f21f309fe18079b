"""``group import``: create or change every group of a file, as the 5.x tool's updateSubGroupList.

    [{"groupName": "billing", "retryMaxTimes": 3}, {"groupName": "mail"}, …]

Rule: every entry is read before the first group is changed. Settings that an entry leaves out are
those of Java's SubscriptionGroupConfig. The file is one change for ``undo``.
"""

from pathlib import Path

from mqadmin.changes.group_change import COLUMNS, SETTINGS, GroupChange, WantedGroup, change_groups
from mqadmin.changes.import_list import entries_of, list_argument
from mqadmin.cli.declare import command
from mqadmin.cli.decorators import Where, on_masters
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call
from storefmt.config.tables import SubscriptionGroup


@command(
    "group import",
    examples=(
        ("mqadmin group import groups.json --dry-run", "what would change"),
        ("mqadmin group import groups.json --broker broker-a", "on one broker"),
    ),
    details='Entries are as {"groupName": "billing", "retryMaxTimes": 3, "consumeEnable": true}.\n'
    "What is left out is as a broker makes a group.",
    rows=GroupChange,
    columns=COLUMNS,
    writes=True,
)
@list_argument
@on_masters
async def import_groups(call: Call, *, file: Path, where: Where) -> Outcome:
    """Return one row a group and broker.

    Raises:
        Usage: the file is no list of groups.
        BadCall: a name is none for a group.
        NotFound: there is no such cluster or broker.
    """
    groups = entries_of(call, file, SubscriptionGroup.from_json, name=lambda one: one.group_name)
    wanted = [
        WantedGroup(base=group, named={name: getattr(group, name) for name in SETTINGS})
        for group in groups
    ]
    return await change_groups(call, wanted, where=where, update=True, create=True)
