"""``group delete``: remove a consumer group and, on request, what it leaves behind.

    settings          always
    offsets           --offsets
    retry, dead letter topic   --topics, on brokers and name servers

Requests on each master: GET_ALL_SUBSCRIPTIONGROUP_CONFIG, GET_ALL_CONSUMER_OFFSET,
GET_CONSUMER_LIST_BY_GROUP, DELETE_SUBSCRIPTIONGROUP; with --topics also DELETE_TOPIC_IN_BROKER and
DELETE_TOPIC_IN_NAMESRV.
"""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from mqadmin.changes.targets.group import GroupTarget
from mqadmin.changes.targets.offset import OffsetTarget
from mqadmin.changes.targets.topic import RouteTarget, TopicTarget
from mqadmin.changes.write import (
    ChangeStep,
    as_object_steps,
    carry_out,
    delete,
    delete_existing,
    plan,
)
from mqadmin.cli.declare import Call, Outcome, Row, command, exit_code_of
from mqadmin.cli.decorators import Where, broker_option, group_argument
from mqadmin.cli.types import CLUSTER
from mqadmin.cluster.brokers import ServerNode, masters, namesrvs
from mqadmin.errors import ItemNotFound
from mqadmin.output.rows import NOT_FOUND, UNCHANGED
from mqadmin.session.journal import SavedState
from storefmt.names import DLQ_PREFIX, RETRY_PREFIX
from storefmt.paths import check_group_name

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin

LEFT_BEHIND = (RETRY_PREFIX, DLQ_PREFIX)


@dataclass(frozen=True, slots=True)
class GroupRemoval(Row):
    """The result for the group, or one of its topics, at one server."""

    kind: str
    name: str
    server: str
    address: str
    result: str
    remark: str | None


@command(
    "group delete",
    examples=(
        ("mqadmin group delete billing --dry-run", "where it would be deleted"),
        ("mqadmin group delete billing --offsets --topics -y", "with offsets and topics"),
    ),
    details="Brokers create a group again when a member connects (autoCreateSubscriptionGroup). "
    "`undo` restores settings and offsets, but not the messages of its topics.",
    rows=GroupRemoval,
    writes=True,
)
@group_argument()
@click.option("--offsets", is_flag=True, help="also delete its offsets")
@click.option("--topics", is_flag=True, help="also delete its retry and dead-letter topics")
@click.option("--cluster", type=CLUSTER, help="only on masters of this cluster")
@broker_option(help="only on this broker, and keep the topics: a name or HOST:PORT")
async def delete_group(
    call: Call, *, group: str, offsets: bool, topics: bool, cluster: str | None, broker: str | None
) -> Outcome:
    """Return one row for each server and target.

    Raises:
        BadCall: the name is not allowed for a group.
        ItemNotFound: no broker has the group, or the cluster or broker does not exist.
    """
    check_group_name(group)
    admin = await call.admin()
    nodes = await masters(admin, Where(cluster=cluster, broker=broker))
    groups = await plan(
        [GroupTarget(admin, node, (group,), offsets) for node in nodes], delete_existing
    )
    if all(step.verdict == NOT_FOUND for step in groups):
        if call.deletes_as_java:
            missing = [
                GroupRemoval("group", group, node.broker, node.address, NOT_FOUND, None)
                for node in nodes
            ]
            return Outcome(missing, exit_code=ItemNotFound.exit_code)
        raise ItemNotFound(f"no broker has group {group}", hint="`group list` shows them")
    steps = as_object_steps(groups)
    if topics and broker is None:
        steps += await _topics(call, admin, group, nodes)
    members = await asyncio.gather(*(admin.consumer_ids(node.address, group) for node in nodes))
    online = len({member for part in members for member in part})
    if call.dry_run and online:
        call.warn(f"{online} member(s) of group {group} are online")
    results = await carry_out(
        call,
        steps,
        title=f"group delete {group}",
        also=await _offsets(admin, group, nodes) if offsets else (),
        question=f"delete group {group} on {len(nodes)} broker(s)"
        + (f", while {online} member(s) are online?" if online else "?"),
        in_order=True,
    )
    rows = [
        GroupRemoval.of(result, name=result.target.names[0], server=result.broker)
        for result in results
    ]
    # Requests that were not sent after a refusal do not count as done.
    sent = [row.result for row in rows if row.result != UNCHANGED]
    return Outcome(rows, exit_code=exit_code_of(sent))


async def _topics(
    call: Call, admin: "Admin", group: str, nodes: list[ServerNode]
) -> list[ChangeStep[object]]:
    """Return the steps that remove the topics of a group, where they are."""
    steps: list[ChangeStep[object]] = []
    for prefix in LEFT_BEHIND:
        topic = prefix + group
        at_brokers = await plan([TopicTarget(admin, node, (topic,)) for node in nodes], delete)
        at_namesrvs = await plan(
            [RouteTarget(admin, node, (topic,)) for node in await namesrvs(call)], delete
        )
        steps += [*as_object_steps(at_brokers), *as_object_steps(at_namesrvs)]
    return [step for step in steps if step.old is not None]


async def _offsets(admin: "Admin", group: str, nodes: list[ServerNode]) -> list[SavedState]:
    """Return every offset of the group as the journal keeps it."""
    tables = await asyncio.gather(*(admin.all_consumer_offsets(node.address) for node in nodes))
    return [
        OffsetTarget(admin, node, (group, topic, str(queue_id))).saved(offset)
        for node, table in zip(nodes, tables, strict=True)
        for (topic, name), queues in table.items()
        if name == group
        for queue_id, offset in queues.items()
    ]
