"""Every group that was ever online with its members and lag: what ``consumerProgress`` shows.

Rule: a group is found by its retry topic, as RocketMQ's own tool finds it.

Requests: GET_ALL_TOPIC_LIST_FROM_NAMESERVER; for each group GET_CONSUME_STATS and
GET_CONSUMER_CONNECTION_LIST on each master.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mqadmin.cluster.bounded_gather import bounded_gather
from mqadmin.cluster.brokers import Place
from mqadmin.cluster.groups import connection
from mqadmin.output.rows import Row
from storefmt.names import RETRY_PREFIX

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSummary(Row):
    """One group; ``lag`` in entries, ``version`` the oldest of its members."""

    group: str
    members: int
    version: int | None
    consume_type: str | None
    message_model: str | None
    consume_tps: float
    lag: int


async def summaries(admin: "Admin", places: list[Place]) -> AsyncIterator[GroupSummary]:
    """Yield a row a group."""
    topics = sorted(await admin.topic_list())
    groups = [name.removeprefix(RETRY_PREFIX) for name in topics if name.startswith(RETRY_PREFIX)]
    async for row in bounded_gather(groups, lambda one: _summary(admin, places, one)):
        yield row


async def _summary(admin: "Admin", places: list[Place], group: str) -> GroupSummary:
    stats = await asyncio.gather(*(admin.consume_stats(at.address, group) for at in places))
    told = await asyncio.gather(*(connection(admin, at, group) for at in places))
    found = next((one for one in told if one is not None), None)
    members = found.connection_set if found is not None else []
    queues = [at for one in stats for at in one.offset_table.values()]
    return GroupSummary(
        group=group,
        members=len(members),
        version=min((one.version for one in members), default=None),
        consume_type=found.consume_type.name if found and found.consume_type else None,
        message_model=found.message_model.name if found and found.message_model else None,
        consume_tps=sum(one.consume_tps for one in stats),
        lag=sum(at.broker_offset - at.consumer_offset for at in queues),
    )
