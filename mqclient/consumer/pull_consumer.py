"""Reading a queue from any offset on, at the caller's own pace.

Rule: positions are the caller's; nothing is committed unless ``commit`` is called. The
subscription travels with every request, so no heartbeat is needed.

Source: client/consumer/DefaultMQPullConsumer.java (4.9.7).
"""

import zlib
from dataclasses import replace
from typing import Final

from mqclient.admin.queries import Queries
from mqclient.client import offsets
from mqclient.client.instance import MQClient
from mqclient.consumer.pull import Puller, PullRequest, PullResult
from mqclient.consumer.subscription import TAG, Subscription
from mqclient.errors import NoRoute
from mqclient.namespace import checked_group, unwrap_message, wrap
from remoting.bodies import MessageQueue
from remoting.codes import RequestCode
from remoting.headers import RegisterMessageFilterClass

COUNT_MAX: Final = 32
CRC_MASK: Final = 0x7FFFFFFF


class PullConsumer(Queries):
    """Reads queues for a consumer group.

    Args:
        client: the connections.
        group: the consumer group, whose offsets ``committed`` and ``commit`` mean.

    Raises:
        BadRequest: the group name is not allowed.
    """

    def __init__(self, client: MQClient, group: str) -> None:
        self.group = group = checked_group(group, client.namespace)
        super().__init__(client, f"consumer of group {group}")
        self._puller = Puller(client, group)

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
            queue_offset: first one wanted, in entries.
            subscription: ``*``, ``A || B``, or an SQL92 expression.
            expression_type: TAG or SQL92.
            count_max: at most so many; a broker gives 32 or 256 KiB at most anyway.
            suspend_ms: let the broker wait so long for a message when there is none.
            class_filter: pull through a filter server, see ``upload_filter``.

        Raises:
            BadRequest: the subscription cannot be right.
            NoRoute, NotFound, BrokerRefused, Unreachable, TimedOut: no answer that helps.
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
        result = await self._puller.pull(asked, timeout_s=timeout_s)
        namespace = self._connections.namespace
        if not namespace:
            return result
        messages = [unwrap_message(namespace, message) for message in result.messages]
        return replace(result, messages=messages)

    async def upload_filter(self, topic: str, name: str, module: bytes) -> None:
        """Give every filter server of a topic the group's filter (docs/filters.md).

        Args:
            name: of the filter, for people.
            module: WebAssembly, binary or as text.

        Raises:
            NoRoute: the topic has no filter server.
            BrokerRefused, Unreachable, TimedOut: one of them did not take it.
        """
        topic = wrap(self._client.namespace, topic)
        route = await self._client.route(topic, fresh=True)
        servers = sorted({one for found in route.filter_server_table.values() for one in found})
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
        """Return the queue offset the group reads next, None when it never committed one."""
        return await offsets.committed(self._client, self._wrapped(queue), group=self.group)

    async def commit(self, queue: MessageQueue, queue_offset: int) -> None:
        """Set the queue offset the group reads next."""
        await offsets.commit(
            self._client, self._wrapped(queue), group=self.group, queue_offset=queue_offset
        )
