"""``topic delete``: remove a topic from every broker, then from the name servers.

Requests: GET_BROKER_CLUSTER_INFO, GET_ALL_TOPIC_CONFIG on each broker,
DELETE_TOPIC_IN_BROKER where it is, GET_ALL_TOPIC_LIST_FROM_NAMESERVER and
DELETE_TOPIC_IN_NAMESRV on each name server. Who is online: QUERY_TOPIC_CONSUME_BY_WHO and
GET_CONSUMER_LIST_BY_GROUP on each broker that has it. Offsets: GET_ALL_CONSUMER_OFFSET and, with
--offsets, UPDATE_CONSUMER_OFFSET. What waits for the topic: see ``health.waiting_counts``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import click

from mqadmin.changes.targets.topic import RouteTarget, TopicTarget
from mqadmin.changes.write import ChangeStep, as_object_steps, attempt, carry_out, delete, plan
from mqadmin.cli.declare import Call, Outcome, Row, command, exit_code_of
from mqadmin.cli.decorators import topic_argument
from mqadmin.cli.types import CLUSTER
from mqadmin.cluster.brokers import MASTER, ServerNode, all_brokers, namesrvs
from mqadmin.errors import ItemNotFound
from mqadmin.health.waiting_counts import DELAYED_READ_MAX, WaitingCounts, count_waiting
from mqadmin.output.rows import CHANGED, NOT_FOUND, REFUSED, UNCHANGED, UNREACHABLE
from mqclient.errors import BrokerRefused, ClientError, NotFound
from remoting.bodies import MessageQueue
from storefmt.names import UNDELIVERED_TOPIC
from storefmt.paths import GROUP_SIZE_MAX, check_topic_name

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin

GONE: Final = "the messages are gone: `undo` restores only the settings"


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
        ("mqadmin topic delete orders -y", "delete it without confirmation"),
        ("mqadmin topic delete orders --offsets", "also remove the offsets of groups"),
    ),
    details="Delayed, timer and half messages that still wait for the topic are counted first; "
    f"at most {DELAYED_READ_MAX:,} delayed messages of each broker are read to find them. Once "
    "they are due, our broker moves them to rmq_sys_UNDELIVERED.",
    rows=TopicRemoval,
    columns=("topic", "server", "address", "result", "remark"),
    writes=True,
)
@topic_argument()
@click.option("--cluster", type=CLUSTER, help="only on the brokers of this cluster")
@click.option("--offsets", is_flag=True, help="also remove the offsets of groups in the topic")
async def delete_topic(call: Call, *, topic: str, cluster: str | None, offsets: bool) -> Outcome:
    """Return one row for each server, and with --offsets for each group.

    Raises:
        ItemNotFound: no broker has the topic, or the cluster does not exist.
    """
    check_topic_name(topic, size_max=GROUP_SIZE_MAX)
    admin = await call.admin()
    all_nodes = await all_brokers(admin)
    brokers = [node for node in all_nodes if cluster in (None, node.cluster)]
    if not brokers:
        raise ItemNotFound(f"cluster {cluster!r} not found", hint="`cluster list` shows them")
    here = [node for node in brokers if node.broker_id == MASTER]
    names = (topic,) if cluster is None else (topic, cluster)
    on_brokers = await plan([TopicTarget(admin, node, (topic,)) for node in here], delete)
    at_namesrvs = await plan(
        [RouteTarget(admin, node, names) for node in await namesrvs(call)], delete
    )
    having = [step for step in as_object_steps(on_brokers) if step.is_write or step.verdict]
    # Brokers come first: one that still has the topic would register it again.
    known_at = [step for step in as_object_steps(at_namesrvs) if step.is_write or step.verdict]
    left = await groups_with_offsets(admin, here, topic)
    if not having and not known_at and not (offsets and left.groups):
        if call.deletes_as_java:
            return _deleted_before(topic, here, at_namesrvs)
        raise ItemNotFound(f"no broker has topic {topic}", hint="`topic list` shows them")
    nodes = [step.target.node for step in having]
    online = await _online(admin, nodes, topic)
    waiting = await count_waiting(admin, await call.client(), nodes, topic)
    waiting_notes = _waiting_notes(topic, waiting)
    if call.dry_run:
        in_use = [f"{topic} is in use: {online}"] if online else []
        for text in (*in_use, left.text(topic), *waiting_notes):
            if text:
                call.warn(text)
    results = await carry_out(
        call,
        having + known_at,
        title=f"topic delete {topic}",
        question=_question(
            topic, len(having), online=online, left=left, offsets=offsets, waiting=waiting
        ),
        in_order=True,
    )
    rows = [
        TopicRemoval.of(
            result, topic=topic, server=result.broker, cluster=result.target.node.cluster
        )
        for result in results
    ]
    notes = [GONE] if any(row.result == CHANGED for row in rows) else []
    if offsets:
        failed = {row.address for row in rows if row.result in (REFUSED, UNREACHABLE)}
        rows += await _remove_offsets(call, admin, left, topic, without=failed)
    elif left.groups and not call.dry_run:
        notes.append(left.text(topic))
    if not call.dry_run:
        notes += waiting_notes
    sent = [row.result for row in rows if row.result != UNCHANGED]
    return Outcome(rows, exit_code=exit_code_of(sent), notes=tuple(notes))


def _deleted_before(
    topic: str, brokers: list[ServerNode], at_namesrvs: Sequence[ChangeStep[bool]]
) -> Outcome:
    """Return a row for each server that Java's tool would have named."""
    places = [*brokers, *(step.target.node for step in at_namesrvs)]
    return Outcome(
        [
            TopicRemoval(topic, place.broker, place.address, NOT_FOUND, cluster=place.cluster)
            for place in places
        ],
        exit_code=ItemNotFound.exit_code,
    )


@dataclass(frozen=True, slots=True)
class LeftOffsets:
    """Which groups have offsets in a topic, and where: broker, group and queue ids."""

    places: list[tuple[ServerNode, str, list[int]]]
    unknown: str = ""

    @property
    def groups(self) -> list[str]:
        """Return the groups, each once."""
        return sorted({group for _, group, _ in self.places})

    def text(self, topic: str) -> str:
        """Return what the offsets mean to a topic that is made again; empty for none."""
        if self.unknown:
            return f"the groups with offsets in {topic} are unknown: {self.unknown}"
        if not self.groups:
            return ""
        names = ", ".join(self.groups)
        return (
            f"group {names} keeps offsets in {topic}: if it is created again, the group will "
            f"skip its first messages; `topic delete {topic} --offsets` removes them"
        )


async def groups_with_offsets(admin: "Admin", nodes: list[ServerNode], topic: str) -> LeftOffsets:
    """Return which groups have committed offsets in a topic."""
    places: list[tuple[ServerNode, str, list[int]]] = []
    failures: list[str] = []
    for node in nodes:
        try:
            table = await admin.all_consumer_offsets(node.address)
        except ClientError as error:
            failures.append(str(error))
            continue
        places += [
            (node, group, sorted(queues))
            for (name, group), queues in sorted(table.items())
            if name == topic and any(queues.values())
        ]
    return LeftOffsets(places, "; ".join(failures))


def _waiting_notes(topic: str, waiting: WaitingCounts) -> list[str]:
    """Return what waits for the topic and where it will go, and what could not be counted."""
    notes = []
    if text := waiting.text():
        notes.append(
            f"{text} of {topic} still wait: once due, they go to {UNDELIVERED_TOPIC}; a Java "
            f"broker puts them into {topic}, where they are read if it is created again"
        )
    if waiting.unknown:
        notes.append(
            f"other messages that wait for {topic} are unknown: {'; '.join(waiting.unknown)}"
        )
    return notes


def _question(
    topic: str,
    count: int,
    *,
    online: str,
    left: LeftOffsets,
    offsets: bool,
    waiting: WaitingCounts,
) -> str:
    """Return what is asked before the topic is deleted."""
    text = f"delete topic {topic} with all its messages on {count} broker(s)"
    if online:
        text += f", while it is in use ({online})"
    if text_of_waiting := waiting.text():
        text += f", for which {text_of_waiting} still wait"
    if left.groups:
        verb = "remove" if offsets else "keep"
        text += f", and {verb} the offsets of group {', '.join(left.groups)}"
    return f"{text}?"


async def _remove_offsets(
    call: Call, admin: "Admin", left: LeftOffsets, topic: str, *, without: set[str]
) -> list[TopicRemoval]:
    """Set the offsets of each group to 0, since no broker of 4.9 forgets one, and read them back.

    A group that begins at 0 reads a topic that is made again from its start. The journal keeps no
    offset: put back into an empty topic it would be past the end.
    """
    rows = []
    for node, group, queue_ids in left.places:
        if node.address in without:
            continue
        result, remark = await attempt(
            call, partial(_reset_offsets, admin, node, group, topic, queue_ids)
        )
        rows.append(
            TopicRemoval(
                topic, node.broker, node.address, result, remark or f"offsets of group {group}"
            )
        )
    return rows


async def _reset_offsets(
    admin: "Admin", node: ServerNode, group: str, topic: str, queue_ids: list[int]
) -> str | None:
    """Set the offsets of one group to 0; a broker of 5.x has removed them with the topic.

    Raises:
        BrokerRefused: members are online, or the broker has another offset afterwards.
    """
    if await admin.consumer_ids(node.address, group):
        raise BrokerRefused(
            f"group {group} has members online, which would commit their offsets again",
            address=node.address,
            hint=f"stop them, then `topic delete {topic} --offsets`",
        )
    for queue_id in queue_ids:
        queue = MessageQueue(topic, node.broker, queue_id)
        try:
            await admin.update_consumer_offset(node.address, group, queue, 0)
        except NotFound:
            break
    table = await admin.all_consumer_offsets(node.address)
    kept = [offset for offset in table.get((topic, group), {}).values() if offset]
    if kept:
        raise BrokerRefused(f"group {group} still has offset {kept[0]}", address=node.address)
    return None


async def _online(admin: "Admin", nodes: list[ServerNode], topic: str) -> str:
    """Return which groups with members online read the topic; empty if there are none."""
    try:
        members: dict[str, set[str]] = {}
        for node in nodes:
            for group in await admin.groups_of_topic(node.address, topic):
                client_ids = await admin.consumer_ids(node.address, group)
                members.setdefault(group, set()).update(client_ids)
    except ClientError as error:
        return f"its consumers are unknown: {error}"
    return ", ".join(
        f"group {group} has {len(ids)} member(s) online" for group, ids in members.items() if ids
    )
