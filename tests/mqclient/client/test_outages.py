"""Outages: which failures are warnings, and what is logged at the end."""

import logging

import pytest

from mqclient.client.outages import AGAIN_MS, Outages
from mqclient.consumer.consumer_settings import LitePullSettings
from mqclient.consumer.lite_pull_consumer import LitePullConsumer
from mqclient.errors import BrokerRefused, TimedOut, Unreachable
from remoting.codes import RequestCode, ResponseCode
from remoting.headers import GetMaxOffsetResponse
from tests.mqclient.fake import pulled, serving
from tests.waiting import until

LOST = Unreachable("lost", address="b:1")
LATE = TimedOut("late", address="b:1")
REFUSED = BrokerRefused("not yet", address="b:1", code=1)
MAX = GetMaxOffsetResponse(offset=0)
FIRST, MORE = logging.WARNING, logging.DEBUG


def test_one_kind_of_failure_of_one_server_is_one_warning() -> None:
    outages = Outages()
    other = Unreachable("lost", address="b:2")

    levels = [
        outages.level(error, now_ms=0) for error in (LOST, LATE, LOST, REFUSED, REFUSED, other)
    ]

    assert levels == [FIRST, MORE, MORE, FIRST, MORE, FIRST]


def test_an_outage_that_goes_on_is_a_warning_every_five_minutes() -> None:
    outages = Outages()
    times_ms = (0, AGAIN_MS - 1, AGAIN_MS, 2 * AGAIN_MS - 1, 2 * AGAIN_MS)

    levels = [outages.level(LOST, now_ms=now_ms) for now_ms in times_ms]

    assert levels == [FIRST, MORE, FIRST, MORE, FIRST]


def test_an_answer_ends_silence_and_only_a_good_one_ends_refusals(
    caplog: pytest.LogCaptureFixture,
) -> None:
    outages = Outages()
    for error in (LOST, LOST, REFUSED):
        outages.level(error, now_ms=1_000)

    outages.answered("b:2", served=True, now_ms=2_000)
    assert caplog.messages == []
    outages.answered("b:1", served=False, now_ms=3_500)
    assert caplog.messages == ["b:1 answers again after 2.5 s and 2 failures"]
    assert outages
    outages.answered("b:1", served=True, now_ms=4_000)
    assert caplog.messages[1:] == ["b:1 serves again after 3.0 s and 1 failures"]
    assert not outages
    assert outages.level(LOST, now_ms=5_000) is FIRST


async def test_the_queues_of_a_consumer_log_an_outage_of_their_broker_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    settings = LitePullSettings(pull_time_delay_ms_when_exception=1)
    async with serving() as (fake, client):
        fake.route("T", queues=8)
        fake.take_members()
        fake.list_members(client.client_id)
        fake.say(RequestCode.QUERY_CONSUMER_OFFSET, ResponseCode.QUERY_NOT_FOUND)
        fake.do(RequestCode.GET_MAX_OFFSET, lambda request: request.response(header=MAX))
        for _ in range(40):
            fake.drop(RequestCode.PULL_MESSAGE)
        fake.say(RequestCode.PULL_MESSAGE, ResponseCode.PULL_NOT_FOUND, header=pulled(0))
        async with LitePullConsumer(client, "G", settings) as consumer:
            consumer.subscribe("T")
            await consumer.start()
            await until(lambda: "again after" in caplog.text)

    about = [message for message in caplog.messages if fake.address in message]
    assert len([message for message in about if "again after" not in message]) <= 3
