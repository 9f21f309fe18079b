"""Splits, the damage table, and options that are refused; no Spark."""

import os
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from mqspark.errors import BadOption
from mqspark.schemas import DAMAGE
from mqspark.sources.store.reading import SPLIT_SIZE, ReadOptions
from mqspark.sources.store.tables import default_columns, plan, read, schema_of
from storefmt.errors import DamageKind, NotAStore, RecordDamaged
from storefmt.formats.message import encode_record
from storefmt.offline.verify.store import verify
from storefmt.offline.views.storedir import StoreDir
from tests.golden import Golden
from tests.mqspark.sources.store.reading import rows, rows_of
from tests.storefmt.formats.test_message import SMALL
from tests.storefmt.offline.damages import DAMAGES, LOG_OFFSET_POS, LOG_OFFSETS


@pytest.mark.parametrize("split_size", [1000, 65_536, 1 << 20])
def test_splits_of_any_size_give_every_record_once(golden: Golden, split_size: int) -> None:
    reading = ReadOptions(columns=("log_offset",), split_size=split_size)
    expected = [row["phy"] for row in golden.jsonl("basic", "records") if row["kind"] == "msg"]

    found = [row["log_offset"] for row in rows_of(golden.store("basic"), reading)]

    assert found == expected


def test_splits_leave_out_the_holes_of_a_stock_store(golden: Golden) -> None:
    splits = plan(golden.store("default-geometry"))

    assert sum(split.end - split.start for split in splits) < 1 << 30


@pytest.mark.parametrize("check_crc", [False, True])
def test_damage_is_a_row_with_its_place(golden: Golden, check_crc: bool) -> None:
    case = "01-bitflip-body-early" if check_crc else "33-magic-wrong"
    change = next(d for d in golden.damages() if d["case"] == case)["changes"][0]
    hit = int(Path(change["file"]).name) + change["offset"]

    (row,) = rows(golden.damaged(case), DAMAGE, check_crc=check_crc)

    assert row["log_offset"] <= hit < row["log_offset"] + row["length"]
    assert row["kind"] == ("bad_crc" if check_crc else "bad_magic")


OF_RECORDS = {str(kind) for kind in DamageKind}
"""What ``store verify`` finds in the bytes of a log; all else is about names and queues."""


def damage_rows(store: Path, split_size: int = SPLIT_SIZE) -> list[tuple[str, int, int, str]]:
    return [
        (row["file"], row["log_offset"], row["length"], row["kind"])
        for row in rows(store, DAMAGE, check_crc=True, split_size=split_size)
    ]


def verified(store: Path) -> Counter[tuple[str, int, str]]:
    """Return what ``store verify`` says of the log: a file, a log offset, what is wrong."""
    with StoreDir.open(store) as opened:
        found = verify(opened).findings
        log = {f"commitlog/{span.path.name}": span for span in opened.log.spans}
        places: Counter[tuple[str, int, str]] = Counter()
        for finding in found:
            kind = "zeros" if finding.kind == "torn_tail" else finding.kind
            if finding.file in log and kind in OF_RECORDS:
                # A field is told where it lies, a row where its record does.
                is_field = kind == DamageKind.OFFSET_MISMATCH
                pos = finding.pos - (LOG_OFFSET_POS if is_field else 0)
                places[Path(finding.file).name, log[finding.file].start + pos, kind] += 1
        return places


def damaged_stores(golden: Golden) -> Iterator[Path]:
    yield from (golden.damaged(damage["case"]) for damage in golden.damages())
    for damage in (*DAMAGES, *LOG_OFFSETS):
        store = golden.store("basic")
        damage(store)
        yield store


def test_damage_has_the_rows_that_store_verify_finds(golden: Golden) -> None:
    kinds = set()
    for store in damaged_stores(golden):
        found = damage_rows(store)
        assert Counter(row[:2] + row[3:] for row in found if row[3] != "gap") == verified(store)
        kinds |= {row[3] for row in found}

    assert {"offset_mismatch", "wrong_file_name", "zeros", "bad_crc", "gap"} <= kinds


def test_damage_does_not_depend_on_splits_and_holes(golden: Golden, tmp_path: Path) -> None:
    for number, store in enumerate(damaged_stores(golden)):
        if any(path.stat().st_size > 1 << 30 for path in store.glob("commitlog/*")):
            # A copy of a terabyte of holes reads them all.
            continue
        copy = tmp_path / str(number)
        subprocess.run(["cp", "-r", "--sparse=always", store, copy], check=True)
        rows = damage_rows(store)

        assert damage_rows(store, 3000) == rows
        assert damage_rows(copy) == rows
        assert damage_rows(copy, 3000) == rows


def test_zeros_in_front_of_data_and_files_of_zeros_are_damage(tmp_path: Path) -> None:
    log = tmp_path / "commitlog"
    log.mkdir()
    record = encode_record(**{**SMALL, "log_offset": 0})
    size = 1 << 16
    # Zeros in front of a record; a file of zeros; one that begins in order; a preallocated one.
    late = encode_record(**{**SMALL, "log_offset": 40_000})
    third = encode_record(**{**SMALL, "log_offset": 2 * size})
    for start, parts in {
        0: (40_000, late),
        size: (0, b""),
        2 * size: (0, third),
        3 * size: (0, b""),
    }.items():
        path = log / f"{start:020d}"
        path.write_bytes(b"")
        os.truncate(path, size)
        with path.open("r+b") as file:
            file.seek(parts[0])
            file.write(parts[1])

    rows = damage_rows(tmp_path)

    behind = 40_000 + len(record)
    assert rows == [
        (f"{0:020d}", 0, 40_000, "zeros"),
        (f"{0:020d}", behind, size - behind, "zeros"),
        (f"{size:020d}", size, size, "zeros"),
    ]


def test_reading_stops_at_damage_when_told_to(golden: Golden) -> None:
    first = plan(golden.damaged("33-magic-wrong"))[0]
    reading = ReadOptions(columns=("topic",), fail_on_damage=True)

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
