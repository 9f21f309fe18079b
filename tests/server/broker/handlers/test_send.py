"""Sends over the wire: what is stored, what is answered, what is refused."""

import asyncio
from pathlib import Path

import pytest

from mqserver.broker.send.batches import RUN_COUNT_MAX
from remoting.codes import RequestCode, ResponseCode, SerializeType
from remoting.command import Command
from storefmt.formats.batch import BatchEntry, join_batch
from storefmt.formats.hosts import host_text
from storefmt.formats.msgid import parse_offset_id
from tests.server.broker.desk import TOPIC, Desk, running, send, send_with_long_names

LARGE_BATCH = join_batch([BatchEntry(n, b"b%d" % n, b"") for n in range(2 * RUN_COUNT_MAX + 1)])
"""It is read and stored in three runs."""
COMMON = {"TRACE_ON": "true", "MSG_REGION": "DefaultRegion"}
"""What every answer to a send has."""
PROPERTIES = "KEYS\1k1 k2\2UNIQ_KEY\1ABC\2WAIT\1true\2TAGS\1TagA"


async def send_batch(desk: Desk, body: bytes = LARGE_BATCH, **changes: object) -> Command:
    header = send(batch=True, **changes)
    return await desk.ask(RequestCode.SEND_BATCH_MESSAGE, header, body=body)


@pytest.mark.parametrize("serialize", list(SerializeType))
async def test_message_is_stored_with_its_fields_and_answered_with_its_place(
    desk: Desk, serialize: SerializeType
) -> None:
    header = send(properties=PROPERTIES, flag=7, queue_id=2)
    answer = await desk.ask(RequestCode.SEND_MESSAGE_V2, header, body=b"hello", serialize=serialize)
    record = (await desk.messages(queue_id=2))[0]

    assert (answer.code, answer.serialize, answer.remark) == (0, serialize, None)
    assert parse_offset_id(answer.ext.pop("msgId")) == (record.store_host, record.log_offset)
    assert answer.ext == {"queueId": "2", "queueOffset": "0", **COMMON}
    assert (record.body, record.flag, record.born_ms) == (b"hello", 7, 1_700_000_000_000)
    assert host_text(record.born_host).startswith("127.0.0.1:")
    assert record.properties_raw == b"KEYS\1k1 k2\2UNIQ_KEY\1ABC\2CLUSTER\1TestCluster\2TAGS\1TagA"


async def test_sends_of_one_form_are_stored_and_answered_like_the_first(desk: Desk) -> None:
    answers = [
        await desk.send(properties=f"KEYS\1k{n}\2UNIQ_KEY\1A{n}\2WAIT\1true\2TAGS\1T{n % 3}")
        for n in range(20)
    ]
    refused = [
        (await desk.send(b"x" * size, properties="UNIQ_KEY\1A\2WAIT\1true", queue_id=at)).code
        for size, at in ((5, 0), (5, 99), (5_000_000, 0), (5, -1))
        for _ in range(3)
    ]
    records = (await desk.messages())[: len(answers)]

    for number, (answer, record) in enumerate(zip(answers, records, strict=True)):
        assert (answer.code, answer.ext["queueOffset"]) == (0, str(number))
        assert parse_offset_id(answer.ext["msgId"])[1] == record.log_offset
        text = f"KEYS\1k{number}\2UNIQ_KEY\1A{number}\2CLUSTER\1TestCluster\2TAGS\1T{number % 3}"
        assert record.properties_raw == text.encode()
        assert {**answer.ext, "msgId": "", "queueOffset": ""} == {
            **answers[0].ext, "msgId": "", "queueOffset": "",
        }  # fmt: skip
        assert (record.born_ms, record.flag) == (records[0].born_ms, records[0].flag)
    assert refused == [0] * 3 + [1] * 3 + [13] * 3 + [0] * 3


async def test_long_field_names_store_the_same_message(desk: Desk) -> None:
    header = send_with_long_names(born_timestamp=5, properties=PROPERTIES)
    answer = await desk.ask(RequestCode.SEND_MESSAGE, header, body=b"v1")
    found = await desk.messages()

    assert answer.code == 0
    assert [(record.body, record.tags, record.born_ms) for record in found] == [(b"v1", "TagA", 5)]


async def test_oneway_message_is_stored_and_not_answered(desk: Desk) -> None:
    command = Command.request(RequestCode.SEND_MESSAGE_V2, send(), body=b"oneway", oneway=True)
    await desk.client.invoke_oneway(desk.address, command)
    await desk.send(b"second")

    assert await desk.bodies() == [b"oneway", b"second"]


async def test_unknown_topic_is_made_after_the_template(desk: Desk) -> None:
    await desk.send(topic="Fresh", default_topic_queue_nums=3)
    made = desk.app.broker.topics.get("Fresh")
    assert (made.read_queue_nums, made.write_queue_nums, made.perm) == (3, 3, 6)


async def test_negative_queue_lets_the_broker_choose(desk: Desk) -> None:
    await desk.create_topic(queues=2)
    assert {(await desk.send(queue_id=-1)).ext["queueId"] for _ in range(40)} == {"0", "1"}


async def test_batch_becomes_one_record_a_message(desk: Desk) -> None:
    entries = [
        BatchEntry(at, b"b%d" % at, b"KEYS\1bk%d\2TAGS\1TagB" % at + (b"\2" if at else b""))
        for at in range(3)
    ]

    answer = await send_batch(desk, join_batch(entries), properties="WAIT\1true")
    found = await desk.messages()

    assert (answer.code, answer.ext["queueOffset"]) == (0, "0")
    assert answer.ext["msgId"].split(",") == [record.msg_id for record in found]
    assert [(record.body, record.flag, record.queue_offset) for record in found] == [
        (b"b0", 0, 0),
        (b"b1", 1, 1),
        (b"b2", 2, 2),
    ]
    assert found[0].properties_raw == b"KEYS\1bk0\2TAGS\1TagB\2CLUSTER\1TestCluster\2WAIT\1true"
    assert found[1].properties_raw == b"KEYS\1bk1\2TAGS\1TagB\2CLUSTER\1TestCluster\2WAIT\1true"


@pytest.mark.parametrize("sync", [False, True])
async def test_a_large_batch_is_stored_in_order_and_answered_as_one(
    tmp_path: Path, sync: bool
) -> None:
    async with running(tmp_path, sync=sync) as desk:
        answer = await send_batch(desk)
        found = await desk.messages()

    assert (answer.code, answer.ext["queueOffset"]) == (0, "0")
    assert answer.ext["msgId"].split(",") == [record.msg_id for record in found]
    assert [record.flag for record in found] == list(range(2 * RUN_COUNT_MAX + 1))


async def test_others_are_served_between_the_runs_of_a_large_batch(desk: Desk) -> None:
    await desk.create_topic()
    answered: list[str] = []

    async def batch() -> None:
        await send_batch(desk)
        answered.append("batch")

    async def single() -> None:
        await desk.send()
        answered.append("single")

    # Both requests come in one read.
    await asyncio.gather(batch(), single())
    assert answered == ["single", "batch"]


async def test_a_large_batch_of_which_a_run_was_lost_is_not_acknowledged(desk: Desk) -> None:
    await desk.create_topic()
    lost = ResponseCode.SERVICE_NOT_AVAILABLE
    desk.app.broker.group_commit.when_safe = lambda done: done(lost)  # type: ignore[method-assign]

    assert (await send_batch(desk)).code == lost


async def test_the_answer_to_a_batch_of_20_000_messages_reaches_the_client(desk: Desk) -> None:
    answer = await send_batch(desk, join_batch([BatchEntry(0, b"", b"")] * 20_000))

    assert len(answer.ext["msgId"].split(",")) == 20_000


REFUSED = [
    ({"topic": "bad/name"}, 1, "illegal characters"),
    ({"topic": "../../etc"}, 1, "illegal characters"),
    ({"topic": " "}, 1, "The specified topic is blank."),
    ({"topic": "t" * 128}, 1, "longer than topic max length"),
    ({"topic": "Nowhere", "default_topic": "Nothing"}, 17, "topic[Nowhere] not exist"),
    ({"topic": "RMQ_SYS_TRANS_HALF_TOPIC"}, 16, "is forbidden"),
    ({"topic": "SCHEDULE_TOPIC_XXXX"}, 16, "is forbidden"),
    ({"queue_id": 99}, 1, "request queueId[99] is illegal, TopicConfig [topicName=T,"),
    ({"properties": "A\1" + "x" * 32_767}, 13, "msg properties length limit 32KB"),
    ({"properties": "DELAY\1soon"}, 1, 'NumberFormatException: For input string: "soon"'),
    ({"properties": "TRAN_MSG\1true\2DELAY\1soon"}, 1, 'For input string: "soon"'),
]


@pytest.mark.parametrize(("changes", "code", "text"), REFUSED)
async def test_bad_sends_are_refused_in_javas_words(
    desk: Desk, changes: dict[str, object], code: int, text: str
) -> None:
    answer = await desk.send(**changes)

    assert answer.code == code
    assert text in (answer.remark or "")
    assert answer.ext == COMMON
    assert desk.app.broker.store.written_offset == 0


async def test_body_over_the_limit_is_illegal_and_the_broker_serves_on(desk: Desk) -> None:
    refused = await desk.send(b"x" * (4 * 1024 * 1024 + 1))
    stored = await desk.send(b"small")

    assert refused.code == ResponseCode.MESSAGE_ILLEGAL
    assert "msg body length limit 4194304B" in (refused.remark or "")
    assert stored.code == 0


@pytest.mark.parametrize(
    ("changes", "body", "code"),
    [
        ({"properties": "DELAY\0013"}, None, 13),
        ({"sys_flag": 4}, None, 13),
        ({}, b"no batch", 1),
        ({}, b"", 13),
        ({}, LARGE_BATCH + b"x", 1),
    ],
)
async def test_bad_batches_are_refused_whole(
    desk: Desk, changes: dict[str, object], body: bytes | None, code: int
) -> None:
    await desk.create_topic()
    data = join_batch([BatchEntry(0, b"x", b"")]) if body is None else body

    assert (await send_batch(desk, data, **changes)).code == code
    assert desk.app.broker.store.max_offset(TOPIC, 0) == 0


async def test_missing_field_is_named(desk: Desk) -> None:
    command = Command.request(RequestCode.SEND_MESSAGE_V2, send())
    del command.ext["e"]
    answer = await desk.client.invoke(desk.address, command)

    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert "needs the field e" in (answer.remark or "")


async def test_message_tried_too_often_goes_to_the_dead_letter_topic(desk: Desk) -> None:
    retry = {"topic": "%RETRY%G", "reconsume_times": 16, "max_reconsume_times": 16}
    assert (await desk.send(b"dead", **retry)).code == 0

    assert await desk.bodies(topic="%DLQ%G") == [b"dead"]


@pytest.mark.parametrize(("version", "topic"), [(120, "%RETRY%G"), (121, "%DLQ%G")])
async def test_what_an_old_client_says_of_retries_does_not_count(
    desk: Desk, version: int, topic: str
) -> None:
    header = send(topic="%RETRY%G", reconsume_times=3, max_reconsume_times=3)
    command = Command.request(RequestCode.SEND_MESSAGE_V2, header, body=b"again")
    command.version = version
    assert (await desk.client.invoke(desk.address, command)).code == 0

    assert await desk.bodies(topic=topic) == [b"again"]


async def test_a_message_of_a_batch_that_asks_for_delay_is_delivered_at_once(desk: Desk) -> None:
    await desk.create_topic()
    data = join_batch([BatchEntry(0, b"x", b"DELAY\0013")])
    assert (await send_batch(desk, data)).code == 0
    records = await desk.messages()

    assert [(record.body, record.properties["DELAY"]) for record in records] == [(b"x", "3")]


@pytest.mark.parametrize("sync", [False, True])
async def test_what_was_acknowledged_is_there_after_a_restart(tmp_path: Path, sync: bool) -> None:
    async with running(tmp_path, sync=sync) as desk:
        answers = await asyncio.gather(*(desk.send(b"%d" % at) for at in range(50)))
    async with running(tmp_path, sync=sync, listen_port=0) as desk:
        found = [record.msg_id for record in await desk.messages()]

    assert sorted(found) == sorted(answer.ext["msgId"] for answer in answers)


async def test_sync_flush_answers_and_shows_a_message_only_when_it_is_on_disk(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, sync=True) as desk:
        await desk.send(b"first")
        store = desk.app.broker.store

        assert await desk.bodies() == [b"first"]
        assert store.flushed_offset == store.written_offset > 0


async def test_read_only_topic_still_takes_sends_as_in_java(desk: Desk) -> None:
    await desk.create_topic(perm=4)

    assert (await desk.send()).code == 0
