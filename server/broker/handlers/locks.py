"""Queue locks of orderly consumers: lock (41), unlock (42), and our own list (10001).

Source: broker/processor/AdminBrokerProcessor.java#lockBatchMQ, #unlockBatchMQ.
"""

from remoting.bodies import LockBatchRequestBody, LockBatchResponseBody, UnlockBatchRequestBody
from remoting.codes import ExtensionCode, RequestCode, ResponseCode
from remoting.command import Command
from server.broker import names
from server.broker.locks import LOCK_LIFE_MS
from server.broker.state import Broker
from server.runtime.registry import handles
from server.runtime.request import Request
from storefmt.fastjson import Json, Key, dumps


@handles(RequestCode.LOCK_BATCH_MQ)
def lock_queues(broker: Broker, request: Request) -> Command:
    """Lock queues for a client; the answer lists those it holds now."""
    body = LockBatchRequestBody.decode(request.command.body)
    fault = names.group_fault(body.consumer_group)
    if fault is not None:
        return request.command.response(ResponseCode.SYSTEM_ERROR, remark=fault)
    held = broker.locks.lock(
        body.consumer_group, body.client_id, queues=body.mq_set, now_ms=request.now_ms
    )
    return request.command.response(body=LockBatchResponseBody(lock_ok_mq_set=held).encode())


@handles(RequestCode.UNLOCK_BATCH_MQ)
def unlock_queues(broker: Broker, request: Request) -> Command:
    """Free the queues that a client holds."""
    body = UnlockBatchRequestBody.decode(request.command.body)
    broker.locks.unlock(
        body.consumer_group, body.client_id, queues=body.mq_set, now_ms=request.now_ms
    )
    return request.command.response()


@handles(ExtensionCode.GET_LOCK_TABLE)
def get_lock_table(broker: Broker, request: Request) -> Command:
    """Return every lock that has not expired, as a JSON list of objects."""
    rows: list[Json] = []
    for lock in broker.locks.held(request.now_ms):
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
    return request.command.response(body=dumps(rows).encode())
