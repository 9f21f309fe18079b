"""Offsets of queues and groups: read, set, find by time, reset a whole group.

    reset_offset_by_time --> 222: broker computes, tells the live consumers
                         --> 206 nobody online: search and commit here, queue by queue

Source: tools/admin/DefaultMQAdminExtImpl.java#resetOffsetByTimestamp, #resetOffsetConsumeOffset,
broker/client/net/Broker2Client.java#resetOffset (4.9.7).
"""

from __future__ import annotations

from typing import Final

from mqclient.admin.calls import AdminCalls
from mqclient.client import offsets, responses, routes
from mqclient.errors import BrokerRefused, ClientError
from remoting import bodies, headers
from remoting.bodies import MessageQueue
from remoting.codes import LanguageCode, RequestCode, ResponseCode
from remoting.command import Command
from storefmt.configs import ConsumerOffsets

LATEST_MS: Final = -1
"""The timestamp that means "behind the last message" in a reset."""


class OffsetCalls(AdminCalls):
    """PendingRequests about offsets."""

    async def min_offset(self, queue: MessageQueue) -> int:
        """Return the first readable queue offset."""
        return await offsets.min_offset(self._client, queue)

    async def max_offset(self, queue: MessageQueue) -> int:
        """Return the queue offset the next message will get."""
        return await offsets.max_offset(self._client, queue)

    async def search_offset(self, queue: MessageQueue, timestamp_ms: int) -> int:
        """Return the queue offset of the message stored nearest to a time."""
        return await offsets.search_offset(self._client, queue, timestamp_ms=timestamp_ms)

    async def earliest_store_ms(self, queue: MessageQueue) -> int | None:
        """Return when the first message of a queue was stored, in ms; None when it is empty."""
        return await offsets.earliest_store_ms(self._client, queue)

    async def query_consumer_offset(
        self, address: str, group: str, queue: MessageQueue
    ) -> int | None:
        """Return the queue offset a group reads next, None when it never committed one."""
        return await offsets.committed(self._client, queue, group=group, address=address)

    async def update_consumer_offset(
        self, address: str, group: str, queue: MessageQueue, queue_offset: int
    ) -> None:
        """Set the queue offset a group reads next; members online will commit their own again."""
        await offsets.commit(
            self._client, queue, group=group, queue_offset=queue_offset, address=address
        )

    async def all_consumer_offsets(self, address: str) -> dict[tuple[str, str], dict[int, int]]:
        """Return (topic, group) -> queue id -> next queue offset, of everything on a broker."""
        found = await self._body(
            address, RequestCode.GET_ALL_CONSUMER_OFFSET, ConsumerOffsets, what="consumer offsets"
        )
        return found.offsets

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
        """Move a group to the messages stored at a time, on one broker.

        Consumers that are online are told and go on from there. Where none is online, the
        offsets are found and committed from here, which also works for a group that never
        read the topic.

        Args:
            timestamp_ms: ``LATEST_MS`` means behind the last message.
            force: False leaves a queue alone that would be moved forward.
            cpp: the members are clients in C++, who are told in a form of their own.

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
        """Move a group without members, queue by queue, on one broker; as the other call.

        Raises:
            NoRoute: the topic has no queue on this broker.
        """
        found = {}
        for queue in await self._queues_at(address, topic):
            if timestamp_ms == LATEST_MS:
                wanted = await self.max_offset(queue)
            else:
                wanted = await self.search_offset(queue, timestamp_ms)
            known = await self.query_consumer_offset(address, group, queue)
            if force or known is None or wanted <= known:
                await self.update_consumer_offset(address, group, queue, wanted)
                found[queue] = wanted
            else:
                found[queue] = known
        return found

    async def clone_group_offset(
        self, address: str, source: str, target: str, *, topic: str
    ) -> None:
        """Copy the offsets of one group in one topic to another group, on one broker.

        A 4.9 broker passes over a topic that live members of the source do not subscribe to.
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
        """Return first, last and read store time per queue of a group."""
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
        """Return the positions that the members of a group have themselves, by client id.

        Args:
            client_id: only this member.

        Raises:
            BrokerRefused: no member is online, or one does not answer its broker.
        """
        found = await self._body(
            address,
            RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS,
            bodies.GetConsumerStatusBody,
            headers.GetConsumerStatus(topic=topic, group=group, client_addr=client_id),
            what=f"positions of the members of group {group}",
        )
        return dict(found.consumer_table)

    async def correction_offsets(
        self, address: str, topic: str, compare_group: str, *, filter_groups: str | None = None
    ) -> dict[int, int]:
        """Return per queue id the lowest position of any group that is behind another group.

        Args:
            compare_group: the group that the others are compared with.
            filter_groups: comma separated; 4.9 brokers DELETE the positions of these groups.
        """
        found = await self._body(
            address,
            RequestCode.QUERY_CORRECTION_OFFSET,
            bodies.QueryCorrectionOffsetBody,
            headers.QueryCorrectionOffset(
                topic=topic, compare_group=compare_group, filter_groups=filter_groups
            ),
            what=f"correction offsets of topic {topic}",
        )
        return dict(found.correction_offsets)

    async def _reset_online(
        self, address: str, header: headers.ResetOffset, *, cpp: bool
    ) -> dict[MessageQueue, int]:
        request = Command.request(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, header)
        if cpp:
            # The language of the request is all that a broker goes by.
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
