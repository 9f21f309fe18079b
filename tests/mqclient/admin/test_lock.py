"""Queue locks are read from a broker's lock table, or from what its clients report."""

import json

import pytest

from mqclient.admin.admin import Admin
from mqclient.admin.lock import QueueLock
from mqclient.client.instance import MQClient
from mqclient.errors import BadAnswer, BrokerRefused, ClientError, TimedOut
from remoting.bodies import (
    ConsumerRunningInfo,
    KVTable,
    LockBatchRequestBody,
    LockBatchResponseBody,
    MessageQueue,
    ProcessQueueInfo,
)
from remoting.codes import ExtensionCode, RequestCode
from remoting.command import Command
from tests.mqclient.fake import asking

QUEUES = [MessageQueue("T", "b", queue_id) for queue_id in (0, 1)]
ROW = {
    "group": "G",
    "topic": "T",
    "brokerName": "b",
    "queueId": 1,
    "clientId": "c",
    "lastUpdateTimestamp": 5,
    "expiresTimestamp": 60_005,
}


async def test_lock_and_unlock_name_client_and_queues() -> None:
    async with asking() as (fake, admin):
        held = LockBatchResponseBody(lock_ok_mq_set=[QUEUES[1]])
        fake.say(RequestCode.LOCK_BATCH_MQ, body=held.encode())
        fake.say(RequestCode.UNLOCK_BATCH_MQ)
        assert await admin.lock_batch(fake.address, "G", "c", QUEUES) == [QUEUES[1]]
        await admin.unlock_batch(fake.address, "G", "c", QUEUES)
        for request in fake.asked:
            body = LockBatchRequestBody.decode(request.body)
            assert (body.consumer_group, body.client_id, body.mq_set) == ("G", "c", QUEUES)


async def test_our_broker_shows_its_table() -> None:
    async with asking() as (fake, admin):
        rows = [ROW, {**ROW, "group": "A"}]
        fake.say(ExtensionCode.GET_LOCK_TABLE, body=json.dumps(rows).encode())
        view = await admin.locks(fake.address, ["G"])
        assert view.exact
        assert view.locks == [QueueLock("G", QUEUES[1], "c", 5, 60_005)]
        every = await admin.locks(fake.address)
        assert [lock.group for lock in every.locks] == ["A", "G"]


@pytest.mark.parametrize("body", [b"{}", b"[1]", b'[{"group":"G"}]', b"no json", b""])
async def test_table_that_cannot_be_read_is_named(body: bytes) -> None:
    async with asking() as (fake, admin):
        fake.say(ExtensionCode.GET_LOCK_TABLE, body=body)
        with pytest.raises(BadAnswer, match="lock table of"):
            await admin.lock_table(fake.address)


async def test_java_broker_is_looked_at_through_its_clients() -> None:
    info = ConsumerRunningInfo(
        mq_table={
            QUEUES[0]: ProcessQueueInfo(locked=True, last_lock_timestamp=100),
            QUEUES[1]: ProcessQueueInfo(),
        },
        properties={"PROP_CONSUMEORDERLY": "true"},
    )

    async with asking() as (fake, admin):
        fake.say(ExtensionCode.GET_LOCK_TABLE, 3, remark=" request type 10001 not supported")
        fake.list_members("c1", "c2")
        fake.say(RequestCode.GET_CONSUMER_RUNNING_INFO, body=info.encode())
        fake.say(RequestCode.GET_CONSUMER_RUNNING_INFO, 207, remark="timeout")
        view = await admin.locks(fake.address, ["G"])
        assert not view.exact
        assert view.locks == [QueueLock("G", QUEUES[0], "c1", 100, 30_100)]
        (silent,) = view.unanswered
        assert silent.startswith("G c2: ")


async def test_a_member_that_does_not_consume_in_order_holds_no_lock() -> None:
    table = {QUEUES[0]: ProcessQueueInfo(locked=True, last_lock_timestamp=100)}
    info = ConsumerRunningInfo(mq_table=table, properties={"PROP_CONSUMEORDERLY": "false"})

    async with asking() as (fake, admin):
        fake.say(ExtensionCode.GET_LOCK_TABLE, 3, remark=" request type 10001 not supported")
        fake.list_members("c1")
        fake.say(RequestCode.GET_CONSUMER_RUNNING_INFO, body=info.encode())
        assert (await admin.locks(fake.address, ["G"])).locks == []


async def test_other_refusals_of_the_table_stay() -> None:
    async with asking() as (fake, admin):
        fake.say(ExtensionCode.GET_LOCK_TABLE, 16, remark="no permission")
        with pytest.raises(BrokerRefused):
            await admin.locks(fake.address)


@pytest.mark.parametrize(
    ("version", "error"),
    [("V4_7_1", BrokerRefused), ("V4_9_7", TimedOut), ("", TimedOut)],
)
async def test_an_old_broker_that_leaves_a_request_unanswered_does_not_know_it(
    monkeypatch: pytest.MonkeyPatch, version: str, error: type[ClientError]
) -> None:
    async def call(self: MQClient, address: str, code: int, *args: object, what: str) -> Command:
        if code == ExtensionCode.GET_LOCK_TABLE:
            raise TimedOut("late")
        body = KVTable(table={"brokerVersionDesc": version}).encode()
        return Command(RequestCode.GET_BROKER_RUNTIME_INFO, body=body)

    monkeypatch.setattr(MQClient, "call", lambda self, *a, what, **_: call(self, *a, what=what))
    with pytest.raises(error):
        await Admin(MQClient("127.0.0.1:1")).lock_table("127.0.0.1:1")
