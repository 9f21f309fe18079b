"""``group import``: create or change every group of a file, as the 5.x tool's updateSubGroupList.

    [{"groupName": "billing", "retryMaxTimes": 3}, {"groupName": "mail"}, …]

Rule: every entry is read before the first group is changed. Settings that an entry leaves out are
those of Java's SubscriptionGroupConfig. The file is one change for ``undo``.
"""

from mqadmin.call import Call
from mqadmin.groupchange import COLUMNS, SETTINGS, GroupChange, WantedGroup, change_groups
from mqadmin.importlist import JAVA_FLAGS, ListArguments, entries_of
from mqadmin.registry import Java, command
from mqadmin.rows import Outcome, exit_code_of
from storefmt.config.tables import SubscriptionGroup
from storefmt.paths import check_group_name


@command(
    "group import",
    "create or change the consumer groups of a file",
    examples=(
        ("mqadmin group import groups.json --dry-run", "what would change"),
        ("mqadmin group import groups.json --broker broker-a", "on one broker"),
    ),
    details='Entries are as {"groupName": "billing", "retryMaxTimes": 3, "consumeEnable": true}.\n'
    "What is left out is as a broker makes a group.",
    rows=GroupChange,
    columns=COLUMNS,
    writes=True,
    java=(Java("updateSubGroupList", JAVA_FLAGS),),
)
async def import_groups(call: Call, args: ListArguments) -> Outcome:
    """Return one row a group and broker.

    Raises:
        Usage: the file is no list of groups.
        BadCall: a name is none for a group.
        NotFound: there is no such cluster or broker.
    """
    groups = entries_of(
        call, args.file, SubscriptionGroup.from_json, name=lambda one: one.group_name
    )
    for group in groups:
        check_group_name(group.group_name)
    rows = await change_groups(
        call,
        [
            WantedGroup(base=group, **{name: getattr(group, name) for name in SETTINGS})
            for group in groups
        ],
        cluster=args.cluster,
        broker=args.broker,
        update=True,
        create=True,
    )
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))
