"""The members of producer and consumer groups, which are connections.

    heartbeat            -> joins its groups; the last heartbeat sets the group's properties
    unregister, close    -> leaves them
    120 s of silence     -> leaves them, and the connection is closed

Rule: a member is a connection, not a client id. This module sends nothing: methods that change a
consumer group return whether the other members have to be notified (request code 40).

Source: broker/client/ConsumerManager.java, ConsumerGroupInfo.java, ProducerManager.java.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from remoting.aio.server import ServerConn
from remoting.bodies import (
    ConsumeFromWhere,
    ConsumerData,
    ConsumeType,
    MessageModel,
    SubscriptionData,
)

LOG = logging.getLogger(__name__)

SILENCE_MS_MAX: Final = 120_000
SUBSCRIPTION_SIZE: Final = 1_024
"""Approximate size of a subscription in bytes, without its expression."""
_TOLD_COUNT_MAX: Final = 10
"""How many topics one log line may name."""


@dataclass(slots=True)
class GroupMember:
    """One connected client of a group."""

    conn: ServerConn
    client_id: str
    language: int
    version: int
    seen_ms: int
    access_key: str | None = None
    """The account of its last heartbeat."""


@dataclass(slots=True)
class ConsumerGroup:
    """One consumer group that has members now."""

    name: str
    consume_type: ConsumeType | None = None
    message_model: MessageModel | None = None
    consume_from_where: ConsumeFromWhere | None = None
    members: dict[ServerConn, GroupMember] = field(default_factory=dict)
    subscriptions: dict[str, SubscriptionData] = field(default_factory=dict)

    def client_ids(self) -> list[str]:
        """Return the client id of every member."""
        return [member.client_id for member in self.members.values()]

    def find(self, client_id: str) -> GroupMember | None:
        """Return the member with this client id, or None."""
        for member in self.members.values():
            if member.client_id == client_id:
                return member
        return None

    def join(self, member: GroupMember) -> bool:
        """Add or renew a member; return whether its connection is new."""
        joined = self.members.get(member.conn)
        if joined is None or joined.client_id != member.client_id:
            self.members[member.conn] = member
            return joined is None
        joined.seen_ms = member.seen_ms
        return False

    def subscribe(self, subscriptions: Iterable[SubscriptionData]) -> bool:
        """Replace the subscriptions of the group by those of one member.

        Returns:
            True if a topic was added or removed. A newer version of a known subscription is
            stored, but does not count as a change.
        """
        changed = False
        said = {subscription.topic: subscription for subscription in subscriptions}
        for topic, subscription in said.items():
            old = self.subscriptions.get(topic)
            if old is None or subscription.sub_version > old.sub_version:
                changed = changed or old is None
                self.subscriptions[topic] = subscription
        gone = self.subscriptions.keys() - said.keys()
        for topic in gone:
            del self.subscriptions[topic]
        if gone:
            topics = ", ".join(sorted(gone)[:_TOLD_COUNT_MAX])
            count = len(gone)
            LOG.warning("group %s no longer subscribes to %d topics: %s", self.name, count, topics)
        return changed or bool(gone)


class Consumers:
    """Every consumer group that has members."""

    def __init__(self) -> None:
        self._groups: dict[str, ConsumerGroup] = {}

    def group(self, name: str) -> ConsumerGroup | None:
        """Return a group, or None if it has no members."""
        return self._groups.get(name)

    def groups_on(self, topic: str) -> list[str]:
        """Return the groups that subscribe to a topic."""
        return [name for name, group in self._groups.items() if topic in group.subscriptions]

    def subscription(self, group: str, topic: str) -> SubscriptionData | None:
        """Return a group's subscription to a topic, or None."""
        consumer_group = self._groups.get(group)
        return None if consumer_group is None else consumer_group.subscriptions.get(topic)

    def subscriptions_size(self, name: str) -> int:
        """Return about how many bytes the subscriptions of a group take; 0 for an unknown group."""
        group = self._groups.get(name)
        if group is None:
            return 0
        texts = [
            subscription.sub_string
            for subscription in group.subscriptions.values()
            if subscription.sub_string
        ]
        # The tags of an expression are also kept.
        return SUBSCRIPTION_SIZE * len(group.subscriptions) + 2 * sum(map(len, texts))

    def register(self, data: ConsumerData, *, member: GroupMember) -> bool:
        """Handle a heartbeat; return whether the members of the group must be notified."""
        group = self._groups.get(data.group_name)
        if group is None:
            group = self._groups[data.group_name] = ConsumerGroup(data.group_name)
        group.consume_type = data.consume_type
        group.message_model = data.message_model
        group.consume_from_where = data.consume_from_where
        joined = group.join(member)
        return group.subscribe(data.subscription_data_set) or joined

    def unregister(self, name: str, conn: ServerConn) -> bool:
        """Remove a connection from a group; return whether it was a member."""
        group = self._groups.get(name)
        if group is None or group.members.pop(conn, None) is None:
            return False
        if not group.members:
            del self._groups[name]
        return True

    def drop(self, conn: ServerConn) -> list[str]:
        """Remove a closed connection from every group; return the groups that it was in."""
        return [name for name in list(self._groups) if self.unregister(name, conn)]

    def clock_set(self, step_ms: int) -> None:
        """Shift all times by ``step_ms``, by which the clock was changed."""
        for group in self._groups.values():
            for member in group.members.values():
                member.seen_ms += step_ms

    def silent(self, now_ms: int) -> list[ServerConn]:
        """Return the connections that have sent no heartbeat for too long."""
        return [
            member.conn
            for group in self._groups.values()
            for member in group.members.values()
            if now_ms - member.seen_ms > SILENCE_MS_MAX
        ]


class Producers:
    """Every producer group that has members."""

    def __init__(self) -> None:
        self._groups: dict[str, dict[ServerConn, GroupMember]] = {}
        self._turn = 0

    def groups(self) -> Mapping[str, Mapping[ServerConn, GroupMember]]:
        """Return all groups and their members."""
        return self._groups

    def members(self, group: str) -> list[GroupMember] | None:
        """Return the members of a group, or None if it has no members."""
        consumer_group = self._groups.get(group)
        return None if consumer_group is None else list(consumer_group.values())

    def find(self, client_id: str) -> GroupMember | None:
        """Return the producer with a client id, in any group, or None."""
        for members in self._groups.values():
            for member in members.values():
                if member.client_id == client_id:
                    return member
        return None

    def has(self, group: str, conn: ServerConn) -> bool:
        """Return whether a connection is in a group."""
        return conn in self._groups.get(group, ())

    def next_connection(self, group: str, may: Callable[[GroupMember], bool]) -> ServerConn | None:
        """Return an open connection of a group, each in turn, or None if there is none.

        Args:
            may: returns whether a member may receive the request.
        """
        members = self._groups.get(group, {})
        conns = [conn for conn, member in members.items() if not conn.is_closing and may(member)]
        if not conns:
            return None
        self._turn += 1
        return conns[self._turn % len(conns)]

    def register(self, group: str, *, member: GroupMember) -> None:
        """Handle a heartbeat."""
        self._groups.setdefault(group, {})[member.conn] = member

    def unregister(self, group: str, conn: ServerConn) -> None:
        """Remove a connection from a group."""
        members = self._groups.get(group)
        if members is not None:
            members.pop(conn, None)
            if not members:
                del self._groups[group]

    def drop(self, conn: ServerConn) -> None:
        """Remove a closed connection from every group."""
        for group in list(self._groups):
            self.unregister(group, conn)

    def clock_set(self, step_ms: int) -> None:
        """Shift all times by ``step_ms``, by which the clock was changed."""
        for members in self._groups.values():
            for member in members.values():
                member.seen_ms += step_ms

    def silent(self, now_ms: int) -> list[ServerConn]:
        """Return the connections that have sent no heartbeat for too long."""
        return [
            member.conn
            for members in self._groups.values()
            for member in members.values()
            if now_ms - member.seen_ms > SILENCE_MS_MAX
        ]
