"""Queue locks of orderly consumers: lock (41), unlock (42), list (10001, an extension).

Source: broker/processor/AdminBrokerProcessor.java#lockBatchMQ, #unlockBatchMQ.
"""

from mqserver.broker import names
from mqserver.broker.clients.queue_locks import LOCK_LIFE_MS, HeldLock
from mqserver.broker.state import Broker
from mqserver.runtime.registry import handles
from mqserver.runtime.request import Request, RequestRefused
from mqserver.runtime.slices import Steps, chunks, decoded, in_slices, large
from remoting.bodies import (
    LockBatchRequestBody,
    LockBatchResponseBody,
    MessageQueue,
    UnlockBatchRequestBody,
)
from remoting.codes import ExtensionCode, RequestCode, ResponseCode
from remoting.command import Command
from storefmt.config.fastjson import Json, Key, dumps

BODY_SIZE_MAX = 1 << 20
"""Bytes of a JSON body that lists queues; enough for about 10,000 queues."""
QUEUES_PER_SLICE = 1_000


@handles(RequestCode.LOCK_BATCH_MQ)
@in_slices
def lock_queues(broker: Broker, request: Request) -> Steps[Command]:
    """Lock queues for a client, and return those of them that it holds now.

    Raises:
        RequestRefused: the body is too large, or the name of the group is not valid.
    """
    body = yield from decoded(_lock_body, _limited(request))
    names.check_group(body.consumer_group)
    held: list[MessageQueue] = []
    for queues in chunks(body.mq_set, QUEUES_PER_SLICE):
        held += broker.locks.lock(
            body.consumer_group, body.client_id, queues=queues, now_ms=request.now_ms
        )
        if len(queues) == QUEUES_PER_SLICE:
            yield None
    answer = LockBatchResponseBody(lock_ok_mq_set=held)
    return request.command.response(body=(yield from large(answer.encode, count=len(held))))


def _limited(request: Request) -> bytes:
    body = request.command.body
    if len(body) > BODY_SIZE_MAX:
        text = (
            f"the list of queues has {len(body)} bytes, the limit is {BODY_SIZE_MAX}; "
            "split it into several requests"
        )
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, text)
    return body


def _lock_body(data: bytes) -> LockBatchRequestBody:
    body = LockBatchRequestBody.decode(data)
    body.mq_set = list(dict.fromkeys(body.mq_set))
    return body


@handles(RequestCode.UNLOCK_BATCH_MQ)
@in_slices
def unlock_queues(broker: Broker, request: Request) -> Steps[Command]:
    """Unlock the queues that a client holds.

    Raises:
        RequestRefused: the body is too large.
    """
    body = yield from decoded(UnlockBatchRequestBody.decode, _limited(request))
    for queues in chunks(body.mq_set, QUEUES_PER_SLICE):
        broker.locks.unlock(body.consumer_group, body.client_id, queues=queues)
        if len(queues) == QUEUES_PER_SLICE:
            yield None
    return request.command.response()


@handles(ExtensionCode.GET_LOCK_TABLE)
@in_slices
def get_lock_table(broker: Broker, request: Request) -> Steps[Command]:
    """Return every lock that has not expired, as a JSON list of objects."""
    table, now_ms = broker.locks.copy(), request.now_ms
    text = yield from large(lambda: _rows(table.held(now_ms)), count=len(table))
    return request.command.response(body=text)


def _rows(held: list[HeldLock]) -> bytes:
    rows: list[Json] = []
    for lock in held:
        row: dict[Key, Json] = {
            "brokerName": lock.queue.broker_name,
            "clientId": lock.client_id,
            "expiresTimestamp": lock.renewed_ms + LOCK_LIFE_MS,
            "group": lock.group,
            "lastUpdateTimestamp": lock.renewed_ms,
            "queueId": lock.queue.queue_id,
            "topic": lock.queue.topic,
        }
        rows.append(row)
    return dumps(rows).encode()
