"""Admin calls about POP and timers, against a fake broker."""

import pytest

from mqclient.errors import BadRequest, BrokerRefused, NoRoute
from remoting import bodies
from remoting.codes import LaterCode, ResponseCode
from remoting.headers import RecallMessageResponse
from remoting.recall import RecallHandle
from tests.mqclient.fake import asking

MODE = bodies.SetMessageRequestModeRequestBody(
    topic="T", consumer_group="G", mode=bodies.MessageRequestMode.POP, pop_share_queue_num=3
)
ALL = (
    b'{"messageRequestModeMap":{"T":{"G":{"consumerGroup":"G","mode":"POP",'
    b'"popShareQueueNum":3,"topic":"T"}}}}'
)
"""As a 5.4.0 broker answered it."""
HANDLE = RecallHandle("T", "broker-0", "5", "KEY").encode()


async def test_modes_are_listed_by_group_and_topic_and_set() -> None:
    async with asking() as (fake, admin):
        fake.say(LaterCode.GET_ALL_MESSAGE_REQUEST_MODE, body=ALL)
        fake.say(LaterCode.SET_MESSAGE_REQUEST_MODE)
        found = await admin.message_request_modes(fake.address)
        await admin.set_message_request_mode(fake.address, MODE)
        (asked,) = fake.asked_for(LaterCode.SET_MESSAGE_REQUEST_MODE)

    assert found == {("G", "T"): MODE}
    assert bodies.SetMessageRequestModeRequestBody.decode(asked.body) == MODE


async def test_timer_messages_are_counted_by_topic() -> None:
    body = (
        b'{"dataVersion":{"counter":1,"stateVersion":0,"timestamp":1},'
        b'"timingCount":{"T":{"count":2,"timeStamp":1795477475162}}}'
    )
    async with asking() as (fake, admin):
        fake.say(LaterCode.GET_TIMER_METRICS, body=body)

        assert await admin.timer_metrics(fake.address) == {"T": 2}


async def test_a_recall_goes_to_the_broker_that_the_handle_names() -> None:
    async with asking(brokers=2) as (fake, admin):
        fake.say(LaterCode.RECALL_MESSAGE, header=RecallMessageResponse(msg_id="KEY"))
        key = await admin.recall_message(HANDLE, producer_group="P")
        (asked,) = fake.asked_for(LaterCode.RECALL_MESSAGE)

    assert key == "KEY"
    assert asked.ext == {
        "producerGroup": "P",
        "topic": "T",
        "recallHandle": HANDLE,
        "bname": "broker-0",
    }


async def test_what_cannot_be_recalled_is_refused_before_it_is_sent() -> None:
    async with asking() as (fake, admin):
        with pytest.raises(BadRequest, match="recall handle 'x'"):
            await admin.recall_message("x")
        with pytest.raises(NoRoute, match="broker gone"):
            await admin.recall_message(RecallHandle("T", "gone", "5", "KEY").encode())
        assert fake.asked_for(LaterCode.RECALL_MESSAGE) == []


async def test_a_broker_of_four_is_named_with_what_is_needed() -> None:
    async with asking() as (fake, admin):
        fake.say(LaterCode.GET_ALL_MESSAGE_REQUEST_MODE, ResponseCode.REQUEST_CODE_NOT_SUPPORTED)
        with pytest.raises(BrokerRefused) as caught:
            await admin.message_request_modes(fake.address)

    assert fake.address in str(caught.value)
    assert "RocketMQ 5" in caught.value.hint


async def test_a_broker_that_forbids_recalls_is_named_with_the_setting() -> None:
    async with asking() as (fake, admin):
        fake.say(LaterCode.RECALL_MESSAGE, ResponseCode.NO_PERMISSION)
        with pytest.raises(BrokerRefused) as caught:
            await admin.recall_message(HANDLE)

    assert "recallMessageEnable=true" in caught.value.hint
