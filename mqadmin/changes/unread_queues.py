"""Refuse to make queues of a topic unreadable while messages in them are unread.

    read queues 8 -> 4            queues 4 to 7 are no longer readable
    read queues < write queues    messages sent to the queues between are never read
    permission without R          no queue can be read

Requests, only for such a change: GET_TOPIC_STATS_INFO and GET_ALL_CONSUMER_OFFSET on its broker.

Rule: the loss is reported by group, even with ``--force``, so that it is never silent. A change
that loses nothing costs no request.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from mqadmin.changes.write import ChangeStep
from mqadmin.cluster.brokers import ServerNode
from mqadmin.cluster.groups import is_system
from mqadmin.cluster.standing import QueuePosition, QueueState
from mqadmin.output.rows import REFUSED
from mqclient.errors import ClientError
from storefmt.config.tables import TopicConfig
from storefmt.names import PERM_READ

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin

NEXT_STEP: Final = (
    "remove the write queues first and wait until the rest is read (`wait lag`), or pass --force"
)
TopicStep = ChangeStep[TopicConfig]


async def guard_unread(
    admin: "Admin", steps: Sequence[TopicStep], *, force: bool
) -> tuple[list[TopicStep], tuple[str, ...]]:
    """Return the steps, with those refused that would leave messages unread, and notes on the
    others.

    Args:
        force: refuse no step; the notes say what is lost.
    """
    reasons = await asyncio.gather(*(_reason(admin, step) for step in steps))
    guarded: list[TopicStep] = []
    notes = []
    for step, reason in zip(steps, reasons, strict=True):
        if reason and not force:
            remark = f"{reason}; {NEXT_STEP}"
            guarded.append(replace(step, new=step.old, verdict=REFUSED, remark=remark))
            continue
        guarded.append(step)
        if reason:
            notes.append(f"{step.target.names[0]} on {step.target.node.broker}: {reason}")
    return guarded, tuple(notes)


def lost_queues(old: TopicConfig | None, new: TopicConfig) -> range:
    """Return the queues that would no longer be readable, or whose new messages would not be
    read."""
    before = _readable(old) if old is not None else new.write_queue_nums
    after = _readable(new)
    if old is None or old.read_queue_nums >= old.write_queue_nums:
        # Messages would newly go to queues that are never read.
        before = max(before, new.write_queue_nums if new.perm & PERM_READ else 0)
    return range(after, max(after, before))


def _readable(config: TopicConfig) -> int:
    return config.read_queue_nums if config.perm & PERM_READ else 0


async def _reason(admin: "Admin", step: TopicStep) -> str:
    """Return what a step would leave unread; empty if nothing."""
    if not step.is_write or step.new is None:
        return ""
    queue_ids = lost_queues(step.old, step.new)
    if not queue_ids:
        return ""
    names = f"queue {queue_ids[0]}"
    if len(queue_ids) > 1:
        names = f"queues {queue_ids[0]} to {queue_ids[-1]}"
    unread = ""
    if step.old is not None:
        try:
            unread = await _unread(admin, step.target.node, step.target.names[0], queue_ids)
        except ClientError as error:
            unread = f"and their unread messages are unknown: {error}"
    if unread:
        return f"{names} would no longer be readable, {unread}"
    if step.new.perm & PERM_READ and step.new.read_queue_nums < step.new.write_queue_nums:
        return f"{names} would be written but never read"
    return ""


async def _unread(admin: "Admin", node: ServerNode, topic: str, queue_ids: range) -> str:
    """Return the unread messages of each group in some queues; empty if everything is read."""
    stats, table = await asyncio.gather(
        admin.topic_stats_at(node.address, topic), admin.all_consumer_offsets(node.address)
    )
    ends = {queue.queue_id: stat for queue, stat in stats.items() if queue.queue_id in queue_ids}
    stored = sum(stat.max_offset - stat.min_offset for stat in ends.values())
    if not stored:
        return ""
    unread: dict[str, int] = {}
    for (name, group), offsets in table.items():
        if name == topic and not is_system(group):
            unread[group] = sum(
                QueuePosition(
                    group=group,
                    topic=topic,
                    broker=node.broker,
                    queue_id=queue_id,
                    state=QueueState.UNREADABLE,
                    consumer_offset=offsets.get(queue_id),
                    min_offset=stat.min_offset,
                    end_offset=stat.max_offset,
                ).unread_count
                for queue_id, stat in ends.items()
            )
    if not unread:
        return f"and no group has read the {stored} messages there"
    left = [f"group {group} has {count}" for group, count in sorted(unread.items()) if count]
    return f"with unread messages: {', '.join(left)}" if left else ""
