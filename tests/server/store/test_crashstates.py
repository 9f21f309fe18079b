"""What a power cut may leave, at every call of runs of all kinds: 100,000 states and more.

SYNC_FLUSH: nothing that was acknowledged is lost. ASYNC_FLUSH: nothing that a finished
flush covered is lost, and what is left is a beginning of the log. Both: what a recovery
discarded never comes back, queues are dense, derived files are those of a fresh rebuild.
"""

import os
import random
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from multiprocessing import get_context
from pathlib import Path
from unittest import mock

import pytest

from server.store import queuetable
from server.store.calls import PutStatus
from server.store.config import StoreConfig
from server.store.store import MessageStore
from tests.server.store.crashstates import TOPIC, Explorer, Promise, send
from tests.server.store.simdisk import SimDisk
from tests.server.store.stores import (
    START_MS,
    delete_topic,
    make_ahead,
    message,
    open_store,
    small_config,
)

ROOT = Path("/store")
KINDS = ("sync", "async", "retention", "deletion")
DELETED = "topic-gone"
MESSAGES = 40
LIMIT = 16
SEEDS_IN_CI = 11
STATES_IN_CI = 100_000
SEEDS_IN_SOAK = 300


def config_for(*, sync: bool = True) -> StoreConfig:
    """Return settings with which everything rolls, is synced and said within 40 messages."""
    config = small_config(ROOT, sync=sync, log_file_size=4096)
    config.flush_interval_consume_queue_ms = 5
    config.flush_consume_queue_thorough_interval_ms = 15
    config.file_reserved_time_h = 0
    config.delete_commit_log_files_interval_ms = 0
    config.delete_consume_queue_files_interval_ms = 0
    return config


def flush(store: MessageStore, promise: Promise) -> None:
    """Flush; who sent before it began is told afterwards."""
    job = store.begin_flush()
    written = len(promise.sent)
    if job is not None:
        job.run()
        store.end_flush(job)
        promise.acknowledged = written


def upkeep(store: MessageStore, now_ms: int) -> None:
    """Do what is due, as the broker's timer does."""
    make_ahead(store)
    job = store.housekeeping(now_ms)
    if job is not None:
        job.run()
        store.end_flush(job)


def clean(store: MessageStore, promise: Promise, now_ms: int) -> None:
    """Let retention delete whatever it may."""
    store.cleaner.delete_by_hand()
    for _ in range(4):
        # While the queues still have the entries, a get passes over what is deleted.
        promise.expired = max(promise.expired, messages_below(store, promise))
        job = store.cleaner.step(now_ms)
        if job is not None:
            job.run()
            store.cleaner.end(job)


def messages_below(store: MessageStore, promise: Promise) -> int:
    """Return how many messages are in files that are full: those may go."""
    active = store.written_offset - store.written_offset % 4096
    ends = [0, 0]
    for number, (queue_id, _) in enumerate(promise.sent):
        found = store.get_message(TOPIC, queue_id, ends[queue_id], count_max=1)
        ends[queue_id] += 1
        if found.chunks and int.from_bytes(found.chunks[0][28:36], "big") >= active:
            return number
    return len(promise.sent)


def scenario(disk: SimDisk, explorer: Explorer, chance: random.Random, kind: str) -> None:
    """Send, flush, sync, delete, stop in order and go on."""
    promise = explorer.promise
    config = config_for(sync=kind != "async")
    size = chance.choice([0, 0, 150, 700])
    now_ms = START_MS
    for part in (1, 2):
        store = open_store(config, disk=disk)
        while len(promise.sent) < part * MESSAGES // 2:
            for _ in range(chance.randrange(1, 4)):
                send(store, promise, chance, size=size)
            if kind != "async" or chance.random() < 0.4:
                flush(store, promise)
            now_ms += chance.randrange(10)
            upkeep(store, now_ms)
            if kind == "retention" and chance.random() < 0.3:
                clean(store, promise, now_ms)
            if kind == "deletion":
                make_and_delete(store, promise, now_ms)
        store.close(now_ms)
        promise.acknowledged = len(promise.sent)


def make_and_delete(store: MessageStore, promise: Promise, now_ms: int) -> None:
    """Store a message in another topic and delete the topic: it must not come back."""
    promise.gone = ""
    assert store.put(message(1, topic=DELETED, queue_id=0), now_ms).status is PutStatus.PUT_OK
    store.write(now_ms)
    if now_ms % 2:
        upkeep(store, now_ms + 20)
    delete_topic(store, DELETED)
    promise.gone = DELETED


def explore(kind: str, seed: int) -> int:
    """Run one scenario; returns how many states were tried."""
    disk = SimDisk()
    explorer = Explorer(config_for(sync=kind != "async"), limit=LIMIT, seed=seed)
    explorer.watch(disk)
    # In every other run queues rest between any two messages, as one of very many does.
    none = dict.fromkeys(("AWAKE_PUT_MAX", "AWAKE_MAX", "AWAKE_IDLE_MAX", "SLACK"), 0)
    some = mock.patch.multiple(queuetable, **none)
    with some if seed % 2 else nullcontext():
        scenario(disk, explorer, random.Random(seed), kind)
        explorer.look(disk)
    return explorer.count


def explore_all(seeds: range) -> int:
    """Share the runs among the processors; an assertion of any of them is raised here."""
    tasks = [(kind, seed) for seed in seeds for kind in KINDS]
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        return sum(pool.map(explore, *zip(*tasks, strict=True)))


@pytest.mark.timeout(3600)
def test_every_state_that_a_power_cut_may_leave_keeps_the_promise() -> None:
    count = explore_all(range(SEEDS_IN_CI))

    print(f"{count} states")
    assert count >= STATES_IN_CI


@pytest.mark.soak
def test_many_more_states_keep_the_promise() -> None:
    count = explore_all(range(SEEDS_IN_CI, SEEDS_IN_SOAK))

    print(f"{count} states")
