"""Puts into evicted queues: a store gives what a dict would, whichever queues are loaded."""

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mqserver.store.queues import queue_table
from mqserver.store.results import PutRun, PutStatus, RunMessage
from mqserver.store.store import MessageStore
from mqserver.store.store_config import StoreConfig
from mqserver.store.store_errors import StoreFull
from storefmt.formats.sysflag import TRANSACTION_PREPARED
from tests.server.store.simdisk import SimDisk, refusing
from tests.server.store.stores import (
    BORN,
    HOST,
    START_MS,
    bodies,
    delete_topic,
    flush,
    keep_up,
    message,
    open_store,
    put_and_write,
    small_config,
)

TOPIC = "topic-a"
QUEUES = 12


@pytest.fixture(autouse=True)
def few_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_table, "LOADED_IDLE_MAX", 2)
    monkeypatch.setattr(queue_table, "LOADED_PUT_MAX", 2)
    monkeypatch.setattr(queue_table, "LOADED_MAX", 2)
    monkeypatch.setattr(queue_table, "SLACK", 1)


def roomy(root: Path, *, sync: bool = False) -> StoreConfig:
    return replace(small_config(root, sync=sync, log_file_size=1 << 20), max_index_num=10_000)


def evicted(store: MessageStore) -> int:
    """Return a queue of TOPIC that is evicted; all of them have one message afterwards."""
    for queue_id in range(QUEUES):
        put_and_write(store, [message(0, queue_id=queue_id, body=b"first")])
        flush(store)
    return next(n for n in range(QUEUES) if (TOPIC, n) not in store._table.queues)


def put(store: MessageStore, queue_id: int, body: bytes) -> int:
    result = store.put(message(1, queue_id=queue_id, body=body), START_MS)
    assert result.status is PutStatus.PUT_OK
    return result.queue_offset


def put_run(store: MessageStore, queue_id: int, *texts: bytes) -> int:
    messages = [RunMessage(text, b"", 0, 0, ()) for text in texts]
    run = PutRun(TOPIC, TOPIC.encode(), queue_id, 0, START_MS, BORN, HOST, 0, messages)
    result = store.put_run(run, START_MS)
    assert result.status is PutStatus.PUT_OK
    return result.queue_offset


def test_a_put_leaves_its_queue_asleep(tmp_path: Path) -> None:
    store = open_store(roomy(tmp_path / "store"))
    queue_id = evicted(store)

    assert put(store, queue_id, b"second") == 1
    assert put_run(store, queue_id, b"third", b"fourth") == 2
    assert store.max_offset(TOPIC, queue_id) == 1
    store.write(START_MS)

    assert (TOPIC, queue_id) not in store._table.queues
    assert store.max_offset(TOPIC, queue_id) == 4
    assert bodies(store, TOPIC, queue_id) == [b"first", b"second", b"third", b"fourth"]


def test_a_queue_woken_before_the_flush_keeps_the_order(tmp_path: Path) -> None:
    store = open_store(roomy(tmp_path / "store", sync=True))
    queue_id = evicted(store)
    put(store, queue_id, b"second")
    store.write(START_MS)

    assert bodies(store, TOPIC, queue_id) == [b"first"]
    assert (TOPIC, queue_id) in store._table.queues
    assert put(store, queue_id, b"third") == 2
    store.write(START_MS)
    flush(store)

    assert bodies(store, TOPIC, queue_id) == [b"first", b"second", b"third"]


def test_a_message_on_its_way_to_a_deleted_queue_is_not_for_the_next_of_that_name(
    tmp_path: Path,
) -> None:
    store = open_store(roomy(tmp_path / "store", sync=True))
    queue_id = evicted(store)
    put(store, queue_id, b"lost")
    store.write(START_MS)
    delete_topic(store, TOPIC)
    assert put(store, queue_id, b"new") == 0
    put_and_write(store, [message(2, topic="other", queue_id=0, body=b"other")])

    flush(store)

    assert store.queues() == [("other", 0), (TOPIC, queue_id)]
    assert bodies(store, TOPIC, queue_id) == [b"new"]
    assert bodies(store, "other", 0) == [b"other"]


def test_offsets_are_taken_back_when_the_log_was_not_written(disk: SimDisk) -> None:
    store = open_store(roomy(Path("/store")), disk=disk)
    queue_id = evicted(store)
    assert put(store, queue_id, b"lost") == 1
    put_run(store, queue_id, b"lost", b"lost")
    disk.on_call = refusing(folder="commitlog")
    with pytest.raises(StoreFull):
        store.write(START_MS)
    disk.on_call = lambda name, path: None

    assert put(store, queue_id, b"second") == 1
    store.write(START_MS)
    assert bodies(store, TOPIC, queue_id) == [b"first", b"second"]
    store.close(START_MS)


def test_a_half_message_takes_no_place(tmp_path: Path) -> None:
    store = open_store(roomy(tmp_path / "store"))
    queue_id = evicted(store)

    half = replace(message(1, queue_id=queue_id), sys_flag=TRANSACTION_PREPARED)
    assert store.put(half, START_MS).queue_offset == 0
    assert put(store, queue_id, b"second") == 1
    store.write(START_MS)

    assert bodies(store, TOPIC, queue_id) == [b"first", b"second"]


def test_a_queue_with_many_unwritten_entries_is_loaded(tmp_path: Path) -> None:
    store = open_store(roomy(tmp_path / "store"))
    queue_id = evicted(store)
    for number in range(queue_table.UNWRITTEN_MAX + 1):
        put(store, queue_id, b"%d" % number)
        store.write(START_MS)

    assert (TOPIC, queue_id) in store._table.queues
    assert len(bodies(store, TOPIC, queue_id)) == queue_table.UNWRITTEN_MAX + 2


class Model:
    """A store and its expected content; the steps are chosen at random."""

    def __init__(self, config: StoreConfig, seed: int) -> None:
        self.chance = random.Random(seed)
        self.config = config
        self.store = open_store(config)
        self.now_ms = START_MS
        self.count = 0
        self.expected: dict[tuple[str, int], list[bytes]] = {}
        # Put, and not dispatched: by SYNC_FLUSH not before it is flushed.
        self.pending: list[tuple[tuple[str, int], bytes]] = []
        self.given: dict[tuple[str, int], int] = {}

    def key(self) -> tuple[str, int]:
        return self.chance.choice((TOPIC, "topic-b")), self.chance.randrange(QUEUES)

    def do_put(self) -> None:
        for _ in range(self.chance.randrange(1, 20)):
            key = self.key()
            body = b"%d" % self.count
            self.count += 1
            topic, queue_id = key
            result = self.store.put(
                message(self.count, topic=topic, queue_id=queue_id, body=body), self.now_ms
            )
            assert result.queue_offset == self.given.get(key, 0)
            self.given[key] = result.queue_offset + 1
            self.pending.append((key, body))
        self.store.write(self.now_ms)
        if not self.config.is_sync_flush:
            self.dispatched()

    def dispatched(self) -> None:
        for key, body in self.pending:
            self.expected.setdefault(key, []).append(body)
        self.pending = []

    def do_flush(self) -> None:
        flush(self.store)
        self.dispatched()

    def do_read(self) -> None:
        key = self.key()
        assert bodies(self.store, *key) == self.expected.get(key, [])

    def do_look(self) -> None:
        key = self.key()
        assert self.store.max_offset(*key) == len(self.expected.get(key, []))

    def do_upkeep(self) -> None:
        self.now_ms += self.chance.choice((200, 1_000, 60_000))
        keep_up(self.store, self.now_ms)

    def do_delete(self) -> None:
        if self.chance.random() < 0.1:
            topic = self.key()[0]
            delete_topic(self.store, topic)
            for known in (self.expected, self.given):
                for key in [key for key in known if key[0] == topic]:
                    del known[key]
            self.pending = [one for one in self.pending if one[0][0] != topic]

    def do_restart(self) -> None:
        if self.chance.random() < 0.1:
            self.store.close(self.now_ms)
            self.dispatched()
            self.store = open_store(self.config)

    def run(self, steps: int) -> None:
        """Do so many steps, then read everything before and after a stop."""
        moves: list[Callable[[], None]] = [
            self.do_put, self.do_flush, self.do_read, self.do_look, self.do_upkeep,
            self.do_delete, self.do_restart,
        ]  # fmt: skip
        for _ in range(steps):
            self.chance.choices(moves, weights=(6, 2, 3, 3, 3, 1, 1))[0]()
        self.do_flush()
        for _ in range(2):
            for key in [(topic, n) for topic in (TOPIC, "topic-b") for n in range(QUEUES)]:
                assert bodies(self.store, *key) == self.expected.get(key, [])
            self.store.close(self.now_ms)
            self.store = open_store(self.config)
        self.store.close(self.now_ms)


@pytest.mark.parametrize("sync", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_a_store_does_what_a_dict_would(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, sync: bool
) -> None:
    # What was read stays loaded, or is evicted at once; some have to cut their tails short.
    monkeypatch.setattr(queue_table, "LOADED_MAX", seed % 3 * QUEUES)
    monkeypatch.setattr(queue_table, "TAILS_KEEP", 7 * QUEUES)
    Model(roomy(tmp_path / "store", sync=sync), seed).run(400)
