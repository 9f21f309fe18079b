"""Queue locks are requested, confirmed together, lost, and released."""

from mqclient.consumer.rebalance.queue_locks import QueueLocks
from mqclient.consumer.state.process_queue import LOCK_LIFE_MS, ProcessQueue
from remoting.bodies import (
    LockBatchRequestBody,
    LockBatchResponseBody,
    MessageQueue,
    UnlockBatchRequestBody,
)
from remoting.codes import RequestCode, ResponseCode
from tests.mqclient.fake import NOW_MS, FakeServer, serving

QUEUES = [MessageQueue("T", "broker-0", i) for i in range(3)]


async def test_only_a_granted_queue_is_locked_and_one_request_asks_for_all_of_a_broker() -> None:
    async with serving() as (fake, client):
        body = LockBatchResponseBody(lock_ok_mq_set=QUEUES[:2])
        fake.say(RequestCode.LOCK_BATCH_MQ, body=body.encode())
        held = [ProcessQueue(queue, next_offset=0, now_ms=0) for queue in QUEUES]
        held[2].locked = True
        await QueueLocks(client, "G").lock_all(held)
        (asked,) = fake.asked_for(RequestCode.LOCK_BATCH_MQ)
        said = LockBatchRequestBody.decode(asked.body)
        assert (said.consumer_group, said.client_id) == ("G", client.client_id)
        assert sorted(said.mq_set) == QUEUES
        assert [each.locked for each in held] == [True, True, False]
        assert held[0].last_lock_ms == NOW_MS


async def test_a_broker_that_refuses_changes_nothing_and_the_lock_grows_old() -> None:
    async with serving() as (fake, client):
        fake.say(RequestCode.LOCK_BATCH_MQ, ResponseCode.SYSTEM_ERROR)
        held = ProcessQueue(QUEUES[0], next_offset=0, now_ms=NOW_MS)
        held.locked = True
        locks = QueueLocks(client, "G")
        await locks.lock_all([held])
        assert not await locks.lock(QUEUES[0])
        assert held.locked
        assert not held.lock_expired(NOW_MS + LOCK_LIFE_MS)
        assert held.lock_expired(NOW_MS + LOCK_LIFE_MS + 1)


async def test_dropped_queues_are_not_asked_for() -> None:
    async with FakeServer() as fake, fake.client() as client:
        held = ProcessQueue(QUEUES[0], next_offset=0, now_ms=NOW_MS)
        held.dropped = True
        await QueueLocks(client, "G").lock_all([held])
        assert fake.asked == []


async def test_unlocking_names_the_queues_and_a_failure_is_no_error() -> None:
    async with serving() as (fake, client):
        fake.say(RequestCode.UNLOCK_BATCH_MQ)
        fake.say(RequestCode.UNLOCK_BATCH_MQ, ResponseCode.SYSTEM_ERROR)
        locks = QueueLocks(client, "G")
        await locks.unlock(QUEUES)
        await locks.unlock(QUEUES[:1])
        first, second = (
            UnlockBatchRequestBody.decode(each.body).mq_set
            for each in fake.asked_for(RequestCode.UNLOCK_BATCH_MQ)
        )
        assert (sorted(first), second) == (QUEUES, QUEUES[:1])
