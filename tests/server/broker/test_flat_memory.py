"""A load that goes on for long: memory grows up to some level, and not with every message.

The short run counts Python's memory; the long one looks at what the system says that the process
has.
"""

import asyncio
import os
import time
import tracemalloc
from pathlib import Path

import pytest

from mqserver.broker.config import BrokerConfig
from tests import soak
from tests.server.broker.desk import Desk, broker_settings, with_topic

BODY = b"x" * 1_000
GROWTH_SIZE_MAX = 32 << 20
"""Bytes of resident memory that the second half of a long load may add."""


def large_files(root: Path) -> BrokerConfig:
    """Return settings with files as large as a real broker's, since each takes some memory."""
    config = broker_settings(root)
    config.store.mapped_file_size_commit_log = 256 << 20
    config.store.mapped_file_size_consume_queue = 6_000_000
    config.store.max_hash_slot_num = 500_000
    config.store.max_index_num = 2_000_000
    return config


async def load(desk: Desk, count: int) -> None:
    """Send and read messages, 50 at a time, with keys, and commit how far it is."""
    at = 0
    for first in range(0, count, 50):
        answers = await asyncio.gather(
            *(
                desk.send(BODY, properties=f"KEYS\x01k{number}\x02TAGS\x01t{number % 7}")
                for number in range(first, first + 50)
            )
        )
        assert {answer.code for answer in answers} == {0}
        answer = await desk.pull(queue_offset=at, sys_flag=5, commit_offset=at)
        at = int(answer.ext["nextBeginOffset"])


def resident_size() -> int:
    """Return the bytes of memory that this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def test_memory_does_not_grow_with_the_number_of_messages(tmp_path: Path) -> None:
    async with with_topic(tmp_path, config=large_files(tmp_path)) as desk:
        await load(desk, 2_000)
        sizes = []
        tracemalloc.start()
        try:
            for _ in range(8):
                await load(desk, 1_000)
                sizes.append(tracemalloc.get_traced_memory()[0])
        finally:
            tracemalloc.stop()

    # What waits to be written comes and goes; what stays is in the least of several sizes.
    grown = min(sizes[4:]) - min(sizes[:4])
    # A queue entry alone has 20 bytes, and a record over 1,000.
    assert grown < 4_000 * 20, sizes


@pytest.mark.soak
async def test_resident_memory_is_flat_over_a_long_load(tmp_path: Path) -> None:
    samples: list[int] = []

    async with with_topic(tmp_path, config=large_files(tmp_path)) as desk:
        end_s = time.monotonic() + soak.seconds(5)
        while time.monotonic() < end_s:
            await load(desk, 5_000)
            samples.append(resident_size())

    half = len(samples) // 2
    print(f"{len(samples) * 5_000} messages, MiB after each tenth of the time:")
    print([size >> 20 for size in samples[:: max(1, len(samples) // 10)]])
    assert len(samples) >= 4
    assert max(samples[half:]) - samples[half] < GROWTH_SIZE_MAX
