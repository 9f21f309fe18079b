"""Every request that RocketMQ's tools send has a method, and every method's answer is typed."""

import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

import mqclient
from mqclient.admin.admin import Admin
from mqclient.errors import BadRequest, BrokerRefused
from remoting.bodies import (
    GetConsumerStatusBody,
    MessageQueue,
    QueryConsumeTimeSpanBody,
    QueryCorrectionOffsetBody,
    QueueTimeSpan,
    TopicList,
)
from remoting.codes import RequestCode, ResponseCode
from tests.mqclient.fake import FakeServer, asking

NAMED = re.compile(r"RequestCode\.([A-Z0-9_]+)")
QUEUE = MessageQueue("T", "broker-0", 1)
OFFSET_ID = "7F00000100002A9F0000000000000007"


def test_no_request_of_an_admin_tool_is_missing(fact_tables: Path) -> None:
    known = json.loads((fact_tables / "request_map.json").read_text())["codes"]
    of_admin = {
        name: fact["code"]
        for name, fact in known.items()
        if any(who.startswith("admin") for who in fact["sentBy"]) and fact["handledBy"]
    }
    package = Path(str(mqclient.__file__)).parent
    sent = {name for path in package.rglob("*.py") for name in NAMED.findall(path.read_text())}

    assert len(of_admin) > 40
    assert {name for name in of_admin if name not in sent} == set()
    assert {RequestCode[name].value for name in of_admin} == set(of_admin.values())


@pytest.mark.parametrize(
    ("code", "method"),
    [
        (RequestCode.GET_UNIT_TOPIC_LIST, Admin.unit_topics),
        (RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST, Admin.unit_sub_topics),
        (RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST, Admin.unit_sub_ununit_topics),
    ],
)
async def test_topics_of_units_are_sorted_names(
    code: RequestCode, method: Callable[[Admin], Awaitable[list[str]]]
) -> None:
    async with asking() as (fake, admin):
        fake.say(code, body=TopicList(topic_list=["b", "a"]).encode())
        assert await method(admin) == ["a", "b"]


async def test_cluster_names_come_with_a_broker_to_ask() -> None:
    async with asking() as (fake, admin):
        names = TopicList(topic_list=["broker-a", "C"], broker_addr="a:1").encode()
        fake.say(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS, body=names)
        assert await admin.cluster_names() == (["C", "broker-a"], "a:1")


async def test_positions_of_members_are_by_client_and_queue() -> None:
    async with asking() as (fake, admin):
        table = {"client-1": {QUEUE: 7}}
        fake.say(
            RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS,
            body=GetConsumerStatusBody(consumer_table=table).encode(),
        )
        found = await admin.consumer_status(fake.address, "G", "T", client_id="client-1")
        assert found == table
        assert fake.asked[-1].ext == {"topic": "T", "group": "G", "clientAddr": "client-1"}


async def test_time_spans_of_a_group_are_told_queue_by_queue() -> None:
    async with asking() as (fake, admin):
        spans = [
            QueueTimeSpan(
                message_queue=QUEUE, min_time_stamp=5, max_time_stamp=9, consume_time_stamp=7
            )
        ]
        body = QueryConsumeTimeSpanBody(consume_time_span_set=spans)
        fake.say(RequestCode.QUERY_CONSUME_TIME_SPAN, body=body.encode())
        assert await admin.consume_time_span(fake.address, "G", "T") == spans
        assert fake.asked[-1].ext == {"topic": "T", "group": "G"}


async def test_correction_offsets_are_by_queue_id() -> None:
    async with asking() as (fake, admin):
        body = QueryCorrectionOffsetBody(correction_offsets={0: 5, 3: 9})
        fake.say(RequestCode.QUERY_CORRECTION_OFFSET, body=body.encode())
        assert await admin.correction_offsets(fake.address, "T", "G") == {0: 5, 3: 9}
        assert fake.asked[-1].ext == {"topic": "T", "compareGroup": "G"}


async def test_a_half_message_is_asked_for_again_at_the_broker_its_id_names(
    fake: FakeServer,
) -> None:
    mapped = {"127.0.0.1:10911": fake.address}
    async with fake.client(address_map=mapped) as client:
        admin = Admin(client)
        fake.say(RequestCode.RESUME_CHECK_HALF_MESSAGE)
        fake.say(RequestCode.RESUME_CHECK_HALF_MESSAGE, ResponseCode.SYSTEM_ERROR)
        await admin.resume_check_half_message(OFFSET_ID)
        assert fake.asked[-1].ext == {"msgId": OFFSET_ID}
        with pytest.raises(BrokerRefused, match=OFFSET_ID):
            await admin.resume_check_half_message(OFFSET_ID)
        with pytest.raises(BadRequest):
            await admin.resume_check_half_message("xyz")
