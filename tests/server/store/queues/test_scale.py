"""Thousands of queues with the limits of a real broker can be read completely at any time.

Other tests make limits small to reach them with ten queues. What depends on how they stand to
each other shows only here: tails of more than a thousand queues were once cut between bytes.
"""

import random
from pathlib import Path

import pytest

from mqserver.store.store_config import StoreConfig
from tests import soak
from tests.server.store.stores import (
    START_MS,
    abandon,
    bodies,
    flush,
    keep_up,
    make_ahead,
    message,
    open_store,
    records_in,
)

QUEUES_A_TOPIC = 500
TURN = 64


class Run:
    """Puts into many queues, reads of some, upkeep, stops and kills, by chance."""

    def __init__(self, root: Path, *, queues: int, seed: int) -> None:
        self.chance = random.Random(seed)
        self.config = StoreConfig(
            store_path_root_dir=root,
            mapped_file_size_commit_log=64 << 20,
            message_index_enable=False,
        )
        self.store = open_store(self.config)
        self.now_ms = START_MS
        self.count = 0
        self.messages = [
            message(0, topic=f"topic-{n // QUEUES_A_TOPIC}", queue_id=n % QUEUES_A_TOPIC)
            for n in range(queues)
        ]
        self.expected: list[list[bytes]] = [[] for _ in range(queues)]

    def put(self, hot: int) -> None:
        """Put a turn of messages into some of the first queues."""
        for _ in range(TURN):
            number = self.chance.randrange(hot)
            one = self.messages[number]
            one.body = b"%d" % self.count
            self.count += 1
            assert self.store.put(one, self.now_ms).queue_offset == len(self.expected[number])
            self.expected[number].append(one.body)
        self.store.write(self.now_ms)

    def read(self, hot: int) -> None:
        """Pull from somewhere in a queue."""
        number = self.chance.randrange(hot)
        expected, one = self.expected[number], self.messages[number]
        if expected:
            start = self.chance.randrange(len(expected))
            found = self.store.reader.get_message(one.topic, one.queue_id, start, count_max=32)
            read = [record.body for chunk in found.chunks for record in records_in(chunk)]
            assert read == expected[start : start + len(read)] != []

    def upkeep(self) -> None:
        """Let some time pass, a minute now and then."""
        self.now_ms += self.chance.choice((200, 200, 1_000, 1_000, 20_000, 60_000))
        flush(self.store)
        make_ahead(self.store)
        keep_up(self.store, self.now_ms)

    def restart(self) -> None:
        """Stop or kill the store, and open it again."""
        if self.chance.random() < 0.5:
            self.store.close(self.now_ms)
        else:
            flush(self.store)
            abandon(self.store)
        self.store = open_store(self.config)

    def check_all(self) -> None:
        """Read every queue from its beginning."""
        for one, expected in zip(self.messages, self.expected, strict=True):
            assert bodies(self.store, one.topic, one.queue_id) == expected

    def go(self, puts: int) -> None:
        """Do all of it until so many messages are there."""
        part, restarts = len(self.messages), 0
        while self.count < puts:
            hot = self.chance.choice((8, part // 3, part // 2, part))
            for _ in range(self.chance.randrange(1, 60)):
                self.put(hot)
                for _ in range(self.chance.choice((0, 1, 20))):
                    self.read(hot)
            self.upkeep()
            if self.count > (restarts + 1) * puts // 4:
                restarts += 1
                self.restart()
        self.check_all()
        self.store.close(self.now_ms)
        self.store = open_store(self.config)
        self.check_all()
        self.store.close(self.now_ms)


def test_what_a_thousand_queues_hold_is_what_was_put(tmp_path: Path) -> None:
    Run(tmp_path / "store", queues=1_000, seed=1).go(70_000)


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize(("queues", "puts"), [(1_500, 500_000), (6_000, 600_000), (50_000, 10**6)])
def test_what_very_many_queues_hold_is_what_was_put(tmp_path: Path, queues: int, puts: int) -> None:
    for seed in soak.some(range(5), minutes=1):
        Run(tmp_path / str(seed), queues=queues, seed=seed).go(puts)
