"""Index files, against the real reader's lines and queries."""

import pytest

from storefmt.errors import RecordDamaged
from storefmt.offline import StoreDir
from tests.golden import Golden
from tests.storefmt.offline.stores import QUEUES_KNOWN, store_of


@pytest.mark.parametrize("name", [*QUEUES_KNOWN, "v5"])
def test_entries_equal_the_real_readers(golden: Golden, name: str) -> None:
    family = name.rpartition("/")[0] or name

    with StoreDir.open(store_of(golden, name)) as store:
        found = {
            view.span.path.name: [[number, *entry] for number, entry in view.entries()]
            for view in store.index_files
        }
        slots = [sum(1 for _ in view.slots()) for view in store.index_files]

    lines = list(golden.jsonl(family, "index"))
    assert found == {line["file"]: line["entries"] for line in lines}
    assert slots == [line["slotsNonZero"] for line in lines]


@pytest.mark.parametrize("name", QUEUES_KNOWN)
def test_chains_give_what_the_real_index_service_gives(golden: Golden, name: str) -> None:
    family = name.rpartition("/")[0] or name

    with StoreDir.open(store_of(golden, name)) as store:
        for query in golden.expected(family)["open"]["indexQueries"]:
            offsets: list[int] = []
            for view in reversed(store.index_files):
                offsets += view.offsets(
                    query["topic"],
                    query["key"],
                    begin_ms=query["begin"],
                    end_ms=query["end"],
                    count_max=query["maxNum"] - len(offsets),
                )
            assert sorted(offsets) == sorted(query["phyOffsets"]), query


def test_chain_that_turns_in_a_circle_ends(golden: Golden) -> None:
    with StoreDir.open(golden.damaged("16-index-loop")) as store:
        view = store.index_files[1]
        slot_count = view.shape.slot_count if view.shape else 0
        record = next(
            store.record_at(entry.log_offset)
            for number, entry in view.entries()
            if entry.key_hash % slot_count == 162
        )
        key = record.unique_key or ""
        keys = [key, *record.keys]

        ended = 0
        for one in keys:
            try:
                list(view.chain(record.topic, one))
            except RecordDamaged:
                ended += 1

        assert ended >= 1


def test_huge_count_in_the_header_reads_what_is_there(golden: Golden) -> None:
    with StoreDir.open(golden.damaged("18-index-count-huge")) as store:
        view = store.index_files[0]

        assert view.entry_count == 1000
        assert sum(1 for _ in view.entries()) == 999
