"""Puts: the bytes of records, the statuses, and files that are full to the last byte."""

from dataclasses import replace
from pathlib import Path

import pytest

from mqserver.store.results import PutRun, PutStatus, RunMessage
from mqserver.store.store import MessageStore
from storefmt.formats.hosts import pack_host
from storefmt.formats.message import blank, decode_record
from tests.records import record_bytes
from tests.server.store.simdisk import SimDisk, refusing
from tests.server.store.stores import (
    BORN,
    HOST,
    LOG_FILE_SIZE,
    START_MS,
    message,
    open_store,
    put_and_write,
    records_of_key,
    run_of,
    small_config,
)

V6 = pack_host("2001:db8::7", 40123)
FIXED = 91 + len("topic-a") + len(message(0).properties)


@pytest.mark.parametrize("born", [BORN, V6])
@pytest.mark.parametrize("host", [HOST, V6])
def test_record_equals_the_codec_of_the_declared_layout(
    store: MessageStore, born: bytes, host: bytes
) -> None:
    one = replace(message(3), born_host=born, store_host=host, sys_flag=0x301, flag=-5)

    place = store.put(one, START_MS)
    store.write(START_MS)

    expected = record_bytes(
        topic=one.topic_bytes,
        queue_id=1,
        flag=-5,
        sys_flag=0x301,
        born_ms=one.born_ms,
        born_host=born,
        store_ms=START_MS,
        store_host=host,
        body=one.body,
        properties=one.properties,
    )
    assert store.reader.read_record(0) == expected
    assert place.size == len(expected)


@pytest.mark.parametrize("spare", [8, 7])
def test_record_leaves_eight_bytes_or_goes_into_the_next_file(
    store: MessageStore, tmp_path: Path, spare: int
) -> None:
    first = store.put(message(0, body=b"a" * 1000), START_MS)
    left = LOG_FILE_SIZE - first.size

    second = store.put(message(0, body=b"b" * (left - spare - FIXED)), START_MS)
    store.write(START_MS)

    assert second.size == left - spare
    assert second.log_offset == (first.size if spare == 8 else LOG_FILE_SIZE)
    found = store.reader.get_message("topic-a", 0, 0, count_max=32)
    assert found.count == 2
    store.close(START_MS)
    data = (tmp_path / "commitlog" / f"{0:020d}").read_bytes()
    end = LOG_FILE_SIZE - 8 if spare == 8 else first.size
    marker = bytes(8) if spare == 8 else blank(left)
    assert data[end:] == marker.ljust(LOG_FILE_SIZE - end, b"\0")


def test_put_after_a_file_that_is_full_to_the_byte_writes_the_smallest_blank(
    tmp_path: Path,
) -> None:
    config = small_config(tmp_path)
    store = open_store(config)
    store.put(message(0, body=b"a" * (LOG_FILE_SIZE - 8 - FIXED)), START_MS)

    place = store.put(message(2), START_MS)
    store.write(START_MS)
    store.close(START_MS)

    assert place.log_offset == LOG_FILE_SIZE
    data = (tmp_path / "commitlog" / f"{0:020d}").read_bytes()
    assert data[-8:] == blank(8)
    again = open_store(config)
    assert again.max_offset("topic-a", 0) == 2


def test_what_cannot_be_stored_is_refused_and_takes_no_place(tmp_path: Path) -> None:
    store = open_store(small_config(tmp_path, log_file_size=1 << 20, max_message_size=1000))

    statuses = [
        store.put(one, START_MS).status
        for one in (
            message(0, topic="t" * 128),
            message(0, body=b"x" * 1001),
            replace(message(0), properties=b"x" * 32768),
        )
    ]
    accepted = store.put(message(0, body=b"x" * 1000), START_MS)

    assert statuses == [
        PutStatus.MESSAGE_ILLEGAL,
        PutStatus.MESSAGE_ILLEGAL,
        PutStatus.PROPERTIES_SIZE_EXCEEDED,
    ]
    assert accepted[:3] == (PutStatus.PUT_OK, 0, 0)


def test_record_larger_than_a_file_is_refused(store: MessageStore) -> None:
    result = store.put(message(0, body=b"x" * LOG_FILE_SIZE), START_MS)

    assert result.status is PutStatus.MESSAGE_ILLEGAL


@pytest.mark.parametrize(("sys_flag", "is_queued"), [(0, True), (4, False), (8, True), (12, False)])
def test_half_and_rollback_records_get_no_queue_entry(
    store: MessageStore, sys_flag: int, is_queued: bool
) -> None:
    store.put(message(0), START_MS)

    place = store.put(replace(message(2), sys_flag=sys_flag), START_MS)
    put_and_write(store, [message(4)])

    assert place.queue_offset == (1 if is_queued else 0)
    assert store.max_offset("topic-a", 0) == (3 if is_queued else 2)
    found = records_of_key(store, "topic-a", "k2", count_max=5)
    assert len(found) == (0 if sys_flag == 12 else 1)
    assert decode_record(store.reader.read_record(place.log_offset)).sys_flag == sys_flag


@pytest.mark.parametrize("born", [BORN, V6])
@pytest.mark.parametrize("host", [HOST, V6])
def test_run_makes_the_records_that_single_puts_make(
    tmp_path: Path, born: bytes, host: bytes
) -> None:
    several = [
        replace(
            message(number, queue_id=1, body=b"b" * size),
            born_host=born,
            store_host=host,
            born_ms=7,
            reconsume_times=2,
        )
        for number, size in enumerate([0, 3, LOG_FILE_SIZE // 2, 700, 1])
    ]
    run = replace(run_of(several), sys_flag=0x301)
    singly, at_once = (
        open_store(small_config(tmp_path / "a")),
        open_store(small_config(tmp_path / "b")),
    )

    places = [singly.put(replace(one, sys_flag=0x301), START_MS) for one in several]
    result = at_once.put_run(run, START_MS)

    assert result.status is PutStatus.PUT_OK
    assert (result.queue_offset, result.size) == (0, sum(place.size for place in places))
    assert result.log_offsets == [place.log_offset for place in places]
    for store in (singly, at_once):
        store.write(START_MS)
    for one, place in zip(several, places, strict=True):
        record = at_once.reader.read_record(place.log_offset)
        assert record == singly.reader.read_record(place.log_offset)
        found = records_of_key(at_once, "topic-a", one.keys[0], count_max=9)
        assert found == [record]
    assert at_once.max_offset("topic-a", 1) == len(several)


@pytest.mark.parametrize(
    "bad",
    [
        RunMessage(b"x" * LOG_FILE_SIZE, b"", 0, 0, ()),
        RunMessage(b"x", b"p" * 32768, 0, 0, ()),
        RunMessage(b"x" * (LOG_FILE_SIZE - 250), b"", 0, 0, ()),
    ],
    ids=["larger than a file", "properties", "with the others larger than a file"],
)
def test_run_with_a_message_that_cannot_be_stored_leaves_nothing(
    store: MessageStore, bad: RunMessage
) -> None:
    good = RunMessage(b"a", b"", 0, 0, ("key",))
    run = PutRun("topic-a", b"topic-a", 0, 0, 7, BORN, HOST, 0, [good, bad, good])

    refused = store.put_run(run, START_MS)
    taken = store.put_run(replace(run, messages=[good, good]), START_MS)
    store.write(START_MS)

    assert refused == (PutStatus.MESSAGE_ILLEGAL, -1, [], 0)
    assert (taken.queue_offset, taken.log_offsets[0]) == (0, 0)
    assert store.max_offset("topic-a", 0) == 2
    assert len(records_of_key(store, "topic-a", "key", count_max=9)) == 2
    long = replace(run, messages=[good], topic_bytes=b"t" * 128, topic="t" * 128)
    assert store.put_run(long, 1).status is PutStatus.MESSAGE_ILLEGAL
    store.close(START_MS)
    assert store.put_run(run, START_MS).status is PutStatus.SERVICE_NOT_AVAILABLE


def test_run_without_space_for_its_next_file_leaves_nothing(disk: SimDisk, tmp_path: Path) -> None:
    store = open_store(small_config(tmp_path), disk=disk)
    first = RunMessage(b"a" * 2000, b"", 0, 0, ())
    run = PutRun("topic-a", b"topic-a", 0, 0, 7, BORN, HOST, 0, [first])
    store.put_run(run, START_MS)
    disk.on_call = refusing("allocate")
    refused = store.put_run(replace(run, messages=[first] * 3), START_MS)
    disk.on_call = lambda name, path: None
    taken = store.put_run(replace(run, messages=[first] * 3), START_MS)
    store.write(START_MS)

    assert refused.status is PutStatus.SERVICE_NOT_AVAILABLE
    assert (taken.queue_offset, taken.log_offsets[0]) == (1, LOG_FILE_SIZE)
    assert store.max_offset("topic-a", 0) == 4
    store.close(START_MS)


def test_run_that_does_not_fit_goes_into_the_next_file_as_a_whole(store: MessageStore) -> None:
    half = RunMessage(b"a" * (LOG_FILE_SIZE // 2 - 200), b"", 0, 0, ())
    run = PutRun("topic-a", b"topic-a", 0, 0, 7, BORN, HOST, 0, [half])
    first = store.put_run(run, START_MS)

    second = store.put_run(replace(run, messages=[half, half]), START_MS)
    store.write(START_MS)

    assert second.log_offsets == [LOG_FILE_SIZE, LOG_FILE_SIZE + first.size]


def test_full_disk_refuses_every_way_to_put(store: MessageStore) -> None:
    one = message(0)
    run = PutRun("topic-a", b"topic-a", 0, 0, 7, BORN, HOST, 0, [RunMessage(b"", b"", 0, 0, ())])
    store.cleaner.policy.disk_full = "the disk is 91 % full"

    statuses = [store.put(one, START_MS).status, store.put_run(run, START_MS).status]

    assert statuses == [PutStatus.SERVICE_NOT_AVAILABLE] * 2
    assert store.failure == "the disk is 91 % full"
    assert store.written_offset == 0
