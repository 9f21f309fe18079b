"""The pull consumer: reads a queue from any offset, whenever the application calls ``pull``.

Rule: the application keeps its own offsets; nothing is committed unless it calls ``commit``. Every
request carries the subscription, so the consumer needs no heartbeat.

Source: client/consumer/DefaultMQPullConsumer.java (4.9.7).
"""

import zlib
from dataclasses import replace
from typing import Final

from mqclient.admin.queries import Queries
from mqclient.client import queue_offsets
from mqclient.client.instance import MQClient
from mqclient.consumer.pull.pull_request import PullApi, PullRequest, PullResult
from mqclient.consumer.state.consume_hooks import ConsumeHook, observed
from mqclient.consumer.subscription import TAG, Subscription
from mqclient.errors import NoRoute
from mqclient.namespace import checked_group, unwrap_message, wrap
from remoting.bodies import MessageQueue
from remoting.codes import RequestCode
from remoting.headers import RegisterMessageFilterClass
from storefmt.formats.message import CRC_MASK

COUNT_MAX: Final = 32


class PullConsumer(Queries):
    """Reads queues for a consumer group.

    Args:
        client: the connections.
        group: the consumer group whose offsets ``committed`` and ``commit`` read and set.

    Raises:
        BadRequest: the group name is not allowed.
    """

    def __init__(self, client: MQClient, group: str) -> None:
        self.group = group = checked_group(group, client.namespace)
        super().__init__(client, f"consumer of group {group}")
        self._pull_api = PullApi(client, group)
        self._hooks: list[ConsumeHook] = []

    queues = Queries.fetch_subscribe_message_queues

    async def pull(
        self,
        queue: MessageQueue,
        *,
        queue_offset: int,
        subscription: str = "*",
        expression_type: str = TAG,
        count_max: int = COUNT_MAX,
        suspend_ms: int = 0,
        class_filter: bool = False,
        timeout_s: float | None = None,
    ) -> PullResult:
        """Read messages from a queue offset on.

        Args:
            queue: the queue, with the namespace or without.
            queue_offset: the first offset to read, in entries.
            subscription: ``*``, ``A || B``, or an SQL92 expression.
            expression_type: TAG or SQL92.
            count_max: the limit on the messages; a broker returns at most 32, or 256 KiB.
            suspend_ms: how long the broker may hold a pull that finds no message.
            class_filter: True pulls through a filter server, see ``upload_filter``.
            timeout_s: how long the answer may take, in seconds, beside ``suspend_ms``; None means
                the client's limit.

        Raises:
            BadRequest: the subscription is not allowed.
            NoRoute, NotFound, BrokerRefused, Unreachable, TimedOut: no message was read.
        """
        self._check_alive()
        parsed = Subscription.parse(subscription, kind=expression_type)
        asked = PullRequest(
            self._wrapped(queue),
            queue_offset,
            parsed,
            count_max,
            suspend_ms=suspend_ms,
            class_filter=class_filter,
        )
        result = await self._pull_api.pull(asked, timeout_s=timeout_s)
        namespace = self._connections.namespace
        if namespace:
            messages = [unwrap_message(namespace, message) for message in result.messages]
            result = replace(result, messages=messages)
        now_ms = self._connections.now_ms
        with observed(self._hooks, self.group, result.messages, now_ms=now_ms):
            return result

    def register_consume_hook(self, hook: ConsumeHook) -> None:
        """Call a hook before and after ``pull`` returns messages."""
        self._hooks.append(hook)

    async def upload_filter(self, topic: str, name: str, module: bytes) -> None:
        """Send the group's filter to every filter server of a topic (docs/filters.md).

        Args:
            topic: with the namespace or without.
            name: a name of the filter for people.
            module: WebAssembly, binary or as text.

        Raises:
            NoRoute: the topic has no filter server.
            BrokerRefused, Unreachable, TimedOut: a filter server did not take it.
        """
        topic = wrap(self._client.namespace, topic)
        route = await self._client.route(topic, fresh=True)
        servers = sorted(
            {server for group in route.filter_server_table.values() for server in group}
        )
        if not servers:
            raise NoRoute(topic, address="a filter server")
        header = RegisterMessageFilterClass(
            consumer_group=self.group,
            topic=topic,
            class_name=name,
            class_crc=zlib.crc32(module) & CRC_MASK,
        )
        for address in servers:
            await self._client.call(
                address,
                RequestCode.REGISTER_MESSAGE_FILTER_CLASS,
                header,
                what=f"filter {name} for topic {topic}",
                body=module,
            )

    async def committed(self, queue: MessageQueue) -> int | None:
        """Return the queue offset that the group reads next; None when it never committed one.

        Raises:
            ClientError: the broker did not answer.
        """
        return await queue_offsets.committed(self._client, self._wrapped(queue), group=self.group)

    async def commit(self, queue: MessageQueue, queue_offset: int) -> None:
        """Set the queue offset that the group reads next, in entries.

        Raises:
            ClientError: the broker did not take it.
        """
        await queue_offsets.commit(
            self._client, self._wrapped(queue), group=self.group, queue_offset=queue_offset
        )
