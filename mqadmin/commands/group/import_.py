"""``group import``: create or change every group of a file, as the 5.x tool's updateSubGroupList.

    [{"groupName": "billing", "retryMaxTimes": 3}, {"groupName": "mail"}, …]

Rule: every entry is read before the first group is changed. Settings that an entry leaves out are
those of Java's SubscriptionGroupConfig. Each group is a change of its own, with ``undo``.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from mqadmin.call import Call
from mqadmin.errors import Usage
from mqadmin.groupchange import COLUMNS, SETTINGS, GroupChange, WantedGroup, change_group
from mqadmin.inputfile import objects_of
from mqadmin.parameters import Kind, argument, option
from mqadmin.registry import Java, JavaOption, command
from mqadmin.rows import Outcome, exit_code_of
from storefmt.configs import SubscriptionGroup
from storefmt.errors import StoreError
from storefmt.paths import check_group_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The file, and where its groups go."""

    file: Annotated[Path, argument("a JSON array of groups; - is standard input", kind=Kind.FILE)]
    cluster: Annotated[str | None, option("on its masters", kind=Kind.CLUSTER)] = None
    broker: Annotated[str | None, option("only there: a name or HOST:PORT", kind=Kind.BROKER)] = (
        None
    )


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
    java=(
        Java(
            "updateSubGroupList",
            (
                JavaOption("b", "brokerAddr", "broker"),
                JavaOption("c", "clusterName", "cluster"),
                JavaOption("f", "filename", "file", required=True),
            ),
        ),
    ),
)
async def import_groups(call: Call, args: Arguments) -> Outcome:
    """Return one row a group and broker.

    Raises:
        Usage: the file is no list of groups.
        BadCall: a name is none for a group.
        NotFound: there is no such cluster or broker.
    """
    groups: list[SubscriptionGroup] = []
    for number, entry in enumerate(objects_of(call, args.file), start=1):
        try:
            group = SubscriptionGroup.from_json(entry)
        except StoreError as error:
            raise Usage(f"{args.file} entry {number}: {error}") from None
        check_group_name(group.group_name)
        groups.append(group)
    rows: list[GroupChange] = []
    for group in groups:
        wanted = WantedGroup(
            group=group.group_name, **{name: getattr(group, name) for name in SETTINGS}
        )
        rows += await change_group(
            call,
            wanted,
            base=group,
            cluster=args.cluster,
            broker=args.broker,
            update=True,
            create=True,
        )
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))
