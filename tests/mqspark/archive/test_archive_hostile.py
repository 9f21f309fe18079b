"""Archives whose manifests lead out of the archive are refused, and no other file changes."""

import json
from pathlib import Path

import pytest

from mqspark.archive.archive import opened, writer
from mqspark.archive.manifests import ArchiveFile, data_name
from mqspark.archive.restore_log import encoded
from mqspark.errors import BadArchive
from mqspark.places import StorageDir
from remoting.bodies import MessageQueue

QUEUE = MessageQueue("T", "broker-a", 0)
OUTSIDE = (
    "/etc/passwd",
    "data/../../secret.parquet",
    "../data/T/a.parquet",
    "data/T/../../../a.parquet",
    "data/./a.parquet",
    "data/T//a.parquet",
    "data//a.parquet",
    "data/T/.parquet",
    "data/T/a\0.parquet",
    "manifest/a.parquet",
    "",
)


def archive_with(root: Path, **changed: object) -> Path:
    """Write an archive whose only file has some fields of somebody else's choice."""
    whole = ArchiveFile("data/T/a.parquet", "T", "broker-a", ((0, 0, 1),), 1, 9, 0, 0)
    with writer(StorageDir(str(root))) as archive:
        archive.commit([whole], {QUEUE: 1})
    manifest = root / "manifest" / f"{1:020d}.json"
    value = json.loads(manifest.read_text())
    value["files"][0] |= changed
    manifest.write_text(json.dumps(value))
    return root


@pytest.mark.parametrize("path", OUTSIDE)
def test_manifest_that_names_a_file_outside_of_the_archive_is_refused(
    tmp_path: Path, path: str
) -> None:
    root = archive_with(tmp_path / "a", path=path)

    with pytest.raises(BadArchive, match="is no file of an archive"):
        opened(str(root))


@pytest.mark.parametrize("topic", ["..", "a/b", "/etc", ""])
def test_manifest_with_a_topic_that_is_a_path_is_refused(tmp_path: Path, topic: str) -> None:
    root = archive_with(tmp_path / "a", topic=topic)

    with pytest.raises(BadArchive, match="is no topic"):
        opened(str(root))


@pytest.mark.parametrize("topic", ["..", "../up", "a/b", "/etc", ""])
def test_message_of_a_topic_that_is_a_path_goes_into_no_archive_and_no_log(topic: str) -> None:
    with pytest.raises(BadArchive, match="can be no directory"):
        data_name(topic, "2026-11-23", "a")
    with pytest.raises(BadArchive, match="is no topic"):
        encoded({"topic": topic}, log_offset=0)


def test_a_link_in_an_archive_lets_nothing_behind_it_be_removed(tmp_path: Path) -> None:
    mine = tmp_path / "mine" / "kept.parquet"
    mine.parent.mkdir()
    mine.write_bytes(b"mine")
    (tmp_path / "a" / "data").mkdir(parents=True)
    (tmp_path / "a" / "data" / "T").symlink_to(mine.parent)

    with writer(StorageDir(str(tmp_path / "a"))):
        pass

    assert mine.read_bytes() == b"mine"


DAMAGED = {
    "deep": lambda value: None,
    "a number that is a text": lambda value: value.update(number="1"),
    "a time that is a list": lambda value: value.update(written_ms=[]),
    "a retired file that is a list": lambda value: value.update(retired=[["a"]]),
    "positions that are a list": lambda value: value.update(positions=[]),
    "a position beyond a long": lambda value: value["positions"].update({"T@b@0": 1 << 63}),
    "rows that are a text": lambda value: value["files"][0].update(rows="1"),
    "a broker that is a number": lambda value: value["files"][0].update(broker=1),
    "ranges of texts": lambda value: value["files"][0].update(ranges=[["0", 0, 1]]),
    "a time of a file that is a text": lambda value: value["files"][0].update(last_ms="x"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_manifest_is_named(tmp_path: Path, name: str) -> None:
    root = archive_with(tmp_path / "a")
    manifest = root / "manifest" / f"{1:020d}.json"
    value = json.loads(manifest.read_text())
    DAMAGED[name](value)
    manifest.write_text("[" * 100_000 if name == "deep" else json.dumps(value))

    with pytest.raises(BadArchive, match=r"0001\.json is no manifest"):
        opened(str(root))


@pytest.mark.parametrize(
    "text",
    ["{}", "[", "[" * 100_000, '{"format": 2, "number": 1, "files": [], "positions": {}}'],
    ids=["empty", "cut", "deep", "without retired files"],
)
def test_damaged_checkpoint_is_named(tmp_path: Path, text: str) -> None:
    root = archive_with(tmp_path / "a")
    (root / "checkpoint").mkdir()
    (root / "checkpoint" / f"{1:020d}.json").write_text(text)

    with pytest.raises(BadArchive, match="is no checkpoint"):
        opened(str(root))


def test_other_files_beside_the_checkpoints_are_passed_over(tmp_path: Path) -> None:
    root = archive_with(tmp_path / "a")
    (root / "checkpoint").mkdir()
    for name in ("notes.json", "1.json", f"{'9' * 200}.json"):
        (root / "checkpoint" / name).write_text("{}")

    assert opened(str(root)).commit_count == 1
