"""Splits, the damage table and what a reading refuses; no Spark here."""

from pathlib import Path

import pytest

from pipeline.errors import BadOption
from pipeline.sources.store.tables import DAMAGE, Reading, default_columns, plan, read, schema_of
from storefmt.errors import NotAStore, RecordDamaged
from tests.golden import Golden


@pytest.mark.parametrize("split_size", [1000, 65_536, 1 << 20])
def test_splits_of_any_size_give_every_record_once(golden: Golden, split_size: int) -> None:
    reading = Reading(columns=("commit_log_offset",), split_size=split_size)
    expected = [row["phy"] for row in golden.jsonl("basic", "records") if row["kind"] == "msg"]

    splits = plan(golden.store("basic"), reading)
    found = [
        log_offset
        for split in splits
        for batch in read(split, reading)
        for log_offset in batch.column(0).to_pylist()
    ]

    assert found == expected


def test_splits_leave_out_the_holes_of_a_stock_store(golden: Golden) -> None:
    splits = plan(golden.store("default-geometry"))

    assert sum(split.end - split.start for split in splits) < 1 << 30


@pytest.mark.parametrize("check_crc", [False, True])
def test_damage_is_a_row_with_its_place(golden: Golden, check_crc: bool) -> None:
    case = "01-bitflip-body-early" if check_crc else "33-magic-wrong"
    change = next(d for d in golden.damages() if d["case"] == case)["changes"][0]
    hit = int(Path(change["file"]).name) + change["offset"]
    reading = Reading(table=DAMAGE, columns=default_columns(DAMAGE), check_crc=check_crc)

    store = golden.damaged(case)
    rows = [row for s in plan(store) for batch in read(s, reading) for row in batch.to_pylist()]

    assert len(rows) == 1
    start = rows[0]["commit_log_offset"]
    assert start <= hit < start + rows[0]["length"]
    assert rows[0]["kind"] == ("bad_crc" if check_crc else "bad_magic")


def test_reading_stops_at_damage_when_told_to(golden: Golden) -> None:
    first = plan(golden.damaged("33-magic-wrong"))[0]
    reading = Reading(columns=("topic",), fail_on_damage=True)

    with pytest.raises(RecordDamaged, match="magic"):
        list(read(first, reading))


def test_a_directory_without_a_commit_log_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(NotAStore, match="commitlog"):
        plan(tmp_path)


def test_unknown_tables_and_columns_are_named() -> None:
    with pytest.raises(BadOption, match="queues"):
        default_columns("queues")
    with pytest.raises(BadOption, match="colour"):
        schema_of("commitlog", ["topic", "colour"])
