"""The commit log, against the real reader's lines."""

import shutil
from pathlib import Path

import pytest

from storefmt.errors import NotInStore, RecordDamaged
from storefmt.formats.message import Record
from storefmt.offline import Blank, Damage, End, StoreDir
from tests.golden import Golden
from tests.storefmt.offline.stores import HEALTHY, store_of


def lines_of(golden: Golden, name: str) -> list[dict]:
    family, _, member = name.rpartition("/")
    which = "records-master" if member == "master" else "records"
    return list(golden.jsonl(family or name, which))


@pytest.mark.parametrize("name", [name for name in HEALTHY if "crash" not in name])
def test_items_equal_the_real_readers(golden: Golden, name: str) -> None:
    wanted = [(line["kind"], line["phy"], line.get("size", 0)) for line in lines_of(golden, name)]

    with StoreDir.open(store_of(golden, name)) as store:
        found = []
        for span, pos, item in store.log.located_items():
            kind = {Record: "msg", Blank: "blank", End: "end"}[type(item)]
            found.append((kind, span.start + pos, getattr(item, "size", 0)))

    assert found == wanted


@pytest.mark.parametrize("name", ["basic", "kinds", "retention", "ipv6", "default-geometry"])
def test_ends_of_the_log_equal_the_real_stores(golden: Golden, name: str) -> None:
    opened = golden.expected(name)["open"]["afterStart"]

    with StoreDir.open(golden.store(name)) as store:
        assert store.log.min_offset == opened["minPhy"]
        assert store.log.end == opened["maxPhy"]


def test_part_of_the_log_is_walked(golden: Golden) -> None:
    starts = [line["phy"] for line in lines_of(golden, "basic") if line["kind"] == "msg"]
    with StoreDir.open(golden.store("basic")) as store:

        def offsets(start: int | None, end: int | None) -> list[int]:
            items = store.records(start, end)
            return [item.log_offset for item in items if isinstance(item, Record)]

        assert offsets(starts[500], starts[510]) == starts[500:510]
        assert offsets(starts[500] - 1, starts[500] + 1) == [starts[500]]
        assert offsets(None, 1) == starts[:1]
        assert offsets(10**12, None) == []


def test_place_without_a_record_is_named(golden: Golden) -> None:
    with StoreDir.open(golden.store("basic")) as store:
        end = store.log.end
        for log_offset in (-1, 1, end, end + 1000, 10**15):
            with pytest.raises(NotInStore, match=str(log_offset)):
                store.record_at(log_offset)
        assert store.record_at(0).log_offset == 0


def test_damaged_record_is_an_error_with_its_place(golden: Golden) -> None:
    with (
        StoreDir.open(golden.damaged("01-bitflip-body-early")) as store,
        pytest.raises(RecordDamaged, match="297161") as told,
    ):
        store.record_at(297161)

    assert told.value.kind == "bad_crc"
    assert told.value.pos == 35017


def test_damage_is_an_item_and_the_walk_goes_on(golden: Golden) -> None:
    with StoreDir.open(golden.damaged("07-zero-page-early")) as store:
        items = list(store.records())

    (damage,) = [item for item in items if isinstance(item, Damage)]
    assert damage.pos == 188412
    assert damage.pos + damage.size == 192607
    assert sum(isinstance(item, Record) for item in items) == 1410


def test_files_under_swapped_names_are_read_by_their_records(golden: Golden) -> None:
    with StoreDir.open(golden.damaged("29-swapped-names")) as store:
        record = store.record_at(297161)

    assert record.log_offset == 297161
    assert record.size == 361


def test_preallocated_next_file_is_free_space(golden: Golden) -> None:
    path = golden.store("ipv6")
    following = path / "commitlog" / f"{262144:020d}"
    with following.open("wb") as file:
        file.truncate(262144)
    with StoreDir.open(golden.store("ipv6")) as whole:
        wanted = whole.log.end

    with StoreDir.open(path) as store:
        assert store.log.end == wanted


def test_log_without_files_is_empty(ipv6: Path) -> None:
    shutil.rmtree(ipv6 / "commitlog")

    with StoreDir.open(ipv6) as store:
        assert store.log.min_offset == 0
        assert store.log.end == 0
        assert store.log.first is None
        assert list(store.records()) == []
