"""The offsets of one queue: its two ends, its offset at a time, and how far a group has read it.

Each function sends one request to the queue's master, or to a slave while the name servers have
no master, so that a consumer can start and commit in an outage. Queue offsets count entries.
``None`` means that the broker knows no such offset, which is not the same as 0.

Rule: a slave may be behind its master, so its max offset may be too low. A consumer that starts
at that offset also reads the messages that the slave did not have yet; it never skips any.

Source: client/impl/MQClientAPIImpl.java#getMaxOffset, #searchOffset, #queryConsumerOffset,
#updateConsumerOffset, #getEarliestMsgStoretime; consumer/store/RemoteBrokerOffsetStore.java
(4.9.7). Java asks only a master for the ends of a queue and for its offset at a time.
"""

from __future__ import annotations

from typing import Final, TypeVar

from mqclient.client import responses
from mqclient.client.instance import MQClient
from mqclient.errors import NotFound
from remoting import headers
from remoting.bodies import MessageQueue
from remoting.codes import RequestCode, ResponseCode
from remoting.command import Command
from remoting.header import Header

_H = TypeVar("_H", bound=Header)
KEEPS_RESET: Final = "Offset has been previously reset"
"""How a broker of 5.x answers a commit, with code 0, that it drops because of a reset."""


async def min_offset(client: MQClient, queue: MessageQueue) -> int:
    """Return the first readable queue offset; raises ClientError."""
    header = headers.GetMinOffset(
        topic=queue.topic, queue_id=queue.queue_id, broker_name=queue.broker_name
    )
    code, response = RequestCode.GET_MIN_OFFSET, headers.GetMinOffsetResponse
    return (await _ask(client, queue, code, header, response, what="min offset of")).offset


async def max_offset(client: MQClient, queue: MessageQueue) -> int:
    """Return the queue offset that the next message will get; raises ClientError."""
    header = headers.GetMaxOffset(
        topic=queue.topic, queue_id=queue.queue_id, broker_name=queue.broker_name
    )
    code, response = RequestCode.GET_MAX_OFFSET, headers.GetMaxOffsetResponse
    return (await _ask(client, queue, code, header, response, what="max offset of")).offset


async def search_offset(client: MQClient, queue: MessageQueue, *, timestamp_ms: int) -> int:
    """Return the queue offset of the message that was stored nearest to a time.

    The broker looks only in the file in which it expects the time, so the result may be the
    message before or after. For a time after the last message it is the offset of the last
    message, not the max offset.

    Args:
        timestamp_ms: store time, in ms since 1970.

    Raises:
        ClientError: the broker did not answer with an offset.
    """
    header = headers.SearchOffset(
        topic=queue.topic,
        queue_id=queue.queue_id,
        timestamp=timestamp_ms,
        broker_name=queue.broker_name,
    )
    code, response = RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, headers.SearchOffsetResponse
    return (await _ask(client, queue, code, header, response, what="offset by time of")).offset


async def earliest_store_ms(client: MQClient, queue: MessageQueue) -> int | None:
    """Return when the first message of a queue was stored, in ms; None for an empty queue.

    Raises:
        ClientError: the broker did not answer.
    """
    header = headers.GetEarliestMsgStoretime(
        topic=queue.topic, queue_id=queue.queue_id, broker_name=queue.broker_name
    )
    code = RequestCode.GET_EARLIEST_MSG_STORETIME
    response = headers.GetEarliestMsgStoretimeResponse
    earliest = await _ask(client, queue, code, header, response, what="first message of")
    return earliest.timestamp if earliest.timestamp >= 0 else None


async def committed(
    client: MQClient, queue: MessageQueue, *, group: str, address: str | None = None
) -> int | None:
    """Return the queue offset that a group will read next; None when it never committed one.

    A broker answers 0 for a group that it does not know while the queue's first message is still
    in memory, so 0 may also mean "never".

    Args:
        group: the consumer group, with its namespace.
        address: the broker; None means the master of the queue, or else a slave.

    Raises:
        ClientError: the broker did not answer.
    """
    header = headers.QueryConsumerOffset(
        consumer_group=group,
        topic=queue.topic,
        queue_id=queue.queue_id,
        broker_name=queue.broker_name,
    )
    code, response = RequestCode.QUERY_CONSUMER_OFFSET, headers.QueryConsumerOffsetResponse
    try:
        consumer_offset = await _ask(
            client, queue, code, header, response, what=f"offset of {group} in", address=address
        )
    except NotFound as error:
        if error.code == ResponseCode.QUERY_NOT_FOUND:
            return None
        raise
    return consumer_offset.offset


async def commit(
    client: MQClient,
    queue: MessageQueue,
    *,
    group: str,
    queue_offset: int,
    address: str | None = None,
    oneway: bool = False,
) -> bool:
    """Set the queue offset that a group will read next; the broker does not check it.

    A member of the group that is online commits its own offset again seconds later.

    Returns:
        False where the broker said that the commit changes nothing: one of 5.x keeps the offset
        of a reset until the group pulls, and drops commits until then.

    Args:
        group: the consumer group, with its namespace.
        queue_offset: the next offset to read, in entries.
        address: the broker; None means the master of the queue, or else a slave.
        oneway: True waits for no answer, so a refusal of the broker goes unnoticed.

    Raises:
        ClientError: the broker refused, or did not answer.
    """
    address = address or await client.reader_of(queue)
    header = headers.UpdateConsumerOffset(
        consumer_group=group,
        topic=queue.topic,
        queue_id=queue.queue_id,
        commit_offset=queue_offset,
        broker_name=queue.broker_name,
    )
    code = RequestCode.UPDATE_CONSUMER_OFFSET
    if oneway:
        await client.invoke_oneway(address, Command.request(code, header, oneway=True))
        return True
    answer = await client.call(address, code, header, what=f"commit of {group} in {named(queue)}")
    return answer.remark != KEEPS_RESET


def named(queue: MessageQueue) -> str:
    """Return a queue as error texts name it: ``topic T, broker-a queue 3``."""
    return f"topic {queue.topic}, {queue.broker_name} queue {queue.queue_id}"


async def _ask(
    client: MQClient,
    queue: MessageQueue,
    code: RequestCode,
    header: Header,
    response: type[_H],
    *,
    what: str,
    address: str | None = None,
) -> _H:
    """Return the header of the answer of the broker at ``address``, or else see ``reader_of``."""
    address = address or await client.reader_of(queue)
    answer = await client.call(address, code, header, what=f"{what} {named(queue)}")
    return responses.header(answer, response, address=address)
