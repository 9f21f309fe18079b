"""``topic delete``: remove a topic from every broker, then from the name servers.

Requests: GET_BROKER_CLUSTER_INFO, GET_ALL_TOPIC_CONFIG on each broker,
DELETE_TOPIC_IN_BROKER where it is, GET_ALL_TOPIC_LIST_FROM_NAMESERVER and
DELETE_TOPIC_IN_NAMESRV on each name server. Who is online: QUERY_TOPIC_CONSUME_BY_WHO and
GET_CONSUMER_LIST_BY_GROUP on each broker that has it.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from mqadmin.changes.targets.topic import RouteTarget, TopicTarget
from mqadmin.changes.write import as_object_steps, carry_out, delete, plan
from mqadmin.cli.declare import Call, Outcome, Row, command, exit_code_of
from mqadmin.cli.decorators import topic_argument
from mqadmin.cli.types import CLUSTER
from mqadmin.cluster.brokers import MASTER, ServerNode, all_brokers, namesrvs
from mqadmin.errors import ItemNotFound
from mqadmin.output.rows import CHANGED, UNCHANGED
from mqclient.errors import ClientError
from storefmt.paths import GROUP_SIZE_MAX, check_topic_name

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin

GONE: Final = "the messages are gone: `undo` brings back the settings alone"


@dataclass(frozen=True, slots=True)
class TopicRemoval(Row):
    """What became of the topic at one server."""

    topic: str
    server: str
    address: str
    result: str
    remark: str | None = None
    cluster: str = ""


@command(
    "topic delete",
    examples=(
        ("mqadmin topic delete orders --dry-run", "where it would be deleted"),
        ("mqadmin topic delete orders -y", "delete it without being asked"),
    ),
    rows=TopicRemoval,
    columns=("topic", "server", "address", "result", "remark"),
    writes=True,
)
@topic_argument()
@click.option("--cluster", type=CLUSTER, help="only on the brokers of this cluster")
async def delete_topic(call: Call, *, topic: str, cluster: str | None) -> Outcome:
    """Return one row for each server.

    Raises:
        ItemNotFound: no broker has the topic, or there is no such cluster.
    """
    check_topic_name(topic, size_max=GROUP_SIZE_MAX)
    admin = await call.admin()
    known = await all_brokers(admin)
    brokers = [node for node in known if cluster in (None, node.cluster)]
    if not brokers:
        raise ItemNotFound(f"no cluster {cluster!r}", hint="`cluster list` shows them")
    here = [node for node in brokers if node.broker_id == MASTER]
    names = (topic,) if cluster is None else (topic, cluster)
    on_brokers = await plan([TopicTarget(admin, node, (topic,)) for node in here], delete)
    at_namesrvs = await plan(
        [RouteTarget(admin, node, names) for node in await namesrvs(call)], delete
    )
    having = [step for step in as_object_steps(on_brokers) if step.is_write or step.verdict]
    # Brokers come first: one that still has the topic would register it again.
    known_at = [step for step in as_object_steps(at_namesrvs) if step.is_write or step.verdict]
    if not having and not known_at:
        raise ItemNotFound(f"topic {topic} is on no broker", hint="`topic list` shows them")
    online = await _online(admin, [step.target.node for step in having], topic)
    if call.dry_run and online:
        call.warn(f"{topic} is in use: {online}")
    done = await carry_out(
        call,
        having + known_at,
        title=f"topic delete {topic}",
        question=f"delete topic {topic} with all its messages on {len(having)} broker(s)"
        + (f", while it is in use ({online})?" if online else "?"),
        in_order=True,
    )
    rows = [
        TopicRemoval.of(one, topic=topic, server=one.broker, cluster=one.target.node.cluster)
        for one in done
    ]
    sent = [row.result for row in rows if row.result != UNCHANGED]
    notes = (GONE,) if any(row.result == CHANGED for row in rows) else ()
    return Outcome(rows, exit_code=exit_code_of(sent), notes=notes)


async def _online(admin: "Admin", nodes: list[ServerNode], topic: str) -> str:
    """Return which groups with members online read the topic, in words; empty for none."""
    try:
        members: dict[str, set[str]] = {}
        for node in nodes:
            for group in await admin.groups_of_topic(node.address, topic):
                found = await admin.consumer_ids(node.address, group)
                members.setdefault(group, set()).update(found)
    except ClientError as error:
        return f"who reads it is not known: {error}"
    return ", ".join(
        f"group {group} has {len(ids)} member(s) online" for group, ids in members.items() if ids
    )
