"""Offsets over the wire: ends and times of queues, and offsets of groups."""

import json
from pathlib import Path

import pytest

from remoting.bodies import QueryCorrectionOffsetBody
from remoting.codes import RequestCode
from remoting.command import Command
from remoting.headers import (
    CloneGroupOffset,
    GetEarliestMsgStoretime,
    GetMaxOffset,
    GetMinOffset,
    QueryConsumerOffset,
    QueryCorrectionOffset,
    SearchOffset,
)
from storefmt.config.fastjson import loads
from tests.server.broker.desk import GROUP, TOPIC, Desk, running


async def committed(desk: Desk, *, group: str = GROUP, topic: str = TOPIC) -> Command:
    header = QueryConsumerOffset(consumer_group=group, topic=topic, queue_id=0)
    return await desk.ask(RequestCode.QUERY_CONSUMER_OFFSET, header)


async def test_committed_offset_is_returned_also_after_moving_back_and_a_restart(
    tmp_path: Path,
) -> None:
    found = []
    async with running(tmp_path) as desk:
        for queue_offset in (7, 3):
            assert (await desk.commit(queue_offset)).code == 0
            found.append((await committed(desk)).ext["offset"])
    async with running(tmp_path) as desk:
        found.append((await committed(desk)).ext["offset"])
    assert found == ["7", "3", "3"]


async def test_new_group_on_a_young_queue_starts_at_zero(desk: Desk) -> None:
    await desk.send()
    known = await committed(desk, group="new")
    unknown = await committed(desk, topic="Nowhere")

    assert (known.code, known.ext) == (0, {"offset": "0"})
    assert (unknown.code, unknown.ext) == (0, {"offset": "0"})


async def test_new_group_on_a_queue_without_its_first_messages_is_told_so(desk: Desk) -> None:
    await desk.send()
    desk.app.broker.store._table.queues[TOPIC, 0].min_offset = 1
    answer = await committed(desk, group="new")

    assert answer.code == 22
    assert answer.remark == "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first"


@pytest.mark.parametrize(
    ("topic", "group", "queue_id", "queue_offset"),
    [("a/b", GROUP, 0, 1), (TOPIC, "../x", 0, 1), (TOPIC, GROUP, 0, -1), (TOPIC, GROUP, -1, 1)],
)
async def test_bad_commits_are_refused(
    desk: Desk, topic: str, group: str, queue_id: int, queue_offset: int
) -> None:
    answer = await desk.commit(queue_offset, group=group, topic=topic, queue_id=queue_id)

    assert (answer.code, desk.app.broker.offsets.change_count) == (1, 0)
    assert answer.remark


async def ends(desk: Desk, topic: str, *, time_ms: int) -> list[str]:
    """Return last and first offset, the one of a time, and the time of the first message."""
    queue = {"topic": topic, "queue_id": 0}
    asked = {
        RequestCode.GET_MAX_OFFSET: GetMaxOffset(**queue),
        RequestCode.GET_MIN_OFFSET: GetMinOffset(**queue),
        RequestCode.SEARCH_OFFSET_BY_TIMESTAMP: SearchOffset(**queue, timestamp=time_ms),
        RequestCode.GET_EARLIEST_MSG_STORETIME: GetEarliestMsgStoretime(**queue),
    }
    exts = [(await desk.ask(code, header)).ext for code, header in asked.items()]
    assert [list(ext) for ext in exts] == [["offset"]] * 3 + [["timestamp"]]
    return [value for ext in exts for value in ext.values()]


async def test_ends_and_times_of_a_queue(desk: Desk) -> None:
    await desk.send()
    await desk.send()
    store_ms = desk.app.broker.store.reader.store_time(TOPIC, 0, 0)

    assert await ends(desk, TOPIC, time_ms=store_ms - 1_000) == ["2", "0", "0", str(store_ms)]


async def test_unknown_queue_begins_and_ends_at_zero_and_has_no_time(desk: Desk) -> None:
    assert await ends(desk, "Nowhere", time_ms=1) == ["0", "0", "0", "-1"]


async def test_all_offsets_have_bare_queue_numbers(desk: Desk) -> None:
    await desk.commit(5)
    await desk.commit(6, queue_id=2)
    offsets = await desk.ask(RequestCode.GET_ALL_CONSUMER_OFFSET)
    delays = await desk.ask(RequestCode.GET_ALL_DELAY_OFFSET)

    assert offsets.body == b'{"offsetTable":{"T@G":{0:5,2:6}}}'
    assert delays.body == b'{"offsetTable":{}}'


async def test_clone_copies_a_group(desk: Desk) -> None:
    await desk.create_topic()
    await desk.commit(5)
    header = CloneGroupOffset(src_group=GROUP, dest_group="copy", topic=TOPIC, offline=True)
    assert (await desk.ask(RequestCode.CLONE_GROUP_OFFSET, header)).code == 0
    assert desk.app.broker.offsets.queues("copy", TOPIC) == {0: 5}


async def test_correction_compares_and_keeps_every_offset(desk: Desk) -> None:
    await desk.create_topic(queues=2)
    await desk.commit(5, group="a")
    await desk.commit(3, group="b")
    await desk.commit(1, group="left-out")
    await desk.commit(4, group="other")
    header = QueryCorrectionOffset(topic=TOPIC, compare_group="other", filter_groups="left-out")
    correction = (await desk.ask(RequestCode.QUERY_CORRECTION_OFFSET, header)).body
    offsets = (await desk.ask(RequestCode.GET_ALL_CONSUMER_OFFSET)).body

    assert QueryCorrectionOffsetBody.decode(correction).correction_offsets == {0: 3}
    assert b"T@left-out" in offsets


async def test_offsets_are_on_disk_in_javas_form(tmp_path: Path) -> None:
    async with running(tmp_path) as desk:
        await desk.commit(5)

    text = (tmp_path / "config" / "consumerOffset.json").read_text()
    assert text == '{\n\t"offsetTable":{\n\t\t"T@G":{0:5\n\t\t}\n\t}\n}'
    assert loads(text) != json.loads("{}")
