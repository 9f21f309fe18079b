"""Places for files: this machine, S3 (moto), webhdfs (a small server of our own)."""

from pathlib import Path

import pytest

from pipeline.errors import BadOption
from pipeline.places import Place


@pytest.fixture(params=["local", "s3", "webhdfs"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    uri = tmp_path / "archive" if request.param == "local" else None
    return Place(str(uri) if uri else request.getfixturevalue(request.param))


def test_a_file_is_made_once(place: Place) -> None:
    place.create("manifest/1.json", b"first")

    with pytest.raises(FileExistsError):
        place.create("manifest/1.json", b"second")

    assert place.read("manifest/1.json") == b"first"
    assert place.names("manifest", suffix=".json") == ["1.json"]


def test_what_is_not_there_has_no_names_and_cannot_be_read(place: Place) -> None:
    assert place.names("manifest", suffix=".json") == []
    with pytest.raises(OSError):
        place.read("manifest/1.json")


def test_files_are_written_and_read_in_parts(place: Place) -> None:
    body = bytes(range(256)) * 5_000

    with place.writing("data/%RETRY%group/a.parquet") as file:
        for first in range(0, len(body), 100_000):
            file.write(body[first : first + 100_000])

    filesystem = place.filesystem()
    with filesystem.open_input_file(place.path("data/%RETRY%group/a.parquet")) as file:
        assert file.size() == len(body)
        assert file.read_at(1_000, 700_000) == body[700_000:701_000]


def test_an_unknown_scheme_is_named() -> None:
    with pytest.raises(BadOption, match="gopher://x/y cannot be opened"):
        Place("gopher://x/y").filesystem()
