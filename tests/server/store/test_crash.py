"""Disk errors at every call: nothing is acknowledged after one, what was acknowledged stays."""

import errno
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from server.store.calls import PutStatus
from server.store.config import StoreConfig
from server.store.errors import StoreFailed, StoreFull
from server.store.store import MessageStore
from tests.server.store.simdisk import SimDisk
from tests.server.store.stores import (
    START_MS,
    message,
    open_store,
    records_in,
    small_config,
)

ROOT = Path("/store")
MESSAGES = 60


@dataclass
class History:
    """What a producer knows: (queue id, queue offset) -> body."""

    put: dict[tuple[int, int], set[bytes]] = field(default_factory=dict)
    acknowledged: dict[tuple[int, int], bytes] = field(default_factory=dict)
    now_ms: int = START_MS
    number: int = 0


def config_for(*, sync: bool = True) -> StoreConfig:
    config = small_config(ROOT, sync=sync, log_file_size=4096)
    config.flush_interval_consume_queue_ms = 10
    config.flush_consume_queue_thorough_interval_ms = 40
    return config


def send(store: MessageStore, history: History, chance: random.Random) -> None:
    """Put some messages, store them, flush them, and only then count them as acknowledged."""
    batch: list[tuple[tuple[int, int], bytes]] = []
    for _ in range(chance.randrange(1, 5)):
        history.number += 1
        body = b"%d:" % history.number + bytes([65 + history.number % 26]) * chance.randrange(900)
        one = message(history.number, body=body)
        result = store.put(one, history.now_ms)
        if result.status is PutStatus.PUT_OK:
            place = one.queue_id, result.queue_offset
            history.put.setdefault(place, set()).add(body)
            batch.append((place, body))
    store.write(history.now_ms)
    job = store.begin_flush()
    if job is not None:
        job.run()
        store.end_flush(job)
    history.acknowledged.update(batch)
    history.now_ms += chance.randrange(20)
    upkeep = store.housekeeping(history.now_ms)
    if upkeep is not None:
        upkeep.run()
        store.end_flush(upkeep)


def check(disk: SimDisk, history: History) -> MessageStore:
    """Open what is left and hold it against the history; returns the open store."""
    store = open_store(config_for(), disk=disk)
    for queue_id in (0, 1):
        found = read_all(store, queue_id)
        for queue_offset, body in enumerate(found):
            assert body in history.put[queue_id, queue_offset]
        for (queue, queue_offset), body in history.acknowledged.items():
            if queue == queue_id:
                assert found[queue_offset : queue_offset + 1] == [body]
    assert store.recovery.damaged == []
    return store


def read_all(store: MessageStore, queue_id: int) -> list[bytes]:
    found: list[bytes] = []
    while len(found) < store.max_offset("topic-a", queue_id):
        result = store.get_message("topic-a", queue_id, len(found), count_max=32)
        records = [record for chunk in result.chunks for record in records_in(chunk)]
        assert [record.queue_offset for record in records] == list(
            range(len(found), len(found) + len(records))
        )
        assert records, result
        found += [record.body for record in records]
    return found


def fail_nth(names: set[str], number: int, code: int, *, until: int | None = None) -> Callable:
    """Return an ``on_call`` that fails the calls from ``number`` on (up to ``until``)."""
    seen = 0

    def fail(name: str, path: Path) -> None:
        nonlocal seen
        if name in names:
            seen += 1
            if seen == number or (until is not None and number <= seen < until):
                raise OSError(code, "told to fail")

    return fail


@pytest.mark.parametrize("names", [{"fdatasync", "fsync_dir"}, {"pwrite"}])
def test_nothing_is_acknowledged_after_an_io_error(names: set[str]) -> None:
    for number in range(1, 200):
        disk, history = SimDisk(), History()
        store = open_store(config_for(), disk=disk)
        disk.on_call = fail_nth(names, number, errno.EIO)
        chance = random.Random(number)
        try:
            while history.number < MESSAGES:
                send(store, history, chance)
        except StoreFailed:
            assert "look at the disk" in store.failure
        else:
            if number > 20:
                return
            continue

        assert store.is_read_only
        assert store.put(message(1), START_MS).status is PutStatus.SERVICE_NOT_AVAILABLE
        assert store.begin_flush() is None
        assert len(read_all(store, 0)) == store.max_offset("topic-a", 0)
        store.close(history.now_ms)
        check(disk.crash(number), history)
    pytest.fail("the run never ended without an error")


@pytest.mark.parametrize("names", [{"pwrite"}, {"allocate", "create", "truncate"}])
def test_full_disk_undoes_the_puts_and_the_next_ones_succeed(names: set[str]) -> None:
    for number in range(1, 200):
        disk, history = SimDisk(), History()
        store = open_store(config_for(), disk=disk)
        disk.on_call = fail_nth(names, number, errno.ENOSPC, until=number + 3)
        chance = random.Random(number)
        failures = 0
        while history.number < MESSAGES:
            try:
                send(store, history, chance)
            except StoreFull:
                failures += 1

        assert not store.is_read_only
        for queue_id in (0, 1):
            assert len(read_all(store, queue_id)) == store.max_offset("topic-a", queue_id)
        disk.on_call = lambda name, path: None
        store.close(history.now_ms)
        check(disk.crash(number), history).close(history.now_ms)
        if disk.clock and number > 60:
            return


def test_message_seen_after_a_kill_survives_a_power_cut() -> None:
    for seed in range(20):
        disk = SimDisk()
        killed = open_store(config_for(), disk=disk)
        for number in range(8):
            killed.put(message(2 * number, body=b"x" * 500), START_MS)
        killed.write(START_MS)
        # The process is gone, the machine is not: the page cache still has it all.
        store = open_store(config_for(), disk=disk)
        assert store.max_offset("topic-a", 0) == 8

        after = open_store(config_for(), disk=disk.crash(seed))

        assert after.max_offset("topic-a", 0) == 8


def test_rest_of_a_failed_write_does_not_come_to_life() -> None:
    disk = SimDisk()
    store = open_store(config_for(), disk=disk)
    for number in range(4):
        store.put(message(2 * number, body=b"x" * 300), START_MS)
    disk.on_call = fail_nth({"pwrite"}, 1, errno.ENOSPC)
    with pytest.raises(StoreFull):
        store.write(START_MS)
    place = store.put(message(0, body=b"x" * 300), START_MS)
    store.write(START_MS)

    after = open_store(config_for(), disk=disk)

    assert place.queue_offset == 0
    assert after.max_offset("topic-a", 0) == 1
    assert after.written_offset == place.size
