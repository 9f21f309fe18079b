"""One pop and its answer: the handle of each message, and answers that cannot be used."""

import logging

import pytest

from mqclient.client.instance import MQClient
from mqclient.consumer.pop.pop_request import (
    PopApi,
    PopPlace,
    PopRequest,
    parse_receipt,
    with_receipts,
)
from mqclient.consumer.subscription import Subscription
from mqclient.errors import BadAnswer, BadRequest, BrokerRefused, NoRoute, NotFound
from mqclient.message import MessageExt, read_messages
from remoting.codes import LaterCode, LaterResponseCode, ResponseCode
from remoting.errors import BadHeader
from remoting.headers.pop import (
    ChangeInvisibleTimeResponse,
    NotificationResponse,
    PopMessageResponse,
)
from remoting.receipt import RETRY_V2, ReceiptHandle, decode_receipt
from tests.mqclient.fake import FakeServer, record, serving

POPPED_MS = 1_700_000_000_123
TOLD = PopMessageResponse(
    pop_time=POPPED_MS,
    invisible_time=60_000,
    revive_queue_id=3,
    start_offset_info="0 0 7",
    msg_offset_info="0 0 7,9",
)
HANDLE = f"7 {POPPED_MS} 60000 3 0 broker-0 0"


def messages(*offsets: int, topic: str = "T", properties: str = "") -> list[MessageExt]:
    data = b"".join(
        record(topic, b"b", queue_offset=offset, properties=properties) for offset in offsets
    )
    return read_messages(data, broker_name="broker-0", address="")


def asking(fake: FakeServer, *, poll_ms: int = 0) -> PopRequest:
    place = PopPlace("T", "broker-0", fake.address)
    return PopRequest(place, Subscription.parse("A || B"), 16, 60_000, poll_ms=poll_ms)


def test_each_message_gets_the_handle_of_its_place_in_its_queue() -> None:
    found = with_receipts(messages(7, 9), TOLD, broker_name="broker-0")

    assert [message.receipt for message in found] == [f"{HANDLE} 7", f"{HANDLE} 9"]
    assert {message.properties["1ST_POP_TIME"] for message in found} == {str(POPPED_MS)}


def test_a_message_of_the_retry_topic_keeps_what_the_broker_wrote() -> None:
    properties = f"POP_CK\x017 {POPPED_MS} 60000 3 1 broker-0 0 4\x021ST_POP_TIME\x015\x02"
    (message,) = with_receipts(messages(4, properties=properties), TOLD, broker_name="broker-0")

    assert message.receipt == f"7 {POPPED_MS} 60000 3 1 broker-0 0 4"
    assert message.properties["1ST_POP_TIME"] == "5"


def test_a_retry_topic_that_is_told_by_its_own_name_has_its_own_kind() -> None:
    told = PopMessageResponse(start_offset_info="2 0 1", msg_offset_info="2 0 1")
    (message,) = with_receipts(messages(1, topic="%RETRY%G+T"), told, broker_name="b")

    assert decode_receipt(message.receipt or "").topic_kind == RETRY_V2


def test_a_count_of_the_message_goes_before_that_of_its_queue() -> None:
    told = PopMessageResponse(
        start_offset_info="0 0 7", msg_offset_info="0 0 7,9", order_count_info="0 0 1;0 qo0%9 4"
    )
    found = with_receipts(messages(7, 9), told, broker_name="b")

    assert [message.reconsume_times for message in found] == [1, 4]


def test_without_tables_the_first_message_of_a_queue_is_its_start() -> None:
    found = with_receipts(messages(7, 8), PopMessageResponse(), broker_name="b")

    handles = [decode_receipt(message.receipt or "") for message in found]
    assert [(handle.start_offset, handle.queue_offset) for handle in handles] == [(7, 7), (7, 8)]


@pytest.mark.parametrize(
    ("start", "offsets", "field"),
    [
        ("0 1 7", "0 0 7,9", "startOffsetInfo"),
        ("0 0 7", "0 0 7", "msgOffsetInfo"),
        ("0 0 7", None, "msgOffsetInfo"),
        ("0 0", "0 0 7,9", "startOffsetInfo"),
    ],
)
def test_a_message_without_its_offsets_is_an_error(
    start: str, offsets: str | None, field: str
) -> None:
    told = PopMessageResponse(start_offset_info=start, msg_offset_info=offsets)

    with pytest.raises(BadHeader, match=field):
        with_receipts(messages(7, 9), told, broker_name="b")


async def test_a_pop_asks_any_queue_and_leaves_the_time_to_the_broker() -> None:
    async with serving() as (fake, client):
        fake.say(LaterCode.POP_MESSAGE, header=TOLD, body=record("T", b"b", queue_offset=7))
        found = await PopApi(client, "G").pop(asking(fake, poll_ms=500))
        (asked,) = fake.asked_for(LaterCode.POP_MESSAGE)

    assert [message.receipt for message in found] == [f"{HANDLE} 7"]
    assert asked.ext == {
        "consumerGroup": "G",
        "topic": "T",
        "queueId": "-1",
        "maxMsgNums": "16",
        "invisibleTime": "60000",
        "pollTime": "500",
        "bornTime": "0",
        "initMode": "1",
        "expType": "TAG",
        "exp": "A || B",
        "order": "false",
        "bname": "broker-0",
    }


@pytest.mark.parametrize(
    "code",
    [
        ResponseCode.PULL_NOT_FOUND,
        LaterResponseCode.POLLING_FULL,
        LaterResponseCode.POLLING_TIMEOUT,
    ],
)
async def test_an_answer_without_messages_is_no_error(code: int) -> None:
    async with serving() as (fake, client):
        fake.say(LaterCode.POP_MESSAGE, code)
        fake.say(LaterCode.NOTIFICATION, code)
        popper = PopApi(client, "G")

        assert await popper.pop(asking(fake)) == []
        assert await popper.wait_for_message(asking(fake).place, poll_ms=1) is False


@pytest.mark.parametrize(
    ("code", "error", "text"),
    [
        (ResponseCode.REQUEST_CODE_NOT_SUPPORTED, BrokerRefused, "broker-0 at .* not know POP"),
        (LaterResponseCode.INVALID_PARAMETER, BrokerRefused, "29 INVALID_PARAMETER, why"),
        (ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, NotFound, "26"),
        (ResponseCode.NO_PERMISSION, BrokerRefused, "16 NO_PERMISSION, why"),
    ],
)
async def test_a_refusal_says_what_and_where(code: int, error: type[Exception], text: str) -> None:
    async with serving() as (fake, client):
        fake.say(LaterCode.POP_MESSAGE, code, remark="why")

        with pytest.raises(error, match=text):
            await PopApi(client, "G").pop(asking(fake))


async def test_an_answer_without_usable_offsets_is_a_bad_answer() -> None:
    async with serving() as (fake, client):
        told = PopMessageResponse(start_offset_info="nonsense")
        fake.say(LaterCode.POP_MESSAGE, header=told, body=record("T", b"b"))

        with pytest.raises(BadAnswer, match="nonsense"):
            await PopApi(client, "G").pop(asking(fake))


async def test_damaged_bytes_behind_messages_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with serving() as (fake, client):
        body = record("T", b"b", queue_offset=7) + b"x" * 100
        fake.say(LaterCode.POP_MESSAGE, header=TOLD, body=body)
        with caplog.at_level(logging.ERROR):
            found = await PopApi(client, "G").pop(asking(fake))

    assert len(found) == 1
    assert "a damaged record of topic T after 1 messages" in caplog.text


async def test_an_acknowledgement_names_the_topic_that_has_the_message() -> None:
    async with serving() as (fake, client):
        fake.say(LaterCode.ACK_MESSAGE)
        handle = ReceiptHandle(7, POPPED_MS, 60_000, 3, "1", "broker-0", 0, 9).encode()
        await PopApi(client, "G").ack("T", handle)
        (asked,) = fake.asked_for(LaterCode.ACK_MESSAGE)

    assert asked.ext == {
        "consumerGroup": "G",
        "topic": "%RETRY%G_T",
        "queueId": "0",
        "extraInfo": handle,
        "offset": "9",
        "bname": "broker-0",
    }


async def test_a_new_invisible_time_makes_a_handle_that_begins_at_the_message() -> None:
    async with serving() as (fake, client):
        told = ChangeInvisibleTimeResponse(pop_time=8, invisible_time=2_000, revive_queue_id=5)
        fake.say(LaterCode.CHANGE_MESSAGE_INVISIBLETIME, header=told)
        fresh = await PopApi(client, "G").change_invisible_time(
            "T", f"{HANDLE} 9", invisible_ms=2_000
        )
        (asked,) = fake.asked_for(LaterCode.CHANGE_MESSAGE_INVISIBLETIME)

    assert fresh == "9 8 2000 5 0 broker-0 0 9"
    assert (asked.ext["invisibleTime"], asked.ext["offset"]) == ("2000", "9")


async def test_a_handle_of_an_unknown_broker_or_none_at_all_is_refused() -> None:
    async with serving() as (_, client):
        popper = PopApi(client, "G")
        with pytest.raises(NoRoute, match="broker gone"):
            await popper.ack("T", f"7 {POPPED_MS} 60000 3 0 gone 0 7")
        with pytest.raises(BadRequest, match="1 words"):
            await popper.ack("T", "nonsense")
        with pytest.raises(BadRequest, match="extraInfo"):
            parse_receipt("")


async def test_a_notification_tells_whether_there_is_a_message() -> None:
    async with serving() as (fake, client):
        fake.say(LaterCode.NOTIFICATION, header=NotificationResponse(has_msg=True))

        assert await PopApi(client, "G").wait_for_message(asking(fake).place, poll_ms=1)


async def test_the_answer_to_a_held_pop_may_come_later_than_the_limit_of_a_request() -> None:
    limits: list[float | None] = []

    class Watched(MQClient):
        async def invoke(self, address, command, *, timeout_s=None):  # type: ignore[no-untyped-def]
            limits.append(timeout_s)
            return await super().invoke(address, command, timeout_s=timeout_s)

    async with serving() as (fake, _):
        fake.say(LaterCode.POP_MESSAGE, ResponseCode.PULL_NOT_FOUND)
        async with Watched(fake.address, timeout_s=5) as client:
            await PopApi(client, "G").pop(asking(fake, poll_ms=20_000))

    assert limits == [35.0]
