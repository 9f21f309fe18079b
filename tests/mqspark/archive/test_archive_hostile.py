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
