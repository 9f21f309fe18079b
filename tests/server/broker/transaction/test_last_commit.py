"""A crash between the two records of a commit: the message is delivered once."""

from pathlib import Path

import pytest

from mqserver.broker.transaction.half_messages import commit_message
from mqserver.broker.transaction.last_commit import missing_decision
from remoting.codes import RequestCode
from storefmt.formats.message import Record, decode_record, decode_records
from storefmt.names import HALF_TOPIC, OP_HALF_TOPIC
from storefmt.paths import log_file_name
from tests.server.broker.desk import Desk, end_transaction, running, with_topic
from tests.server.broker.transaction.transactions import HOST, TIMEOUT_MS, World
from tests.waiting import until

PREPARED = "TRAN_MSG\1true\2PGROUP\1PG\2UNIQ_KEY\1"


@pytest.mark.parametrize("sync", [False, True])
@pytest.mark.parametrize("checked", [False, True], ids=["prepared", "renewed"])
def test_commit_at_the_end_of_the_log_is_not_asked_about(sync: bool, checked: bool) -> None:
    world = World(sync=sync)
    at = world.send("k")
    world.settle()
    if checked:
        world.now_ms += TIMEOUT_MS
        at = world.round()["k"][0]
        world.save()
    world._put(commit_message(world.half(at)), world.now_ms)
    world.flush()

    world.power_cut(7)
    op = missing_decision(world.store, store_host=HOST, now_ms=world.now_ms)
    world._put(op, world.now_ms)
    world.now_ms += TIMEOUT_MS

    assert op.body == (b"1" if checked else b"0")
    assert world.round() == {}
    assert world.delivered() == ["k"]


def test_only_a_commit_of_the_same_message_counts() -> None:
    world = World()
    at = world.send("k")
    other = world.send("other")
    world.settle()
    whole = commit_message(world.half(at))
    # 0 is where the half message lies, and what other messages have there.
    forged = [
        (whole.body + b"x", at, whole.sys_flag),
        (whole.body, other, whole.sys_flag),
        (whole.body, at, 0),
        (whole.body, 1 << 40, whole.sys_flag),
    ]

    for body, prepared_offset, sys_flag in forged:
        whole.body, whole.sys_flag = body, sys_flag
        whole.prepared_transaction_offset = prepared_offset
        world._put(whole, world.now_ms)
        world.settle()
        assert missing_decision(world.store, store_host=HOST, now_ms=1) is None
    world.decide(other, commit=True)
    world.settle()

    assert missing_decision(world.store, store_host=HOST, now_ms=1) is None


def stored(desk: Desk, topic: str) -> list[Record]:
    found = desk.app.broker.store.reader.get_message(topic, 0, 0, count_max=9)
    return list(decode_records(b"".join(found.chunks)))


async def commit(desk: Desk) -> None:
    """Send a prepared message and commit it."""
    await desk.send(b"once", properties=f"{PREPARED}k")
    (half,) = stored(desk, HALF_TOPIC)
    end = end_transaction(half.log_offset, half.queue_offset, msg_id="k")
    assert (await desk.ask(RequestCode.END_TRANSACTION, end)).code == 0


def cut_last_record(root: Path) -> None:
    """Leave the log as a kill does that comes before the op message is written."""
    file = root / "commitlog" / log_file_name(0)
    data, pos = bytearray(file.read_bytes()), 0
    while (size := int.from_bytes(data[pos : pos + 4], "big")) > 0:
        record, start = decode_record(bytes(data[pos : pos + size])), pos
        pos += size
    assert record.topic == OP_HALF_TOPIC
    data[start:pos] = bytes(pos - start)
    file.write_bytes(data)
    (root / "abort").touch()


async def test_broker_that_starts_after_such_a_kill_completes_the_commit(tmp_path: Path) -> None:
    async with with_topic(tmp_path) as desk:
        await commit(desk)
    cut_last_record(tmp_path)

    async with running(tmp_path) as desk:
        # A broker that has started serves while the log is still being written.
        await until(lambda: [record.body for record in stored(desk, OP_HALF_TOPIC)] == [b"0"])
        assert await desk.bodies() == [b"once"]
