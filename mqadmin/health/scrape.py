"""One scrape: ask a whole cluster and make metrics of the answers.

    brokers   runtime table, statistics of the last minute, how far slaves are behind
    replicas  controllers, and masters, epochs, in-sync sets and confirm offsets of their groups
    topics    last offsets, statistics, retry and dead-letter topics apart
    groups    lag, offsets, members, and the rates that each member reports

Rule: numbers of a broker or member that does not answer are omitted, a metric (``mqadmin_…``)
reports that, and the rest is exported. While a group has messages left, its delay is the age of
the last message that it read; no message is fetched.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from mqadmin.cluster.bounded_gather import PARALLEL_MAX
from mqadmin.cluster.brokers import MASTER, ServerNode
from mqadmin.cluster.controlled_groups import controlled_groups
from mqadmin.cluster.group_positions import position_of, uncommitted_positions
from mqadmin.cluster.groups import is_system
from mqadmin.cluster.members import MemberOutcome, MemberSurvey
from mqadmin.cluster.standing import MEANINGS, QueuePosition, StandingTotal
from mqadmin.health.checkup import BrokerFacts, slave_lag
from mqadmin.health.checkup_facts import brokers, masters_of
from mqadmin.health.metrics import Families, add_replica_groups, add_runtime
from mqclient.errors import BrokerRefused
from remoting.bodies import ConsumerConnection, ConsumeStats, MessageModel
from storefmt.config.tables import TopicConfig
from storefmt.names import DLQ_PREFIX, RETRY_PREFIX, TopicKind, kind_of

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin

BROKER_STATISTICS: Final = {
    "rocketmq_broker_tps": "BROKER_PUT_NUMS",
    "rocketmq_broker_qps": "BROKER_GET_NUMS",
}
TOPIC_STATISTICS: Final = {
    "rocketmq_producer_tps": "TOPIC_PUT_NUMS",
    "rocketmq_producer_message_size": "TOPIC_PUT_SIZE",
}
GROUP_STATISTICS: Final = {
    "rocketmq_consumer_tps": "GROUP_GET_NUMS",
    "rocketmq_consumer_message_size": "GROUP_GET_SIZE",
}


class Scrape:
    """One scrape of a cluster, for metrics."""

    def __init__(self, admin: "Admin", now_ms: Callable[[], int]) -> None:
        self._admin = admin
        self._now_ms = now_ms
        self._gate = asyncio.Semaphore(PARALLEL_MAX)
        self._members_asked = MemberSurvey(admin, now_ms)
        self.out = Families()

    async def collect(self) -> Families:
        """Ask everything and return the metrics."""
        facts = await brokers(self._admin, self._now_ms)
        for broker in facts:
            add_runtime(self.out, broker)
        self._add_slaves(facts)
        nodes = sorted(broker.place for broker in facts if broker.error is None)
        add_replica_groups(self.out, await controlled_groups(self._admin, nodes))
        for place in masters_of(facts):
            await self._broker(place)
            await self._topics(place)
            await self._groups(place)
        return self.out

    def _add_slaves(self, facts: Sequence[BrokerFacts]) -> None:
        masters = {
            broker.place.broker: broker for broker in facts if broker.place.broker_id == MASTER
        }
        for broker in facts:
            master = masters.get(broker.place.broker)
            if master is not None and broker.place.broker_id != MASTER:
                self.out.add(
                    "rocketmq_broker_commitlog_diff",
                    slave_lag(master, broker),
                    cluster=broker.place.cluster,
                    brokerIP=broker.place.address,
                    broker=broker.place.broker,
                )

    async def _broker(self, place: ServerNode) -> None:
        labels = {"cluster": place.cluster, "brokerIP": place.address, "broker": place.broker}
        await self._add_statistics(BROKER_STATISTICS, place, place.cluster, **labels)
        for group, members in (await self._admin.producers(place.address)).data.items():
            self.out.add(
                "rocketmq_producer_count",
                len(members),
                cluster=place.cluster,
                broker=place.broker,
                group=group,
            )

    async def _add_statistics(
        self, names: Mapping[str, str], place: ServerNode, key: str, **labels: str
    ) -> None:
        """Add the rates of the last minute, each by the name of its metric."""
        for name, statistic in names.items():
            self.out.add(name, await self._statistic(place, statistic, key), **labels)

    async def _statistic(
        self, place: ServerNode, name: str, key: str, *, total: bool = False
    ) -> float | None:
        """Return the rate or sum of the last minute; None if nothing was counted."""
        async with self._gate:
            try:
                data = await self._admin.broker_stats(place.address, name, key)
            except BrokerRefused:
                return None
        minute = data.stats_minute
        if minute is None:
            return None
        return minute.sum if total else minute.tps

    async def _topics(self, place: ServerNode) -> None:
        names = sorted((await self._admin.topic_configs(place.address)).topics)
        await asyncio.gather(*(self._topic(place, name) for name in names))

    async def _topic(self, place: ServerNode, topic: str) -> None:
        async with self._gate:
            try:
                stats = await self._admin.topic_stats_at(place.address, topic)
            except BrokerRefused:
                # System topics have settings but no queues.
                return
        end = sum(ends.max_offset for ends in stats.values())
        where = {"cluster": place.cluster, "broker": place.broker}
        if topic.startswith(RETRY_PREFIX):
            self.out.add("rocketmq_topic_retry_offset", end, **where, topic=topic)
            return
        if topic.startswith(DLQ_PREFIX):
            group = topic.removeprefix(DLQ_PREFIX)
            self.out.add("rocketmq_topic_dlq_offset", end, **where, group=group)
            return
        self.out.add("rocketmq_producer_offset", end, **where, topic=topic)
        if kind_of(topic) is TopicKind.ORDINARY:
            await self._add_statistics(TOPIC_STATISTICS, place, topic, **where, topic=topic)

    async def _groups(self, place: ServerNode) -> None:
        stats_body, table = await asyncio.gather(
            self._admin.broker_consume_stats(place.address),
            self._admin.topic_configs(place.address),
        )
        by_group = [
            (group, stats)
            for part in stats_body.consume_stats_list
            for group, stats in part.items()
            if not is_system(group)
        ]
        await asyncio.gather(
            *(self._group(place, group, stats, table.topics) for group, stats in by_group)
        )

    async def _group(
        self,
        place: ServerNode,
        group: str,
        stats: list[ConsumeStats],
        topics: Mapping[str, TopicConfig],
    ) -> None:
        members = await self._members(place, group)
        connections = members.connection_set
        self.out.raise_to(
            "rocketmq_group_count",
            len(connections),
            caddr=",".join(each.client_addr or "" for each in connections),
            localaddr=",".join(each.client_id or "" for each in connections),
            group=group,
        )
        model = members.message_model or MessageModel.CLUSTERING
        for one in stats:
            positions = [
                position_of(group, queue, at, topics.get(queue.topic))
                for queue, at in one.offset_table.items()
            ]
            for topic in sorted({queue.topic for queue in one.offset_table}):
                own = [position for position in positions if position.topic == topic]
                self._add_progress(place, own, model, len(connections))
                where = {"cluster": place.cluster, "broker": place.broker}
                tps = one.consume_tps
                self.out.add("rocketmq_group_consume_tps", tps, **where, topic=topic, group=group)
                await self._add_group_statistics(place, group, topic)
        known = {queue.topic for one in stats for queue in one.offset_table}
        rest = await uncommitted_positions(self._admin, place, members, known, topics, group=group)
        for topic in dict.fromkeys(position.topic for position in rest):
            own = [position for position in rest if position.topic == topic]
            self._add_progress(place, own, model, len(connections))
        await self._add_clients(place, group, members)

    async def _members(self, place: ServerNode, group: str) -> ConsumerConnection:
        async with self._gate:
            try:
                return await self._admin.consumer_connection(place.address, group)
            except BrokerRefused:
                # The group has no members online.
                return ConsumerConnection()

    def _add_progress(
        self, place: ServerNode, positions: Sequence[QueuePosition], model: MessageModel, count: int
    ) -> None:
        """Add where a group stands in one topic on one broker."""
        group, topic = positions[0].group, positions[0].topic
        total = StandingTotal.of(positions)
        read = sum(position.consumer_offset or 0 for position in positions)
        delays_ms = [
            self._now_ms() - position.last_consumed_ms
            for position in positions
            if position.waiting_count > 0 and position.last_consumed_ms > 0
        ]
        name = {RETRY_PREFIX: "rocketmq_group_retrydiff", DLQ_PREFIX: "rocketmq_group_dlqdiff"}.get(
            topic[: topic.find("%", 1) + 1] if topic.startswith("%") else "", "rocketmq_group_diff"
        )
        self.out.sum_up(
            name,
            total.waiting_count,
            group=group,
            topic=topic,
            countOfOnlineConsumers=str(count),
            msgModel="1" if model is MessageModel.CLUSTERING else "0",
        )
        where = {"cluster": place.cluster, "broker": place.broker, "topic": topic, "group": group}
        for standing, queue_count in sorted(total.standings.items()):
            if MEANINGS[standing].is_wrong:
                self.out.add("mqadmin_group_wrong_queues", queue_count, **where, standing=standing)
        self.out.add("rocketmq_consumer_offset", read, **where)
        self.out.add("rocketmq_group_consume_total_offset", read, **where)
        delay_ms = max([0, *delays_ms])
        self.out.add("rocketmq_group_get_latency_by_storetime", delay_ms, **where)

    async def _add_group_statistics(self, place: ServerNode, group: str, topic: str) -> None:
        where = {"cluster": place.cluster, "broker": place.broker, "topic": topic, "group": group}
        key = f"{topic}@{group}"
        await self._add_statistics(GROUP_STATISTICS, place, key, **where)
        back = await self._statistic(place, "SNDBCK_PUT_NUMS", key, total=True)
        self.out.add("rocketmq_send_back_nums", back, **where)

    async def _add_clients(
        self, place: ServerNode, group: str, members: ConsumerConnection
    ) -> None:
        addresses = {
            connection.client_id: connection.client_addr for connection in members.connection_set
        }
        address_of = {client_id: place.address for client_id in addresses if client_id is not None}
        for client_id, answer in (await self._members_asked.survey(group, address_of)).items():
            labels = {
                "clientAddr": addresses[client_id] or "",
                "clientId": client_id,
                "group": group,
            }
            if answer.outcome is not MemberOutcome.UNABLE:
                self.out.add("mqadmin_client_answers", int(not answer.is_silent), **labels)
            # Old clients and those in other languages do not report it.
            for topic, speed in answer.info.status_table.items() if answer.info else ():
                for name, value in (
                    ("consume_fail_msg_count", speed.consume_failed_msgs),
                    ("consume_fail_msg_tps", speed.consume_failed_tps),
                    ("consume_ok_msg_tps", speed.consume_ok_tps),
                    ("consume_rt", speed.consume_rt),
                    ("consumer_pull_rt", speed.pull_rt),
                    ("consumer_pull_tps", speed.pull_tps),
                ):
                    self.out.add(f"rocketmq_client_{name}", value, **labels, topic=topic)
