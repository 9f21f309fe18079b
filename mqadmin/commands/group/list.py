"""``group list``: the consumer groups that the brokers know.

Requests on each master: GET_ALL_SUBSCRIPTIONGROUP_CONFIG, GET_ALL_CONSUMER_OFFSET, and
GET_CONSUMER_LIST_BY_GROUP for each group.
"""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from mqadmin.cli.declare import Needs, command
from mqadmin.cluster.bounded_gather import each
from mqadmin.cluster.brokers import ServerNode, masters
from mqadmin.cluster.groups import is_system
from mqadmin.cluster.partial_answers import Answers
from mqadmin.output.rows import Outcome, Row
from mqadmin.session.call import Call

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin
    from storefmt.config.tables import GroupTable

Offsets = dict[tuple[str, str], dict[int, int]]
"""(topic, group) -> queue id -> next queue offset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRow(Row):
    """One group; ``members`` are connected now, None out of a store."""

    group: str
    kind: str
    members: int | None = None
    topics: tuple[str, ...]
    brokers: tuple[str, ...] = ()
    configured: bool
    consume_enable: bool | None = None
    retry_max_times: int | None = None


@command(
    "group list",
    examples=(
        ("mqadmin group list", "groups, how many members, which topics they read"),
        ("mqadmin group list --store DIR", "those that a store has settings or offsets of"),
    ),
    rows=GroupRow,
    needs=Needs.EITHER,
    columns=("group", "members", "topics", "consume_enable", "retry_max_times"),
)
@click.option("--all", "-a", "all_", is_flag=True, help="the brokers' own groups too")
async def list_groups(call: Call, *, all_: bool) -> Outcome:
    """Return one row a group, sorted by name."""
    if call.is_offline:
        # A store is read by numpy, which nobody should wait for who asks a broker.
        from mqadmin.store.offline import stored_groups

        return Outcome(
            [
                GroupRow.of(
                    one.settings,
                    group=one.name,
                    kind=_kind_of(one.name),
                    topics=one.topics,
                    configured=one.settings is not None,
                )
                for one in stored_groups(call)
                if all_ or not is_system(one.name)
            ]
        )
    admin = await call.admin()
    nodes = await masters(admin, every=True)
    answers = Answers(call)

    async def ask(node: ServerNode) -> "tuple[GroupTable, Offsets]":
        return await asyncio.gather(
            admin.subscription_groups(node.address), admin.all_consumer_offsets(node.address)
        )

    told = await answers.each(nodes, ask)
    at: dict[str, set[ServerNode]] = {}
    topics: dict[str, set[str]] = {}
    for node, (table, known) in told:
        for group in table.groups:
            at.setdefault(group, set()).add(node)
        for topic, group in known:
            at.setdefault(group, set()).add(node)
            topics.setdefault(group, set()).add(topic)
    shown = sorted(group for group in at if all_ or not is_system(group))
    counts = await each(shown, lambda group: _members(admin, group, at[group]))
    settings = {name: one for _, (table, _) in told for name, one in table.groups.items()}
    rows = [
        GroupRow.of(
            settings.get(group),
            group=group,
            kind=_kind_of(group),
            members=members,
            topics=tuple(sorted(topics.get(group, ()))),
            brokers=tuple(sorted(node.broker for node in at[group])),
            configured=group in settings,
        )
        for group, members in zip(shown, counts, strict=True)
    ]
    return Outcome(rows, exit_code=answers.exit_code)


def _kind_of(group: str) -> str:
    return "system" if is_system(group) else "normal"


async def _members(admin: "Admin", group: str, nodes: set[ServerNode]) -> int:
    """Return how many clients are in a group; each is connected to every broker."""
    found: set[str] = set()
    for node in nodes:
        found.update(await admin.consumer_ids(node.address, group))
    return len(found)
