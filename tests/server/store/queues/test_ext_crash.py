"""Power cuts with ext files: an address never leads to the unit of another message."""

import contextlib
import random

import pytest

from mqserver.store.results import DispatchEntry
from mqserver.store.store import MessageStore
from storefmt.formats.consumequeue import is_ext_address
from storefmt.formats.consumequeue_ext import ExtUnit
from storefmt.formats.message import decode_record
from tests.server.store.recovery.test_crash import History, check, config_for, send
from tests.server.store.simdisk import PowerCut, SimDisk
from tests.server.store.stores import flush, message, open_store

CALLS_MAX = 400
CUTS = 60


def bits(entry: DispatchEntry) -> bytes:
    """Return a bit map that tells the message."""
    return entry.log_offset.to_bytes(4, "big") + entry.size.to_bytes(2, "big")


def opened(disk: SimDisk, *, sync: bool) -> MessageStore:
    config = config_for(
        sync=sync, enable_consume_queue_ext=True, mapped_file_size_consume_queue_ext=200
    )
    store = open_store(config, disk=disk)
    store.exts.bit_map = bits
    return store


def check_units(store: MessageStore) -> int:
    """Compare each existing unit with its message; return the number of units."""
    count = 0
    for queue_id in (0, 1):
        end = store.max_offset("topic-a", queue_id)
        start = store.min_offset("topic-a", queue_id)
        while start < end:
            entries = store.reader.entries("topic-a", queue_id, start=start, count=end - start)
            assert entries
            for log_offset, size, code, unit in entries:
                record = decode_record(store.reader.read_record(log_offset) or b"")
                assert record.size == size
                if unit is None:
                    # Plain, or a lost unit, which readers take for one that may match.
                    assert code == record.tags_code or is_ext_address(code)
                    continue
                count += 1
                told = log_offset.to_bytes(4, "big") + size.to_bytes(2, "big")
                assert unit == ExtUnit(record.tags_code, record.store_ms, told)
            start += len(entries)
    return count


@pytest.mark.parametrize("sync", [True, False])
def test_unit_that_is_there_is_that_of_its_message(sync: bool) -> None:
    count = 0
    for seed in range(CUTS):
        disk, history = SimDisk(), History()
        for turn in range(3):
            store, chance = opened(disk, sync=sync), random.Random(seed * 10 + turn)
            disk.cut_power_at(disk.clock + chance.randrange(1, CALLS_MAX) + 1)
            with contextlib.suppress(PowerCut):
                for _ in range(30):
                    send(store, history, chance)
            disk = disk.crash(seed * 10 + turn)
            if sync:
                check(disk.kept(), history)
            again = opened(disk.kept(), sync=sync)
            count += check_units(again)
    assert count > CUTS


def units_of(store: MessageStore) -> list[ExtUnit | None]:
    """Return the unit of each message of queue 0, None for a plain entry."""
    found: list[ExtUnit | None] = []
    while entries := store.reader.entries("topic-a", 0, start=len(found), count=20):
        found += [unit for *_, unit in entries]
    return found


def test_messages_behind_the_safe_point_lose_their_units_with_a_kill_and_others_keep_them() -> None:
    disk, history = SimDisk(), History()
    store = opened(disk, sync=True)
    chance = random.Random(1)
    for _ in range(30):
        send(store, history, chance)
    # No upkeep comes after this one, so no safe point moves over it.
    store.put(message(0), history.now_ms)
    store.write(history.now_ms)
    flush(store)
    before = units_of(store)

    after = units_of(opened(disk.kept(), sync=True))

    kept = sum(unit is not None for unit in after)
    assert None not in before
    assert 0 < kept < len(before)
    assert after == before[:kept] + [None] * (len(before) - kept)
