"""Index files equal what Java reads; look-ups find what the real IndexService finds."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storefmt.errors import BadCall, DamageKind, RecordDamaged
from storefmt.formats import layout
from storefmt.formats.index import (
    ENTRY,
    HEADER,
    SLOT,
    IndexEntry,
    IndexHeader,
    entry_pos,
    index_file_size,
    index_key,
    select_offsets,
    slot_of,
    slot_pos,
    time_diff_s,
    walk_chain,
)
from storefmt.formats.javahash import index_key_hash
from tests.storefmt.broken import assert_cuts_are_damage
from tests.storefmt.corpus import STORES

COUNT_MAX = 64  # maxMsgsNumBatch: more are never found


class IndexFile:
    """One index file, read piece by piece as it is asked for."""

    def __init__(self, path: Path, slot_count: int) -> None:
        self._path = path
        self.slot_count = slot_count
        self.header = IndexHeader.decode(self.read(0, HEADER.size))

    def read(self, pos: int, size: int) -> bytes:
        with self._path.open("rb") as file:
            file.seek(pos)
            return file.read(size)

    def entry(self, number: int) -> IndexEntry:
        pos = entry_pos(number, slot_count=self.slot_count)
        return IndexEntry.decode(self.read(pos, ENTRY.size))

    def chain(self, key: str):
        pos = slot_pos(slot_of(key, slot_count=self.slot_count))
        (first,) = SLOT.unpack(self.read(pos, SLOT.size))
        return walk_chain(first, read_entry=self.entry, entry_count=self.header.entry_count)


@pytest.mark.parametrize("name", STORES)
def test_every_golden_index_file_equals_what_java_read(corpus, name: str) -> None:
    store = corpus(name)
    conf = store.golden.conf(name)
    lines = list(store.golden.jsonl(name, "index"))
    assert lines

    for line in lines:
        index = IndexFile(store.root / "index" / line["file"], int(conf["maxHashSlotNum"]))
        header = index.header
        numbers = range(1, header.entry_count)
        raw = index.read(entry_pos(1, slot_count=index.slot_count), len(numbers) * ENTRY.size)
        entries = [
            IndexEntry.decode(raw[pos : pos + ENTRY.size]) for pos in range(0, len(raw), ENTRY.size)
        ]

        assert header == (
            line["beginTimestamp"],
            line["endTimestamp"],
            line["beginPhyOffset"],
            line["endPhyOffset"],
            line["hashSlotCount"],
            line["indexCount"],
        )
        assert header.encode() == index.read(0, HEADER.size)
        assert index_file_size(index.slot_count, int(conf["maxIndexNum"])) == line["length"]
        assert [[n, *entry] for n, entry in zip(numbers, entries, strict=True)] == line["entries"]
        assert b"".join(entry.encode() for entry in entries) == raw


@pytest.mark.parametrize("name", ["basic", "kinds", "ipv6", "v5"])
def test_every_message_has_its_keys_in_the_index(corpus, name: str) -> None:
    store = corpus(name)
    begins = {}
    hashes: dict[int, list[int]] = {}
    times: dict[int, int] = {}
    for line in store.golden.jsonl(name, "index"):
        for _, key_hash, log_offset, diff_s, _ in line["entries"]:
            hashes.setdefault(log_offset, []).append(key_hash)
            times[log_offset], begins[log_offset] = diff_s, line["beginTimestamp"]
    checked = 0

    for row, _ in store.messages:
        properties, offset = row["properties"], row["physicOffset"]
        if offset not in hashes:
            continue
        keys = [properties["UNIQ_KEY"]] if "UNIQ_KEY" in properties else []
        keys += [key for key in properties.get("KEYS", "").split(" ") if key]
        wanted = [index_key_hash(index_key(row["topic"], key)) for key in keys]
        assert [key_hash for key_hash in wanted if key_hash not in hashes[offset]] == []
        # 5.x takes the time when it writes the entry of a message that came before it.
        if name != "v5":
            assert time_diff_s(row["storeTimestamp"], begin_ms=begins[offset]) == times[offset]
        checked += 1

    assert checked > 50


@pytest.mark.parametrize("name", STORES)
def test_queries_find_what_the_java_index_service_finds(corpus, name: str) -> None:
    store = corpus(name)
    slot_count = int(store.golden.conf(name)["maxHashSlotNum"])
    opened = store.expected.get("open") or store.expected["open5"]
    files = [IndexFile(path, slot_count) for path in sorted((store.root / "index").iterdir())]

    for query in opened["indexQueries"]:
        assert query_offsets(files, query) == query["phyOffsets"]


def query_offsets(files: list[IndexFile], query: dict) -> list[int]:
    """As IndexService.queryOffset: files from the newest, each only if its times fit."""
    key = index_key(query["topic"], query["key"])
    begin_ms, end_ms = query.get("begin", 0), query.get("end", 2**63 - 1)
    wanted = min(query.get("maxNum", COUNT_MAX), COUNT_MAX)
    offsets: list[int] = []
    for file in reversed(files):
        header = file.header
        if header.begin_ms <= end_ms and header.end_ms >= begin_ms:
            offsets += select_offsets(
                file.chain(key),
                key_hash=index_key_hash(key),
                begin_ms=header.begin_ms,
                query_begin_ms=begin_ms,
                query_end_ms=end_ms,
                count_max=wanted - len(offsets),
            )
        if header.begin_ms < begin_ms or len(offsets) >= wanted:
            break
    return offsets


@settings(derandomize=True)
@given(st.lists(st.integers(-(2**31), 2**31 - 1), min_size=6, max_size=6))
def test_codecs_equal_the_declared_layout(values: list[int]) -> None:
    header, entry = IndexHeader(*values[:5], abs(values[5]) + 1 >> 1), IndexEntry(*values[:4])

    assert [s.value for s in layout.INDEX_HEADER.spans(header.encode())] == list(header)
    assert [s.value for s in layout.INDEX_ENTRY.spans(entry.encode())] == list(entry)
    assert IndexEntry.decode(entry.encode()) == entry


def test_header_of_a_new_file_counts_from_one() -> None:
    assert IndexHeader.decode(bytes(40)) == IndexHeader(0, 0, 0, 0, 0, 1)


def test_cut_header_is_damage() -> None:
    assert_cuts_are_damage(IndexHeader.decode, bytes(40))


def chain_of(previous: dict[int, int]) -> Callable[[int], IndexEntry]:
    return lambda number: IndexEntry(7, number * 100, number, previous[number])


def test_chain_goes_from_the_newest_to_the_oldest() -> None:
    chain = walk_chain(5, read_entry=chain_of({5: 3, 3: 1, 1: 0}), entry_count=6)

    assert [number for number, _ in chain] == [5, 3, 1]


@pytest.mark.parametrize("first", [0, -1, 6, 2**31 - 1])
def test_slot_without_a_real_entry_is_empty(first: int) -> None:
    assert list(walk_chain(first, read_entry=chain_of({}), entry_count=6)) == []


@pytest.mark.parametrize("circle", [{5: 5}, {5: 3, 3: 5}, {5: 3, 3: 4, 4: 3}])
def test_chain_in_a_circle_ends_with_damage(circle: dict[int, int]) -> None:
    with pytest.raises(RecordDamaged) as caught:
        list(walk_chain(5, read_entry=chain_of(circle), entry_count=6))

    assert caught.value.kind == DamageKind.BAD_CHAIN


def test_entry_before_the_file_began_ends_the_search() -> None:
    chain = [(2, IndexEntry(7, 200, -1, 1)), (1, IndexEntry(7, 100, 0, 0))]

    times = {"begin_ms": 0, "query_begin_ms": 0, "query_end_ms": 9}
    assert select_offsets(chain, key_hash=7, **times, count_max=9) == []


@pytest.mark.parametrize(
    ("store_ms", "begin_ms", "seconds"),
    [(5_999, 4_000, 1), (3_000, 4_000, 0), (5_000, 0, 0), (2**50, 1, 2**31 - 1)],
)
def test_time_of_an_entry_is_whole_seconds(store_ms: int, begin_ms: int, seconds: int) -> None:
    assert time_diff_s(store_ms, begin_ms=begin_ms) == seconds


def test_index_file_of_stock_geometry_has_420_million_bytes() -> None:
    assert index_file_size(5_000_000, 20_000_000) == 420_000_040


def test_file_without_slots_is_refused() -> None:
    with pytest.raises(BadCall):
        slot_of("T#k", slot_count=0)
