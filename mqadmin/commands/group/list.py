"""``group list``: list the consumer groups that the brokers know.

Requests on each master: GET_ALL_SUBSCRIPTIONGROUP_CONFIG, GET_ALL_CONSUMER_OFFSET, and
GET_CONSUMER_LIST_BY_GROUP for each group.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from mqadmin.cli.declare import Call, Needs, Outcome, Row, command
from mqadmin.cluster.bounded_gather import each
from mqadmin.cluster.brokers import ServerNode, masters
from mqadmin.cluster.groups import is_system
from mqadmin.cluster.partial_answers import Answers

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin
    from storefmt.config.tables import GroupTable, SubscriptionGroup

Offsets = dict[tuple[str, str], dict[int, int]]
"""(topic, group) -> queue id -> next queue offset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRow(Row):
    """One group; ``members`` is how many are connected now, None for a store."""

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
        ("mqadmin group list", "groups with their number of members and their topics"),
        ("mqadmin group list --store DIR", "groups with settings or offsets in a store"),
    ),
    rows=GroupRow,
    needs=Needs.EITHER,
    columns=("group", "members", "topics", "consume_enable", "retry_max_times"),
)
@click.option("--all", "-a", "all_", is_flag=True, help="also show the brokers' own groups")
async def list_groups(call: Call, *, all_: bool) -> Outcome:
    """Return one row for each group, sorted by name."""
    if call.is_offline:
        from mqadmin.store_access.stored_rows import stored_groups

        settings, topics = stored_groups(call)
        names = _shown({*settings, *topics}, all_=all_)
        return Outcome([_row(name, settings.get(name), topics.get(name, ())) for name in names])
    admin = await call.admin()
    nodes = await masters(admin, every=True)
    answers = Answers(call)

    async def ask(node: ServerNode) -> "tuple[GroupTable, Offsets]":
        return await asyncio.gather(
            admin.subscription_groups(node.address), admin.all_consumer_offsets(node.address)
        )

    answered = await answers.each(nodes, ask)
    settings = {name: config for _, (table, _) in answered for name, config in table.groups.items()}
    nodes_of: dict[str, set[ServerNode]] = {}
    topics = {}
    for node, (table, offsets) in answered:
        for group in table.groups:
            nodes_of.setdefault(group, set()).add(node)
        for topic, group in offsets:
            nodes_of.setdefault(group, set()).add(node)
            topics.setdefault(group, set()).add(topic)
    names = _shown(nodes_of, all_=all_)
    counts = await each(names, lambda name: _members(admin, name, nodes_of[name]))
    rows = [
        _row(
            name,
            settings.get(name),
            topics.get(name, ()),
            members=members,
            brokers=tuple(sorted(node.broker for node in nodes_of[name])),
        )
        for name, members in zip(names, counts, strict=True)
    ]
    return Outcome(rows, exit_code=answers.exit_code)


def _shown(groups: Iterable[str], *, all_: bool) -> list[str]:
    return sorted(group for group in groups if all_ or not is_system(group))


def _row(
    group: str, settings: "SubscriptionGroup | None", topics: Iterable[str], **online: object
) -> GroupRow:
    return GroupRow.of(
        settings,
        group=group,
        kind="system" if is_system(group) else "normal",
        topics=tuple(sorted(topics)),
        configured=settings is not None,
        **online,
    )


async def _members(admin: "Admin", group: str, nodes: set[ServerNode]) -> int:
    """Return how many clients are in a group; each is connected to every broker."""
    members: set[str] = set()
    for node in nodes:
        members.update(await admin.consumer_ids(node.address, group))
    return len(members)
