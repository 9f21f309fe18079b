"""Archives that are Delta or Iceberg tables have each message once; other programs read them."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from deltalake import DeltaTable
from pyiceberg.table import StaticTable

from mqserver.pytest_plugin import RocketMQ
from mqspark.archive.archive import opened
from mqspark.archive.tables import FORMATS, ArchiveTable, table_at, table_writer
from mqspark.errors import BadArchive, BadOption, DataLost
from mqspark.jobs.archive import archive_local, archiving
from mqspark.places import StorageDir
from remoting.bodies import MessageQueue
from tests.mqspark.archive.test_archive import dying_after, stored
from tests.mqspark.archive.test_upkeep import DAY_MS, rows, written
from tests.mqspark.livetopics import fill, filled_pair, make, make_anew

QUEUE, OTHER = MessageQueue("T", "broker-a", 0), MessageQueue("T", "broker-a", 1)
# Iceberg cuts the bounds of a column at 16 bytes, a partition must have the whole name.
TOPIC = "Orders-of-everything-that-has-a-long-name"
COUNT = 60
COLUMNS = ["topic", "queue_id", "queue_offset", "body"]
KINDS = ("delta", "iceberg")
READERS: dict[str, dict[str, Callable[[str], Any]]] = {
    "delta": {
        "polars": lambda uri: pl.read_delta(uri).select(COLUMNS).rows(),
        "duckdb": lambda uri: (
            duckdb.from_arrow(DeltaTable(uri).to_pyarrow_dataset()).select(*COLUMNS).fetchall()
        ),
    },
    "iceberg": {
        "polars": lambda uri: (
            pl.scan_iceberg(StaticTable.from_metadata(uri)).select(COLUMNS).collect().rows()
        ),
        "duckdb": lambda uri: (
            StaticTable.from_metadata(uri)
            .scan()
            .to_duckdb("t")
            .sql("select topic, queue_id, queue_offset, body from t")
            .fetchall()
        ),
    },
    "parquet": {
        "polars": lambda uri: pl.read_parquet(opened(uri).paths()).select(COLUMNS).rows(),
        "duckdb": lambda uri: duckdb.read_parquet(opened(uri).paths()).select(*COLUMNS).fetchall(),
    },
}


pair = filled_pair(TOPIC, COUNT)


@pytest.fixture(autouse=True)
def planner(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let polars plan a scan of Iceberg without a package that is not installed."""
    monkeypatch.setenv("POLARS_ICEBERG_PLANNER", "pyiceberg")


def options(pair: RocketMQ) -> dict[str, str]:
    return {"namesrv": pair.namesrv, "subscribe": TOPIC, "maxOffsetsPerTrigger": "20"}


def bodies(kind: str, uri: str) -> list[tuple[object, ...]]:
    return sorted(READERS[kind]["polars"](uri))


@pytest.mark.parametrize(
    ("kind", "reader"), [(kind, name) for kind in READERS for name in READERS[kind]]
)
def test_each_reader_sees_each_message_once(
    pair: RocketMQ, tmp_path: Path, kind: str, reader: str
) -> None:
    uri = str(tmp_path / "archive")

    first = archive_local(uri, kind=kind, **options(pair)).to_pylist()
    again = archive_local(uri, **options(pair)).to_pylist()

    assert sum(row["messages"] for row in first) == COUNT
    assert len({row["commit"] for row in first}) >= COUNT // 20
    assert again == []
    assert sorted(READERS[kind][reader](uri)) == stored(pair.store, TOPIC)


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_dies_before_its_commit_leaves_nothing(
    pair: RocketMQ, tmp_path: Path, kind: str
) -> None:
    uri = str(tmp_path / "archive")

    with pytest.raises(KeyboardInterrupt):
        list(archiving(uri, options(pair), write=dying_after(2), kind=kind))
    assert 0 < len(bodies(kind, uri)) < COUNT
    archive_local(uri, **options(pair))

    assert bodies(kind, uri) == stored(pair.store, TOPIC)


@pytest.mark.parametrize("kind", KINDS)
def test_of_two_writers_one_is_told(tmp_path: Path, place: StorageDir, kind: str) -> None:
    with table_writer(place, kind) as archive:
        archive.commit(written(place, rows([1])), {QUEUE: 1, OTHER: 0})
    first, second = (table_at(place, None) for _ in range(2))
    first.commit(written(place, rows([2], start=1)), {QUEUE: 2, OTHER: 0})

    with pytest.raises(BadArchive, match="another process writes to it"):
        second.commit(written(place, rows([2], start=1)), {QUEUE: 2, OTHER: 0})
    with (
        table_writer(place, kind),
        pytest.raises(BadArchive, match="another process"),
        table_writer(place, None),
    ):
        pass

    assert [row[2] for row in bodies(kind, str(tmp_path))] == [0, 1]
    assert table_at(place, None).positions == {QUEUE: 2, OTHER: 0}


@pytest.mark.parametrize("kind", KINDS)
def test_positions_stay_through_commits_of_others_and_without_files(
    tmp_path: Path, place: StorageDir, kind: str
) -> None:
    archive = table_at(place, kind)
    assert archive.positions is None
    archive.commit(written(place, rows([1, DAY_MS, None])), {QUEUE: 3})

    archive.commit([], {QUEUE: 3, OTHER: 9})
    archive.commit([], {QUEUE: 1, OTHER: 9})
    if kind == "delta":
        table = DeltaTable(str(tmp_path))
        table.optimize.compact()
        table.create_checkpoint()
        table.cleanup_metadata()

    assert table_at(place, None).positions == {QUEUE: 1, OTHER: 9}
    assert [row[2] for row in bodies(kind, str(tmp_path))] == [0, 1, 2]


@pytest.mark.parametrize("count", [24, 30], ids=["as many", "more"])
@pytest.mark.parametrize("kind", FORMATS)
def test_a_topic_that_was_made_anew_is_a_loss_or_read_from_its_start(
    rocketmq_broker_fresh: RocketMQ, tmp_path: Path, kind: str, count: int
) -> None:
    pair, uri = rocketmq_broker_fresh, str(tmp_path / "archive")
    make(pair.namesrv, "Orders")
    fill(pair.namesrv, "Orders", 24)
    given = {"namesrv": pair.namesrv, "subscribe": "Orders"}

    def archived(**more: str) -> int:
        rows = archive_local(uri, kind=kind, **given, **more).to_pylist()
        return sum(row["messages"] for row in rows)

    assert archived(maxOffsetsPerTrigger="10") == 24
    assert archived() == 0
    make_anew(pair.namesrv, "Orders", count)

    with pytest.raises(DataLost, match="the topic was made anew"):
        archived()
    assert archived(failOnDataLoss="false") == count
    assert archived() == 0
    assert len(READERS[kind]["polars"](uri)) == 24 + count


def test_days_and_topics_are_partitions(tmp_path: Path) -> None:
    for kind in KINDS:
        place = StorageDir(str(tmp_path / kind))
        table_at(place, kind).commit(written(place, rows([1, DAY_MS, None])), {QUEUE: 3})

    delta = DeltaTable(str(tmp_path / "delta")).partitions()
    iceberg = StaticTable.from_metadata(str(tmp_path / "iceberg")).inspect.partitions()

    days = sorted(str(one["day"]) for one in delta)
    assert days == ["1970-01-01", "1970-01-02", "None"]
    assert {one["topic"] for one in delta} == {"T"}
    found = [one["partition"] for one in iceberg.to_pylist()]
    assert sorted(str(one["day"]) for one in found) == days
    assert {one["topic"] for one in found} == {"T"}


def test_a_reader_finds_the_newest_metadata_after_a_kill(tmp_path: Path, place: StorageDir) -> None:
    archive = table_at(place, "iceberg")
    archive.commit(written(place, rows([1])), {QUEUE: 1})
    (tmp_path / "metadata" / "version-hint.text").write_text("1")
    assert bodies("iceberg", str(tmp_path)) == []

    with table_writer(place, None):
        pass

    assert len(bodies("iceberg", str(tmp_path))) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_of_fewer_columns_gets_the_new_ones(
    tmp_path: Path, place: StorageDir, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    module = f"mqspark.archive.{kind}"
    with monkeypatch.context() as earlier:
        if kind == "delta":
            whole = sys.modules[module].SCHEMA
            fewer = whole.remove(whole.get_field_index("tags"))
            earlier.setattr(f"{module}.SCHEMA", fewer)
        else:
            columns = sys.modules[module].ARCHIVE_COLUMNS
            fewer = tuple(name for name in columns if name != "tags")
            earlier.setattr(f"{module}.ARCHIVE_COLUMNS", fewer)
        table_at(place, kind).commit([], {QUEUE: 0})

    table_at(place, None).commit(written(place, rows([1])), {QUEUE: 1})

    reader = pl.read_delta if kind == "delta" else pl.scan_iceberg
    source = str(tmp_path) if kind == "delta" else StaticTable.from_metadata(str(tmp_path))
    assert reader(source).lazy().select("tags").collect().rows() == [(None,)]


_SERVER = """
import boto3
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
address = "http://%s:%s" % server.get_host_and_port()
boto3.client("s3", endpoint_url=address).create_bucket(Bucket="tables")
print(address, flush=True)
input()
"""


@pytest.fixture
def other_s3(monkeypatch: pytest.MonkeyPatch, s3_keys: None) -> Iterator[str]:
    """Yield the URI of a folder on a server in another process.

    A call of deltalake holds the interpreter lock, so a server in this one could not answer it.
    """
    with subprocess.Popen(
        [sys.executable, "-c", _SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.stdout.readline().strip())
        yield "s3://tables/some/archive"
        server.communicate("")


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_on_s3_is_as_one_here(pair: RocketMQ, other_s3: str, kind: str) -> None:
    for _ in range(2):
        archive_local(other_s3, kind=kind, **options(pair))

    found: ArchiveTable = table_at(StorageDir(other_s3), None)
    assert sum((found.positions or {}).values()) == COUNT
    if kind == "delta":
        assert DeltaTable(other_s3, storage_options={"allow_http": "true"}).count() == COUNT
    else:
        address = {"s3.endpoint": os.environ["AWS_ENDPOINT_URL"]}
        assert StaticTable.from_metadata(other_s3, address).scan().count() == COUNT


def test_files_of_killed_runs_go_with_a_vacuum_of_delta(tmp_path: Path, place: StorageDir) -> None:
    with table_writer(place, "delta") as archive:
        archive.commit(written(place, rows([1])), {QUEUE: 1})
        (dead,) = written(place, rows([2]))

    table = DeltaTable(str(tmp_path))
    gone = table.vacuum(0, dry_run=False, enforce_retention_duration=False, full=True)

    assert dead.path in gone
    assert [row[2] for row in bodies("delta", str(tmp_path))] == [0]


def test_an_archive_keeps_its_format(tmp_path: Path, place: StorageDir) -> None:
    table_at(place, "delta").commit([], {QUEUE: 1})

    with pytest.raises(BadOption, match="is an archive of format delta, not iceberg"):
        table_at(place, "iceberg")
    with pytest.raises(BadOption, match="there is no format 'orc'"):
        table_at(place, "orc")
    with pytest.raises(BadArchive, match="is an archive of format delta, which has tools"):
        opened(str(tmp_path))


@pytest.mark.parametrize(("kind", "package"), [("delta", "deltalake"), ("iceberg", "pyiceberg")])
def test_a_package_that_is_missing_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, package: str
) -> None:
    monkeypatch.delitem(sys.modules, f"mqspark.archive.{kind}", raising=False)
    monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(BadOption) as refused:
        table_at(StorageDir(str(tmp_path)), kind)

    assert str(refused.value) == f"format {kind} needs {package}: pip install 'mqadmin[lake]'"
