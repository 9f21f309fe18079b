"""A store opens with files of any length and has the messages before the first missing byte.

    log 64 KiB     cut at byte n ──> the records that lie below n, the file as long as before
    queue 64 KiB ┐
    index 64 KiB ├─ cut at byte n ──> every message and key
    checkpoint   │
    dispatch     ┘
                    every 8th goes on: files of log, queues and index as if nothing had been

On a disk in memory. ``make test-full`` takes samples, ``make soak`` as many as there is time for.
"""

import itertools
import random
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from mqserver.store.results import PutStatus
from mqserver.store.store_config import StoreConfig
from storefmt.formats.message import decode_record
from tests import soak
from tests.server.store.recovery.crashstates import derived
from tests.server.store.simdisk import SimDisk
from tests.server.store.stores import (
    START_MS,
    abandon,
    bodies,
    flush,
    keep_up,
    message,
    open_store,
    records_of_key,
    small_config,
    step_up,
)

ROOT = Path("/store")
TOPIC = "topic-a"
COUNT = 30
BODY_SIZE = 1900
SIZE = 1 << 16
PARTS = ("commitlog", "queue", "index", "checkpoint", "dispatch")
SHARES = 256
"""Number of shares for the processors; the lengths of a share are so many bytes apart."""
SEED = 20261122
SAMPLE_COUNT = 30
GO_ON_EVERY = 8
"""After every so many lengths the store takes further messages, and its files are compared."""

Files = dict[str, bytes]


def config_for() -> StoreConfig:
    """Return settings with which each file has 64 KiB, or little more."""
    return small_config(
        ROOT,
        sync=True,
        log_file_size=SIZE,
        mapped_file_size_consume_queue=(SIZE // 20 + 1) * 20,
        max_index_num=SIZE // 20,
    )


def source(*, clean: bool) -> tuple[SimDisk, list[int]]:
    """Return a store after a stop or a kill, and where each record ends."""
    disk = SimDisk()
    store = open_store(config_for(), disk=disk)
    ends = []
    for number in range(COUNT):
        one = message(number, body=b"%d " % number + b"x" * BODY_SIZE)
        assert store.put(one, START_MS + number).status is PutStatus.PUT_OK
        store.write(START_MS + number)
        ends.append(store.written_offset)
        if number == COUNT // 2:
            # The safe point of a kill is in the middle.
            flush(store)
            assert keep_up(store, START_MS + 3_600_000)
    if clean:
        store.close(START_MS + COUNT)
    else:
        flush(store)
        assert not step_up(store, START_MS + 3_602_000)
    return disk.kept(), ends


def names_of(files: Files, part: str) -> list[str]:
    """Return the files of one kind."""
    folder = {"queue": f"/store/consumequeue/{TOPIC}/0", "dispatch": "/store/dispatch.json"}
    start = folder.get(part, f"/store/{part}")
    return [name for name, data in sorted(files.items()) if name.startswith(start) and data]


def check_lengths(part: str, lengths: Iterable[int], clean: bool) -> tuple[int, int]:
    """Cut a file to each length, open, check; returns how many there were, and the longest in ms.

    Lengths that the file does not have are left out.
    """
    before, ends = source(clean=clean)
    whole = before.kept()
    open_store(config_for(), disk=whole).close(START_MS)
    wanted = derived(whole)
    (name,) = names_of(before.files(), part)
    file_size = len(before.files()[name])
    slowest_s = 0.0
    count = 0
    for size in lengths:
        if size < file_size:
            disk = before.kept()
            disk.open(name).truncate(size)
            started_s = time.perf_counter()
            open_cut(disk.kept(), name, size, ends, wanted)
            slowest_s = max(slowest_s, time.perf_counter() - started_s)
            count += 1
    return count, round(slowest_s * 1000)


def open_cut(disk: SimDisk, name: str, size: int, ends: list[int], wanted: Files) -> None:
    """Open a store with one file cut, check it, and put further messages into it."""
    is_log = "/commitlog/" in name
    count = sum(end <= size for end in ends) if is_log else COUNT

    store = open_store(config_for(), disk=disk)

    assert store.recovery.damaged == [], (name, size)
    # However short the file is, nothing is read again and again.
    assert store.recovery.scanned_size <= 2 * SIZE, (name, size)
    assert numbers_read(store) == list(range(count)), (name, size)
    if count:
        (found,) = records_of_key(store, TOPIC, f"k{count - 1}", count_max=2)
        assert decode_record(found).body.startswith(b"%d " % (count - 1))
    file = disk.stat(name)
    assert not is_log or file is None or file.size == SIZE, (name, size)
    if size % GO_ON_EVERY:
        abandon(store)
        return
    # What was cut off can be put again: the same messages make the same files.
    for number in range(count, COUNT):
        one = message(number, body=b"%d " % number + b"x" * BODY_SIZE)
        assert store.put(one, START_MS + number).status is PutStatus.PUT_OK
        store.write(START_MS + number)
    store.close(START_MS)
    assert derived(disk) == wanted, (name, size)


def numbers_read(store) -> list[int]:  # type: ignore[no-untyped-def]
    """Return the numbers of all messages that are read, which lie in their queues in order."""
    found = [[int(body.split()[0]) for body in bodies(store, TOPIC, one)] for one in (0, 1)]
    assert all(numbers == sorted(numbers) for numbers in found)
    return sorted(itertools.chain(*found))


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("clean", [True, False], ids=["stopped", "killed"])
def test_file_cut_to_a_sample_of_lengths_opens(part: str, *, clean: bool) -> None:
    chance = random.Random(SEED)
    print(f"seed {SEED}")
    disk, ends = source(clean=clean)
    (content,) = (disk.files()[name] for name in names_of(disk.files(), part))
    used = len(content.rstrip(b"\0"))
    picked = {chance.randrange(used) for _ in range(SAMPLE_COUNT)}
    picked |= {0, 1, used - 1, used, len(content) - 1, chance.randrange(len(content))}
    # A single file of such a length must not count as a store of smaller files.
    picked |= {512, 4096, SIZE // 2}
    if part == "commitlog":
        picked |= {end + by for end in ends[-3:] for by in (-1, 0, 1)}

    count, _ = check_lengths(part, sorted(picked), clean=clean)

    assert count > SAMPLE_COUNT // 3


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("clean", [True, False], ids=["stopped", "killed"])
def test_file_cut_to_any_length_opens(part: str, *, clean: bool) -> None:
    shares = [(part, range(first, 2 * SIZE, SHARES), clean) for first in range(SHARES)]

    found = soak.spread(check_lengths, shares, minutes=0.4)

    counts, slowest = zip(*found, strict=True)
    print(f"{part}: {sum(counts)} lengths, the slowest {max(slowest)} ms")
    assert sum(counts)
