"""Consume queues, against what the real broker's store read."""

import hashlib
from pathlib import Path

import pytest

from storefmt.errors import NotInStore, StoreError
from storefmt.offline import StoreDir
from tests.golden import Golden
from tests.storefmt.offline.stores import QUEUES_KNOWN, store_of


def expected_queues(golden: Golden, name: str) -> dict[str, dict]:
    family = name.rpartition("/")[0] or name
    queues = golden.expected(family)["open"]["queues"]
    # The delay topic's queues exist in memory only until something is delayed.
    return {key: queue for key, queue in queues.items() if queue["max"] > 0}


@pytest.mark.parametrize("name", QUEUES_KNOWN)
def test_queues_equal_those_of_the_real_store(golden: Golden, name: str) -> None:
    wanted = expected_queues(golden, name)

    with StoreDir.open(store_of(golden, name)) as store:
        views = {
            f"{topic}@{queue_id}": store.queue(topic, queue_id)
            for topic, queue_id in store.queues()
        }
        found = {
            key: (view.min_offset, view.max_offset)
            for key, view in views.items()
            if view.max_offset > 0
        }

        assert found == {key: (queue["min"], queue["max"]) for key, queue in wanted.items()}
        for key, queue in wanted.items():
            digest = hashlib.sha256()
            for queue_offset, entry in views[key].entries(queue["min"]):
                digest.update(
                    f"{queue_offset} {entry.log_offset} {entry.size} {entry.tags_code}\n".encode()
                )
            assert digest.hexdigest() == queue["entriesSha256"], key


@pytest.mark.parametrize("name", ["kinds", "v5"])
def test_entries_equal_the_listed_ones(golden: Golden, name: str) -> None:
    expected = golden.expected(name)
    queues = expected["open" if name == "kinds" else "open5"]["queues"]

    with StoreDir.open(golden.store(name)) as store:
        for key, queue in queues.items():
            topic, _, queue_id = key.rpartition("@")
            for row in queue.get("list", []):
                entry = store.queue(topic, int(queue_id)).entry(row[0])
                assert list(entry) == row[1:4]


def test_ext_units_equal_the_listed_ones(golden: Golden) -> None:
    queues = golden.expected("kinds")["open"]["queues"]
    seen = 0

    with StoreDir.open(golden.store("kinds")) as store:
        for key, queue in queues.items():
            topic, _, queue_id = key.rpartition("@")
            for row in queue.get("list", []):
                if len(row) < 8:
                    continue
                unit = store.queue(topic, int(queue_id)).ext_unit(row[3])
                bits = unit.bit_map.hex() or None
                assert (unit.tags_code, unit.store_ms, bits, unit.size) == tuple(row[4:8])
                seen += 1
    assert seen > 300


def test_missing_queue_and_entry_are_named(golden: Golden) -> None:
    with StoreDir.open(golden.store("basic")) as store:
        with pytest.raises(NotInStore, match="no queue 9 of topic tiny"):
            store.queue("tiny", 9)
        for queue_offset in (-1, 5, 10**12):
            with pytest.raises(NotInStore, match="it has 0 to 4"):
                store.queue("tiny", 0).entry(queue_offset)


def test_missing_file_in_the_middle_is_stepped_over(golden: Golden) -> None:
    with StoreDir.open(golden.damaged("14-cq-middle-missing")) as store:
        view = store.queue("clicks_v1", 0)

        offsets = [queue_offset for queue_offset, _ in view.entries()]

        assert offsets == [*range(300), *range(600, 750)]
        with pytest.raises(NotInStore):
            view.entry(300)


def test_queue_that_starts_late_begins_with_fillers(basic: Path) -> None:
    file = basic / "consumequeue" / "tiny" / "0" / ("0" * 20)
    filler = bytes(8) + (0x7FFFFFFF).to_bytes(4, "big") + bytes(8)
    file.write_bytes(filler * 3 + file.read_bytes()[60:])

    with StoreDir.open(basic) as store:
        view = store.queue("tiny", 0)

        assert [entry.is_filler for _, entry in view.entries()] == [True] * 3 + [False] * 2
        assert view.max_offset == 5


def test_batch_consume_queue_is_refused_by_name(golden: Golden) -> None:
    path = golden.store("v5")
    batch = path / "batchconsumequeue" / "bt" / "0"
    batch.mkdir(parents=True)
    (batch / ("0" * 20)).write_bytes(bytes(46))

    with StoreDir.open(path) as store, pytest.raises(StoreError, match="batch consume queue"):
        store.queue("bt", 0)
