"""Archives: which files count, and what the topics of a broker become in them."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from mqserver.pytest_plugin import RocketMQ
from mqspark.archive.archive import ARCHIVE_COLUMNS, Archive, opened, writer
from mqspark.archive.manifests import ArchiveFile
from mqspark.archive.write import read_rows
from mqspark.errors import BadArchive, DataLost
from mqspark.jobs.archive import Archived, archive_local, archiving, explain_archive, write_here
from mqspark.places import StorageDir
from mqspark.sources.live.options import LiveReadOptions
from mqspark.sources.live.plan import Task
from remoting.bodies import MessageQueue
from tests.mqspark.livetopics import as_sent, fill, filled_pair, make
from tests.storefmt.offline.stores import records_in

QUEUE = MessageQueue("T", "broker-a", 0)
COUNT = 100


def a_file(name: str, start: int = 0, end: int = 1) -> ArchiveFile:
    return ArchiveFile(name, "T", "broker-a", ((0, start, end),), end - start, 9, 0, 0)


def messages(uri: str) -> list[tuple[object, ...]]:
    """Return topic, queue, offset and body of all messages of an archive, sorted."""
    found = opened(uri)
    columns = ("topic", "queue_id", "queue_offset", "body")
    return sorted(
        tuple(row.values())
        for file in found.files()
        for batch in read_rows(found.place, file, columns)
        for row in batch.to_pylist()
    )


def stored(store: Path, topic: str) -> list[tuple[object, ...]]:
    return sorted(
        (one.topic, one.queue_id, one.queue_offset, one.body)
        for one in map(as_sent, records_in(store))
        if one.topic == topic
    )


pair = filled_pair("Orders", COUNT)


def dying_after(count: int) -> Callable[..., Iterator[ArchiveFile]]:
    """Return what writes as an archive job does, and is killed behind so many batches."""
    left = count

    def write(
        place: StorageDir, live: LiveReadOptions, tasks: Sequence[Task], hive_folders: bool
    ) -> Iterator[ArchiveFile]:
        nonlocal left
        yield from write_here(place, live, tasks, hive_folders)
        left -= 1
        if not left:
            raise KeyboardInterrupt

    return write


def options(pair: RocketMQ, **more: str) -> dict[str, str]:
    return {"namesrv": pair.namesrv, "subscribe": "Orders", **more}


def test_a_commit_is_files_and_positions_at_once(tmp_path: Path) -> None:
    archive = Archive(StorageDir(str(tmp_path)))
    assert archive.positions is None

    archive.commit([a_file("data/T/a.parquet")], {QUEUE: 1})
    archive.commit([a_file("data/T/b.parquet", 1, 3)], {QUEUE: 3})

    again = opened(str(tmp_path))
    assert again.positions == {QUEUE: 3}
    assert [file.path for file in again.files()] == ["data/T/a.parquet", "data/T/b.parquet"]
    assert again.files(topics=["U"]) == []


def test_of_two_writers_one_is_told(tmp_path: Path) -> None:
    first, second = (Archive(StorageDir(str(tmp_path))) for _ in range(2))
    first.commit([a_file("data/T/a.parquet")], {QUEUE: 1})

    with pytest.raises(BadArchive, match="another process writes to it"):
        second.commit([a_file("data/T/b.parquet")], {QUEUE: 1})
    with (
        writer(StorageDir(str(tmp_path))),
        pytest.raises(BadArchive, match="another process"),
        writer(StorageDir(str(tmp_path))),
    ):
        pass

    assert [file.path for file in opened(str(tmp_path)).files()] == ["data/T/a.parquet"]


def test_what_no_manifest_names_goes_with_the_next_writer(tmp_path: Path) -> None:
    archive = Archive(StorageDir(str(tmp_path)))
    archive.commit([a_file("data/T/kept.parquet")], {QUEUE: 1})
    for name in ("data/T/kept.parquet", "data/T/dead.parquet", "manifest/.2.json.draft"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()

    with writer(StorageDir(str(tmp_path))):
        pass

    assert [path.name for path in (tmp_path / "data" / "T").iterdir()] == ["kept.parquet"]
    assert [path.suffix for path in (tmp_path / "manifest").iterdir()] == [".json"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda value: {**value, "format": 3}, "has format 3, this reads formats up to 2"),
        (lambda value: {"format": 1}, "is no manifest"),
        (lambda value: [], "is no manifest"),
        (lambda value: {**value, "number": 2}, "manifest 1 is missing"),
    ],
)
def test_manifests_that_cannot_be_are_named(tmp_path: Path, change, said: str) -> None:
    Archive(StorageDir(str(tmp_path))).commit([], {QUEUE: 1})
    (path,) = (tmp_path / "manifest").iterdir()
    path.write_text(json.dumps(change(json.loads(path.read_text()))))

    with pytest.raises(BadArchive, match=said):
        opened(str(tmp_path))


def test_a_directory_without_manifests_is_no_archive(tmp_path: Path) -> None:
    with pytest.raises(BadArchive, match="is no archive"):
        opened(str(tmp_path))


def test_everything_is_archived_once_over_several_runs(pair: RocketMQ, tmp_path: Path) -> None:
    uri = str(tmp_path / "archive")
    make(pair.namesrv, "Twice")
    fill(pair.namesrv, "Twice", 40)
    given = options(pair, subscribePattern="Twice|Later", maxOffsetsPerTrigger="15")
    del given["subscribe"]

    first = archive_local(uri, **given).to_pylist()
    nothing = archive_local(uri, **given).to_pylist()
    fill(pair.namesrv, "Twice", 10, seed=1)
    # A topic that the archive did not know begins with its first message.
    make(pair.namesrv, "Later")
    fill(pair.namesrv, "Later", 5)
    second = archive_local(uri, **given).to_pylist()

    assert sum(row["messages"] for row in first) == 40
    assert max(row["commit"] for row in first) == 3
    assert nothing == []
    assert sum(row["messages"] for row in second) == 15
    assert messages(uri) == sorted(stored(pair.store, "Twice") + stored(pair.store, "Later"))


def test_files_have_every_column_and_say_what_is_in_them(pair: RocketMQ, tmp_path: Path) -> None:
    uri = str(tmp_path / "archive")

    archive_local(uri, **options(pair, maxRecordsPerPartition="40"))

    found = opened(uri)
    assert len(found.files()) == 3
    for file in found.files():
        table = pq.read_table(tmp_path / "archive" / file.path, partitioning=None)
        assert tuple(table.column_names) == ARCHIVE_COLUMNS
        assert table.num_rows == file.rows == sum(end - first for _, first, end in file.ranges)
        places = table.column("log_offset").to_pylist()
        assert (min(places), max(places)) == (file.first_log_offset, file.last_log_offset)


def test_a_run_that_dies_before_its_manifest_leaves_nothing(pair: RocketMQ, tmp_path: Path) -> None:
    uri = str(tmp_path / "archive")
    given = options(pair, maxOffsetsPerTrigger="30")
    done: list[Archived] = []
    with pytest.raises(KeyboardInterrupt):
        done.extend(archiving(uri, given, write=dying_after(2)))
    assert len(list((tmp_path / "archive").glob("data/**/*.parquet"))) > len(opened(uri).files())

    archive_local(uri, **given)

    assert messages(uri) == stored(pair.store, "Orders")
    on_disk = {path.name for path in (tmp_path / "archive").glob("data/**/*.parquet")}
    assert on_disk == {Path(file.path).name for file in opened(uri).files()}


def test_what_the_broker_lost_is_an_error_or_passed_over(pair: RocketMQ, tmp_path: Path) -> None:
    uri = str(tmp_path / "archive")
    archive_local(uri, **options(pair))
    archive, before = opened(uri), opened(uri).positions
    ahead = {queue: at + 1_000 for queue, at in archive.positions.items()}
    archive.commit([], ahead)

    with pytest.raises(DataLost, match=r"Orders@broker-a@0 was read up to 1\d\d\d and ends at"):
        archive_local(uri, **options(pair))
    again = archive_local(uri, **options(pair, failOnDataLoss="false"))
    assert sum(row["messages"] for row in again.to_pylist()) == COUNT
    assert opened(uri).positions == before


def test_a_filter_archives_what_it_lets_through(pair: RocketMQ, tmp_path: Path) -> None:
    uri = str(tmp_path / "archive")

    archive_local(uri, **options(pair, filterExpression="TagA"))

    tagged = sum((one.topic, one.tags) == ("Orders", "TagA") for one in records_in(pair.store))
    assert len(messages(uri)) == tagged > 0


def test_the_outlook_counts_and_changes_nothing(pair: RocketMQ, tmp_path: Path) -> None:
    text = explain_archive(str(tmp_path / "archive"), options(pair, maxOffsetsPerTrigger="50"))

    assert text == "archive: 100 messages of 3 queues in 1 tasks and about 2 commits, after 0"
    assert not (tmp_path / "archive").exists()


def test_an_archive_on_s3_is_as_one_here(pair: RocketMQ, s3: str) -> None:
    for _ in range(2):
        archive_local(s3, **options(pair, maxOffsetsPerTrigger="60"))

    assert messages(s3) == stored(pair.store, "Orders")
    assert opened(s3).commit_count == 2
