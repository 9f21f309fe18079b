"""The comparison of two logs finds where they diverge."""

import asyncio
from pathlib import Path

import pytest

from mqserver.broker.ha.log_compare import LogsDiverged, compare, record_starts
from mqserver.store.store import MessageStore
from tests.server.store.stores import (
    LOG_FILE_SIZE,
    START_MS,
    message,
    open_store,
    put_all,
    small_config,
)

COUNT = 300


def made(root: Path, *, differs_from: int = COUNT, count: int = COUNT) -> MessageStore:
    """Return a store whose messages from a number on have another body."""
    store = open_store(small_config(root))
    for number in range(count):
        body = b"other %d" % number if number >= differs_from else None
        store.put(message(number, body=body), START_MS + number)
        store.write(START_MS + number)
    return store


async def held_against(slave: MessageStore, master: MessageStore, *, master_min: int = 0) -> None:
    async def record_at(log_offset: int) -> bytes | None:
        return master.reader.read_record(log_offset)

    await compare(
        slave.raw, log_min=slave.min_log_offset, master_min=master_min, record_at=record_at
    )


def test_beginning_of_the_masters_log_is_the_same(tmp_path: Path) -> None:
    master = made(tmp_path / "m")
    for number, count in enumerate((0, 1, 50, COUNT)):
        asyncio.run(held_against(made(tmp_path / f"s{number}", count=count), master))


@pytest.mark.parametrize("first", [0, 1, 60, 133, 150, 298, 299])
def test_place_where_logs_part_is_the_end_of_the_last_common_record(
    tmp_path: Path, first: int
) -> None:
    master = made(tmp_path / "m")
    slave = made(tmp_path / "s", differs_from=first)

    with pytest.raises(LogsDiverged, match="the logs diverge at") as parting:
        asyncio.run(held_against(slave, master))

    starts: list[int] = []
    for base in range(0, slave.written_offset, LOG_FILE_SIZE):
        end = min(base + LOG_FILE_SIZE, slave.written_offset)
        starts += asyncio.run(record_starts(slave.raw, base, end))
    assert len(starts) == COUNT
    assert parting.value.log_offset == starts[first]


async def test_longer_log_parts_where_the_master_ends(tmp_path: Path) -> None:
    master = made(tmp_path / "m", count=100)
    slave = made(tmp_path / "s", count=110)
    with pytest.raises(LogsDiverged) as parting:
        await held_against(slave, master)
    assert parting.value.log_offset == master.written_offset


async def test_log_that_ends_before_the_masters_begins_is_told_so(tmp_path: Path) -> None:
    master = made(tmp_path / "m", count=3)
    slave = open_store(small_config(tmp_path / "s"))
    put_all(slave, range(3))

    with pytest.raises(LogsDiverged, match="the bytes between them are gone"):
        await held_against(slave, master, master_min=1 << 20)
