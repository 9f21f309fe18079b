"""Queries that every producer and consumer offers: queues, offsets, messages (Java's MQAdmin).

The admin calls behind the queries for messages are imported on first use, because most clients
never look for a message. Results name topics without the namespace.

Rule: a query changes nothing on a server.

Source: client/MQAdmin.java, client/impl/MQAdminImpl.java (4.9.7).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqclient.client import queue_offsets, routes
from mqclient.client.lifetime import Lifetime
from mqclient.errors import BadRequest, NotFound
from mqclient.namespace import unwrap, unwrap_message, wrap, wrap_queue

if TYPE_CHECKING:
    from mqclient.message import MessageExt
    from remoting.bodies import MessageQueue


class Queries(Lifetime):
    """Base of producers and consumers.

    Attributes:
        group: the producer or consumer group, with its namespace.
    """

    group: str

    async def fetch_subscribe_message_queues(self, topic: str) -> list[MessageQueue]:
        """Return all readable queues of a topic, sorted.

        Raises:
            NoRoute: no broker has the topic.
        """
        namespace = self._client.namespace
        route = await self._client.route(wrap(namespace, topic))
        return routes.consumer_queues(unwrap(namespace, topic), route)

    async def min_offset(self, queue: MessageQueue) -> int:
        """Return the first readable queue offset; raises ClientError."""
        return await queue_offsets.min_offset(self._client, self._wrapped(queue))

    async def max_offset(self, queue: MessageQueue) -> int:
        """Return the queue offset that the next message will get; raises ClientError."""
        return await queue_offsets.max_offset(self._client, self._wrapped(queue))

    async def search_offset(self, queue: MessageQueue, timestamp_ms: int) -> int:
        """Return the queue offset of the message stored nearest to a time; raises ClientError."""
        return await queue_offsets.search_offset(
            self._client, self._wrapped(queue), timestamp_ms=timestamp_ms
        )

    async def earliest_msg_store_time(self, queue: MessageQueue) -> int | None:
        """Return when the first message was stored, in ms since 1970; None for an empty queue."""
        return await queue_offsets.earliest_store_ms(self._client, self._wrapped(queue))

    async def view_message(self, topic: str, msg_id: str) -> MessageExt:
        """Return a message by its offset id, or by the unique key that its producer gave.

        Raises:
            NotFound: the topic has no such message.
            NoRoute: no broker has the topic.
        """
        from mqclient.admin.message import MessageCalls

        namespace = self._client.namespace
        calls = MessageCalls(self._client)
        try:
            return unwrap_message(namespace, await calls.view_message(msg_id))
        except (BadRequest, NotFound):
            messages = await calls.query_message(wrap(namespace, topic), msg_id, unique=True)
        if not messages:
            raise NotFound(f"message {msg_id}: topic {topic} has none with this id")
        return unwrap_message(namespace, messages[0])

    async def query_message(
        self,
        topic: str,
        key: str,
        *,
        count_max: int = 64,
        begin_ms: int = 0,
        end_ms: int = 2**63 - 1,
    ) -> list[MessageExt]:
        """Return the messages of a topic with a key that were stored between two times.

        Args:
            topic: with the namespace or without.
            key: one of the keys of the messages.
            count_max: the limit on the messages that are returned.
            begin_ms, end_ms: earliest and latest store time, in ms since 1970.

        Returns:
            The messages, newest last.

        Raises:
            NoRoute: no broker has the topic.
        """
        from mqclient.admin.message import MessageCalls

        namespace = self._client.namespace
        messages = await MessageCalls(self._client).query_message(
            wrap(namespace, topic), key, count_max=count_max, begin_ms=begin_ms, end_ms=end_ms
        )
        return [unwrap_message(namespace, message) for message in messages]

    def _wrapped(self, queue: MessageQueue) -> MessageQueue:
        return wrap_queue(self._connections.namespace, queue)
