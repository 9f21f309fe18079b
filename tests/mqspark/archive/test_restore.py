"""Archives are restored into stores and topics with the bytes of every record."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from mqserver.pytest_plugin import RocketMQ, running_pair
from mqspark.archive.write import FORMER
from mqspark.errors import BadArchive, BadOption
from mqspark.jobs.archive import archive_local
from mqspark.jobs.restore import restore_store, restore_topic
from mqspark.sources.live.plan import Range
from mqspark.sources.live.read import read_ranges
from mqspark.sources.live.write import DEDUP_PROPERTY
from remoting.bodies import MessageQueue
from storefmt.formats.message import Record
from storefmt.formats.sysflag import COMPRESSED
from storefmt.offline.verify.findings import Severity
from storefmt.offline.verify.store import verify
from storefmt.offline.views.storedir import StoreDir
from tests.mqspark.livetopics import as_sent, fill, live, make, read_queues
from tests.storefmt.offline.stores import records_in

COUNT, BROKER = 120, "broker-a"


@pytest.fixture(scope="module")
def pair() -> Iterator[RocketMQ]:
    """Yield a pair with two filled topics, whose messages alternate in its log."""
    with running_pair() as started:
        for topic in ("Orders", "Other"):
            make(started.namesrv, topic)
        for turn in range(4):
            for topic in ("Orders", "Other"):
                fill(started.namesrv, topic, COUNT // 4, seed=turn)
        yield started


@pytest.fixture(scope="module")
def archive(pair: RocketMQ, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return an archive of both topics, without the first ten messages of a queue."""
    uri = str(tmp_path_factory.mktemp("restore") / "archive")
    archive_into(uri, pair)
    return uri


def archive_into(uri: str, pair: RocketMQ, **options: str) -> None:
    # One queue begins in the middle, as after retention.
    starts = {
        topic: {BROKER: {str(queue): 10 * (queue == 1) for queue in range(3)}}
        for topic in ("Orders", "Other")
    }
    archive_local(
        uri,
        namesrv=pair.namesrv,
        subscribe="Orders,Other",
        startingOffsets=json.dumps(starts),
        maxOffsetsPerTrigger="70",
        maxRecordsPerPartition="25",
        **options,
    )


def archived_records(pair: RocketMQ, *topics: str) -> list[Record]:
    """Return what the archive was made of, in log order, as it is without compression."""
    return [
        as_sent(one)
        for one in records_in(pair.store)
        if one.topic in topics and not (one.queue_id == 1 and one.queue_offset < 10)
    ]


def test_a_log_restored_from_stored_bodies_has_the_bytes_of_the_old_one(
    pair: RocketMQ, tmp_path: Path
) -> None:
    uri, store = str(tmp_path / "archive"), tmp_path / "store"
    archive_into(uri, pair, decompress="false")

    restore_store(uri, str(store), file_size=16_384)

    first = {topic: {(1, offset) for offset in range(10)} for topic in ("Orders", "Other")}
    old = [one for one in records_in(pair.store) if one.topic in first]
    expected = [one for one in old if (one.queue_id, one.queue_offset) not in first[one.topic]]
    assert any(one.sys_flag & COMPRESSED for one in expected)
    assert [one._replace(log_offset=0) for one in records_in(store)] == [
        one._replace(log_offset=0) for one in expected
    ]


def test_a_restored_log_has_every_record_as_it_is_without_compression(
    pair: RocketMQ, archive: str, tmp_path: Path
) -> None:
    store = tmp_path / "store"

    rows = restore_store(archive, str(store), file_size=16_384)

    found, expected = records_in(store), archived_records(pair, "Orders", "Other")
    assert len(found) == 2 * COUNT - 20
    assert [one._replace(log_offset=0) for one in found] == [
        one._replace(log_offset=0) for one in expected
    ]
    assert sum(row.messages for row in rows) == len(found)
    sizes = [path.stat().st_size for path in sorted((store / "commitlog").iterdir())]
    assert len(sizes) == len(rows) > 3
    assert set(sizes) == {16_384}
    assert not store.with_name("store.restoring").exists()


def test_an_archive_of_an_earlier_version_is_restored(
    pair: RocketMQ, archive: str, tmp_path: Path
) -> None:
    old = tmp_path / "archive"
    shutil.copytree(archive, old)
    former = {name: before for before, name in FORMER.items()}
    for path in old.rglob("*.parquet"):
        table = pq.read_table(path, partitioning=None)
        pq.write_table(
            table.rename_columns([former.get(name, name) for name in table.column_names]), path
        )

    restore_store(str(old), str(tmp_path / "store"), file_size=16_384)

    expected = archived_records(pair, "Orders", "Other")
    assert [one.body for one in records_in(tmp_path / "store")] == [one.body for one in expected]


def test_our_broker_opens_a_restored_store_and_serves_every_message(
    pair: RocketMQ, archive: str, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    restore_store(archive, str(store), topics=["Orders"], file_size=65_536)
    with StoreDir.open(store) as opened:
        fresh = verify(opened, deep=True)
        assert fresh.ok
        assert {(each.kind, each.severity) for each in fresh.findings} == {
            ("queue_missing", Severity.INFO),
            ("missing_file", Severity.INFO),
        }

    serve = [
        sys.executable,
        "-m",
        "mqserver.embedded",
        "--until-stdin-closes",
        "--store",
        str(store),
    ]
    serve += ["--namesrv-port", "0", "--broker-port", "0"]
    with subprocess.Popen(
        serve, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        ready = json.loads(process.stdout.readline())
        found = read_queues(ready["namesrv"], "Orders", total=COUNT - 10)
        process.stdin.close()
        assert process.wait(60) == 0

    expected = archived_records(pair, "Orders")
    assert sorted((one.queue_id, one.queue_offset, one.body) for one in found) == sorted(
        (one.queue_id, one.queue_offset, one.body) for one in expected
    )
    with StoreDir.open(store) as opened:
        assert verify(opened, deep=True).findings == []


def test_a_restored_topic_has_every_message_and_says_where_it_was(
    pair: RocketMQ, archive: str
) -> None:
    make(pair.namesrv, "Back")

    rows = restore_topic(
        archive,
        {"namesrv": pair.namesrv, "topic": "Back"},
        topics=["Orders"],
        keep_queues=True,
    )

    assert [tuple(row) for row in rows] == [("Back", "Orders@broker-a", COUNT - 10)]
    by_queue: dict[int, list[Record]] = {}
    for one in archived_records(pair, "Orders"):
        by_queue.setdefault(one.queue_id, []).append(one)
    asked = live(pair.namesrv, subscribe="Back")
    for queue_id, originals in by_queue.items():
        wanted = Range(MessageQueue("Back", BROKER, queue_id), 0, len(originals))
        sent = [row for batch in read_ranges(asked, [wanted]) for row in batch.to_pylist()]
        for row, one in zip(sent, originals, strict=True):
            properties = dict(row["properties"])
            origin = f"Orders@{BROKER}@{queue_id}@{one.queue_offset}"
            assert properties[DEDUP_PROPERTY] == origin
            assert (row["tags"], row["keys"], row["flag"]) == (one.tags, one.keys, one.flag)
            assert properties["colour"] == one.properties["colour"]


def test_what_cannot_be_restored_is_refused(archive: str, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()

    with pytest.raises(BadOption, match="there exists"):
        restore_store(archive, str(tmp_path / "there"))
    with pytest.raises(BadOption, match="nothing to restore"):
        restore_store(archive, str(tmp_path / "new"), broker="broker-x")
    with pytest.raises(BadArchive, match="does not fit into a commit log file of 500 bytes"):
        restore_store(archive, str(tmp_path / "new"), file_size=500)
    with pytest.raises(BadArchive, match="is no archive"):
        restore_store(str(tmp_path), str(tmp_path / "new"))
    assert not (tmp_path / "new").exists()
