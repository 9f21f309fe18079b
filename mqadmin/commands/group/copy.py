"""``group copy``: copy a group with its offsets from one cluster to another.

    by time     the first message of a topic that is unread there -> its time -> each queue here
    by queue    the offset of each queue there -> the queue of the same number here

Requests there: GET_ALL_SUBSCRIPTIONGROUP_CONFIG, GET_ALL_CONSUMER_OFFSET, PULL_MESSAGE by time;
here: UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, SEARCH_OFFSET_BY_TIMESTAMP, and those of `offset import`.

Rule: by time, no message is skipped, and some may be read again. The retry and dead-letter topics
are left out, since their messages stay where they are.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import click

from mqadmin.changes.offset_change import OFFSET_COLUMNS, OffsetChange, offsets_of
from mqadmin.changes.offset_copy import OffsetsByGroup, store_offsets
from mqadmin.changes.targets.group import GroupTarget
from mqadmin.changes.write import carry_out, plan
from mqadmin.cli.declare import Call, Outcome, command
from mqadmin.cli.decorators import broker_map, clamp_option, group_argument
from mqadmin.cli.types import CONTEXT, TOPIC, Choice
from mqadmin.cluster.brokers import ServerNode, masters
from mqadmin.cluster.elsewhere import elsewhere
from mqadmin.messages.broker_reader import message_at
from mqadmin.output.rows import PARTLY, REFUSED, UNREACHABLE
from mqclient.client import routes
from mqclient.consumer.pull_consumer import PullConsumer
from remoting.bodies import MessageQueue
from storefmt.config.tables import SubscriptionGroup
from storefmt.names import DLQ_PREFIX, RETRY_PREFIX, TOOLS_GROUP
from storefmt.paths import check_group_name

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin

OWN_TOPICS = (RETRY_PREFIX, DLQ_PREFIX)
QueueOffsets = Mapping[tuple[str, int], int]
"""Queue offset by broker and queue id."""


@dataclass(frozen=True, slots=True)
class SourceGroup:
    """A group in the cluster that it is copied from.

    Attributes:
        settings: those of the first broker that has them; None if no broker has.
        offsets: by topic, without those of its own topics.
        own_topics: the retry and dead-letter topics that were left out.
    """

    settings: SubscriptionGroup | None
    offsets: Mapping[str, QueueOffsets]
    own_topics: tuple[str, ...]


@command(
    "group copy",
    examples=(
        ("mqadmin group copy billing --from old --dry-run", "what would change, by time"),
        ("mqadmin group copy billing --from old --to new -y", "between two contexts"),
        (
            "mqadmin group copy billing --from 10.0.0.1:9876 --by queue --map broker-a=broker-5",
            "queue by queue, to a broker with another name",
        ),
    ),
    details="The group is created if it is missing, with its settings in the other cluster. By "
    "time (the default), every queue of a topic starts at the time of the first message that is "
    "unread in the other cluster: no message is skipped, and some may be read again. This is for "
    "messages that were sent to both clusters. By queue, the offsets are kept as they are; this "
    "is for a copied store. An offset past the end of its queue is refused unless --clamp is "
    "given. The retry topic is left out, because its messages stay in the other cluster.",
    rows=OffsetChange,
    columns=(*OFFSET_COLUMNS, "remark"),
    writes=True,
)
@group_argument()
@click.option(
    "--from",
    "source",
    type=CONTEXT,
    required=True,
    metavar="CONTEXT|HOST:PORT",
    help="the cluster that has the group",
)
@click.option(
    "--to",
    "target",
    type=CONTEXT,
    metavar="CONTEXT|HOST:PORT",
    help="the cluster to copy to; the current one if left out",
)
@click.option("--topic", type=TOPIC, multiple=True, help="only in this topic")
@click.option("--by", type=Choice(["time", "queue"]), default="time", help="how places are mapped")
@broker_map("with --by queue: copy offsets of broker OLD to broker NEW")
@clamp_option
async def copy_group(
    call: Call,
    *,
    group: str,
    source: str,
    target: str | None,
    topic: tuple[str, ...],
    by: Literal["time", "queue"],
    brokers: tuple[tuple[str, str], ...],
    clamp: bool,
) -> Outcome:
    """Return one row for each queue.

    Raises:
        ItemNotFound: the cluster does not exist, or the group has no offset there.
        NoRoute: a topic is not here.
        ServerRefused: members of the group are online here.
    """
    check_group_name(group)
    there, here = elsewhere(call, source), call if target is None else elsewhere(call, target)
    admin = await here.admin()
    source_group = await _source_group(await there.admin(), group, topic)
    offsets_by_group: OffsetsByGroup = {}
    for name, offsets in source_group.offsets.items():
        if by == "queue":
            renamed = dict(brokers)
            spots = {
                (renamed.get(broker, broker), number): offset
                for (broker, number), offset in offsets.items()
            }
        else:
            spots = await _by_time(admin, name, await _first_unread_ms(there, name, offsets))
        offsets_by_group[group, name] = spots
    nodes = await masters(admin, every=True)
    rows = await store_offsets(
        here,
        offsets_by_group,
        groups=[group],
        addresses=[node.address for node in nodes],
        title=f"group copy {group}",
        question=lambda count: f"store {count} offsets of {group}, copied from {source}?",
        missing="no such queue in this cluster",
        clamp=clamp,
    )
    notes, is_whole = await _create(here, group, source_group.settings, nodes)
    if source_group.own_topics:
        notes.append(
            "left out, because its messages stay in the other cluster: "
            f"{', '.join(source_group.own_topics)}"
        )
    exit_code = rows.exit_code if is_whole else rows.exit_code or PARTLY
    return replace(rows, notes=(*rows.notes, *notes), exit_code=exit_code)


async def _create(
    here: Call, group: str, settings: SubscriptionGroup | None, nodes: Sequence[ServerNode]
) -> tuple[list[str], bool]:
    """Create a group where it is missing; return notes, and whether all went well."""
    if settings is None:
        return [f"group {group} has no settings in the other cluster; none were copied"], True
    admin = await here.admin()
    steps = await plan(
        [GroupTarget(admin, node, (group,)) for node in nodes], lambda old: old or settings
    )
    made = await carry_out(here, steps, title=f"group copy {group}")
    notes = [
        f"group {group} on {result.broker}: {result.result}"
        + (f", {result.remark}" if result.remark else "")
        for result in made
        if result.step.is_write or result.remark
    ]
    return notes, not any(result.result in (REFUSED, UNREACHABLE) for result in made)


async def _source_group(admin: "Admin", group: str, topics: tuple[str, ...]) -> SourceGroup:
    nodes = await masters(admin, every=True)
    tables = await asyncio.gather(*(admin.subscription_groups(node.address) for node in nodes))
    settings = next((table.groups[group] for table in tables if group in table.groups), None)
    addresses = {node.broker: node.address for node in nodes}
    offsets = await offsets_of(admin, group, addresses, topics)
    own = tuple(sorted(name for name in offsets if name.startswith(OWN_TOPICS)))
    kept = {name: spots for name, spots in offsets.items() if name not in own}
    return SourceGroup(settings, kept, own)


async def _first_unread_ms(there: Call, topic: str, offsets: QueueOffsets) -> int | None:
    """Return the store time of the first unread message; None if all are read."""
    consumer = PullConsumer(await there.client(), TOOLS_GROUP)
    firsts = await asyncio.gather(
        *(
            message_at(consumer, MessageQueue(topic, broker, number), offset)
            for (broker, number), offset in offsets.items()
        )
    )
    return min((message.store_ms for message in firsts if message is not None), default=None)


async def _by_time(admin: "Admin", topic: str, time_ms: int | None) -> dict[tuple[str, int], int]:
    """Return the offset at a time in each queue of a topic here; its end if all is read there."""
    route = await admin.topic_route(topic)
    queues = routes.subscribe_queues(topic, route)
    if time_ms is None:
        ends = await asyncio.gather(*(admin.max_offset(queue) for queue in queues))
    else:
        ends = await asyncio.gather(*(admin.search_offset(queue, time_ms) for queue in queues))
    return {
        (queue.broker_name, queue.queue_id): end for queue, end in zip(queues, ends, strict=True)
    }
