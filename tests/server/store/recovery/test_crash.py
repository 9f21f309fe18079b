"""Disk errors at every call: nothing is acknowledged afterwards, and all that was before stays."""

import contextlib
import errno
import random
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mqserver.store.disk.disk import FilePath
from mqserver.store.results import PutStatus
from mqserver.store.store import MessageStore
from mqserver.store.store_config import StoreConfig
from mqserver.store.store_errors import StoreFailed, StoreFull
from storefmt.formats.message import decode_record
from tests.server.store.simdisk import SimDisk, SimFile, refusing
from tests.server.store.stores import (
    START_MS,
    flush,
    keep_up,
    make_ahead,
    message,
    open_store,
    put_and_write,
    records_in,
    records_of_key,
    small_config,
)

ROOT = Path("/store")
MESSAGES = 60


@dataclass
class History:
    """The messages that a producer put, by queue id and queue offset."""

    put: dict[tuple[int, int], set[bytes]] = field(default_factory=dict)
    acknowledged: dict[tuple[int, int], bytes] = field(default_factory=dict)
    now_ms: int = START_MS
    number: int = 0


def config_for(*, sync: bool = True, **changes: object) -> StoreConfig:
    """Return settings with which upkeep and syncs of the queues come often."""
    return small_config(
        ROOT,
        sync=sync,
        log_file_size=4096,
        flush_interval_consume_queue_ms=10,
        flush_consume_queue_thorough_interval_ms=40,
        **changes,
    )


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
    flush(store)
    history.acknowledged.update(batch)
    history.now_ms += chance.randrange(20)
    make_ahead(store)
    keep_up(store, history.now_ms)


def check(disk: SimDisk, history: History) -> MessageStore:
    """Open the store, compare it with the history, and return it."""
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


def stop_and_check(store: MessageStore, disk: SimDisk, history: History, seed: int) -> None:
    """Put one more message, stop, and check what a power cut leaves of that."""
    result = store.put(message(0), history.now_ms)
    assert result.status is PutStatus.PUT_OK
    store.write(history.now_ms)
    flush(store)
    history.put.setdefault((0, result.queue_offset), set()).add(message(0).body)
    history.acknowledged[0, result.queue_offset] = message(0).body
    store.close(history.now_ms)
    check(disk.crash(seed), history).close(history.now_ms)


def read_all(store: MessageStore, queue_id: int) -> list[bytes]:
    found: list[bytes] = []
    while len(found) < store.max_offset("topic-a", queue_id):
        result = store.reader.get_message("topic-a", queue_id, len(found), count_max=32)
        records = [record for chunk in result.chunks for record in records_in(chunk)]
        assert [record.queue_offset for record in records] == list(
            range(len(found), len(found) + len(records))
        )
        assert records, result
        found += [record.body for record in records]
    return found


class Failing:
    """An ``on_call`` that fails calls of some kinds, the first of them the ``number``-th.

    Args:
        count: how many calls fail; None for all from then on.
    """

    def __init__(self, names: set[str], number: int, code: int, *, count: int | None = 1) -> None:
        self.seen = 0
        self._names = names
        self._number = number
        self._code = code
        self._until = number + (1 << 30 if count is None else count)

    def __call__(self, name: str, path: Path) -> None:
        if name in self._names:
            self.seen += 1
            if self._number <= self.seen < self._until:
                raise OSError(self._code, "told to fail")

    @property
    def was_reached(self) -> bool:
        """Tell whether any call failed."""
        return self.seen >= self._number


def io_error_run(names: set[str], number: int, *, count: int | None) -> bool:
    """Let the calls from ``number`` on fail with EIO; return whether the run has such a call."""
    disk, history = SimDisk(), History()
    store = open_store(config_for(), disk=disk)
    failing = disk.on_call = Failing(names, number, errno.EIO, count=count)
    chance = random.Random(number)
    try:
        while history.number < MESSAGES:
            send(store, history, chance)
        store.close(history.now_ms)
    except StoreFailed:
        assert "look at the disk" in store.failure
        assert store.is_read_only
        assert store.put(message(1), START_MS).status is PutStatus.SERVICE_NOT_AVAILABLE
        assert store.begin_flush() is None
        assert store.begin_next_file() is None
        if not store._closed:
            assert len(read_all(store, 0)) == store.max_offset("topic-a", 0)
            store.close(history.now_ms)
    check(disk.crash(number), history)
    return failing.was_reached


@pytest.mark.parametrize("count", [1, None])
@pytest.mark.parametrize(
    "names", [{"fdatasync"}, {"fsync_dir"}, {"pwrite"}, {"truncate"}, {"rename"}, {"unlink"}]
)
def test_nothing_is_acknowledged_after_an_io_error(names: set[str], count: int | None) -> None:
    number = 1
    while io_error_run(names, number, count=count):
        number += 1
    assert number > (1 if names == {"unlink"} else 5)


@pytest.mark.parametrize("names", [{"allocate"}, {"create"}, {"mkdir"}])
def test_file_that_cannot_be_made_refuses_puts_until_it_can(names: set[str]) -> None:
    """Nothing had to become durable, so the store continues when the disk does."""
    number, was_reached = 1, True
    while was_reached:
        disk, history = SimDisk(), History()
        store = open_store(config_for(), disk=disk)
        failing = disk.on_call = Failing(names, number, errno.EIO, count=3)
        chance = random.Random(number)
        with contextlib.suppress(StoreFailed):
            while history.number < MESSAGES:
                send(store, history, chance)
        was_reached = failing.was_reached
        disk.on_call = SimDisk().on_call
        store.close(history.now_ms)
        check(disk.crash(number), history)
        number += 1
    assert number > 3


def full_disk_run(names: set[str], number: int, *, count: int) -> bool:
    """Let ``count`` calls from ``number`` on fail for lack of space, as ``io_error_run`` does."""
    disk, history = SimDisk(), History()
    store = open_store(config_for(), disk=disk)
    failing = disk.on_call = Failing(names, number, errno.ENOSPC, count=count)
    chance = random.Random(number)
    refusals = 0
    while history.number < MESSAGES:
        try:
            send(store, history, chance)
        except StoreFull:
            refusals += 1
            assert "free space on its disk" in store.failure

    assert not store.is_read_only
    for queue_id in (0, 1):
        assert len(read_all(store, queue_id)) == store.max_offset("topic-a", queue_id)
    was_reached = failing.was_reached
    disk.on_call = SimDisk().on_call
    stop_and_check(store, disk, history, number)
    return was_reached


@pytest.mark.parametrize("count", [1, 4, 40])
@pytest.mark.parametrize(
    "names", [{"pwrite"}, {"allocate"}, {"create"}, {"truncate"}, {"mkdir"}, {"rename"}]
)
def test_full_disk_undoes_the_puts_and_the_next_ones_succeed(names: set[str], count: int) -> None:
    number = 1
    while full_disk_run(names, number, count=count):
        number += 1
    assert number > 2


class CrowdedDisk(SimDisk):
    """A disk of a process that has no descriptors left for some of its calls.

    Args:
        first: number of the first call that opens a file and fails.
        count: how many fail.
    """

    def __init__(self, first: int, count: int, code: int) -> None:
        super().__init__()
        self.opened = 0
        self._failing = range(first, first + count)
        self._code = code

    def _count(self) -> None:
        self.opened += 1
        if self.opened in self._failing:
            raise OSError(self._code, "too many open files")

    def open(self, path: FilePath, *, create: bool = False, size: int = 0) -> SimFile:
        self._count()
        return super().open(path, create=create, size=size)

    def fsync_dir(self, path: FilePath) -> None:
        self._count()
        super().fsync_dir(path)


def crowded_run(first: int, *, count: int, code: int) -> bool:
    """Let ``count`` files from ``first`` on fail to open; return whether the run opens so many."""
    disk, history = CrowdedDisk(1 << 30, 0, code), History()
    store = open_store(config_for(), disk=disk)
    disk.opened, disk._failing = 0, range(first, first + count)
    chance = random.Random(first)
    while history.number < MESSAGES:
        try:
            send(store, history, chance)
        except StoreFull:
            assert "raise `ulimit -n`" in store.failure

    assert not store.is_read_only
    was_reached = disk.opened >= first
    disk._failing = range(0)
    stop_and_check(store, disk, history, first)
    return was_reached


@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENFILE])
@pytest.mark.parametrize("count", [1, 2, 5, 40])
def test_store_without_descriptors_refuses_puts_and_recovers(count: int, code: int) -> None:
    first = 1
    while crowded_run(first, count=count, code=code):
        first += 1
    assert first > 10


def test_message_seen_after_a_kill_survives_a_power_cut() -> None:
    for seed in range(20):
        disk = SimDisk()
        killed = open_store(config_for(), disk=disk)
        put_and_write(killed, [message(2 * number, body=b"x" * 500) for number in range(8)])
        # The process is gone, the machine is not: the page cache still has it all.
        store = open_store(config_for(), disk=disk)
        assert store.max_offset("topic-a", 0) == 8

        after = open_store(config_for(), disk=disk.crash(seed))

        assert after.max_offset("topic-a", 0) == 8


def test_rest_of_a_failed_write_does_not_come_to_life(disk: SimDisk) -> None:
    store = open_store(config_for(), disk=disk)
    for number in range(4):
        store.put(message(2 * number, body=b"x" * 300), START_MS)
    disk.on_call = Failing({"pwrite"}, 1, errno.ENOSPC)
    with pytest.raises(StoreFull):
        store.write(START_MS)
    place = store.put(message(0, body=b"x" * 300), START_MS)
    store.write(START_MS)

    after = open_store(config_for(), disk=disk)

    assert place.queue_offset == 0
    assert after.max_offset("topic-a", 0) == 1
    assert after.written_offset == place.size


@pytest.mark.parametrize("messages", range(1, MESSAGES, 3))
def test_start_after_a_kill_needs_no_space(messages: int) -> None:
    """What the killed store had only in memory is in memory again until there is space."""
    disk, history, chance = SimDisk(), History(), random.Random(messages)
    full = refusing("create", "mkdir", "allocate")
    killed = open_store(config_for(), disk=disk)
    while history.number < messages:
        send(killed, history, chance)
    if messages % 2:
        # The disk was full before, too: entries and keys of these are in no file.
        disk.on_call = full
        with contextlib.suppress(StoreFull):
            for _ in range(8):
                send(killed, history, chance)
    disk.on_call = full

    store = check(disk, history)

    disk.on_call = SimDisk().on_call
    send(store, history, chance)
    store.close(history.now_ms)
    after = check(disk.crash(messages), history)
    assert after.recovery.clean
    for body in history.acknowledged.values():
        key = f"k{body.partition(b':')[0].decode()}"
        found = records_of_key(after, "topic-a", key, count_max=32)
        assert body in {decode_record(data).body for data in found}
