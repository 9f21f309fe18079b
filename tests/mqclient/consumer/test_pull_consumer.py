"""The pull consumer: the request, the four statuses, the filter, and the group's own offset."""

import pytest

from mqclient.consumer.pull.pull_request import PullStatus
from mqclient.consumer.pull_consumer import PullConsumer
from mqclient.errors import BadAnswer, BadRequest, BrokerRefused
from remoting.bodies import MessageQueue
from remoting.codes import RequestCode
from remoting.headers import QueryConsumerOffsetResponse, SearchOffsetResponse
from tests.mqclient.fake import pulled, record, serving

QUEUE = MessageQueue("T", "broker-0", 1)
ENDS = pulled(9, min_offset=2, max_offset=12)


async def test_pull_travels_in_the_fields_of_java() -> None:
    async with serving() as (fake, client):
        fake.say(RequestCode.PULL_MESSAGE, 19, header=ENDS)
        await PullConsumer(client, "G").pull(
            QUEUE, queue_offset=7, subscription="A || B", count_max=5, suspend_ms=1_000
        )
        assert fake.asked_for(RequestCode.PULL_MESSAGE)[0].ext == {
            "consumerGroup": "G",
            "topic": "T",
            "queueId": "1",
            "queueOffset": "7",
            "maxMsgNums": "5",
            "sysFlag": "6",
            "commitOffset": "0",
            "suspendTimeoutMillis": "1000",
            "subscription": "A || B",
            "subVersion": "0",
            "expressionType": "TAG",
            "bname": "broker-0",
        }


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (0, PullStatus.FOUND),
        (19, PullStatus.NO_NEW_MSG),
        (20, PullStatus.NO_MATCHED_MSG),
        (21, PullStatus.OFFSET_ILLEGAL),
    ],
)
async def test_code_becomes_a_status_with_the_ends_of_the_queue(
    code: int, status: PullStatus
) -> None:
    async with serving() as (fake, client):
        fake.say(RequestCode.PULL_MESSAGE, code, header=ENDS)

        result = await PullConsumer(client, "G").pull(QUEUE, queue_offset=7)

        assert result.status is status
        assert (result.next_offset, result.min_offset, result.max_offset) == (9, 2, 12)
        assert result.messages == []


async def test_messages_are_read_and_filtered_again() -> None:
    async with serving() as (fake, client):
        body = record("T", b"1", properties="TAGS\x01Aa") + record(
            "T", b"2", properties="TAGS\x01BB"
        )
        fake.say(RequestCode.PULL_MESSAGE, header=ENDS, body=body)
        result = await PullConsumer(client, "G").pull(QUEUE, queue_offset=7, subscription="BB")
        assert [(message.body, message.broker_name) for message in result.messages] == [
            (b"2", "broker-0")
        ]


@pytest.mark.parametrize("code", [1, 16, 24])
async def test_other_codes_are_refusals(code: int) -> None:
    async with serving() as (fake, client):
        fake.say(RequestCode.PULL_MESSAGE, code, remark="no")
        with pytest.raises(BrokerRefused) as refused:
            await PullConsumer(client, "G").pull(QUEUE, queue_offset=0)
        assert (refused.value.code, refused.value.remark) == (code, "no")


async def test_answer_without_offsets_is_named_and_half_a_message_passed_over() -> None:
    async with serving() as (fake, client):
        fake.say(RequestCode.PULL_MESSAGE, 19)
        fake.say(RequestCode.PULL_MESSAGE, header=ENDS, body=record("T", b"1")[:-1])
        consumer = PullConsumer(client, "G")
        with pytest.raises(BadAnswer, match="usable header"):
            await consumer.pull(QUEUE, queue_offset=0)
        passed = await consumer.pull(QUEUE, queue_offset=0)
        assert (passed.status, passed.next_offset) == (PullStatus.NO_MATCHED_MSG, 9)
        with pytest.raises(BadRequest):
            await consumer.pull(QUEUE, queue_offset=0, subscription="||")


async def test_group_position_and_queues() -> None:
    async with serving() as (fake, client):
        fake.say(RequestCode.QUERY_CONSUMER_OFFSET, 22, remark="Not found")
        fake.say(RequestCode.QUERY_CONSUMER_OFFSET, header=QueryConsumerOffsetResponse(offset=4))
        fake.say(RequestCode.UPDATE_CONSUMER_OFFSET)
        fake.say(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, header=SearchOffsetResponse(offset=3))
        consumer = PullConsumer(client, "G")

        assert await consumer.committed(QUEUE) is None
        await consumer.commit(QUEUE, 4)
        assert await consumer.committed(QUEUE) == 4
        assert await consumer.search_offset(QUEUE, 123) == 3
        assert [q.queue_id for q in await consumer.queues("T")] == [0, 1]
        (commit,) = fake.asked_for(RequestCode.UPDATE_CONSUMER_OFFSET)
        assert (commit.ext["consumerGroup"], commit.ext["commitOffset"]) == ("G", "4")
        assert not commit.is_oneway


async def test_an_offset_that_the_protocol_cannot_say_is_refused_here() -> None:
    async with serving() as (_, client):
        consumer = PullConsumer(client, "G")
        with pytest.raises(BadRequest, match="outside"):
            await consumer.pull(QUEUE, queue_offset=2**63)
        with pytest.raises(BadRequest, match="outside"):
            await consumer.commit(QUEUE, 2**63)
