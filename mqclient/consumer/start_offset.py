"""Where a member begins to read a queue it was just given.

    position kept?   yes: there
    no, LAST         the end of the queue; of a retry topic the start
    no, FIRST        0: the broker corrects it to the first message it still has
    no, TIMESTAMP    the message stored at that time; of a retry topic the end

Rule: without an answer from the broker there is no place to begin; the queue is left for the
next rebalance, because beginning somewhere else would lose or repeat messages.

Source: client/impl/consumer/RebalancePushImpl.java#computePullFromWhereWithException (4.9.7).
"""

from typing import Final

from mqclient.client import offsets
from mqclient.client.instance import MQClient
from mqclient.consumer.offset_store import OffsetStore
from mqclient.namespace import is_retry_topic
from remoting.bodies import ConsumeFromWhere, MessageQueue

_FROM_FIRST: Final = frozenset({ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET})
_FROM_TIME: Final = frozenset({ConsumeFromWhere.CONSUME_FROM_TIMESTAMP})


async def pull_from(
    client: MQClient,
    store: OffsetStore,
    queue: MessageQueue,
    *,
    where: ConsumeFromWhere,
    timestamp_ms: int,
) -> int:
    """Return the queue offset to begin at.

    Args:
        where: the values that Java has deprecated mean LAST.
        timestamp_ms: for CONSUME_FROM_TIMESTAMP.

    Raises:
        ClientError: the broker did not answer.
    """
    kept = await store.read(queue)
    if kept is not None:
        return kept
    is_retry = is_retry_topic(queue.topic)
    if where in _FROM_FIRST:
        return 0
    if where in _FROM_TIME:
        if is_retry:
            return await offsets.max_offset(client, queue)
        return await offsets.search_offset(client, queue, timestamp_ms=timestamp_ms)
    return 0 if is_retry else await offsets.max_offset(client, queue)
