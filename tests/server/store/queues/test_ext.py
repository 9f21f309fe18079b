"""Ext files: units, addresses, full files, the state after a crash, and retention."""

from pathlib import Path

from mqserver.store.disk.disk import RealDisk
from mqserver.store.queues.ext import ExtFiles
from mqserver.store.queues.queue import ConsumeQueue
from mqserver.store.queues.queue_table import QueueTable
from mqserver.store.results import DispatchEntry
from storefmt.formats.consumequeue import ext_address
from storefmt.formats.consumequeue_ext import END_OF_FILE, ExtUnit, decode_units
from storefmt.paths import StorePaths

FILE_SIZE = 100


def opened(root: Path, *, file_size: int = FILE_SIZE) -> tuple[ExtFiles, ConsumeQueue]:
    table = QueueTable(RealDisk(), StorePaths(root), file_size=200, ext_file_size=file_size)
    return table.exts, table.make("T", 0)


def put(exts: ExtFiles, queue: ConsumeQueue, tags_code: int) -> int:
    number = queue.max_offset
    entry = DispatchEntry("T", 0, number, number * 10, 10, tags_code, 5, 0, ())
    address = exts.put_unit(queue, entry)
    queue.append(entry.log_offset, entry.size, address)
    return address


def files(root: Path) -> dict[str, bytes]:
    directory = root / "consumequeue_ext" / "T" / "0"
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir())}


def test_units_lie_one_after_the_other_and_never_across_files(tmp_path: Path) -> None:
    exts, queue = opened(tmp_path)
    exts.bit_map = lambda entry: bytes([entry.tags_code]) * 10

    found = [put(exts, queue, code) for code in range(5)]

    assert found == [ext_address(n) for n in (0, 30, 60, 100, 130)]
    first, second = files(tmp_path).values()
    assert first[90:] == END_OF_FILE + bytes(8)
    assert [unit for _, unit in decode_units(first + b"")] == [
        ExtUnit(code, 5, bytes([code]) * 10) for code in range(3)
    ]
    assert len(second) == FILE_SIZE
    assert exts.read(queue, found[4]) == ExtUnit(4, 5, bytes([4]) * 10)


def test_four_bytes_of_a_file_stay_free(tmp_path: Path) -> None:
    exts, queue = opened(tmp_path, file_size=43)

    # Two units of 20 bytes leave three, and four must stay.
    assert [put(exts, queue, 1) for _ in range(2)] == [ext_address(0), ext_address(43)]


def test_a_unit_that_fits_no_file_leaves_the_tags_code(tmp_path: Path) -> None:
    exts, queue = opened(tmp_path)
    exts.bit_map = lambda entry: bytes(90)

    assert put(exts, queue, 7) == 7


def test_what_has_no_entry_is_cut_off_at_the_first_write(tmp_path: Path) -> None:
    exts, queue = opened(tmp_path)
    for code in range(3):
        put(exts, queue, code)
    exts.close()
    again, same = opened(tmp_path)
    same.append(0, 10, ext_address(0))

    assert put(again, same, 9) == ext_address(20)
    (data,) = files(tmp_path).values()
    assert [unit.tags_code for _, unit in decode_units(data)] == [0, 9]


def test_entries_without_addresses_go_on_behind_the_units(tmp_path: Path) -> None:
    exts, queue = opened(tmp_path)
    put(exts, queue, 1)
    exts.close()
    again, same = opened(tmp_path)
    same.append(0, 10, 1)

    assert put(again, same, 2) == ext_address(20)


def test_a_lost_unit_keeps_its_address(tmp_path: Path) -> None:
    exts, queue = opened(tmp_path)
    put(exts, queue, 1)
    exts.close()
    again, same = opened(tmp_path)
    same.append(0, 10, ext_address(60))

    assert put(again, same, 2) == ext_address(100)
    assert again.read(same, ext_address(60)) is None


def test_files_of_another_size_are_left_alone(tmp_path: Path) -> None:
    exts, queue = opened(tmp_path)
    put(exts, queue, 1)
    exts.close()
    before = files(tmp_path)
    again, same = opened(tmp_path, file_size=200)

    assert put(again, same, 2) == 2
    assert files(tmp_path) == before


def test_files_below_the_first_message_expire(tmp_path: Path) -> None:
    exts, queue = opened(tmp_path)
    for code in range(9):
        put(exts, queue, code)

    assert exts.expired(queue) == []
    queue.min_offset = 8
    names = [path.name for path in exts.expired(queue)]

    assert names == sorted(files(tmp_path))[:2]


def test_unsynced_files_are_told_once_and_removed_with_their_queue(tmp_path: Path) -> None:
    exts, queue = opened(tmp_path)
    put(exts, queue, 1)

    paths, directories = exts.take_unsynced()
    assert [path.name for path in paths] == sorted(files(tmp_path))
    assert tmp_path / "consumequeue_ext" / "T" / "0" in directories
    assert exts.take_unsynced() == ([], [])
    exts.remove(queue)
    assert not (tmp_path / "consumequeue_ext" / "T" / "0").exists()
    assert exts.read(queue, ext_address(0)) is None
