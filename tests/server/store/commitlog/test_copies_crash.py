"""After kills and power cuts each queue has the copies that the rest of the log names, and no more.

A model remembers each message with its queues. After every kill all of them are there; after a
power cut those whose record is left.
"""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from mqserver.store.results import PutMessage, PutStatus
from mqserver.store.store import MessageStore
from storefmt.formats.properties import INNER_MULTI_DISPATCH, INNER_MULTI_QUEUE_OFFSET
from tests.server.store.simdisk import SimDisk
from tests.server.store.stores import (
    START_MS,
    abandon,
    bodies,
    delete_topic,
    flush,
    keep_up,
    make_ahead,
    message,
    open_store,
    run_of,
    small_config,
)

OWN = ("topic-a", "topic-b")
NAMES = (*OWN, "%LMQ%a", "%LMQ%b", "other")
Key = tuple[str, int]


class Machine:
    """One store, and its expected content: body and log offset of each record, by queue."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        # Without dispatch.json deleted topics come back, so a run has one of the two.
        self.deletes_topics = seed % 2 == 0
        self.disk = SimDisk()
        self.config = small_config(
            Path("/store"),
            enable_multi_dispatch=True,
            enable_lmq=True,
            flush_interval_consume_queue_ms=10,
        )
        self.queues: dict[Key, list[tuple[bytes, int]]] = {}
        self.count = 0
        self.now_ms = START_MS
        self.store: MessageStore = open_store(self.config, disk=self.disk)

    def message(self, topic: str) -> tuple[PutMessage, list[Key]]:
        self.count += 1
        one = message(self.count, topic=topic, queue_id=0, body=b"%d" % self.count)
        names = self.chance.sample(NAMES, self.chance.randrange(3))
        claim = self.chance.randrange(9)
        text = f"{INNER_MULTI_DISPATCH}\1{','.join(names)}\2{INNER_MULTI_QUEUE_OFFSET}\1{claim}\2"
        if names:
            one = replace(one, properties=text.encode() + one.properties)
        return one, list(dict.fromkeys([(topic, 0), *((name, 0) for name in names)]))

    def put(self) -> None:
        """Put a message, or several in a batch."""
        topic = self.chance.choice(OWN)
        several = [self.message(topic) for _ in range(self.chance.choice((1, 1, 4)))]
        one = several[0][0]
        if len(several) == 1:
            put = self.store.put(one, self.now_ms)
            assert put.status is PutStatus.PUT_OK
            starts = [put.log_offset]
        else:
            result = self.store.put_run(run_of([m for m, _ in several]), self.now_ms)
            assert result.status is PutStatus.PUT_OK
            starts = result.log_offsets
        self.store.write(self.now_ms)
        for (sent, keys), start in zip(several, starts, strict=True):
            for key in keys:
                self.queues.setdefault(key, []).append((bytes(sent.body), start))

    def work(self) -> None:
        """Put, flush, sync, delete a topic, or make the next file."""
        for _ in range(self.chance.randrange(5, 40)):
            self.now_ms += self.chance.randrange(20)
            self.put()
            if self.chance.random() < 0.3:
                flush(self.store)
            make_ahead(self.store)
            keep_up(self.store, self.now_ms)
            if self.deletes_topics and self.chance.random() < 0.04:
                gone = self.chance.choice(NAMES)
                delete_topic(self.store, gone)
                self.queues.pop((gone, 0), None)

    def crash(self) -> None:
        """Kill the process or cut the power, and start again."""
        abandon(self.store)
        if self.chance.random() < 0.5:
            self.disk = self.disk.crash(self.chance.randrange(1 << 30))
        elif not self.deletes_topics and self.chance.random() < 0.4:
            self.disk.unlink(Path("/store/dispatch.json"))
        self.store = open_store(self.config, disk=self.disk)
        end = self.store.written_offset
        self.queues = {
            key: [item for item in items if item[1] < end] for key, items in self.queues.items()
        }

    def check(self) -> None:
        for key, items in self.queues.items():
            found = bodies(self.store, *key) if self.store.max_offset(*key) else []
            assert found == [body for body, _ in items], key


@pytest.mark.parametrize("seed", range(20))
def test_every_queue_has_what_the_log_says_after_kills_and_power_cuts(seed: int) -> None:
    machine = Machine(seed)
    for _ in range(8):
        machine.work()
        machine.check()
        machine.crash()
        machine.check()
    machine.store.close(machine.now_ms)
