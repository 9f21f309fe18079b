"""The offsets of one queue: its ends, what it held at a time, how far a group has read.

Rule: one request each. Queue offsets count entries; ``None`` means the broker knows none,
which is not the same as 0.

Source: client/impl/MQClientAPIImpl.java#getMaxOffset, #searchOffset, #queryConsumerOffset,
#updateConsumerOffset (4.9.7).
"""

from __future__ import annotations

from mqclient.client import responses
from mqclient.client.instance import MQClient
from mqclient.errors import NotFound
from remoting import headers
from remoting.bodies import MessageQueue
from remoting.codes import RequestCode, ResponseCode


async def min_offset(client: MQClient, queue: MessageQueue) -> int:
    """Return the first readable queue offset."""
    address = await client.master_of(queue)
    header = headers.GetMinOffset(
        topic=queue.topic, queue_id=queue.queue_id, broker_name=queue.broker_name
    )
    answer = await client.call(
        address, RequestCode.GET_MIN_OFFSET, header, what=f"min offset of {named(queue)}"
    )
    return responses.header(answer, headers.GetMinOffsetResponse, address=address).offset


async def max_offset(client: MQClient, queue: MessageQueue) -> int:
    """Return the queue offset the next message will get."""
    address = await client.master_of(queue)
    header = headers.GetMaxOffset(
        topic=queue.topic, queue_id=queue.queue_id, broker_name=queue.broker_name
    )
    answer = await client.call(
        address, RequestCode.GET_MAX_OFFSET, header, what=f"max offset of {named(queue)}"
    )
    return responses.header(answer, headers.GetMaxOffsetResponse, address=address).offset


async def search_offset(client: MQClient, queue: MessageQueue, *, timestamp_ms: int) -> int:
    """Return the queue offset of the message stored nearest to a time.

    The broker looks in the one file it expects the time in, so this may be the message before
    or after; after the last message it is the last message's offset, not the max offset.
    """
    address = await client.master_of(queue)
    header = headers.SearchOffset(
        topic=queue.topic,
        queue_id=queue.queue_id,
        timestamp=timestamp_ms,
        broker_name=queue.broker_name,
    )
    answer = await client.call(
        address,
        RequestCode.SEARCH_OFFSET_BY_TIMESTAMP,
        header,
        what=f"offset by time of {named(queue)}",
    )
    return responses.header(answer, headers.SearchOffsetResponse, address=address).offset


async def committed(
    client: MQClient, queue: MessageQueue, *, group: str, address: str | None = None
) -> int | None:
    """Return the queue offset a group will read next; None when it never committed one.

    A broker answers 0 for a group it does not know while the queue's first message still is
    in memory, so 0 may also mean "never".

    Args:
        address: the broker; the master of the queue when None.
    """
    address = address or await client.master_of(queue)
    header = headers.QueryConsumerOffset(
        consumer_group=group,
        topic=queue.topic,
        queue_id=queue.queue_id,
        broker_name=queue.broker_name,
    )
    try:
        answer = await client.call(
            address,
            RequestCode.QUERY_CONSUMER_OFFSET,
            header,
            what=f"offset of {group} in {named(queue)}",
        )
    except NotFound as error:
        if error.code == ResponseCode.QUERY_NOT_FOUND:
            return None
        raise
    return responses.header(answer, headers.QueryConsumerOffsetResponse, address=address).offset


async def commit(
    client: MQClient,
    queue: MessageQueue,
    *,
    group: str,
    queue_offset: int,
    address: str | None = None,
) -> None:
    """Set the queue offset a group will read next; the broker does not check it.

    A member of the group that is online commits its own position again seconds later.

    Args:
        address: the broker; the master of the queue when None.
    """
    address = address or await client.master_of(queue)
    header = headers.UpdateConsumerOffset(
        consumer_group=group,
        topic=queue.topic,
        queue_id=queue.queue_id,
        commit_offset=queue_offset,
        broker_name=queue.broker_name,
    )
    await client.call(
        address,
        RequestCode.UPDATE_CONSUMER_OFFSET,
        header,
        what=f"commit of {group} in {named(queue)}",
    )


def named(queue: MessageQueue) -> str:
    """Return a queue as a reader knows it: ``topic T, broker-a queue 3``."""
    return f"topic {queue.topic}, {queue.broker_name} queue {queue.queue_id}"
