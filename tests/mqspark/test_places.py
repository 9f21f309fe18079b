"""Directories on this machine, on S3 (moto), and behind webhdfs (a small server of our own)."""

from pathlib import Path

import pytest

from mqspark.errors import BadOption
from mqspark.places import StorageDir


@pytest.fixture(params=["local", "s3", "webhdfs"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> StorageDir:
    uri = tmp_path / "archive" if request.param == "local" else None
    return StorageDir(str(uri) if uri else request.getfixturevalue(request.param))


def test_a_file_is_made_once(place: StorageDir) -> None:
    place.create("manifest/1.json", b"first")

    with pytest.raises(FileExistsError):
        place.create("manifest/1.json", b"second")

    assert place.read("manifest/1.json") == b"first"
    assert place.names("manifest", suffix=".json") == ["1.json"]


def test_what_is_not_there_has_no_names_and_cannot_be_read(place: StorageDir) -> None:
    assert place.names("manifest", suffix=".json") == []
    with pytest.raises(OSError):
        place.read("manifest/1.json")


def test_files_are_written_and_read_in_parts(place: StorageDir) -> None:
    body = bytes(range(256)) * 5_000

    with place.writing("data/%RETRY%group/a.parquet") as file:
        for first in range(0, len(body), 100_000):
            file.write(body[first : first + 100_000])

    filesystem = place.filesystem()
    with filesystem.open_input_file(place.path("data/%RETRY%group/a.parquet")) as file:
        assert file.size() == len(body)
        assert file.read_at(1_000, 700_000) == body[700_000:701_000]


def test_files_below_a_folder_are_listed_and_removed(place: StorageDir) -> None:
    assert place.tree("data", suffix=".parquet") == []
    for name in ("data/T/a.parquet", "data/T/2026-11-23/b.parquet", "data/T/c.txt"):
        place.create(name, b"four")

    listed = place.tree("data", suffix=".parquet")
    place.remove(listed[1].name)
    place.remove("data/T/nothing.parquet")

    assert [one.name for one in listed] == ["data/T/2026-11-23/b.parquet", "data/T/a.parquet"]
    assert {one.size for one in listed} == {4}
    # What fsspec says of a file on WebHDFS has no time.
    assert all((one.changed_ms or 0) > 0 for one in listed) is not place.uri.startswith("webhdfs")
    assert place.tree("data", suffix=".parquet") == listed[:1]


def test_files_behind_a_link_are_not_listed(tmp_path: Path) -> None:
    here, elsewhere = StorageDir(str(tmp_path / "here")), StorageDir(str(tmp_path / "elsewhere"))
    elsewhere.create("data/T/a.parquet", b"")
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "data").symlink_to(tmp_path / "elsewhere" / "data")
    (tmp_path / "again").symlink_to(tmp_path / "elsewhere")

    assert here.tree("data", suffix=".parquet") == []
    # The place itself may be a link.
    assert len(StorageDir(str(tmp_path / "again")).tree("data", suffix=".parquet")) == 1


def test_an_unknown_scheme_is_named() -> None:
    with pytest.raises(BadOption, match="gopher://x/y cannot be opened"):
        StorageDir("gopher://x/y").filesystem()
