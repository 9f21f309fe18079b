"""Admin calls about the offsets of queues and of groups, and about resets of a group to a time.

    reset_offset_by_time --> request 222: the broker finds the offsets and tells the consumers
                         --> code 206, no consumer is online: find and commit the offsets here

Source: tools/admin/DefaultMQAdminExtImpl.java#resetOffsetByTimestamp, #resetOffsetConsumeOffset,
broker/client/net/Broker2Client.java#resetOffset (4.9.7).
"""

from __future__ import annotations

from typing import Final

from mqclient.admin.calls import AdminCalls
from mqclient.client import queue_offsets, responses, routes
from mqclient.errors import BrokerRefused, ClientError
from remoting import bodies, headers
from remoting.bodies import MessageQueue
from remoting.codes import LanguageCode, RequestCode, ResponseCode
from remoting.command import Command
from storefmt.config.tables import ConsumerOffsets

LATEST_MS: Final = -1
"""The timestamp that resets a group to the end of each queue."""


class OffsetCalls(AdminCalls):
    """The requests about offsets."""

    async def min_offset(self, queue: MessageQueue) -> int:
        """Return the first readable queue offset."""
        return await queue_offsets.min_offset(self._client, queue)

    async def max_offset(self, queue: MessageQueue) -> int:
        """Return the queue offset that the next message will get."""
        return await queue_offsets.max_offset(self._client, queue)

    async def search_offset(self, queue: MessageQueue, timestamp_ms: int) -> int:
        """Return the queue offset of the message stored nearest to a time."""
        return await queue_offsets.search_offset(self._client, queue, timestamp_ms=timestamp_ms)

    async def earliest_store_ms(self, queue: MessageQueue) -> int | None:
        """Return when the first message of a queue was stored, in ms; None when it is empty."""
        return await queue_offsets.earliest_store_ms(self._client, queue)

    async def query_consumer_offset(
        self, address: str, group: str, queue: MessageQueue
    ) -> int | None:
        """Return the queue offset that a group reads next; None when it never committed one."""
        return await queue_offsets.committed(self._client, queue, group=group, address=address)

    async def update_consumer_offset(
        self, address: str, group: str, queue: MessageQueue, queue_offset: int
    ) -> None:
        """Set the queue offset that a group reads next; connected members commit theirs again.

        A broker of 5.x that was asked to reset a group keeps the offset in a table of its own until
        the group pulls from the queue, and drops every commit until then. There the new offset
        takes the place of that reset.

        Args:
            queue_offset: the next offset to read, in entries.
        """
        is_taken = await queue_offsets.commit(
            self._client, queue, group=group, queue_offset=queue_offset, address=address
        )
        if not is_taken:
            await self._reset_queue(address, group, queue, queue_offset)

    async def reset_consumer_offset(
        self, address: str, group: str, queue: MessageQueue, queue_offset: int
    ) -> None:
        """Have members that are online continue at an offset of one queue, on a broker of 5.x.

        Rule: only for a broker whose ``useServerSideResetOffset`` is true. Any other one passes
        over queue and offset, and sends the group to the first message of the topic.

        Args:
            queue_offset: the next offset to read, in entries.

        Raises:
            BrokerRefused: the queue does not reach as far, or the group does not exist.

        Source: tools/admin/DefaultMQAdminExtImpl.java#resetOffsetByQueueId (5.4.0).
        """
        await self.update_consumer_offset(address, group, queue, queue_offset)
        await self._reset_queue(address, group, queue, queue_offset)

    async def _reset_queue(
        self, address: str, group: str, queue: MessageQueue, queue_offset: int
    ) -> None:
        header = headers.ResetOffset(
            topic=queue.topic,
            group=group,
            is_force=True,
            queue_id=queue.queue_id,
            offset=queue_offset,
        )
        await self._reset_online(address, header, cpp=False)

    async def all_consumer_offsets(self, address: str) -> dict[tuple[str, str], dict[int, int]]:
        """Return all consumer offsets as (topic, group) -> queue id -> next queue offset."""
        table = await self._body(
            address, RequestCode.GET_ALL_CONSUMER_OFFSET, ConsumerOffsets, what="consumer offsets"
        )
        return table.offsets

    async def reset_offset_by_time(
        self,
        address: str,
        group: str,
        topic: str,
        timestamp_ms: int,
        force: bool = True,
        *,
        cpp: bool = False,
    ) -> dict[MessageQueue, int]:
        """Move a group to the messages that were stored at a time, on one broker.

        The broker notifies connected consumers, which continue from there. If there are none, the
        offsets are looked up and committed from here, which also works for a group that never read
        the topic.

        Args:
            timestamp_ms: store time, in ms since 1970; ``LATEST_MS`` is after the last message.
            force: False leaves queues alone that would move forward.
            cpp: True when the members are C++ clients, which need another form of the request.

        Returns:
            The new offset of every queue that was considered, sorted by queue.

        Raises:
            BrokerRefused: code 1 when members are online but a queue has no offset yet.
        """
        try:
            header = headers.ResetOffset(
                topic=topic, group=group, timestamp=timestamp_ms, is_force=force
            )
            return await self._reset_online(address, header, cpp=cpp)
        except BrokerRefused as error:
            if error.code == ResponseCode.SYSTEM_ERROR and await self._is_online(address, group):
                raise
            if error.code not in (ResponseCode.CONSUMER_NOT_ONLINE, ResponseCode.SYSTEM_ERROR):
                raise
        return await self.reset_offset_offline(address, group, topic, timestamp_ms, force)

    async def reset_offset_offline(
        self, address: str, group: str, topic: str, timestamp_ms: int, force: bool = True
    ) -> dict[MessageQueue, int]:
        """Move a group without members, queue by queue, on one broker.

        Args:
            timestamp_ms, force: see ``reset_offset_by_time``.

        Raises:
            NoRoute: the topic has no queue on this broker.
        """
        new_offsets = {}
        for queue in await self._queues_at(address, topic):
            if timestamp_ms == LATEST_MS:
                reset_offset = await self.max_offset(queue)
            else:
                reset_offset = await self.search_offset(queue, timestamp_ms)
            consumer_offset = await self.query_consumer_offset(address, group, queue)
            if force or consumer_offset is None or reset_offset <= consumer_offset:
                await self.update_consumer_offset(address, group, queue, reset_offset)
                new_offsets[queue] = reset_offset
            else:
                new_offsets[queue] = consumer_offset
        return new_offsets

    async def clone_group_offset(
        self, address: str, source: str, target: str, *, topic: str
    ) -> None:
        """Copy the offsets of one group in one topic to another group, on one broker.

        A 4.9 broker skips a topic to which the connected members of the source do not subscribe.

        Args:
            source: the group to copy from.
            target: the group to copy to.
        """
        await self._broker(
            address,
            RequestCode.CLONE_GROUP_OFFSET,
            headers.CloneGroupOffset(src_group=source, dest_group=target, topic=topic),
            what=f"offsets of group {source}",
        )

    async def consume_time_span(
        self, address: str, group: str, topic: str
    ) -> list[bodies.QueueTimeSpan]:
        """Return the store times of the first, the last and the last consumed message by queue."""
        body = await self._body(
            address,
            RequestCode.QUERY_CONSUME_TIME_SPAN,
            bodies.QueryConsumeTimeSpanBody,
            headers.QueryConsumeTimeSpan(topic=topic, group=group),
            what=f"time span of group {group}",
        )
        return list(body.consume_time_span_set)

    async def consumer_status(
        self, address: str, group: str, topic: str, *, client_id: str | None = None
    ) -> dict[str, dict[MessageQueue, int]]:
        """Return the offsets that the members of a group have in memory, by client id.

        Args:
            client_id: only this member; None means all members.

        Raises:
            BrokerRefused: no member is connected, or a member does not answer the broker.
        """
        status = await self._body(
            address,
            RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS,
            bodies.GetConsumerStatusBody,
            headers.GetConsumerStatus(topic=topic, group=group, client_addr=client_id),
            what=f"positions of the members of group {group}",
        )
        return dict(status.consumer_table)

    async def correction_offsets(
        self, address: str, topic: str, compare_group: str, *, filter_groups: str | None = None
    ) -> dict[int, int]:
        """Return the lowest consumer offset of all groups by queue id.

        It is Long.MAX_VALUE where the lowest offset is above that of ``compare_group``.

        Args:
            compare_group: the group that the others are compared with.
            filter_groups: separated by commas; 4.9 brokers DELETE the offsets of these groups.
        """
        correction = await self._body(
            address,
            RequestCode.QUERY_CORRECTION_OFFSET,
            bodies.QueryCorrectionOffsetBody,
            headers.QueryCorrectionOffset(
                topic=topic, compare_group=compare_group, filter_groups=filter_groups
            ),
            what=f"correction offsets of topic {topic}",
        )
        return dict(correction.correction_offsets)

    async def _reset_online(
        self, address: str, header: headers.ResetOffset, *, cpp: bool
    ) -> dict[MessageQueue, int]:
        request = Command.request(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, header)
        if cpp:
            # The broker chooses the form of its own requests only by the language of this one.
            request.language = LanguageCode.CPP
        answer = responses.check(
            await self._client.invoke(address, request),
            address=address,
            what=f"reset of group {header.group} in topic {header.topic}",
        )
        body = responses.body(answer, bodies.ResetOffsetBody, address=address)
        return dict(sorted(body.offset_table.items()))

    async def _is_online(self, address: str, group: str) -> bool:
        header = headers.GetConsumerConnectionList(consumer_group=group)
        try:
            await self._broker(
                address,
                RequestCode.GET_CONSUMER_CONNECTION_LIST,
                header,
                what=f"group {group}",
            )
        except ClientError as error:
            if error.code == ResponseCode.CONSUMER_NOT_ONLINE:
                return False
            raise
        return True

    async def _queues_at(self, address: str, topic: str) -> list[MessageQueue]:
        route = await self._client.route(topic, fresh=True)
        here = {name for name, master in routes.masters(route).items() if master == address}
        return [
            queue for queue in routes.subscribe_queues(topic, route) if queue.broker_name in here
        ]
