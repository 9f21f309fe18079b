"""A failed message goes back to its broker, or to the retry topic of any broker."""

import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from mqclient.consumer.state.send_back import SendBack
from mqclient.errors import BrokerRefused, ClientError
from mqclient.message import MessageExt, read_messages, read_pulled
from remoting.codes import RequestCode, ResponseCode
from remoting.command import Command
from storefmt.formats.hosts import pack_host
from storefmt.formats.properties import parse_properties
from tests.mqclient.fake import STORED, FakeServer, record

BODY = zlib.compress(b"z" * 5000)


@asynccontextmanager
async def sending_back() -> AsyncIterator[tuple[FakeServer, SendBack]]:
    async with FakeServer() as fake, fake.client() as client:
        sendback = SendBack(client, "G", reconsume_count_max=16, unit_mode=False)
        yield fake, sendback


def message(
    *, topic: str = "T", broker_name: str = "broker-0", properties: str = "UNIQ_KEY\x01U1"
) -> MessageExt:
    data = record(topic, BODY, log_offset=7, sys_flag=0x303, properties=properties)
    (made,) = read_messages(data, broker_name=broker_name, address="a:1")
    return made.but(reconsume_times=2)


def sent(fake: FakeServer) -> Command:
    (one,) = fake.asked_for(RequestCode.SEND_MESSAGE_V2)
    return one


async def test_its_broker_is_asked_first_and_nothing_is_sent_when_it_takes_it() -> None:
    async with sending_back() as (fake, sendback):
        fake.route("T")
        fake.say(RequestCode.CONSUMER_SEND_MSG_BACK)
        await sendback.give_back(message(), delay_level=4, broker_name=None)
        (asked,) = fake.asked_for(RequestCode.CONSUMER_SEND_MSG_BACK)
        assert asked.ext == {
            "offset": "7",
            "group": "G",
            "delayLevel": "4",
            "originMsgId": message().offset_msg_id,
            "originTopic": "T",
            "unitMode": "false",
            "maxReconsumeTimes": "16",
            "bname": "broker-0",
        }
        assert fake.asked_for(RequestCode.SEND_MESSAGE_V2) == []


@pytest.mark.parametrize("how", ["refuses", "hangs up", "is not there"])
async def test_what_its_broker_does_not_take_goes_to_the_retry_topic_as_java_sends_it(
    how: str,
) -> None:
    given = "UNIQ_KEY\x01U1\x02TAGS\x01A\x02TRAN_MSG\x01true\x02RECONSUME_TIME\x019\x02own\x01x"

    async with sending_back() as (fake, sendback):
        fake.route("T", "%RETRY%G")
        fake.say(RequestCode.SEND_MESSAGE_V2, header=STORED)
        fake.say(RequestCode.CONSUMER_SEND_MSG_BACK, ResponseCode.SYSTEM_ERROR)
        if how == "hangs up":
            fake.drop(RequestCode.CONSUMER_SEND_MSG_BACK)
        name = "broker-9" if how == "is not there" else None
        lost = message(topic="T", properties=given)
        await sendback.give_back(lost, delay_level=0, broker_name=name)
        command = sent(fake)
        assert command.body == BODY
        assert {key: command.ext[key] for key in "abfhjlm"} == {
            "a": "CLIENT_INNER_PRODUCER",
            "b": "%RETRY%G",
            "f": str(0x301),
            "h": "0",
            "j": "3",
            "l": "16",
            "m": "false",
        }
        assert parse_properties(command.ext["i"]) == {
            "UNIQ_KEY": "U1",
            "TAGS": "A",
            "own": "x",
            "DELAY": "5",
            "RECONSUME_TIME": "3",
            "MAX_RECONSUME_TIMES": "16",
            "RETRY_TOPIC": "T",
            "ORIGIN_MESSAGE_ID": lost.offset_msg_id,
        }


async def test_the_message_goes_by_another_broker_when_one_refuses_the_send_too() -> None:
    async with sending_back() as (fake, sendback):
        fake.route("T", "%RETRY%G", brokers=3, queues=1)
        fake.say(RequestCode.CONSUMER_SEND_MSG_BACK, ResponseCode.SYSTEM_ERROR)
        fake.say(RequestCode.SEND_MESSAGE_V2, ResponseCode.SYSTEM_BUSY)
        fake.say(RequestCode.SEND_MESSAGE_V2, header=STORED)
        await sendback.give_back(message(), delay_level=0, broker_name=None)
        first, second = fake.asked_for(RequestCode.SEND_MESSAGE_V2)
        assert first.ext["n"] != second.ext["n"]
        assert first.ext["i"] == second.ext["i"]


async def test_a_message_that_has_an_origin_keeps_it() -> None:
    async with sending_back() as (fake, sendback):
        fake.route("T", "%RETRY%G")
        fake.say(RequestCode.SEND_MESSAGE_V2, header=STORED)
        fake.say(RequestCode.CONSUMER_SEND_MSG_BACK, ResponseCode.SYSTEM_ERROR)
        again = message(properties="ORIGIN_MESSAGE_ID\x01O")
        await sendback.give_back(again, delay_level=-1, broker_name=None)
        properties = parse_properties(sent(fake).ext["i"])
        assert properties["ORIGIN_MESSAGE_ID"] == "O"
        assert len(properties["UNIQ_KEY"]) == 32


async def test_a_damaged_body_is_never_sent_anew_where_it_would_look_whole() -> None:
    async with sending_back() as (fake, sendback):
        fake.route("T", "%RETRY%G")
        fake.say(RequestCode.CONSUMER_SEND_MSG_BACK, ResponseCode.SYSTEM_ERROR, remark="full")
        flipped = record("T", b"flipped").replace(b"flipped", b"flopped")
        (damaged,), _ = read_pulled(flipped, broker_name="broker-0")
        with pytest.raises(BrokerRefused, match="full"):
            await sendback.give_back(damaged, delay_level=-1, broker_name=None)
        assert fake.asked_for(RequestCode.SEND_MESSAGE_V2) == []


async def test_nobody_takes_it_is_an_error_that_says_where() -> None:
    async with sending_back() as (fake, sendback):
        fake.route("T", "%RETRY%G", brokers=2)
        fake.say(RequestCode.CONSUMER_SEND_MSG_BACK, ResponseCode.SYSTEM_ERROR)
        fake.say(RequestCode.SEND_MESSAGE_V2, ResponseCode.NO_PERMISSION, remark="read only")
        with pytest.raises(BrokerRefused, match="read only") as refused:
            await sendback.give_back(message(), delay_level=0, broker_name=None)
        assert isinstance(refused.value.__context__, ClientError)


async def test_without_a_name_server_the_message_says_where_its_broker_is() -> None:
    async with sending_back() as (fake, sendback):
        fake.say(RequestCode.GET_ROUTEINFO_BY_TOPIC, ResponseCode.SYSTEM_ERROR)
        fake.say(RequestCode.CONSUMER_SEND_MSG_BACK)
        there = message()
        host, port = fake.address.split(":")
        there.record = there.record._replace(store_host=pack_host(host, int(port)))
        await sendback.give_back(there, delay_level=0, broker_name=None)
        assert len(fake.asked_for(RequestCode.CONSUMER_SEND_MSG_BACK)) == 1
