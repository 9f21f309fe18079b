"""An index file in memory: rows, writing in parts, and the file that follows."""

import os
from pathlib import Path

import pytest

from storefmt.dispatch.index_table import IndexTable, following_header, new_file_name
from storefmt.formats.index import IndexHeader, index_file_size
from storefmt.offline.output_dir import SparseFile

ROWS = [(7, 100, 5_000), (7, 100, 5_000), (2, 200, 9_000), (12, 300, 9_999)]


def table_of(header: IndexHeader, *, entry_count_max: int = 8) -> IndexTable:
    return IndexTable(header, slot_count=5, entry_count_max=entry_count_max)


def written(table: IndexTable, path: Path) -> bytes:
    file = SparseFile(path, size=table.file_size)
    table.write_to(file)
    file.close()
    return path.read_bytes()


def test_rows_in_one_call_or_one_by_one_give_the_same_bytes(tmp_path: Path) -> None:
    whole, single = table_of(IndexHeader()), table_of(IndexHeader())

    assert whole.put_rows(ROWS) == 4
    for number, row in enumerate(ROWS):
        assert single.put_rows([row]) == 1
        assert written(single, tmp_path / "single")[:40] == single.header.encode()
        assert single.entry_count == number + 2

    assert written(whole, tmp_path / "whole") == (tmp_path / "single").read_bytes()
    assert whole.header == IndexHeader(5_000, 9_999, 100, 300, 1, 5)


def test_rows_beyond_the_room_are_left_to_the_next_file() -> None:
    table = table_of(IndexHeader(), entry_count_max=3)

    assert table.put_rows(ROWS) == 2
    assert table.is_full
    assert table.put_rows(ROWS[2:]) == 0

    following = table_of(following_header(table.header))
    assert following.header == IndexHeader(5_000, 5_000, 100, 100, 0, 1)
    assert following.put_rows(ROWS[2:]) == 2
    assert following.begin_ms == 9_000
    assert following.begin_log_offset == 200


def test_the_header_comes_last_and_an_empty_file_counts_0(tmp_path: Path) -> None:
    table = table_of(IndexHeader())
    file = SparseFile(tmp_path / "f", size=table.file_size)
    table.put_rows(ROWS)

    assert not table.write_to(file, pages_max=0)
    assert file.read(0, 40) == bytes(40)
    assert table.write_to(file)
    assert table.is_written
    file.close()

    assert os.path.getsize(tmp_path / "f") == index_file_size(5, 8)
    assert written(table_of(IndexHeader()), tmp_path / "empty") == bytes(table.file_size)


@pytest.mark.parametrize(
    ("last", "name"),
    [
        ("", "19700101000000000"),
        ("20231231235959999", "20240101000000000"),
        ("20231231235905123", "20231231235905124"),
        ("00000000000000007", "19700101000000000"),
        ("99999999999999999999", "100000000000000000000"),
    ],
)
def test_a_new_file_is_named_after_the_last_one(
    last: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "UTC")
    import time

    time.tzset()
    try:
        assert new_file_name(0, last=last) == name
    finally:
        monkeypatch.undo()
        time.tzset()
