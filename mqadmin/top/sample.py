"""One sample of a cluster, and the rows that two samples give.

    sample t0, sample t1  -->  rates = difference / seconds, lags and sizes of t1

Requests: GET_BROKER_CLUSTER_INFO, GET_BROKER_RUNTIME_INFO on each broker,
GET_BROKER_CONSUME_STATS on each master (all groups in one answer), GET_CONSUMER_LIST_BY_GROUP
for each group, GET_TOPIC_STATS_INFO for topics that no group reads, ``QUIET_TOPICS_MAX`` at most,
and those of ``mqadmin.cluster.controlled_groups``.

Rule: ``rows_between`` is pure. A cluster with 50,000 topics costs a few requests a look, for
only topics with groups and some others are sampled.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from mqadmin.cluster.bounded_gather import each
from mqadmin.cluster.brokers import MASTER, ServerNode
from mqadmin.cluster.controlled_groups import ControlledGroups, controlled_groups
from mqadmin.cluster.group_positions import position_of, uncommitted_positions
from mqadmin.cluster.groups import connection, is_system
from mqadmin.cluster.replicas import ReplicaLog
from mqadmin.cluster.standing import QueuePosition, StandingTotal
from mqadmin.health.checkup import BrokerFacts, slave_lag
from mqadmin.health.checkup_facts import brokers, masters_of
from mqadmin.output.rows import Row
from mqadmin.output.topic_kinds import kind_of
from mqclient.errors import ClientError
from remoting.bodies import MessageQueue
from storefmt.config.tables import TopicConfig

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin

QUIET_TOPICS_MAX: Final = 100


@dataclass(frozen=True, slots=True)
class TopRow(Row):
    """A broker, topic or group; rates in messages a second, None if unknown.

    Attributes:
        slave_lag: bytes of commit log that a slave lacks.
        replica: in a group with a controller, MASTER, IN_SYNC or BEHIND, and the epoch of the log.
        error: why a broker says nothing, or where a group stands otherwise than behind.
    """

    identity = "name"

    kind: str
    name: str
    in_tps: float | None = None
    out_tps: float | None = None
    lag: int | None = None
    members: int | None = None
    disk_ratio: float | None = None
    slave_lag: int | None = None
    replica: str | None = None
    error: str | None = None


@dataclass(slots=True)
class GroupSnapshot:
    """A group at one moment: the offset of each queue, what is left, and where it stands."""

    offsets: dict[MessageQueue, int] = field(default_factory=dict)
    lag: int = 0
    members: int = 0
    positions: list[QueuePosition] = field(default_factory=list)


@dataclass(slots=True)
class ClusterSnapshot:
    """A cluster at one moment; ``ends`` is the last offset of each queue."""

    at_ms: int
    brokers: list[BrokerFacts]
    ends: dict[MessageQueue, int] = field(default_factory=dict)
    groups: dict[str, GroupSnapshot] = field(default_factory=dict)
    controlled: ControlledGroups = field(default_factory=ControlledGroups)


async def look(admin: "Admin", now_ms: Callable[[], int]) -> ClusterSnapshot:
    """Look at the whole cluster once."""
    facts = await brokers(admin, now_ms)
    nodes = sorted(one.place for one in facts if one.error is None)
    made = ClusterSnapshot(now_ms(), facts, controlled=await controlled_groups(admin, nodes))
    masters = masters_of(facts)
    tables: dict[str, Mapping[str, TopicConfig]] = {}
    for place in masters:
        stats_body, table = await asyncio.gather(
            admin.broker_consume_stats(place.address), admin.topic_configs(place.address)
        )
        tables[place.address] = table.topics
        for part in stats_body.consume_stats_list:
            for group, stats in part.items():
                if is_system(group):
                    continue
                here = made.groups.setdefault(group, GroupSnapshot())
                for one in stats:
                    for queue, at in one.offset_table.items():
                        here.offsets[queue] = at.consumer_offset
                        config = table.topics.get(queue.topic)
                        position = position_of(group, queue, at, config)
                        here.positions.append(position)
                        here.lag += position.waiting_count
                        made.ends[queue] = at.broker_offset
    await _look_at_members(admin, made, masters, tables)
    await _look_at_quiet_topics(admin, made, masters)
    return made


async def _look_at_members(
    admin: "Admin",
    made: ClusterSnapshot,
    masters: list[ServerNode],
    tables: Mapping[str, Mapping[str, TopicConfig]],
) -> None:
    """Count the members of each group, and add the topics that they have read nothing of."""

    async def look_at(group: str) -> None:
        here, members = made.groups[group], set()
        for place in masters:
            online = await connection(admin, place, group)
            if online is None:
                continue
            members |= {one.client_id for one in online.connection_set}
            topics = {one.topic for one in here.positions if one.broker == place.broker}
            for position in await uncommitted_positions(
                admin, place, online, topics, tables[place.address], group=group
            ):
                here.positions.append(position)
                here.lag += position.waiting_count
        here.members = len(members)

    await each(made.groups, look_at)


async def _look_at_quiet_topics(
    admin: "Admin", made: ClusterSnapshot, masters: list[ServerNode]
) -> None:
    seen = {queue.topic for queue in made.ends}
    own = {place.broker for place in masters} | {place.cluster for place in masters}
    for place in masters:
        names = sorted((await admin.topic_configs(place.address)).topics)
        quiet = [
            name
            for name in names
            if name not in seen and kind_of(name, brokers_and_clusters=own) == "normal"
        ]
        stats_by_topic = await asyncio.gather(
            *(admin.topic_stats_at(place.address, name) for name in quiet[:QUIET_TOPICS_MAX]),
            return_exceptions=True,
        )
        for stats in stats_by_topic:
            if isinstance(stats, dict):
                made.ends |= {queue: ends.max_offset for queue, ends in stats.items()}
            elif not isinstance(stats, ClientError):
                raise stats


def rows_between(before: ClusterSnapshot, after: ClusterSnapshot) -> list[TopRow]:
    """Return a row for each broker, topic and group of the later look."""
    seconds = (after.at_ms - before.at_ms) / 1000
    return [*_brokers(after), *_topics(before, after, seconds), *_groups(before, after, seconds)]


def _brokers(after: ClusterSnapshot) -> Iterator[TopRow]:
    masters = {
        broker.place.broker: broker for broker in after.brokers if broker.place.broker_id == MASTER
    }
    for broker in after.brokers:
        master = masters.get(broker.place.broker)
        slave = broker.place.broker_id != MASTER
        yield TopRow(
            "broker",
            f"{broker.place.broker}:{broker.place.broker_id}" if slave else broker.place.broker,
            in_tps=_first(broker.runtime.get("putTps")),
            out_tps=_first(
                broker.runtime.get("getTransferedTps") or broker.runtime.get("getTransferredTps")
            ),
            disk_ratio=broker.number("commitLogDiskRatio"),
            slave_lag=slave_lag(master, broker) if slave and master is not None else None,
            replica=_replica(after.controlled.replica_at(broker.place.address)),
            error=broker.error,
        )
    listed = {broker.place.address for broker in after.brokers}
    for group in after.controlled.groups:
        for log in group.logs:
            if log.address not in listed:
                state = "not registered" if log.is_alive else "dead"
                yield TopRow(
                    "broker",
                    f"{group.broker}:{log.broker_id}",
                    replica=_replica(log),
                    error=f"{log.standing}, {state}, says its controller",
                )


def _replica(log: ReplicaLog | None) -> str | None:
    if log is None:
        return None
    return log.standing if log.newest_epoch is None else f"{log.standing} {log.newest_epoch}"


def _first(text: str | None) -> float | None:
    """Return the average over 10 s of Java's three."""
    try:
        return round(float((text or "").split()[0]), 2)
    except (ValueError, IndexError):
        return None


def _topics(before: ClusterSnapshot, after: ClusterSnapshot, seconds: float) -> Iterator[TopRow]:
    written: dict[str, int] = defaultdict(int)
    read: dict[str, int] = defaultdict(int)
    for queue, end in after.ends.items():
        written[queue.topic] += max(0, end - before.ends.get(queue, end))
    for name, group in after.groups.items():
        old = before.groups.get(name, GroupSnapshot()).offsets
        for queue, offset in group.offsets.items():
            read[queue.topic] += max(0, offset - old.get(queue, offset))
    for topic in sorted(written):
        yield TopRow(
            "topic",
            topic,
            in_tps=_rate(written[topic], seconds),
            out_tps=_rate(read[topic], seconds) if topic in read else None,
        )


def _groups(before: ClusterSnapshot, after: ClusterSnapshot, seconds: float) -> Iterator[TopRow]:
    for name, group in sorted(after.groups.items()):
        old = before.groups.get(name, GroupSnapshot()).offsets
        read_count = sum(
            max(0, offset - old.get(queue, offset)) for queue, offset in group.offsets.items()
        )
        total = StandingTotal.of(group.positions)
        yield TopRow(
            "group",
            name,
            out_tps=_rate(read_count, seconds),
            lag=group.lag,
            members=group.members,
            error=None if total.is_sure else total.text,
        )


def _rate(count: int, seconds: float) -> float | None:
    return round(count / seconds, 2) if seconds > 0 else None
