"""Admin calls about messages: by id, offset and key; direct consumption; queue entries.

Source: client/impl/MQAdminImpl.java#viewMessage, #queryMessage,
tools/admin/DefaultMQAdminExtImpl.java#consumeMessageDirectly (4.9.7).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mqclient.admin.calls import AdminCalls
from mqclient.client import responses, routes
from mqclient.errors import BadAnswer, BadRequest, ClientError, NotFound, TimedOut, Unreachable
from mqclient.message import MessageExt, read_messages
from remoting import bodies, headers
from remoting.codes import RequestCode, ResponseCode
from remoting.command import Command
from storefmt.errors import StoreError
from storefmt.formats.hosts import host_text
from storefmt.formats.msgid import parse_offset_id

if TYPE_CHECKING:
    from collections.abc import Callable

INDEX_TYPE: Final = "indexType"
TAG_INDEX: Final = "T"
LAST_KEY: Final = "lastKey"
"""Fields of QUERY_MESSAGE that came with 5.x, and the kind of an index entry that is a tag."""
END_OF_TIME_MS: Final = 2**63 - 1
_CONSUME_TIMEOUT_S: Final = 12.0


def place_of(offset_id: str) -> tuple[str, int]:
    """Return the address of the broker and the log offset that an offset id contains.

    Raises:
        BadRequest: the text is not an offset id.
    """
    try:
        store_host, log_offset = parse_offset_id(offset_id)
        return host_text(store_host), log_offset
    except StoreError as error:
        raise BadRequest(str(error)) from error


class MessageCalls(AdminCalls):
    """The requests about single messages."""

    async def view_message(self, offset_id: str) -> MessageExt:
        """Return the message with an offset id; the id contains the address of its broker.

        Raises:
            BadRequest: the text is not an offset id.
            NotFound: the broker has no message there, or has deleted it.
        """
        return await self.view_message_at(*place_of(offset_id))

    async def view_message_at(
        self, address: str, log_offset: int, *, broker_name: str = ""
    ) -> MessageExt:
        """Return the message at an offset in the commit log of a broker.

        Args:
            log_offset: where the record starts, in bytes.
            broker_name: the name that the message gets.

        Raises:
            NotFound: no record starts there.
        """
        what = f"message at commit log offset {log_offset}"
        command = Command.request(
            RequestCode.VIEW_MESSAGE_BY_ID, headers.ViewMessage(offset=log_offset)
        )
        answer = await self._client.invoke(address, command)
        if answer.code == ResponseCode.SYSTEM_ERROR:
            # This is the broker's answer when no record starts at the offset.
            raise NotFound(
                f"{what}: {address} has no message there",
                code=answer.code,
                remark=answer.remark or "",
                address=address,
                hint="the id may be of another broker, or the message may have been deleted",
            )
        responses.check(answer, address=address, what=what)
        messages = read_messages(answer.body, broker_name=broker_name, address=address)
        if len(messages) != 1:
            raise BadAnswer(f"{what}: {address} sent {len(messages)} messages", address=address)
        return messages[0]

    async def query_message(
        self,
        topic: str,
        key: str,
        *,
        count_max: int = 64,
        begin_ms: int = 0,
        end_ms: int = END_OF_TIME_MS,
        unique: bool = False,
        by_tag: bool = False,
        last_key: str | None = None,
        route_of: str | None = None,
        on_silent: Callable[[ClientError], None] | None = None,
    ) -> list[MessageExt]:
        """Return the messages of a topic with a key, newest last, from all its brokers.

        Brokers compare hashes, so messages with only the same hash are left out here.

        Args:
            key: a key, a unique key or a tag.
            count_max: the limit on the messages of each broker, and on all messages.
            begin_ms, end_ms: earliest and latest store time, in ms since 1970.
            unique, by_tag: ``key`` is a unique key, or a tag, which brokers of 5.x index.
            last_key: the entry of an index in RocksDB behind which the answer begins.
            route_of: the topic whose brokers are asked, where no name server knows ``topic``.
            on_silent: gets the error of each broker that does not answer; None raises it.

        Raises:
            NoRoute: no broker has the topic.
            ClientError: a broker did not answer, see ``on_silent``.
        """
        header = headers.QueryMessage(
            topic=topic, key=key, max_num=count_max, begin_timestamp=begin_ms, end_timestamp=end_ms
        )
        # Java marks a query by unique key with _UNIQUE_KEY_QUERY, which only replaces max_num. No
        # signature satisfies both 5.x, which checks it with the mark, and 4.9, without it.
        more = {INDEX_TYPE: TAG_INDEX} if by_tag else {}
        more |= {LAST_KEY: last_key} if last_key else {}
        messages: list[MessageExt] = []
        silent: list[ClientError] = []
        readers = routes.readers(await self._client.route(route_of or topic))
        for broker_name, address in readers.items():
            command = Command.request(RequestCode.QUERY_MESSAGE, header)
            command.ext.update(more)
            try:
                answer = await self._client.invoke(address, command)
            except (TimedOut, Unreachable) as error:
                silent.append(error)
                continue
            if answer.code == ResponseCode.QUERY_NOT_FOUND:
                continue
            responses.check(answer, address=address, what=f"key {key} in topic {topic}")
            messages += read_messages(answer.body, broker_name=broker_name, address=address)
        responses.report_silent(silent, on_silent, of=len(readers))
        with_key = [
            message
            for message in messages
            if message.topic == topic and _has_key(message, key, unique=unique, by_tag=by_tag)
        ]
        return sorted(with_key, key=lambda message: message.store_ms)[:count_max]

    async def consume_message_directly(
        self, address: str, group: str, client_id: str, offset_id: str
    ) -> bodies.ConsumeMessageDirectlyResult:
        """Let a connected consumer consume one stored message, and return how that ended.

        Args:
            offset_id: of the message.

        Raises:
            BrokerRefused: code 1 when the client is not connected, 207 when it does not answer.
        """
        header = headers.ConsumeMessageDirectly(
            consumer_group=group, client_id=client_id, msg_id=offset_id
        )
        return await self._body(
            address,
            RequestCode.CONSUME_MESSAGE_DIRECTLY,
            bodies.ConsumeMessageDirectlyResult,
            header,
            what=f"client {client_id} of group {group}",
            timeout_s=max(self._client.timeout_s, _CONSUME_TIMEOUT_S),
        )

    async def query_consume_queue(
        self,
        address: str,
        topic: str,
        queue_id: int,
        *,
        queue_offset: int,
        count: int,
        group: str | None = None,
    ) -> bodies.QueryConsumeQueueResponseBody:
        """Return consume queue entries from a queue offset on.

        Args:
            queue_offset: the first entry.
            count: the limit on the entries that are returned.
            group: a consumer group; the broker then also evaluates its filter.

        Raises:
            NotFound: the queue has no entry at this offset.
            BrokerRefused: code 1 when the broker has no such queue.
        """
        answer = await self._broker(
            address,
            RequestCode.QUERY_CONSUME_QUEUE,
            headers.QueryConsumeQueue(
                topic=topic,
                queue_id=queue_id,
                index=queue_offset,
                count=count,
                consumer_group=group,
            ),
            what=f"queue {queue_id} of topic {topic}",
        )
        if not answer.body:
            # Java answers with success, with a remark and without a body.
            raise NotFound(
                f"queue {queue_id} of topic {topic} has no entry {queue_offset}",
                remark=answer.remark or "",
                address=address,
                hint="ask for an offset between min and max offset",
            )
        return responses.body(answer, bodies.QueryConsumeQueueResponseBody, address=address)


def _has_key(message: MessageExt, key: str, *, unique: bool, by_tag: bool) -> bool:
    if by_tag:
        return message.tags == key
    return message.unique_key == key if unique else key in (*message.keys, message.unique_key)
