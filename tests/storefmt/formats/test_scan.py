"""The walk over a commit log: what Java saw of it, and more than Java behind damage."""

import shutil
from pathlib import Path

import pytest

from storefmt.errors import DamageKind
from storefmt.formats.message import Record, blank, decode_record, encode_record
from storefmt.formats.scan import (
    WINDOW_SIZE,
    Blank,
    Damage,
    End,
    LogFile,
    log_files,
    next_start,
    scan_items,
    scan_log,
)
from tests.storefmt.broken import flipped
from tests.storefmt.corpus import STORES
from tests.storefmt.formats.test_message import SMALL

BASE = 1000


def log_of(count: int, *, body: bytes = b"body", tail: bytes = b"") -> bytes:
    """Return a log file that starts at BASE with ``count`` records."""
    raw = b""
    for number in range(count):
        raw += encode_record(
            **{**SMALL, "log_offset": BASE + len(raw), "queue_offset": number, "body": body}
        )
    return raw + tail


def items_of(raw: bytes, **options) -> list:
    return list(
        scan_items(lambda pos, size: raw[pos : pos + size], base=BASE, size=len(raw), **options)
    )


def items_of_log(directory: Path, *, start: int = 0) -> list:
    """Return the items of every file of a commit log directory from ``start`` on."""
    items: list = []
    for path in log_files(directory):
        with LogFile(path) as file:
            first = max(start - file.base, 0)
            if first < file.size:
                items += scan_items(file.read, base=file.base, size=file.size, start=first,
                              data_after=file.data_after)  # fmt: skip
    return items


def scanned(raw: bytes, pos: int, end: int, *, check_crc: bool = False) -> tuple[list[int], int]:
    starts, behind = scan_log(raw, pos, end, check_crc=check_crc)
    return starts.tolist(), behind


def offsets_of(items: list) -> list[int]:
    return [item.queue_offset for item in items if isinstance(item, Record)]


@pytest.mark.parametrize("name", STORES)
def test_walk_sees_every_record_and_every_end_that_java_saw(corpus, name: str) -> None:
    store, seen = corpus(name), []

    for path in store.log_files():
        with LogFile(path) as file:
            pos = 0
            for item in scan_items(
                file.read, base=file.base, size=file.size, data_after=file.data_after
            ):
                match item:
                    case Record():
                        seen.append((file.name, pos, "msg", item.size))
                        pos += item.size
                    case Blank():
                        assert item.pos == pos
                        seen.append((file.name, pos, "blank", item.size))
                    case End():
                        assert item.pos == pos
                        seen.append((file.name, pos, "end", None))

    assert seen == [(r["file"], r["pos"], r["kind"], r.get("size")) for r in store.rows]


@pytest.mark.parametrize("name", STORES)
@pytest.mark.parametrize("check_crc", [False, True])
@pytest.mark.usefixtures("scan_way")
def test_quick_scan_finds_the_same_starts(corpus, name: str, check_crc: bool) -> None:
    store = corpus(name)

    for path in store.log_files():
        with LogFile(path) as file:
            raw = file.read(0, 1 << 20)
        starts, behind = scan_log(raw, 0, len(raw), check_crc=check_crc)
        rows = [row for row in store.rows if row["file"] == path.name and row["kind"] == "msg"]
        assert starts.tolist() == [row["pos"] for row in rows]
        assert behind == (rows[-1]["pos"] + rows[-1]["size"] if rows else 0)


def test_log_may_be_read_from_any_record(corpus) -> None:
    directory = corpus("basic").root / "commitlog"
    every = [item for item in items_of_log(directory) if isinstance(item, Record)]

    for place in (0, 1, 700, 1419):
        found = items_of_log(directory, start=every[place].log_offset)
        assert [item for item in found if isinstance(item, Record)] == every[place:]


def test_files_with_other_names_are_no_part_of_the_log(corpus, tmp_path: Path) -> None:
    directory = shutil.copytree(corpus("kinds").root / "commitlog", tmp_path / "log")
    (directory / "00000000000000000000.copy").write_bytes(b"x")

    assert [path.name for path in log_files(directory)] == ["00000000000000000000"]


@pytest.mark.usefixtures("scan_way")
def test_scan_stops_at_the_end_it_was_given() -> None:
    raw = log_of(3)
    size = len(raw) // 3

    for check_crc in (False, True):
        assert scanned(raw, 0, 2 * size, check_crc=check_crc) == ([0, size], 2 * size)
        assert scanned(raw, 0, 3 * size - 1, check_crc=check_crc) == ([0, size], 2 * size)
        assert scanned(raw, size, 3 * size, check_crc=check_crc) == ([size, 2 * size], 3 * size)
        assert scanned(raw, 0, 5, check_crc=check_crc) == ([], 0)


@pytest.mark.usefixtures("scan_way")
def test_scan_with_crc_stops_at_the_first_bad_body() -> None:
    raw = bytearray(log_of(3))
    size = len(raw) // 3
    raw[size + 89] ^= 1

    assert scanned(raw, 0, len(raw)) == ([0, size, 2 * size], 3 * size)
    assert scanned(raw, 0, len(raw), check_crc=True) == ([0], size)


def test_every_cut_of_a_file_gives_the_records_before_it() -> None:
    raw = log_of(3)
    size = len(raw) // 3

    for cut in range(len(raw) + 1):
        items = items_of(raw[:cut])
        assert offsets_of(items) == list(range(cut // size))
        if cut % size:
            assert items[-1].error.kind == DamageKind.TRUNCATED
            assert items[-1][:2] == (cut // size * size, cut % size)


def test_every_flipped_bit_costs_one_record_at_most() -> None:
    raw = log_of(3, tail=bytes(100))
    size = len(raw[:-100]) // 3

    for bit in range(size * 8, 2 * size * 8):
        items = items_of(flipped(raw, bit))
        found = offsets_of(items)
        assert [found[0], found[-1], len(found) in (2, 3)] == [0, 2, True]
        assert isinstance(items[-1], End)
        assert sum(item.size for item in items[:-1]) == len(raw) - 100


def test_damage_reaches_to_the_next_record_that_says_where_it_lies() -> None:
    inner = encode_record(**SMALL)
    raw = bytearray(log_of(3, body=inner))
    size = len(raw) // 3
    raw[size + 4] ^= 1

    items = items_of(bytes(raw))

    # The record within the body does not say that it lies there, so it is not taken.
    assert offsets_of(items) == [0, 2]
    assert items[1][:2] == (size, size)
    assert items[1].error.kind == DamageKind.BAD_MAGIC


def test_bad_crc_costs_exactly_its_record() -> None:
    raw = bytearray(log_of(3))
    size = len(raw) // 3
    raw[size + 89] ^= 1

    items = items_of(bytes(raw))

    assert offsets_of(items) == [0, 2]
    assert items[1][:2] == (size, size)
    assert items[1].error.kind == DamageKind.BAD_CRC
    assert offsets_of(items_of(bytes(raw), check_crc=False)) == [0, 1, 2]


def test_zeros_with_records_behind_them_are_a_hole_and_not_the_end() -> None:
    raw = bytearray(log_of(3, tail=bytes(50)))
    size = len(raw[:-50]) // 3
    raw[size : 2 * size] = bytes(size)

    items = items_of(bytes(raw))

    assert [type(item) for item in items] == [Record, Damage, Record, End]
    assert items[1][:2] == (size, size)
    assert items[1].error.kind == DamageKind.ZEROS


def test_blank_ends_a_file_only_when_it_fills_it() -> None:
    whole = items_of(log_of(1, tail=blank(50) + bytes(42)))
    short = items_of(log_of(1, tail=blank(49) + bytes(42)))

    assert whole[-1] == Blank(len(log_of(1)), 50, 50)
    assert short[-1].error.kind == DamageKind.BAD_SIZE


def test_record_larger_than_the_window_is_read() -> None:
    raw = log_of(3, body=bytes(WINDOW_SIZE))

    assert offsets_of(items_of(raw)) == [0, 1, 2]


def test_search_finds_a_record_across_the_border_of_its_windows() -> None:
    raw = log_of(2)
    size = len(raw) // 2

    for shift in (0, 1, 5, 30, 36, 40):
        gap = WINDOW_SIZE - shift
        moved = bytes(gap) + raw[:28] + (BASE + gap).to_bytes(8, "big") + raw[36:size]
        found = next_start(
            lambda pos, count, data=moved: data[pos : pos + count], 0, base=BASE, end=len(moved)
        )
        assert found == gap


def test_search_ends_before_the_end_it_was_given() -> None:
    raw = log_of(2)
    size = len(raw) // 2

    def search(pos: int, end: int) -> int | None:
        return next_start(lambda at, count: raw[at : at + count], pos, base=BASE, end=end)

    assert search(0, 1) == 0
    assert search(1, size) is None
    assert search(1, size + 1) == size
    assert search(size + 1, len(raw)) is None


def test_damaged_stores_lose_no_more_than_was_damaged(golden) -> None:
    for case in ("01-bitflip-body-early", "03-size-plus", "04-size-huge", "33-magic-wrong"):
        items = items_of_log(golden.damaged(case) / "commitlog")

        assert sum(isinstance(item, Record) for item in items) == 1419
        assert sum(isinstance(item, Damage) for item in items) == 1


def test_hole_of_a_sparse_file_is_jumped_over(tmp_path: Path) -> None:
    path = tmp_path / f"{BASE:020d}"
    path.write_bytes(log_of(1))
    with path.open("r+b") as file:
        file.truncate(1 << 40)

    items = items_of_log(tmp_path)

    assert [type(item) for item in items] == [Record, End]
    assert items[0] == decode_record(log_of(1))
