"""Queue locks over the wire."""

import json

import pytest

from mqserver.broker.handlers.locks import BODY_SIZE_MAX
from remoting.bodies import (
    LockBatchRequestBody,
    LockBatchResponseBody,
    MessageQueue,
    UnlockBatchRequestBody,
)
from remoting.codes import ExtensionCode, RequestCode
from tests.server.broker.desk import GROUP, TOPIC, Desk

QUEUES = [MessageQueue(topic=TOPIC, broker_name="broker-a", queue_id=at) for at in range(2)]


async def lock(desk: Desk, client_id: str, *queues: MessageQueue) -> list[MessageQueue]:
    body = LockBatchRequestBody(consumer_group=GROUP, client_id=client_id, mq_set=list(queues))
    answer = await desk.ask(RequestCode.LOCK_BATCH_MQ, body=body.encode())
    return LockBatchResponseBody.decode(answer.body).lock_ok_mq_set


async def test_one_client_holds_a_queue_until_it_lets_go(desk: Desk) -> None:
    found = [await lock(desk, "c1", *QUEUES), await lock(desk, "c2", *QUEUES)]
    body = UnlockBatchRequestBody(consumer_group=GROUP, client_id="c1", mq_set=[QUEUES[0]])
    assert (await desk.ask(RequestCode.UNLOCK_BATCH_MQ, body=body.encode())).code == 0
    assert [*found, await lock(desk, "c2", *QUEUES)] == [QUEUES, [], [QUEUES[0]]]


async def test_lock_table_lists_every_lock(desk: Desk) -> None:
    await lock(desk, "c1", QUEUES[1])
    (row,) = json.loads((await desk.ask(ExtensionCode.GET_LOCK_TABLE)).body)

    wanted = {"group": GROUP, "topic": TOPIC, "queueId": 1, "clientId": "c1"}
    assert row.items() >= {**wanted, "brokerName": "broker-a"}.items()


async def test_lock_without_a_body_is_an_error_and_nothing_more(desk: Desk) -> None:
    assert (await desk.ask(RequestCode.LOCK_BATCH_MQ)).code == 1
    assert await lock(desk, "c1", QUEUES[0]) == [QUEUES[0]]


@pytest.mark.parametrize("code", [RequestCode.LOCK_BATCH_MQ, RequestCode.UNLOCK_BATCH_MQ])
async def test_more_queues_than_a_client_has_are_refused(desk: Desk, code: RequestCode) -> None:
    body = LockBatchRequestBody(consumer_group=GROUP, client_id="c1", mq_set=QUEUES)
    answer = await desk.ask(code, body=body.encode().ljust(BODY_SIZE_MAX + 1))

    assert answer.code == 1
    assert "the limit is 1048576" in (answer.remark or "")
