"""Where a member begins to read: each policy, with and without a committed offset."""

import pytest

from mqclient.consumer.pull.pull_message_service import start_offset
from mqclient.consumer.state.offset_store import RemoteOffsets
from mqclient.errors import BrokerRefused
from remoting.bodies import ConsumeFromWhere, MessageQueue
from remoting.codes import RequestCode, ResponseCode
from remoting.headers import GetMaxOffsetResponse, QueryConsumerOffsetResponse, SearchOffsetResponse
from tests.mqclient.fake import FakeServer

LAST = ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET
FIRST = ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET
TIME = ConsumeFromWhere.CONSUME_FROM_TIMESTAMP


async def begins(where: ConsumeFromWhere, topic: str, kept: int | ResponseCode) -> int:
    async with FakeServer() as fake, fake.client() as client:
        fake.route(topic)
        if isinstance(kept, ResponseCode):
            fake.say(RequestCode.QUERY_CONSUMER_OFFSET, kept)
        else:
            header = QueryConsumerOffsetResponse(offset=kept)
            fake.say(RequestCode.QUERY_CONSUMER_OFFSET, header=header)
        fake.say(RequestCode.GET_MAX_OFFSET, header=GetMaxOffsetResponse(offset=90))
        fake.say(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, header=SearchOffsetResponse(offset=40))
        queue = MessageQueue(topic, "broker-0", 0)
        store = RemoteOffsets(client, "G")
        return await start_offset(client, store, queue, where=where, timestamp_ms=123)


@pytest.mark.parametrize(
    ("where", "topic", "position"),
    [
        (LAST, "T", 90),
        (LAST, "%RETRY%G", 0),
        (FIRST, "T", 0),
        (FIRST, "%RETRY%G", 0),
        (TIME, "T", 40),
        (TIME, "%RETRY%G", 90),
        (ConsumeFromWhere.CONSUME_FROM_MIN_OFFSET, "T", 90),
        (ConsumeFromWhere.CONSUME_FROM_MAX_OFFSET, "T", 90),
    ],
)
async def test_a_group_without_a_position_begins_as_java_does(
    where: ConsumeFromWhere, topic: str, position: int
) -> None:
    assert (await begins(where, topic, ResponseCode.QUERY_NOT_FOUND)) == position


@pytest.mark.parametrize("where", [LAST, FIRST, TIME])
@pytest.mark.parametrize("kept", [0, 7])
async def test_a_kept_position_wins(where: ConsumeFromWhere, kept: int) -> None:
    assert (await begins(where, "T", kept)) == kept


async def test_without_an_answer_there_is_no_place_to_begin() -> None:
    with pytest.raises(BrokerRefused):
        await begins(FIRST, "T", ResponseCode.SYSTEM_ERROR)
