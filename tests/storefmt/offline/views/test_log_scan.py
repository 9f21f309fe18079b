"""The last record of a file, found from its end."""

from pathlib import Path

from storefmt.formats.message import MAGIC_V1, Record
from storefmt.offline.views.log_scan import last_record, walk_file
from storefmt.store_file import StoreFile
from tests.records import record_bytes
from tests.storefmt.broken import overwrite

BASE = 4096


def record(log_offset: int, body: bytes) -> bytes:
    return record_bytes(log_offset=log_offset, body=body)


def file_of(path: Path, bodies: list[bytes], *, size: int) -> tuple[StoreFile, list[int]]:
    data, starts = b"", []
    for body in bodies:
        starts.append(len(data))
        data += record(BASE + len(data), body)
    path.write_bytes(data.ljust(size, b"\0"))
    return StoreFile(path), starts


def test_last_record_is_found_behind_a_large_one(tmp_path: Path) -> None:
    file, starts = file_of(tmp_path / "f", [b"a", b"b" * (3 << 20), b""], size=8 << 20)

    found = last_record(file, base=BASE, end=file.data_end())

    assert found[0] == starts[2]
    assert found[1].body == b""


def test_large_record_at_the_end_is_found(tmp_path: Path) -> None:
    file, starts = file_of(tmp_path / "f", [b"a", b"b" * (3 << 20)], size=4 << 20)

    assert last_record(file, base=BASE, end=file.data_end())[0] == starts[1]


def test_magic_in_a_body_is_not_taken_for_a_record(tmp_path: Path) -> None:
    magic = MAGIC_V1.to_bytes(4, "big", signed=True)
    inner = record(BASE, b"inner")
    file, starts = file_of(tmp_path / "f", [b"a", magic * 50 + inner + bytes(60)], size=4096)

    assert last_record(file, base=BASE, end=file.data_end())[0] == starts[1]


def test_torn_record_at_the_end_is_passed_over(tmp_path: Path) -> None:
    file, starts = file_of(tmp_path / "f", [b"a", b"b" * 500], size=4096)
    overwrite(tmp_path / "f", starts[1] + 200, bytes(500))

    assert last_record(file, base=BASE, end=file.data_end())[0] == 0
    assert isinstance(next(walk_file(file, base=BASE))[1], Record)


def test_file_of_zeros_has_no_last_record(tmp_path: Path) -> None:
    file, _ = file_of(tmp_path / "f", [], size=4096)

    assert last_record(file, base=BASE, end=file.data_end()) is None
