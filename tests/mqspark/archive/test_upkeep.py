"""Compaction, expiry and clean-up of archives, checkpoints, and archives of earlier versions."""

import json
import os
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from mqserver.pytest_plugin import RocketMQ
from mqspark.archive.archive import ARCHIVE_COLUMNS, CHECKPOINT_EVERY, Archive, opened, writer
from mqspark.archive.compact import Compaction, compact_files, compactions
from mqspark.archive.manifests import ArchiveFile
from mqspark.archive.write import GROUP_BYTES, DayFiles, read_rows
from mqspark.errors import BadArchive
from mqspark.jobs import maintain
from mqspark.jobs.archive import archive_local
from mqspark.jobs.maintain import clean, compact, expire
from mqspark.places import StorageDir
from mqspark.sources.live.table import live_schema
from remoting.bodies import MessageQueue
from storefmt.formats.sysflag import COMPRESSED
from tests.mqspark.archive.test_archive import messages, stored
from tests.mqspark.livetopics import filled_pair

QUEUE = MessageQueue("T", "broker-a", 0)
DAY_MS = 86_400_000
COUNT = 90
pair = filled_pair("Small", COUNT)


def small_files(pair: RocketMQ, uri: str) -> None:
    given = {"namesrv": pair.namesrv, "subscribe": "Small", "maxOffsetsPerTrigger": "9"}
    archive_local(uri, **given)


def rows(
    times_ms: list[int | None], *, start: int = 0, body_size: int = 4, topic: str = "T"
) -> pa.RecordBatch:
    """Return rows of queue 0 of a topic with these store times."""
    known = {
        "topic": pa.repeat(topic, len(times_ms)),
        "queue_id": pa.repeat(pa.scalar(0, pa.int32()), len(times_ms)),
        "queue_offset": pa.array(range(start, start + len(times_ms)), pa.int64()),
        "log_offset": pa.array([at * 100 for at in range(start, start + len(times_ms))]),
        "store_timestamp": pa.array(
            [None if at is None else at * 1_000 for at in times_ms], pa.timestamp("us", "UTC")
        ),
        "body": pa.array([os.urandom(body_size) for _ in times_ms], pa.binary()),
    }
    schema = live_schema(ARCHIVE_COLUMNS)
    columns = [
        known[field.name] if field.name in known else pa.nulls(len(times_ms), field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def written(
    place: StorageDir, *batches: pa.RecordBatch, topic: str = "T", hive_folders: bool = False
) -> list[ArchiveFile]:
    with DayFiles(place, topic, "broker-a", hive_folders=hive_folders) as files:
        for batch in batches:
            files.add(batch)
        return files.finish()


def test_messages_go_to_the_file_of_their_day(tmp_path: Path, place: StorageDir) -> None:
    files = written(place, rows([DAY_MS - 1, DAY_MS, None]), rows([DAY_MS + 7], start=3))

    assert [file.day for file in files] == ["1970-01-01", "1970-01-02", "unknown"]
    assert [file.ranges for file in files] == [((0, 0, 1),), ((0, 1, 4),), ((0, 2, 3),)]
    assert [(file.first_ms, file.last_ms) for file in files] == [
        (DAY_MS - 1, DAY_MS - 1),
        (DAY_MS, DAY_MS + 7),
        (None, None),
    ]
    for file in files:
        path = tmp_path / file.path
        assert path.stat().st_size == file.size
        assert pq.read_metadata(path).num_rows == file.rows
    assert (files[1].first_log_offset, files[1].last_log_offset) == (100, 300)


def test_rows_of_many_pulls_share_a_row_group_up_to_its_size(tmp_path: Path) -> None:
    place, size = StorageDir(str(tmp_path)), 1 << 20
    count = 2 * GROUP_BYTES // size

    (file,) = written(place, *(rows([1], start=at, body_size=size) for at in range(count)))

    groups = pq.read_metadata(tmp_path / file.path)
    assert (groups.num_rows, groups.num_row_groups) == (count, 2)


def test_a_topic_whose_name_is_no_plain_path_has_a_plain_directory(tmp_path: Path) -> None:
    with DayFiles(StorageDir(str(tmp_path)), "%RETRY%group", "broker-a") as files:
        files.add(rows([1]))
        (file,) = files.finish()

    assert file.path.startswith("data/_RETRY_group/1970-01-01/")
    assert file.topic == "%RETRY%group"


def test_opening_reads_one_checkpoint_and_few_manifests(
    tmp_path: Path, place: StorageDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = Archive(place)
    count = 3 * CHECKPOINT_EVERY + 5
    for number in range(count):
        name = f"data/T/1970-01-01/{number}.parquet"
        file = ArchiveFile(name, "T", "b", ((0, number, number + 1),), 1, 9, 0, 0, 0, 0)
        archive.commit([file], {QUEUE: number + 1})
    read: list[str] = []
    whole = StorageDir.read
    monkeypatch.setattr(
        StorageDir, "read", lambda self, name: (read.append(name), whole(self, name))[1]
    )

    again = opened(str(tmp_path))

    assert (again.commit_count, again.positions) == (count, {QUEUE: count})
    assert again.files() == archive.files()
    assert read[0] == f"checkpoint/{3 * CHECKPOINT_EVERY:020d}.json"
    assert len(read) == 1 + 5
    kept = sorted(int(path.stem) for path in (tmp_path / "manifest").iterdir())
    assert kept == list(range(2 * CHECKPOINT_EVERY + 1, count + 1))
    assert len(list((tmp_path / "checkpoint").iterdir())) == 2


def test_a_reader_that_lists_what_goes_meanwhile_starts_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = Archive(StorageDir(str(tmp_path)))
    for number in range(CHECKPOINT_EVERY - 1):
        archive.commit([], {QUEUE: number})
    whole = StorageDir.read

    def read(self: StorageDir, name: str) -> bytes:
        while archive.commit_count < 2 * CHECKPOINT_EVERY:
            archive.commit([], {QUEUE: 1_000})
        return whole(self, name)

    monkeypatch.setattr(StorageDir, "read", read)

    assert opened(str(tmp_path)).commit_count == 2 * CHECKPOINT_EVERY


def test_a_manifest_has_only_the_positions_that_moved(tmp_path: Path) -> None:
    archive, other = Archive(StorageDir(str(tmp_path))), MessageQueue("T", "broker-a", 1)
    archive.commit([], {QUEUE: 1, other: 5})

    archive.commit([], {QUEUE: 2, other: 5})

    value = json.loads((tmp_path / "manifest" / f"{2:020d}.json").read_text())
    assert value["positions"] == {"T@broker-a@0": 2}
    assert opened(str(tmp_path)).positions == {QUEUE: 2, other: 5}


def test_compaction_makes_one_file_of_many_with_the_same_messages(
    pair: RocketMQ, tmp_path: Path
) -> None:
    uri = str(tmp_path / "archive")
    small_files(pair, uri)
    before = opened(uri)

    done = list(compact(uri))

    after = opened(uri)
    days = {file.day for file in before.files()}
    assert len(before.files()) >= COUNT // 9
    assert len(after.files()) == len(days)
    assert sum(one.messages for one in done) == COUNT
    assert sum(one.files_before for one in done) == len(before.files())
    assert after.positions == before.positions
    assert messages(uri) == stored(pair.store, "Small")
    # Whoever opened the archive before reads it to the end.
    read = [b for file in before.files() for b in read_rows(before.place, file, ("body",))]
    assert sum(batch.num_rows for batch in read) == COUNT
    assert list(compact(uri)) == []
    # The next run reads nothing twice, and leaves what readers may still need.
    small_files(pair, uri)
    assert messages(uri) == stored(pair.store, "Small")
    assert all((tmp_path / "archive" / file.path).exists() for file in before.files())


def test_a_compaction_that_dies_changes_nothing(
    pair: RocketMQ, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri = str(tmp_path / "archive")
    small_files(pair, uri)
    before = opened(uri).files()

    def dies(place: StorageDir, old: Compaction, **options: bool) -> list[ArchiveFile]:
        compact_files(place, old, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(maintain, "compact_files", dies)
    with pytest.raises(KeyboardInterrupt):
        list(compact(uri))

    assert opened(uri).files() == before
    with writer(StorageDir(uri)):
        pass
    on_disk = (tmp_path / "archive").glob("data/**/*.parquet")
    assert {path.name for path in on_disk} == {Path(file.path).name for file in before}


@pytest.mark.parametrize("decompress", [True, False])
def test_compaction_writes_bodies_as_they_were_sent(
    pair: RocketMQ, tmp_path: Path, decompress: bool
) -> None:
    uri = str(tmp_path / "archive")
    given = {"namesrv": pair.namesrv, "subscribe": "Small", "maxOffsetsPerTrigger": "9"}
    # As an earlier version wrote it.
    archive_local(uri, decompress="false", **given)
    assert flags(uri) & COMPRESSED
    kept = messages(uri)

    list(compact(uri, decompress=decompress))

    assert bool(flags(uri) & COMPRESSED) is not decompress
    assert messages(uri) == (stored(pair.store, "Small") if decompress else kept)


def flags(uri: str) -> int:
    """Return all bits of ``sys_flag`` that messages of an archive have."""
    found = opened(uri)
    every = 0
    for file in found.files():
        for batch in read_rows(found.place, file, ("sys_flag",)):
            for flag in batch.column(0).to_pylist():
                every |= flag
    return every


def test_a_compaction_that_would_lose_messages_is_refused(place: StorageDir) -> None:
    (file,) = written(place, rows([1, 2]))

    with pytest.raises(BadArchive, match="2 messages instead of 3"):
        compact_files(place, (file._replace(rows=3),))


def test_large_files_and_single_ones_stay() -> None:
    def one(name: str, size: int) -> ArchiveFile:
        return ArchiveFile(f"data/T/{name}.parquet", "T", "b", (), 1, size, 0, 0)

    files = [one("1970-01-01/large", 50), one("1970-01-01/a", 49), one("1970-01-02/b", 1)]
    packs = compactions([*files, one("1970-01-01/c", 49), one("1970-01-01/d", 49)], file_bytes=100)

    names = [[file.path[-9:-8] for file in pack] for pack in packs]
    assert names == [["a", "c"]]


def test_expiry_takes_whole_files_and_keeps_positions(tmp_path: Path) -> None:
    uri, place = str(tmp_path), StorageDir(str(tmp_path))
    files = written(place, rows([DAY_MS - 1, DAY_MS, None]))
    Archive(place).commit(files, {QUEUE: 3})

    gone = expire(uri, before_ms=DAY_MS)

    assert [one.path for one in gone] == [files[0].path]
    assert [file.day for file in opened(uri).files()] == ["1970-01-02", "unknown"]
    assert opened(uri).positions == {QUEUE: 3}
    assert expire(uri, before_ms=DAY_MS) == []
    assert opened(uri).commit_count == 2


def test_clean_spares_what_counts_and_what_is_younger_than_its_limit(tmp_path: Path) -> None:
    uri, place = str(tmp_path), StorageDir(str(tmp_path))
    files = written(place, rows([1]), rows([DAY_MS], start=1))
    dead = written(place, rows([1]))
    for file in (*files, *dead):
        os.utime(tmp_path / file.path, (1, 1))
    Archive(place).commit(files, {QUEUE: 2})
    Archive(place).commit([], {}, retired=files[:1])

    first = clean(uri, before_ms=2_000)
    second = clean(uri, before_ms=2**62)

    # The retired file is as old as the dead one, but somebody may have been reading it until now.
    assert [one.path for one in first] == [dead[0].path]
    assert [one.path for one in second] == [files[0].path]
    assert (tmp_path / files[1].path).exists()


def test_clean_finds_files_of_killed_runs_on_s3(pair: RocketMQ, s3: str) -> None:
    small_files(pair, s3)
    dead = written(StorageDir(s3), rows([1]))
    small_files(pair, s3)

    assert clean(s3, before_ms=0) == []
    assert [one.path for one in clean(s3, before_ms=2**62)] == [file.path for file in dead]
    assert messages(s3) == stored(pair.store, "Small")
    list(compact(s3))
    assert messages(s3) == stored(pair.store, "Small")


def test_clean_deletes_nothing_where_files_have_no_time(webhdfs: str) -> None:
    place = StorageDir(webhdfs)
    Archive(place).commit([], {QUEUE: 1})
    (file,) = written(place, rows([1]))

    with pytest.raises(BadArchive, match="does not tell when its files were written"):
        clean(webhdfs, before_ms=2**62)

    assert [one.name for one in place.tree("data", suffix=".parquet")] == [file.path]


def test_upkeep_waits_for_no_writer_and_makes_no_archive(tmp_path: Path) -> None:
    uri = str(tmp_path / "archive")
    jobs = (lambda: list(compact(uri)), lambda: expire(uri, before_ms=1))
    for job in (*jobs, lambda: clean(uri, before_ms=1)):
        with pytest.raises(BadArchive, match="is no archive"):
            job()
    assert not (tmp_path / "archive").exists()

    Archive(StorageDir(uri)).commit([], {QUEUE: 1})
    with writer(StorageDir(uri)):
        for job in jobs:
            with pytest.raises(BadArchive, match="another process writes to it"):
                job()


def test_an_archive_of_format_1_is_read_and_goes_on(pair: RocketMQ, tmp_path: Path) -> None:
    uri = tmp_path / "archive"
    small_files(pair, str(uri))
    as_format_1(uri)
    old = opened(str(uri))
    assert {file.day for file in old.files()} == {None}
    assert messages(str(uri)) == stored(pair.store, "Small")

    small_files(pair, str(uri))
    assert opened(str(uri)).positions == old.positions
    assert expire(str(uri), before_ms=1) == []
    list(compact(str(uri)))

    assert messages(str(uri)) == stored(pair.store, "Small")
    assert None not in {file.day for file in opened(str(uri)).files()}
    last_ms = max(file.last_ms or 0 for file in opened(str(uri)).files())
    as_format_1(uri)
    assert sum(one.messages for one in expire(str(uri), before_ms=last_ms + 1)) == COUNT


def as_format_1(uri: Path) -> None:
    """Make of an archive what an earlier version would have written."""
    archive = opened(str(uri))
    shutil.rmtree(uri / "manifest")
    (uri / "manifest").mkdir()
    files = []
    for file in archive.files():
        value = file._asdict()
        del value["first_ms"], value["last_ms"]
        value["path"] = f"data/{file.topic}/{Path(file.path).name}"
        (uri / file.path).rename(uri / value["path"])
        files.append(value)
    positions = {
        f"{q.topic}@{q.broker_name}@{q.queue_id}": at for q, at in (archive.positions or {}).items()
    }
    for number, part in enumerate([files[:3], files[3:]], start=1):
        value = {"format": 1, "number": number, "written_ms": 1, "writer": "h:1"}
        value |= {"positions": positions, "files": part}
        (uri / "manifest" / f"{number:020d}.json").write_text(json.dumps(value))


def test_columns_that_a_file_lacks_are_null_and_narrow_types_are_widened(tmp_path: Path) -> None:
    place = StorageDir(str(tmp_path))
    (file,) = written(place, rows([1, 2]))
    old = pq.read_table(tmp_path / file.path, partitioning=None).drop_columns(["tags"])
    narrow = old.column("queue_offset").cast(pa.int32())
    number = old.schema.get_field_index("queue_offset")
    pq.write_table(old.set_column(number, "queue_offset", narrow), tmp_path / file.path)

    (batch,) = read_rows(place, file, ("tags", "queue_offset", "body"))

    assert batch.schema == live_schema(("tags", "queue_offset", "body"))
    assert batch.column("tags").null_count == 2
    assert batch.column("queue_offset").to_pylist() == [0, 1]
    assert pc.all(pc.equal(batch.column("body"), old.column("body").combine_chunks())).as_py()


def test_columns_of_an_earlier_version_keep_their_values(tmp_path: Path) -> None:
    table = pa.table({"commit_log_offset": pa.array([7, 9], pa.int64()), "uniq_key": ["A", None]})
    pq.write_table(table, tmp_path / "old.parquet")
    file = ArchiveFile("old.parquet", "t", "b", (), 2, 0, 7, 9)

    (batch,) = read_rows(StorageDir(str(tmp_path)), file, ["unique_key", "log_offset", "topic"])

    assert batch.to_pylist() == [
        {"unique_key": "A", "log_offset": 7, "topic": None},
        {"unique_key": None, "log_offset": 9, "topic": None},
    ]
