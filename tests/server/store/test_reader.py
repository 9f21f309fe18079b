"""Gets, searches by time and queries: Java's statuses, next offsets and limits."""

import os
import random
from dataclasses import replace
from pathlib import Path

import pytest

from mqserver.store import reader
from mqserver.store.disk import mapped
from mqserver.store.disk.nowait import ColdRead
from mqserver.store.queues.queue import ConsumeQueue
from mqserver.store.results import GetStatus
from mqserver.store.store import MessageStore
from mqserver.store.store_config import StoreConfig
from storefmt.formats.consumequeue import CQ_ENTRY, ENTRY_SIZE
from storefmt.kernels import forms
from tests.server.store.stores import (
    START_MS,
    message,
    open_store,
    put_all,
    put_and_write,
    records_in,
    records_of_key,
    small_config,
)


@pytest.fixture
def store(tmp_path: Path) -> MessageStore:
    """An empty store with one log file of 1 MiB."""
    return open_store(small_config(tmp_path, log_file_size=1 << 20))


@pytest.fixture
def filled(store: MessageStore) -> MessageStore:
    """A store with 50 messages in each of queues 0 and 1 of one topic."""
    put_all(store, range(100))
    return store


@pytest.mark.parametrize(
    ("topic", "queue_offset", "status", "next_offset"),
    [
        ("topic-a", 0, GetStatus.FOUND, 32),
        ("topic-a", 49, GetStatus.FOUND, 50),
        ("topic-a", 50, GetStatus.OFFSET_OVERFLOW_ONE, 50),
        ("topic-a", 51, GetStatus.OFFSET_OVERFLOW_BADLY, 50),
        ("topic-a", -1, GetStatus.OFFSET_TOO_SMALL, 0),
        ("unknown", 7, GetStatus.NO_MATCHED_LOGIC_QUEUE, 0),
    ],
)
def test_get_answers_with_javas_status(
    filled: MessageStore, topic: str, queue_offset: int, status: GetStatus, next_offset: int
) -> None:
    result = filled.reader.get_message(topic, 0, queue_offset, count_max=64)

    assert (result.status, result.next_offset) == (status, next_offset)
    if topic == "topic-a":
        assert (result.min_offset, result.max_offset) == (0, 50)


def test_queue_without_a_stored_message_answers_no_message(filled: MessageStore) -> None:
    filled.put(message(1, topic="new"), START_MS)

    result = filled.reader.get_message("new", 1, 5, count_max=1)

    assert (result.status, result.next_offset) == (GetStatus.NO_MESSAGE_IN_QUEUE, 0)


def test_adjacent_records_come_in_one_chunk(store: MessageStore) -> None:
    put_and_write(store, [message(number, queue_id=0) for number in range(10)])

    result = store.reader.get_message("topic-a", 0, 2, count_max=5)

    assert len(result.chunks) == 1
    assert [record.queue_offset for record in records_in(result.chunks[0])] == [2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("count_max", "size_max", "count"), [(0, None, 1), (5, None, 5), (64, None, 32), (64, 1, 1)]
)
def test_get_keeps_its_limits_but_always_gives_one(
    filled: MessageStore, count_max: int, size_max: int | None, count: int
) -> None:
    result = filled.reader.get_message("topic-a", 1, 0, count_max=count_max, size_max=size_max)

    assert (result.count, result.next_offset) == (count, count)


def test_get_stops_before_256_kib_unless_one_message_is_larger(tmp_path: Path) -> None:
    store = open_store(small_config(tmp_path, log_file_size=4 << 20))
    put_and_write(
        store, [message(0, body=b"x" * size) for size in (100_000, 100_000, 100_000, 300_000, 10)]
    )

    counts = []
    at = 0
    while at < 5:
        result = store.reader.get_message("topic-a", 0, at, count_max=32)
        counts.append(result.count)
        at = result.next_offset

    assert counts == [2, 1, 1, 1]


def test_filter_passes_over_messages_and_looks_at_800_entries(store: MessageStore) -> None:
    store._upkeep._table.files.file_size = 20_000
    put_and_write(store, [replace(message(2 * number), tags_code=number) for number in range(1000)])

    none = store.reader.get_message("topic-a", 0, 0, count_max=32, codes=frozenset({900}))
    one = store.reader.get_message("topic-a", 0, 800, count_max=32, codes=frozenset({900}))
    two = store.reader.get_message("topic-a", 0, 0, count_max=32, codes=frozenset({3, 5}))

    assert (none.status, none.next_offset) == (GetStatus.NO_MATCHED_MESSAGE, 800)
    assert (one.status, one.count, one.next_offset) == (GetStatus.FOUND, 1, 1000)
    assert (two.count, two.next_offset) == (2, 800)


def test_an_entry_that_points_behind_the_log_hides_no_other(
    filled: MessageStore, caplog: pytest.LogCaptureFixture
) -> None:
    queue = filled._table.find("topic-a", 0)
    CQ_ENTRY.pack_into(queue.tail, 10 * ENTRY_SIZE, 1 << 50, 100, 0)

    before = filled.reader.get_message("topic-a", 0, 0, count_max=32)
    at_it = filled.reader.get_message("topic-a", 0, 10, count_max=32)
    records = [one for chunk in (*before.chunks, *at_it.chunks) for one in records_in(chunk)]

    assert (before.status, before.count, before.next_offset) == (GetStatus.FOUND, 32, 33)
    assert (at_it.status, at_it.count, at_it.next_offset) == (GetStatus.FOUND, 32, 43)
    offsets = [record.queue_offset for record in records]
    assert offsets == [*range(10), *range(11, 33), *range(11, 43)]
    assert (
        "entry 10 of queue 0 of topic-a, which points past the end of the log, to 1125899906842624"
        in caplog.text
    )


def test_search_by_time_gives_the_nearest_message(filled: MessageStore) -> None:
    # Queue 0 holds messages 0, 2, 4 … stored at that many ms after the start.
    times = {-5: 0, 0: 0, 10: 5, 11: 5, 12: 6, 98: 49, 1000: 49}

    found = {ms: filled.reader.offset_by_time("topic-a", 0, START_MS + ms) for ms in times}

    assert {ms: offset for ms, offset in found.items() if ms >= 11} == {
        ms: offset for ms, offset in times.items() if ms >= 11
    }
    assert filled.reader.offset_by_time("topic-a", 0, 0) % 10 == 0
    assert filled.reader.offset_by_time("nowhere", 0, START_MS) == 0


def test_store_time_is_that_of_the_message(filled: MessageStore) -> None:
    assert filled.reader.store_time("topic-a", 1, 3) == START_MS + 7
    assert filled.reader.store_time("topic-a", 1, 50) == -1
    assert filled.reader.store_time("nowhere", 1, 0) == -1


@pytest.mark.parametrize("log_offset", [-1, 1, 7, 100, 1 << 40])
def test_reading_where_no_record_starts_gives_nothing(
    filled: MessageStore, log_offset: int
) -> None:
    assert filled.reader.read_record(log_offset) is None


def test_query_gives_the_newest_in_log_order_within_the_time(store: MessageStore) -> None:
    for number in range(30):
        one = replace(message(number), keys=("same",))
        store.put(one, START_MS + number * 1000)
    store.write(START_MS)

    newest = records_of_key(store, "topic-a", "same", count_max=5)
    between = records_of_key(
        store, "topic-a", "same", count_max=64, begin_ms=START_MS + 3000, end_ms=START_MS + 5999
    )

    assert [_number(record) for record in newest] == [25, 26, 27, 28, 29]
    assert [_number(record) for record in between] == [3, 4, 5]
    assert store.reader.index_end()[0] == START_MS + 29_000
    assert records_of_key(store, "topic-b", "same", count_max=5) == []


def _number(record: bytes) -> int:
    return records_in(record)[0].flag


def test_put_that_is_not_written_cannot_be_read(filled: MessageStore) -> None:
    place = filled.put(message(200), START_MS)

    assert filled.max_offset("topic-a", 0) == 50
    assert filled.reader.read_record(place.log_offset) is None


@pytest.mark.parametrize("is_mapped", [True, False])
@pytest.mark.parametrize("log_file_size", [8192, 1 << 16, 1 << 20])
def test_records_read_at_once_with_what_lies_between_are_the_records(
    tmp_path: Path, log_file_size: int, is_mapped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_mapped:
        monkeypatch.setattr(mapped, "_join", lambda view, parts, base: None)
    store = open_store(small_config(tmp_path, log_file_size=log_file_size))
    print("seed 7")
    rng = random.Random(7)
    places: dict[int, list[int]] = {0: [], 1: [], 2: []}
    for number in range(300):
        queue_id = rng.choice([0, 0, 0, 1, 1, 2])
        one = message(number, queue_id=queue_id, body=bytes(rng.choice([0, 10, 500, 7000])))
        places[queue_id].append(store.put(one, START_MS).log_offset)
        store.write(START_MS)

    for queue_id, log_offsets in places.items():
        at = 0
        while at < len(log_offsets):
            found = store.reader.get_message("topic-a", queue_id, at, count_max=32)
            places = log_offsets[at : found.next_offset]
            whole = [store.reader.read_record(place) for place in places]
            assert found.count == len(whole) == found.next_offset - at > 0
            assert b"".join(found.chunks) == b"".join(one for one in whole if one is not None)
            assert None not in whole
            at = found.next_offset


def test_random_gets_return_the_same_with_the_kernels_and_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    print("seed 12")
    rng = random.Random(12)
    store = open_store(small_config(tmp_path, log_file_size=1 << 16))
    for number in range(2_000):
        one = message(number, queue_id=rng.randrange(3), body=bytes(rng.choice([0, 10, 500, 3000])))
        store.put(replace(one, tags_code=rng.choice([1, 2, 3])), START_MS)
        if rng.random() < 0.3:
            store.write(START_MS)
    store.write(START_MS)

    for _ in range(400):
        store.reader._memory_size = rng.choice([1 << 30, 100_000, 0])
        queue_id, queue_offset = rng.randrange(3), rng.randrange(-1, 700)
        asked = {
            "count_max": rng.choice([0, 1, 32, 64]),
            "size_max": rng.choice([None, None, 1, 5_000]),
            "codes": rng.choice([None, frozenset({2}), frozenset({1, 3}), frozenset()]),
        }
        found = []
        for pick, join in zip(
            forms("pick_compiled").values(), forms("join_compiled").values(), strict=True
        ):
            monkeypatch.setattr(reader, "pick", pick)
            monkeypatch.setattr(mapped, "_join", join)
            result = store.reader.get_message("topic-a", queue_id, queue_offset, **asked)
            found.append(replace(result, chunks=[b"".join(result.chunks)]))
        assert found[0] == found[-1]


def test_search_by_time_is_exact_or_nearest_in_every_queue(store: MessageStore) -> None:
    chance = random.Random(11)
    stored: dict[int, list[int]] = {}
    for queue_id in range(8):
        # Runs of equal times, holes, and queues of one file or several (of 20 entries).
        ms, times = START_MS, stored.setdefault(queue_id, [])
        for number in range(chance.choice([1, 2, 19, 20, 21, 60, 95])):
            ms += chance.choice([0, 0, 0, 1, 2, 5, 1_000])
            store.put(message(number, topic="t", queue_id=queue_id), ms)
            store.write(ms)
            times.append(ms)

    for queue_id, times in stored.items():
        wanted = {0, times[0] - 1, times[-1] + 1, times[-1] + 10**6}
        wanted |= {ms + by for ms in times for by in (-2, -1, 0, 1, 400)}
        for ms in wanted:
            found = store.reader.offset_by_time("t", queue_id, ms)
            nearest = min(abs(one - ms) for one in times)
            if ms in times:
                assert times[found] == ms
            elif ms < times[0]:
                assert times[found] == times[0]
            elif ms > times[-1]:
                assert found == len(times) - 1
            else:
                # Of the two neighbours, but never one of an earlier file, as in Java.
                before, after = max(t for t in times if t < ms), min(t for t in times if t > ms)
                assert times[found] in (before, after)
                if times.index(after) % 20:
                    assert abs(times[found] - ms) == nearest


@pytest.mark.parametrize(
    ("back", "count", "suggests"),
    [(1, 1, False), (21, 21, False), (28, 28, False), (30, 8, True), (50, 8, True)],
)
@pytest.mark.parametrize("is_filtered", [False, True])
def test_far_behind_the_end_a_pull_gets_less_and_is_sent_to_a_slave(
    store: MessageStore, back: int, count: int, suggests: bool, *, is_filtered: bool
) -> None:
    size = store.put(message(0, queue_id=0), START_MS).size
    put_and_write(store, [message(0, queue_id=0) for _ in range(49)])
    # Asked for each message, as in Java: the one that makes a pull full, and the last one.
    store.reader._memory_size = 20 * size
    codes = frozenset({message(0).tags_code}) if is_filtered else None

    found = store.reader.get_message("topic-a", 0, 50 - back, count_max=32, codes=codes)

    assert (found.status, found.count, found.suggest_slave) == (GetStatus.FOUND, count, suggests)
    assert found.next_offset == 50 - back + count


def test_far_behind_the_end_a_pull_gets_64_kib_at_most(store: MessageStore) -> None:
    put_and_write(store, [message(number, queue_id=0, body=b"x" * 20_000) for number in range(10)])

    in_memory = store.reader.get_message("topic-a", 0, 0, count_max=32)
    store.reader._memory_size = 1
    on_disk = store.reader.get_message("topic-a", 0, 0, count_max=32)

    assert (in_memory.count, on_disk.count) == (10, 3)


def test_other_keys_of_the_same_hash_are_found_too_and_the_caller_tells_them_apart(
    tmp_path: Path,
) -> None:
    store = open_store(small_config(tmp_path))
    # "Aa" and "BB" have one hash in Java.
    for number, key in enumerate(("Aa", "BB", "Aa")):
        store.put(replace(message(number), keys=(key,)), START_MS)
    store.write(START_MS)

    found = records_of_key(store, "topic-a", "Aa", count_max=64)

    assert [_number(record) for record in found] == [0, 1, 2]


def test_a_thread_that_reads_cold_entries_reads_their_records_at_once(
    filled: MessageStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = filled.reader._find("topic-a", 1)
    entries = bytes(known.read(5, 3))
    (tmp_path / "entries").write_bytes(entries)

    def refuse(queue: ConsumeQueue, start: int, count: int) -> bytes:
        with (tmp_path / "entries").open("rb") as file:
            raise ColdRead(file.fileno(), len(entries), 0)

    monkeypatch.setattr(ConsumeQueue, "read", refuse)
    with pytest.raises(ColdRead) as caught:
        filled.reader.get_message("topic-a", 1, 5, count_max=3, may_wait=False)

    read, pread = [], os.pread
    monkeypatch.setattr(os, "pread", lambda *args: read.append(args[1:]) or pread(*args))
    caught.value.warm()

    records = [(size, log_offset) for log_offset, size, _ in CQ_ENTRY.iter_unpack(entries)]
    covered = range(read[1][1], sum(read[-1]))
    assert read[0] == (len(entries), 0)
    assert all(at in covered and at + size - 1 in covered for size, at in records)


def test_ratio_of_zero_counts_every_message_but_the_last_as_on_disk(store: MessageStore) -> None:
    put_and_write(store, [message(0, queue_id=0) for _ in range(20)])
    config = StoreConfig(store_path_root_dir="unused", access_message_in_memory_max_ratio=0)
    store.reader.settings_changed(config)

    found = store.reader.get_message("topic-a", 0, 0, count_max=32)

    assert (found.count, found.suggest_slave) == (8, True)
