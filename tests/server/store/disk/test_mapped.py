"""Several parts of a file are joined without the bytes between them."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from mqserver.store.disk import mapped
from mqserver.store.disk.disk import DiskFile, RealDisk
from mqserver.store.disk.mapped import SPAN_MAX
from tests.server.cold_disk import forget_file
from tests.twins import FORMS, use_form

SIZE = 4 << 20
BASE = 7 << 30


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "file").write_bytes(os.urandom(SIZE))
    return tmp_path / "file"


@pytest.fixture(params=FORMS)
def file(
    path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[DiskFile]:
    """The file, read with each way to join."""
    use_form(monkeypatch, request.param, mapped, "_join", "join_compiled")
    file = RealDisk().open(path)
    # Read just now: all of it is in memory.
    file.pread(SIZE, 0)
    yield file
    file.close()


def test_parts_are_joined_in_order(file: DiskFile, path: Path) -> None:
    data = path.read_bytes()
    places = [(0, 10), (4_090, 4_100), (5_000, 5_000), (70_000, 90_001)]

    found = file.parts([(BASE + start, BASE + end) for start, end in places], BASE)

    assert found == b"".join(data[start:end] for start, end in places)
    assert file.parts([(SIZE - 3, SIZE)], 0) == data[-3:]


def test_what_is_written_is_seen_at_once(file: DiskFile) -> None:
    assert file.parts([(100, 200)], 0) is not None

    file.pwrite(b"new", 150)

    assert file.parts([(150, 153)], 0) == b"new"


def test_parts_beyond_the_file_or_too_far_apart_are_left_to_pread(file: DiskFile) -> None:
    assert file.parts([(SIZE - 3, SIZE + 1)], 0) is None
    assert file.parts([(0, 1)], 1) is None
    assert file.parts([(0, 10), (SPAN_MAX, SPAN_MAX + 1)], 0) is None


def test_parts_out_of_order_are_left_to_pread(file: DiskFile) -> None:
    assert file.parts([(10, 20), (0, 5), (30, 40)], 0) is None
    assert file.parts([(10, 20), (30, 50), (30, 40)], 0) is None
    assert file.parts([(10, 20), (25, 22), (30, 40)], 0) is None


def test_a_file_cut_under_the_mapping_kills_nobody(file: DiskFile, path: Path) -> None:
    assert file.parts([(SIZE - 3, SIZE)], 0) is not None

    os.truncate(path, 4_096)

    assert file.parts([(SIZE - 3, SIZE)], 0) is None


def test_pages_that_are_not_in_memory_are_not_touched(path: Path) -> None:
    forget_file(path)
    file = RealDisk().open(path)
    if file.parts([(0, 10)], 0) is not None:
        pytest.skip("this file system keeps everything in memory")

    file.pread(SIZE, 0)

    assert file.parts([(0, 10)], 0) == path.read_bytes()[:10]
    file.close()


def test_without_mincore_nothing_is_mapped_memory(
    file: DiskFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mapped, "_MINCORE", None)
    monkeypatch.setattr(mapped, "_join", mapped.join_pure)

    assert file.parts([(0, 10)], 0) is None


def test_an_empty_file_has_no_mapping(tmp_path: Path) -> None:
    file = RealDisk().open(tmp_path / "empty", create=True)

    assert file.parts([(0, 1)], 0) is None
    file.close()


def test_a_closed_mapping_keeps_no_hold_of_the_file(file: DiskFile, path: Path) -> None:
    other = RealDisk().open(path)
    assert other.parts([(0, 10)], 0) is not None
    assert not file.is_ours_alone()

    other.close()

    assert file.is_ours_alone()
