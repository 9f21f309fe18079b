"""A search for a key continues where it stopped, whatever happens to the index meanwhile."""

import os
from pathlib import Path

import pytest

from mqserver.store.disk.nowait import ColdRead
from mqserver.store.index.index import Index
from mqserver.store.index.index_file import IndexFile
from mqserver.store.index.key_search import ENTRIES_A_STEP, KeySearch
from storefmt.formats.index import IndexEntry
from storefmt.formats.javahash import index_key_hash
from tests.descriptors import descriptor_count
from tests.server.store.simdisk import SimDisk

KEY_HASH = index_key_hash("T#k")
SLOT_COUNT = 16
FILE_COUNT = 3_000
"""Entries of a file."""


@pytest.fixture
def index() -> Index:
    made = Index(SimDisk(), Path("/index"), slot_count=SLOT_COUNT, entry_count_max=FILE_COUNT + 1)
    # Every tenth entry has the key, and all are in its slot.
    add(made, range(2 * FILE_COUNT))
    return made


def add(index: Index, numbers: range) -> None:
    rows = [
        (KEY_HASH if number % 10 == 0 else KEY_HASH + SLOT_COUNT, number, 1_000 + number)
        for number in numbers
    ]
    index._put_rows(rows, now_ms=1)


def search(index: Index, count_max: int = 10_000) -> KeySearch:
    return index.search("T", "k", count_max=count_max, begin_ms=0, end_ms=1 << 60)


def run_to_end(one: KeySearch) -> None:
    while not one.advance():
        pass


def test_search_finds_all_in_steps_of_a_bounded_size(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = 0
    read = IndexFile.entry

    def entry(self: IndexFile, number: int) -> IndexEntry:
        nonlocal reads
        reads += 1
        return read(self, number)

    monkeypatch.setattr(IndexFile, "entry", entry)
    one = search(index)
    while not one.advance():
        assert reads <= ENTRIES_A_STEP
        reads = 0

    assert one.log_offsets == [*range(2 * FILE_COUNT - 10, -1, -10)]


def test_search_ends_when_it_has_enough(index: Index) -> None:
    one = search(index, count_max=3)

    assert one.advance()
    assert one.log_offsets == [5_990, 5_980, 5_970]


def test_keys_added_meanwhile_are_not_seen_and_harm_nothing(index: Index) -> None:
    one = search(index)
    one.advance()
    add(index, range(2 * FILE_COUNT, 3 * FILE_COUNT))
    index.write()
    run_to_end(one)

    assert one.log_offsets == [*range(2 * FILE_COUNT - 10, -1, -10)]


def test_file_deleted_meanwhile_is_passed_over(index: Index) -> None:
    index.write()
    index.take_unsynced()
    one = search(index)
    one.advance()
    assert index.take_expired(log_min=FILE_COUNT) == [Path("/index") / "19700101000000001"]
    run_to_end(one)

    assert one.log_offsets == [*range(2 * FILE_COUNT - 10, FILE_COUNT - 1, -10)]


def test_entry_that_is_not_in_memory_ends_the_step_or_is_reported_first(
    index: Index, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(b"x")
    cold = {5_500, 5_499, 10}
    read = IndexFile.entry

    def entry(self: IndexFile, number: int) -> IndexEntry:
        found = read(self, number)
        if found.log_offset in cold:
            fd = os.open(tmp_path / "file", os.O_RDONLY)
            try:
                raise ColdRead(fd, 1, 0)
            finally:
                os.close(fd)
        return found

    monkeypatch.setattr(IndexFile, "entry", entry)
    one = search(index)
    descriptors = descriptor_count()
    warmed = 0
    ended = False
    while not ended:
        try:
            ended = one.advance()
        except ColdRead as error:
            cold.discard(max(cold))
            error.warm()
            warmed += 1

    assert warmed == 3
    assert one.log_offsets == [*range(2 * FILE_COUNT - 10, -1, -10)]
    assert descriptor_count() == descriptors


def test_circle_ends_the_search_of_its_file_alone(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = index.files[-1]
    read = IndexFile.entry

    def entry(self: IndexFile, number: int) -> IndexEntry:
        found = read(self, number)
        return found._replace(previous=number) if self is last and number == 2_991 else found

    monkeypatch.setattr(IndexFile, "entry", entry)
    one = search(index)
    run_to_end(one)

    assert one.log_offsets == [5_990, *range(FILE_COUNT - 10, -1, -10)]
