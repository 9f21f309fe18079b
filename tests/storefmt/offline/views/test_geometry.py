"""Sizes and slot counts, found out from the files alone."""

from pathlib import Path

import pytest

from storefmt.formats.index import IndexEntry, IndexHeader, entry_pos, index_file_size, slot_pos
from storefmt.offline import StoreDir
from storefmt.offline.views.geometry import IndexShape, detect_shape, usual_size
from storefmt.offline.views.tree import FileSpan
from storefmt.store_file import StoreFile
from tests.golden import Golden
from tests.storefmt.offline.stores import HEALTHY, store_of

STOCK = {
    "mappedFileSizeCommitLog": 1 << 30,
    "mappedFileSizeConsumeQueue": 6_000_000,
    "maxHashSlotNum": 5_000_000,
    "maxIndexNum": 20_000_000,
}


@pytest.mark.parametrize("name", HEALTHY)
def test_geometry_is_that_of_the_broker_conf(golden: Golden, name: str) -> None:
    family = name.rpartition("/")[0] or name
    conf = golden.conf(family)

    with StoreDir.open(store_of(golden, name)) as store:
        found = store.geometry

    wanted = {key: int(conf.get(key, usual)) for key, usual in STOCK.items()}
    assert found.log_file_size == wanted["mappedFileSizeCommitLog"]
    assert found.queue_file_size == wanted["mappedFileSizeConsumeQueue"]
    assert found.index_slot_count == wanted["maxHashSlotNum"]
    assert found.index_entry_count == wanted["maxIndexNum"]


def write_index(
    path: Path, *, slot_count: int, entry_count: int, keys: int, first: int = 1300, step: int = 300
) -> StoreFile:
    """Write an index file of ``keys`` entries as a broker does, sparse.

    Args:
        first, step: log offset of the first record, and from one to the next.
    """
    newest: dict[int, int] = {}
    with path.open("wb") as file:
        for number in range(1, keys + 1):
            key_hash = number * 7_919_017 % (1 << 31)
            slot = key_hash % slot_count
            entry = IndexEntry(key_hash, first + (number - 1) * step, 0, newest.get(slot, 0))
            file.seek(entry_pos(number, slot_count=slot_count))
            file.write(entry.encode())
            newest[slot] = number
        for slot, number in newest.items():
            file.seek(slot_pos(slot))
            file.write(number.to_bytes(4, "big"))
        header = IndexHeader(1, 2, first, first + (keys - 1) * step, len(newest), keys + 1)
        file.seek(0)
        file.write(header.encode())
        file.truncate(index_file_size(slot_count, entry_count))
    return StoreFile(path)


@pytest.mark.parametrize(
    ("slot_count", "entry_count"),
    [(5_000_000, 20_000_000), (1_000_003, 4_000_000), (97, 150), (5_000_000, 1_000_000)],
)
@pytest.mark.parametrize("keys", [2, 120])
def test_shape_is_solved_for_any_settings(
    tmp_path: Path, slot_count: int, entry_count: int, keys: int
) -> None:
    file = write_index(
        tmp_path / "index", slot_count=slot_count, entry_count=entry_count, keys=keys
    )

    assert detect_shape(file) == IndexShape(slot_count, entry_count)


@pytest.mark.parametrize(("slot_count", "entry_count"), [(50_000, 200_000), (1_000_003, 4_000_000)])
@pytest.mark.parametrize("keys", [1, 2, 3])
def test_shape_is_solved_where_only_the_first_record_of_the_log_has_keys(
    tmp_path: Path, slot_count: int, entry_count: int, keys: int
) -> None:
    file = write_index(
        tmp_path / "index",
        slot_count=slot_count,
        entry_count=entry_count,
        keys=keys,
        first=0,
        step=0,
    )

    assert detect_shape(file) == IndexShape(slot_count, entry_count)


def test_empty_index_file_tells_no_shape(tmp_path: Path) -> None:
    (tmp_path / "index").write_bytes(bytes(22040))

    assert detect_shape(StoreFile(tmp_path / "index")) is None


def test_cut_files_do_not_change_the_usual_size() -> None:
    spans = [FileSpan(start, size, Path()) for start, size in ((0, 6000), (6000, 6000), (9, 40))]

    assert usual_size(spans, multiple=20) == 6000
    assert usual_size([]) == 0
