"""Queries over the wire: messages by id and by key, and queue entries."""

import json
from pathlib import Path
from unittest.mock import ANY

from remoting.bodies import QueryConsumeQueueResponseBody
from remoting.codes import RequestCode
from remoting.command import Command
from remoting.headers import QueryConsumeQueue, QueryMessage, ViewMessage
from storefmt.formats.consumequeue import ext_address
from storefmt.formats.javahash import string_hash
from storefmt.formats.message import decode_record, decode_records
from storefmt.formats.msgid import parse_offset_id
from tests.server.broker.desk import GROUP, TOPIC, Desk, broker_settings, heartbeat, running

FOR_EVER = 2**63 - 1


def by_key(key: str, *, count: int = 32, topic: str = TOPIC) -> QueryMessage:
    return QueryMessage(
        topic=topic, key=key, max_num=count, begin_timestamp=0, end_timestamp=FOR_EVER
    )


async def filled(desk: Desk) -> list[Command]:
    return [
        await desk.send(b"m%d" % at, properties=f"KEYS\1k{at} all\2UNIQ_KEY\1U{at}\2TAGS\1A")
        for at in range(3)
    ]


async def test_message_is_found_by_its_offset_id(desk: Desk) -> None:
    _, log_offset = parse_offset_id((await filled(desk))[1].ext["msgId"])
    view = RequestCode.VIEW_MESSAGE_BY_ID
    found = await desk.ask(view, ViewMessage(offset=log_offset))
    inside = await desk.ask(view, ViewMessage(offset=log_offset + 3))
    beyond = await desk.ask(view, ViewMessage(offset=99_999_999))

    assert (found.code, decode_record(found.body).body) == (0, b"m1")
    assert (inside.code, inside.body) == (1, b"")
    assert beyond.remark == "can not find message by the offset, 99999999"


async def test_messages_are_found_by_key_and_by_unique_key(desk: Desk) -> None:
    await filled(desk)
    code = RequestCode.QUERY_MESSAGE
    by_unique_key = Command.request(code, by_key("U2", count=0))
    by_unique_key.ext["_UNIQUE_KEY_QUERY"] = "true"
    several = await desk.ask(code, by_key("all"))
    one = await desk.ask(code, by_key("k1"))
    unique = await desk.client.invoke(desk.address, by_unique_key)
    none = await desk.ask(code, by_key("nokey"))

    assert [record.body for record in decode_records(several.body)] == [b"m0", b"m1", b"m2"]
    assert [record.body for record in decode_records(one.body)] == [b"m1"]
    assert int(one.ext["indexLastUpdatePhyoffset"]) > 0
    assert [record.body for record in decode_records(unique.body)] == [b"m2"]
    assert (none.code, none.remark) == (22, "can not find message, maybe time range not correct")
    assert none.ext == {"indexLastUpdateTimestamp": "0", "indexLastUpdatePhyoffset": "0"}


async def test_of_large_messages_the_newest_come_that_fit_into_an_answer(tmp_path: Path) -> None:
    config = broker_settings(tmp_path)
    config.store.mapped_file_size_commit_log = 32 << 20

    async with running(tmp_path, config=config) as desk:
        for number in range(6):
            await desk.send(b"%d" % number + bytes(4_000_000), properties="KEYS\1k")
        answer = await desk.ask(RequestCode.QUERY_MESSAGE, by_key("k"))
        (conn,) = desk.app._server.connections
        assert conn.held_size == 0

    assert [record.body[:1] for record in decode_records(answer.body)] == [b"4", b"5"]


async def entries(desk: Desk, **fields: object) -> Command:
    header = QueryConsumeQueue(**{"topic": TOPIC, **fields})
    return await desk.ask(RequestCode.QUERY_CONSUME_QUEUE, header)


async def test_queue_entries_are_shown_with_the_subscription(desk: Desk) -> None:
    await filled(desk)
    await desk.heartbeat()
    found = await entries(desk, queue_id=0, index=1, count=5, consumer_group=GROUP)
    behind = await entries(desk, queue_id=0, index=9, count=5)
    unwritten = await entries(desk, queue_id=1)
    unknown = await entries(desk, topic="Nowhere", queue_id=0)
    body = QueryConsumeQueueResponseBody.decode(found.body)

    assert (body.min_queue_index, body.max_queue_index) == (0, 3)
    assert [(row.tags_code, row.eval) for row in body.queue_data or []] == [
        (string_hash("A"), False)
    ] * 2
    assert (behind.code, behind.remark) == (0, "Index 9 of 0@T is not exist!")
    assert (unwritten.code, unwritten.remark) == (1, "1@T is not exist!")
    assert (unknown.code, unknown.remark) == (1, "0@Nowhere is not exist!")


async def test_ext_units_are_shown_and_held_against_the_filter(tmp_path: Path) -> None:
    config = broker_settings(tmp_path)
    config.store.enable_consume_queue_ext = True

    async with running(tmp_path, config=config) as desk:
        desk.app.broker.store.exts.bit_map = lambda entry: bytes(range(9))
        await filled(desk)
        found = []
        for expression, group in (("A", GROUP), ("B", GROUP), ("*", None)):
            body = heartbeat(expression=expression, version=len(found) + 1)
            await desk.ask(RequestCode.HEART_BEAT, body=body)
            answer = await entries(desk, count=2, consumer_group=group)
            found.append(QueryConsumeQueueResponseBody.decode(answer.body).queue_data or [])
        (mine, others, nobodys) = found

    assert [row.tags_code for row in mine] == [ext_address(0), ext_address(29)]
    assert json.loads(mine[0].extend_data_json or "") == {
        "filterBitMap": "AAECAwQFBgcI",
        "msgStoreTime": ANY,
        "size": 29,
        "tagsCode": string_hash("A"),
    }
    assert mine[0].bit_map == "00001000\n" + "".join(f"{n:08b}" for n in range(7, -1, -1)) + "\n"
    assert [row.eval for row in mine + others + nobodys] == [True] * 2 + [False] * 4


async def test_lost_ext_unit_is_said_so(desk: Desk) -> None:
    await filled(desk)
    desk.app.broker.store._table.queues[TOPIC, 0].append(0, 100, ext_address(40))
    answer = await entries(desk, index=3, count=1)
    (row,) = QueryConsumeQueueResponseBody.decode(answer.body).queue_data or []

    assert row.msg == f"Cq extend not exist!addr: {ext_address(40)}"
