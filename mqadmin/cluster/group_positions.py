"""Find the positions of groups in every queue, for every command and check about lag.

    GET_ALL_CONSUMER_OFFSET, GET_ALL_TOPIC_CONFIG     once for each broker
    GET_TOPIC_STATS_INFO                              once for each broker and topic
    GET_CONSUME_STATS, GET_CONSUMER_CONNECTION_LIST   for each broker and group
            \\____________________________________________/
                        QueuePosition, ... (mqadmin.cluster.standing)

A broker's own progress (GET_CONSUME_STATS) leaves out queues beyond the read queues, topics that
were deleted, and topics that the member with the latest heartbeat does not subscribe to. Those are
added from its offset table.

Rule: queues of a broker that did not answer are ``UNKNOWN`` if a route says that the group reads
there.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar, cast

from mqadmin.cluster.brokers import ServerNode
from mqadmin.cluster.groups import connection
from mqadmin.cluster.members import MemberSurvey, infos_of, subscriptions_of
from mqadmin.cluster.partial_answers import Answers
from mqadmin.cluster.standing import QueuePosition, QueueState
from mqclient.client import routes
from mqclient.errors import BrokerRefused, NoRoute
from remoting.bodies import (
    ConsumerConnection,
    MessageModel,
    MessageQueue,
    OffsetWrapper,
    TopicOffset,
)
from remoting.codes import ResponseCode
from storefmt.config.tables import TopicConfig
from storefmt.names import PERM_READ, RETRY_PREFIX

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin

R = TypeVar("R")
OffsetsByTopic = Mapping[str, Mapping[int, int]]


class GroupReader:
    """Reads each table of each broker once in a command.

    Args:
        admin: asks the brokers.
        nodes: the masters.
        answers: skips brokers that do not answer.
        members: asks the members if their subscriptions differ.
    """

    def __init__(
        self,
        admin: "Admin",
        nodes: Sequence[ServerNode],
        *,
        answers: Answers,
        members: MemberSurvey,
    ) -> None:
        self.admin = admin
        self.nodes = nodes
        self.answers = answers
        self.members = members
        self.consume_tps: dict[tuple[str, str], float] = {}
        """Messages a second by broker and group, from GET_CONSUME_STATS."""
        self._memo: dict[Hashable, asyncio.Task[object]] = {}

    async def positions(self, group: str, topic: str | None = None) -> list[QueuePosition]:
        """Return the positions of a group in every queue, or in those of one topic, sorted."""
        parts = await self.answers.each(
            self.nodes, lambda node: self._positions_at(node, group, topic)
        )
        listed = [position for _, part in parts for position in part]
        topics = {position.topic for position in listed} | ({topic} if topic else set())
        listed += await self._silent_positions(group, topics)
        return sorted(
            listed, key=lambda position: (position.topic, position.broker, position.queue_id)
        )

    async def groups(self) -> list[str]:
        """Return every group that has offsets or settings at a broker, sorted."""
        tables = await self.answers.each(
            self.nodes, lambda node: self.admin.subscription_groups(node.address)
        )
        offsets = await self.answers.each(self.nodes, self.offsets_at)
        names = {name for _, table in tables for name in table.groups}
        return sorted(names | {name for _, table in offsets for name in table})

    async def offsets_at(self, node: ServerNode) -> Mapping[str, OffsetsByTopic]:
        """Return group -> topic -> queue id -> committed offset of a broker."""

        async def ask() -> dict[str, dict[str, dict[int, int]]]:
            table: dict[str, dict[str, dict[int, int]]] = {}
            for (topic, group), queues in (
                await self.admin.all_consumer_offsets(node.address)
            ).items():
                table.setdefault(group, {})[topic] = queues
            return table

        return await self._once(("offsets", node.address), ask)

    async def topics_at(self, node: ServerNode) -> Mapping[str, TopicConfig]:
        """Return the topics of a broker with their settings."""

        async def ask() -> Mapping[str, TopicConfig]:
            return (await self.admin.topic_configs(node.address)).topics

        return await self._once(("topics", node.address), ask)

    async def ends_at(self, node: ServerNode, topic: str) -> Mapping[int, TopicOffset]:
        """Return the ends of a topic's queues at a broker by queue id."""

        async def ask() -> Mapping[int, TopicOffset]:
            try:
                stats = await self.admin.topic_stats_at(node.address, topic)
            except BrokerRefused as error:
                # It was deleted since it was listed; other brokers say "system error" for it.
                if error.code in (ResponseCode.TOPIC_NOT_EXIST, ResponseCode.SYSTEM_ERROR):
                    return {}
                raise
            return {queue.queue_id: ends for queue, ends in stats.items()}

        return await self._once(("ends", node.address, topic), ask)

    async def connection_at(self, node: ServerNode, group: str) -> ConsumerConnection | None:
        """Return the members of a group that are connected to a broker; None if there are none."""
        return await self._once(
            ("connection", node.address, group), lambda: connection(self.admin, node, group)
        )

    async def _positions_at(
        self, node: ServerNode, group: str, topic: str | None
    ) -> list[QueuePosition]:
        offsets = (await self.offsets_at(node)).get(group, {})
        stats = await self.admin.consume_stats(node.address, group, topic)
        self.consume_tps[node.broker, group] = stats.consume_tps
        online = await self.connection_at(node, group)
        # A new group whose first messages are stuck has no offset, but its messages are waiting.
        subscribed = set() if online is None else _read_without_offsets(online)
        names = {*offsets, *(queue.topic for queue in stats.offset_table), *subscribed}
        broadcasts = online is not None and online.message_model is MessageModel.BROADCASTING
        listed: list[QueuePosition] = []
        for name in sorted(names if topic is None else names & {topic}):
            listed += await self._topic_positions(node, group, name, offsets.get(name, {}))
        merged = []
        for position in listed:
            queue = MessageQueue(position.topic, node.broker, position.queue_id)
            wrapper = stats.offset_table.get(queue)
            if wrapper is not None:
                # Only this answer has both numbers of one moment, and inflight. It has 0 for a
                # queue in which the group has committed nothing.
                unknown = position.consumer_offset is None
                position = replace(
                    position,
                    consumer_offset=None if unknown else wrapper.consumer_offset,
                    end_offset=wrapper.broker_offset,
                    inflight=wrapper.inflight,
                    last_consumed_ms=wrapper.last_timestamp,
                )
            elif position.state is QueueState.READABLE and not await self._is_wanted(
                node, group, position.topic, online
            ):
                position = replace(position, state=QueueState.UNSUBSCRIBED)
            if broadcasts:
                position = replace(position, state=QueueState.LOCAL)
            merged.append(position)
        return merged

    async def _topic_positions(
        self, node: ServerNode, group: str, topic: str, offsets: Mapping[int, int]
    ) -> list[QueuePosition]:
        config = (await self.topics_at(node)).get(topic)
        if config is None:
            return [
                QueuePosition(
                    group=group,
                    topic=topic,
                    broker=node.broker,
                    queue_id=queue_id,
                    state=QueueState.GONE,
                    consumer_offset=offset,
                )
                for queue_id, offset in offsets.items()
            ]
        ends = await self.ends_at(node, topic)
        readable = config.read_queue_nums if config.perm & PERM_READ else 0
        listed = []
        for queue_id in sorted({*range(config.read_queue_nums), *ends, *offsets}):
            low, high = await self._ends(node, topic, queue_id, ends)
            offset = offsets.get(queue_id)
            if queue_id >= readable and (not high or offset == high):
                # It cannot be read, and has no unread messages.
                continue
            listed.append(
                QueuePosition(
                    group=group,
                    topic=topic,
                    broker=node.broker,
                    queue_id=queue_id,
                    state=QueueState.READABLE if queue_id < readable else QueueState.UNREADABLE,
                    consumer_offset=offset,
                    min_offset=low,
                    end_offset=high,
                )
            )
        return listed

    async def _ends(
        self, node: ServerNode, topic: str, queue_id: int, ends: Mapping[int, TopicOffset]
    ) -> tuple[int, int]:
        """Return the ends of a queue, also of one that the topic no longer counts as its own."""
        if queue_id in ends:
            return ends[queue_id].min_offset, ends[queue_id].max_offset

        async def ask() -> tuple[int, int]:
            queue = MessageQueue(topic, node.broker, queue_id)
            return await self.admin.min_offset(queue), await self.admin.max_offset(queue)

        return await self._once(("queue", node.address, topic, queue_id), ask)

    async def _is_wanted(
        self, node: ServerNode, group: str, topic: str, online: ConsumerConnection | None
    ) -> bool:
        """Return whether a member subscribes to a topic that its broker leaves out of its progress.

        A broker keeps one subscription for a group, that of the latest heartbeat.
        """
        if online is None or not online.subscription_table or topic.startswith(RETRY_PREFIX):
            return True
        if topic in online.subscription_table:
            return True
        clients = [
            connection.client_id for connection in online.connection_set if connection.client_id
        ]
        answers = await self.members.survey(group, dict.fromkeys(clients, node.address))
        if any(answer.info is None for answer in answers.values()):
            # A member that did not answer may subscribe to it.
            return len(answers) > 1
        return any(topic in subscriptions_of(info) for info in infos_of(answers).values())

    async def _silent_positions(self, group: str, topics: set[str]) -> list[QueuePosition]:
        """Return the queues at brokers that do not answer, in the topics that the group reads."""
        if not self.answers.failed:
            return []
        listed = []
        for topic in sorted(topics):
            try:
                route = await self.admin.topic_route(topic)
            except NoRoute:
                continue
            silent = {
                name
                for name, address in routes.masters(route).items()
                if address in self.answers.failed
            }
            listed += [
                QueuePosition(
                    group=group,
                    topic=topic,
                    broker=queue.broker_name,
                    queue_id=queue.queue_id,
                    state=QueueState.SILENT,
                )
                for queue in routes.subscribe_queues(topic, route)
                if queue.broker_name in silent
            ]
        return listed

    async def _once(self, key: Hashable, ask: Callable[[], Awaitable[R]]) -> R:
        """Return what ``ask`` returns, which is awaited once for each key."""
        if key not in self._memo:
            self._memo[key] = asyncio.ensure_future(cast("Awaitable[object]", ask()))
        return cast(R, await asyncio.shield(self._memo[key]))


def position_of(
    group: str, queue: MessageQueue, wrapper: OffsetWrapper, config: TopicConfig | None
) -> QueuePosition:
    """Return the position of a group in a queue from a broker's progress of all groups.

    This answer covers write queues, so it includes queues beyond the read queues.
    """
    readable = config.read_queue_nums if config is not None and config.perm & PERM_READ else 0
    state = QueueState.READABLE if queue.queue_id < readable else QueueState.UNREADABLE
    return QueuePosition(
        group=group,
        topic=queue.topic,
        broker=queue.broker_name,
        queue_id=queue.queue_id,
        state=state,
        consumer_offset=wrapper.consumer_offset,
        end_offset=wrapper.broker_offset,
        last_consumed_ms=wrapper.last_timestamp,
    )


def _read_without_offsets(online: ConsumerConnection) -> set[str]:
    """Return the topics whose messages wait for a group although it has no offset in them.

    A retry topic without offsets has no waiting messages, and a 5.x broker leaves it out.
    """
    return {name for name in online.subscription_table if not name.startswith(RETRY_PREFIX)}


async def uncommitted_positions(
    admin: "Admin",
    node: ServerNode,
    online: ConsumerConnection,
    known_topics: Collection[str],
    topics: Mapping[str, TopicConfig],
    *,
    group: str,
) -> list[QueuePosition]:
    """Return the queues of topics to which a group subscribes and has committed nothing.

    A broker's progress of all groups leaves them out, but their messages are waiting: a new group
    whose first messages are stuck has no offset.

    Args:
        online: the members of the group that are connected to the broker.
        known_topics: topics that the progress covers.
        topics: the topics of the broker, with their settings.
    """
    if online.message_model is MessageModel.BROADCASTING:
        return []
    listed = []
    for topic in sorted(_read_without_offsets(online).difference(known_topics)):
        config = topics.get(topic)
        if config is None or not config.perm & PERM_READ:
            continue
        stats = await admin.topic_stats_at(node.address, topic)
        listed += [
            QueuePosition(
                group=group,
                topic=topic,
                broker=node.broker,
                queue_id=queue.queue_id,
                min_offset=ends.min_offset,
                end_offset=ends.max_offset,
            )
            for queue, ends in sorted(stats.items())
            if queue.queue_id < config.read_queue_nums
        ]
    return listed
