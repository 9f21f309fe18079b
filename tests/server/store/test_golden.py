"""Stores of the real broker open as with Java, and are written again byte for byte."""

from pathlib import Path

import pytest

from mqserver.store.store import MessageStore
from tests.golden import Golden
from tests.server.store.stores import (
    config_of,
    entries_on_disk,
    index_contents,
    log_records,
    message_of,
    open_store,
    tree,
)

CRASHES = ["mmap", "checkpoint", "torn", "hole", "cqlost"]


def opened(golden: Golden, name: str, member: str = "") -> MessageStore:
    """Open a golden store, or one of a set that holds several."""
    root = golden.family(name, member) if member else golden.store(name)
    return open_store(config_of(root, golden.conf(name)))


def min_max(store: MessageStore) -> dict[str, tuple[int, int]]:
    return {
        f"{topic}@{queue_id}": (store.min_offset(topic, queue_id), high)
        for topic, queue_id in store.queues()
        if (high := store.max_offset(topic, queue_id))
    }


def expected_min_max(opened: dict) -> dict[str, tuple[int, int]]:
    return {
        name: (queue["min"], queue["max"])
        for name, queue in opened["queues"].items()
        if queue["max"]
    }


def replay(source: Path, target: Path, conf: dict[str, str]) -> None:
    """Put every record of one store into a new one, each at its own time."""
    codes = entries_on_disk(source)
    store = open_store(config_of(target, conf))
    for record in log_records(source):
        place = store.put(message_of(record, codes.get(record.log_offset, 0)), record.store_ms)
        assert (place.log_offset, place.size) == (record.log_offset, record.size)
        store.write(record.store_ms)
    store.close(0)


@pytest.mark.parametrize("name", ["basic", "ipv6"])
def test_replay_of_a_golden_store_equals_it_byte_for_byte(
    golden: Golden, name: str, tmp_path: Path
) -> None:
    source = golden.store(name)

    replay(source, tmp_path / "store", golden.conf(name))

    assert tree(tmp_path / "store", "commitlog") == tree(source, "commitlog")
    assert tree(tmp_path / "store", "consumequeue") == tree(source, "consumequeue")
    assert index_contents(tmp_path / "store") == index_contents(source)


def test_replay_of_kinds_equals_its_commit_log(golden: Golden, tmp_path: Path) -> None:
    # Its queue entries are ext addresses and it has multi-dispatch queues: only the log
    # and the index can be the same.
    source = golden.store("kinds")

    replay(source, tmp_path / "store", golden.conf("kinds"))

    assert tree(tmp_path / "store", "commitlog") == tree(source, "commitlog")
    assert index_contents(tmp_path / "store") == index_contents(source)


@pytest.mark.parametrize("name", ["basic", "retention", "ipv6", "default-geometry", "kinds"])
def test_golden_store_opens_with_the_offsets_java_has(golden: Golden, name: str) -> None:
    root = golden.store(name)
    before = tree(root, "consumequeue") if name != "default-geometry" else {}

    store = open_store(config_of(root, golden.conf(name)))

    expected = golden.expected(name)["open"]
    assert store.written_offset == expected["afterStart"]["maxPhy"]
    assert store.min_log_offset == expected["afterStart"]["minPhy"]
    assert min_max(store) == expected_min_max(expected)
    assert store.recovery.rebuilt_queues == []
    assert store.recovery.damaged == []
    store.close(0)
    if before:
        assert tree(root, "consumequeue") == before


def test_slave_store_opens_with_the_offsets_java_has(golden: Golden) -> None:
    store = opened(golden, "slave", "slave")

    assert min_max(store) == expected_min_max(golden.expected("slave")["open"])
    assert store.recovery.rebuilt_queues == []


@pytest.mark.parametrize("case", CRASHES)
def test_crashed_store_recovers_to_what_java_recovers(golden: Golden, case: str) -> None:
    name = f"crash/{case}"

    store = opened(golden, name, "crashed")

    expected = golden.expected(name)["open"]
    assert not store.recovery.clean
    assert store.written_offset == expected["afterStart"]["maxPhy"]
    assert min_max(store) == expected_min_max(expected)


@pytest.mark.parametrize("case", CRASHES)
def test_store_java_recovered_opens_too(golden: Golden, case: str) -> None:
    name = f"crash/{case}"

    store = opened(golden, name, "recovered")

    expected = golden.expected(name, "expected-recovered")["scan"]
    assert store.recovery.clean
    assert store.written_offset > 0
    assert expected["abort"] is False


def test_search_by_time_finds_what_java_finds(golden: Golden) -> None:
    store = opened(golden, "basic")
    wanted = golden.expected("basic")["open"]["offsetByTime"]

    by_time = store.reader.offset_by_time
    found = [[topic, q, ms, by_time(topic, q, ms)] for topic, q, ms, _ in wanted]

    assert found == wanted


def test_search_by_time_finds_what_java_finds_within_the_same_file(golden: Golden) -> None:
    # Java chooses the file by its modification time, which runs ahead of or behind the
    # messages in it; the search within the file is the same.
    store = opened(golden, "retention")

    for topic, queue_id, ms, wanted in golden.expected("retention")["open"]["offsetByTime"]:
        found = store.reader.offset_by_time(topic, queue_id, ms)

        assert found == wanted or found // 100 != wanted // 100


@pytest.mark.parametrize("name", ["basic", "retention", "kinds", "ipv6"])
def test_query_by_key_finds_what_java_finds(golden: Golden, name: str) -> None:
    store = opened(golden, name)

    for query in golden.expected(name)["open"]["indexQueries"]:
        search = store.search(
            query["topic"],
            query["key"],
            count_max=query["maxNum"],
            begin_ms=query["begin"],
            end_ms=query["end"],
        )
        assert search.advance()
        assert search.log_offsets == query["phyOffsets"], query
