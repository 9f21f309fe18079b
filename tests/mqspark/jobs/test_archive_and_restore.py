"""``archive`` and ``restore`` with Spark: the rows and bytes of the local engine."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from mqserver.pytest_plugin import RocketMQ
from mqspark.jobs.archive import archive, archive_local, archived
from mqspark.jobs.maintain import compact
from mqspark.jobs.restore import restore_store
from tests.mqspark.archive.test_archive import messages, stored
from tests.mqspark.livetopics import fill, make
from tests.programs import python

COUNT = 60


@pytest.mark.spark
def test_spark_archives_and_restores_as_the_local_engine(
    spark: SparkSession, rocketmq: RocketMQ, tmp_path: Path
) -> None:
    make(rocketmq.namesrv, "SparkArchive")
    fill(rocketmq.namesrv, "SparkArchive", COUNT)
    given = {"namesrv": rocketmq.namesrv, "subscribe": "SparkArchive", "minPartitions": "4"}
    there, here = str(tmp_path / "there"), str(tmp_path / "here")

    files = archive(spark, there, **given, maxOffsetsPerTrigger="40")
    archive_local(here, **given)

    assert files.agg({"messages": "sum"}).first()[0] == COUNT
    assert files.agg({"commit": "max"}).first()[0] == 2
    assert messages(there) == messages(here) == stored(rocketmq.store, "SparkArchive")
    rows = archived(spark, there, columns=("topic", "body", "properties"))
    assert rows.where("topic = 'SparkArchive' and properties['colour'] is not null").count() == 60

    compacted = [list(compact(there, spark=spark)), list(compact(here))]
    assert [sum(row.messages for row in rows) for rows in compacted] == [COUNT, COUNT]
    assert messages(there) == messages(here) == stored(rocketmq.store, "SparkArchive")
    for number, (uri, session) in enumerate([(there, spark), (here, None)]):
        restore_store(uri, str(tmp_path / f"store{number}"), file_size=8_192, spark=session)
    logs = [sorted((tmp_path / f"store{number}" / "commitlog").iterdir()) for number in (0, 1)]
    assert [path.name for path in logs[0]] == [path.name for path in logs[1]]
    assert [path.read_bytes() for path in logs[0]] == [path.read_bytes() for path in logs[1]]


@pytest.mark.spark
def test_an_archive_elsewhere_is_written_and_read_by_the_workers(
    spark: SparkSession, rocketmq: RocketMQ, webhdfs: str
) -> None:
    make(rocketmq.namesrv, "FarArchive")
    fill(rocketmq.namesrv, "FarArchive", 20)
    given = {"namesrv": rocketmq.namesrv, "subscribe": "FarArchive"}

    archive(spark, webhdfs, **given)

    rows = archived(spark, webhdfs, columns=("queue_id", "body"))
    assert rows.where("body is not null").count() == 20
    assert messages(webhdfs) == stored(rocketmq.store, "FarArchive")


def run(*words: str) -> tuple[int, list[dict], dict]:
    done = python("-m", "mqspark.cli.live_jobs", *words, "--engine", "local", code=None)
    told = [json.loads(text) for text in done.stderr.splitlines() if text.startswith("{")]
    rows = [json.loads(text) for text in done.stdout.splitlines()]
    return done.returncode, rows, told[-1] if told else {}


def test_the_jobs_run_as_processes(rocketmq: RocketMQ, tmp_path: Path) -> None:
    make(rocketmq.namesrv, "Process")
    fill(rocketmq.namesrv, "Process", 30)
    uri, store = str(tmp_path / "archive"), tmp_path / "store"
    given = ["--option", f"namesrv={rocketmq.namesrv}", "--option", "subscribe=Process"]

    code, rows, told = run("archive", uri, *given, "--dry-run")
    assert (code, rows) == (0, [])
    assert told["plan"].startswith("archive: 30 messages of 3 queues")
    code, rows, _ = run("archive", uri, *given, "--parquet", str(tmp_path / "rows.parquet"))
    assert (code, sum(row["messages"] for row in rows)) == (0, 30)
    assert (tmp_path / "rows.parquet").exists()
    code, rows, _ = run("restore", uri, "--option", f"store={store}", "--option", "fileSize=65536")
    assert (code, [row["messages"] for row in rows]) == (0, [30])
    assert (store / "config" / "topics.json").exists()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["archive", "a", "--option", "subscribe=T"], 2, "needs option namesrv"),
        (
            ["archive", "a", "--option", "subscribe=T", "--option", "namesrv=127.0.0.1:1"],
            4,
            "127.0.0.1:1",
        ),
        (["restore", "a", "--option", "store=b"], 1, "a is no archive"),
        (["restore", "a", "--option", "colour=red"], 2, "no option 'colour'"),
        (
            ["restore", "a", "--option", "store=b", "--option", "namesrv=n"],
            2,
            "a store takes no option namesrv",
        ),
    ],
)
def test_errors_name_option_place_or_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], code: int, said: str
) -> None:
    monkeypatch.chdir(tmp_path)

    found, rows, told = run(*words)

    assert (found, rows) == (code, [])
    assert said in told["error"]
