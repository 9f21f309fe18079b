"""Which calls that change files the event loop makes itself, as docs/decisions/0014 lists them."""

from pathlib import Path

import pytest

from mqserver.broker import disk_work
from remoting.codes import RequestCode
from remoting.headers import DeleteTopic
from tests.server.broker.desk import TOPIC, broker_settings, running
from tests.server.loop_calls import LoopCalls, without_compiled_thread
from tests.waiting import until

ALLOWED = {
    # The first file of an empty log, which nobody could make ahead.
    "mkdir commitlog",
    "open commitlog",
    "allocate commitlog",
    "fsync_dir commitlog",
    "fsync_dir store",
}


@pytest.mark.parametrize("sync", [False, True])
async def test_the_loop_makes_no_call_that_the_table_does_not_list(
    sync: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_compiled_thread(monkeypatch)
    monkeypatch.setattr(disk_work, "HOUSEKEEPING_MS", 20)
    config = broker_settings(tmp_path, sync=sync)
    config.store.flush_interval_consume_queue_ms = 20
    config.store.flush_consume_queue_thorough_interval_ms = 50
    config.store.flush_interval_commit_log_ms = 20
    config.flush_consumer_offset_interval_ms = 20
    async with running(tmp_path, config=config) as desk:
        calls = LoopCalls(tmp_path, monkeypatch)
        await desk.create_topic()
        await desk.create_topic("gone")
        for number in range(100):
            await desk.send(bytes(9_000), properties=f"KEYS\1k{number}\2")
        await desk.send(b"d", properties="DELAY\0011\2")
        await desk.send(b"t", properties="TIMER_DELAY_MS\x011000\x02")
        await desk.send(b"x", topic="gone")
        await desk.commit(3)
        answer = await desk.ask(RequestCode.DELETE_TOPIC_IN_BROKER, DeleteTopic(topic="gone"))
        assert answer.code == 0
        store = desk.app.broker.store
        await until(lambda: store.flushed_offset == store.written_offset)
        await until(lambda: (tmp_path / "consumequeue" / TOPIC).exists())
        await until(lambda: (tmp_path / "config" / "timercheck").exists())
        found = set(calls.found)

    print(sorted(found))
    assert found <= ALLOWED
