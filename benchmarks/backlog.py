"""What a backlog costs: puts, pulls all over it, and a start, with 10^3 to 10^8 messages stored.

    python -m benchmarks.backlog --directory /some/disk [--most 100000000] [--pictures docs]

One store with 8 queues grows from step to step; it is measured alone, without sockets. 10^8
messages of 100 bytes take 22 GB. "Pulls" asks for 32 messages at a time, at random places.
"""

import argparse
import random
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.curves import Line, picture
from benchmarks.queues import message, put
from benchmarks.telling import markdown, tell
from mqserver.store.results import GetStatus
from mqserver.store.store import MessageStore
from mqserver.store.store_config import StoreConfig

QUEUES: Final = 8
FIRST: Final = 1_000
PUTS_MAX: Final = 50_000
PULLS: Final = 2_000
PULLED: Final = 32


class Step(NamedTuple):
    """What was measured with so many messages stored; rates are messages a second of CPU time."""

    stored: int
    put_rate: float
    pull_rate: float
    open_s: float


def pull_rate(store: MessageStore) -> float:
    """Pull at random places; return messages a second of CPU time."""
    places = [
        (topic, queue_id, store.max_offset(topic, queue_id))
        for topic, queue_id in ((one.topic, one.queue_id) for one in map(message, range(QUEUES)))
    ]
    chosen, pulled = random.Random(1), 0
    begin_s = time.process_time()
    for number in range(PULLS):
        topic, queue_id, end = places[number % QUEUES]
        start = chosen.randrange(max(1, end - PULLED))
        found = store.reader.get_message(topic, queue_id, start, count_max=PULLED)
        if found.status is not GetStatus.FOUND:
            raise ValueError(f"{topic} queue {queue_id} at {start}: {found.status}")
        pulled += found.next_offset - start
    return pulled / (time.process_time() - begin_s)


def grow(root: Path, most: int) -> list[Step]:
    """Return a step for each power of ten up to ``most``."""
    config = StoreConfig(store_path_root_dir=root)
    messages = [message(number) for number in range(QUEUES)]
    steps: list[Step] = []
    stored, wanted = 0, FIRST
    while wanted <= most:
        store = MessageStore.open(config, now_ms=int(time.time() * 1_000))
        put(store, wanted - stored, messages)
        store.close(int(time.time() * 1_000))
        begin_s = time.perf_counter()
        store = MessageStore.open(config, now_ms=int(time.time() * 1_000))
        open_s = time.perf_counter() - begin_s
        # Fewer than the next step adds.
        more = min(PUTS_MAX, 5 * wanted)
        steps.append(Step(wanted, put(store, more, messages), pull_rate(store), open_s))
        store.close(int(time.time() * 1_000))
        print(steps[-1], flush=True)
        stored, wanted = wanted + more, wanted * 10
    return steps


def table(steps: Sequence[Step]) -> str:
    """Return the steps as Markdown."""
    return markdown(
        ("messages stored", "puts a CPU s", "pulled a CPU s", "start, s"),
        (
            (
                f"{one.stored:,}",
                f"{one.put_rate:,.0f}",
                f"{one.pull_rate:,.0f}",
                f"{one.open_s:.2f}",
            )
            for one in steps
        ),
    )


def main() -> None:
    """Measure, print the table, and draw it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.backlog", description=__doc__)
    parser.add_argument("--directory", type=Path, required=True)
    parser.add_argument("--most", type=int, default=100_000_000, help="messages, at the end")
    parser.add_argument("--pictures", type=Path, help="draw bench-backlog.svg into this directory")
    options = parser.parse_args()
    root = options.directory / "store"
    try:
        steps = grow(root, options.most)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    tell(table(steps), None)
    if options.pictures is not None:
        drawn = picture(
            "Messages a second of CPU time, store alone",
            "messages stored",
            [
                Line("ours", "put", [(one.stored, one.put_rate) for one in steps]),
                Line("ours", "pulled", [(one.stored, one.pull_rate) for one in steps]),
            ],
        )
        (options.pictures / "bench-backlog.svg").write_text(drawn)


if __name__ == "__main__":
    main()
