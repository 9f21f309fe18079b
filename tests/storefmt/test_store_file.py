"""Read-only files with holes."""

import os
from pathlib import Path

import pytest

from storefmt.errors import StoreError
from storefmt.store_file import OPEN_FILES_MAX, OpenFiles, StoreFile
from tests.descriptors import descriptor_count

GIB = 1 << 30


def sparse(path: Path, *parts: tuple[int, bytes], size: int) -> StoreFile:
    with path.open("wb") as file:
        for pos, data in parts:
            file.seek(pos)
            file.write(data)
        file.truncate(size)
    return StoreFile(path)


def test_ends_of_data_are_found_in_a_file_of_holes(tmp_path: Path) -> None:
    file = sparse(tmp_path / "f", (5, b"abc"), (GIB // 2 + 7, b"z\0\0"), size=GIB)

    assert file.first_data() == 5
    assert file.first_data(8) == GIB // 2 + 7
    assert file.first_data(8, GIB // 2) is None
    assert file.data_end() == GIB // 2 + 8
    assert file.data_end(GIB // 2 + 8) == GIB // 2 + 8


def test_zeros_that_are_written_count_as_holes(tmp_path: Path) -> None:
    file = sparse(tmp_path / "f", (0, bytes(3 << 20) + b"x" + bytes(2 << 20)), size=6 << 20)

    assert file.first_data() == 3 << 20
    assert file.data_end() == (3 << 20) + 1


def test_empty_file_has_no_data(tmp_path: Path) -> None:
    file = sparse(tmp_path / "f", size=0)

    assert file.first_data() is None
    assert file.data_end() == 0
    assert file.read(0, 10) == b""


def test_data_after_a_hole_begins_a_field_earlier(tmp_path: Path) -> None:
    file = sparse(tmp_path / "f", (1 << 20, b"x" * 4096), size=GIB)

    assert (1 << 20) - 4096 < file.data_after(100) <= 1 << 20
    assert file.data_after((1 << 20) + 10) == (1 << 20) + 10
    assert file.data_after((1 << 20) + 8192) == GIB


def test_reads_past_the_end_are_short(tmp_path: Path) -> None:
    file = sparse(tmp_path / "f", (0, b"abcdef"), size=6)

    assert file.read(4, 10) == b"ef"
    assert file.read(9, 10) == b""


def test_a_closed_file_is_opened_again_by_the_next_read(tmp_path: Path) -> None:
    file = sparse(tmp_path / "f", (0, b"abc"), size=3)
    file.close()

    assert file.read(0, 3) == b"abc"


def test_only_a_few_files_stay_open(tmp_path: Path) -> None:
    files = OpenFiles()
    for number in range(3 * OPEN_FILES_MAX):
        (tmp_path / str(number)).write_bytes(b"%d" % number)
    before = descriptor_count()

    opened = [files.open(tmp_path / str(number)) for number in range(3 * OPEN_FILES_MAX)]

    assert descriptor_count() - before <= OPEN_FILES_MAX + 1
    assert opened[0].read(0, 9) == b"0"
    files.close()


def test_a_file_that_is_let_go_keeps_nothing_open(tmp_path: Path) -> None:
    before = descriptor_count()
    file = sparse(tmp_path / "f", (0, b"abc"), size=3)
    file.close()
    file.read(0, 1)

    del file

    assert descriptor_count() == before


def test_what_cannot_be_read_is_a_store_error(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    for path in (tmp_path / "gone", tmp_path, tmp_path / "pipe"):
        with pytest.raises(StoreError, match=str(path)):
            StoreFile(path).read(0, 1)
