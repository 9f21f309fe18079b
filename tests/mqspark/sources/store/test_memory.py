"""Limits: batches, the memory of Spark's Python workers, and the planning of many queues."""

import os
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from benchmarks.logs import make_log
from mqspark.sources.store.reading import ReadOptions
from mqspark.sources.store.source import RocketmqStore
from mqspark.sources.store.tables import plan, read
from storefmt.arrow.columns import BYTES_MAX, ROWS_MAX
from tests.mqspark.sources.store.test_stores import upload

WORKER_MB_MAX = 250
PLAN_S_MAX = 30
MIB = 1 << 20


def log_of(root: Path, *, body_size: int, size: int) -> Path:
    (root / "commitlog").mkdir(parents=True)
    make_log(root / "commitlog" / f"{0:020}", size=size, body_size=body_size)
    return root


@pytest.mark.parametrize("body_size", [1, 1024, 1 << 20, 4 * MIB - 1024])
def test_batches_are_capped_by_rows_and_bytes(tmp_path: Path, body_size: int) -> None:
    store = log_of(tmp_path, body_size=body_size, size=24 * MIB if body_size > 1 else 4 * MIB)
    reading = ReadOptions(columns=("body", "properties", "store_size"))

    batches = [batch for task in plan(store, reading) for batch in read(task, reading)]

    assert max(batch.num_rows for batch in batches) <= ROWS_MAX
    sizes = [sum(batch.column("store_size").to_pylist()) for batch in batches]
    assert max(sizes) <= BYTES_MAX
    assert sum(sizes) > 3 * MIB


def workers_below(parent: int) -> Iterator[tuple[int, int]]:
    """Yield (pid, most memory it ever had, in MB) of the Python workers below a process."""
    parents: dict[int, int] = {}
    peaks: dict[int, int] = {}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            lines = status.read_text().splitlines()
            words = (status.parent / "cmdline").read_bytes()
        except OSError:
            # It ended meanwhile.
            continue
        fields = dict(line.split(":", 1) for line in lines if ":" in line)
        pid = int(status.parent.name)
        parents[pid] = int(fields["PPid"])
        if b"pyspark" in words and b"java" not in words and "VmHWM" in fields:
            peaks[pid] = int(fields["VmHWM"].split()[0]) // 1024
    for pid, peak in peaks.items():
        above = pid
        while above in parents and above != parent:
            above = parents[above]
        if above == parent and pid != parent:
            yield pid, peak


@pytest.mark.spark
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc tells the memory")
@pytest.mark.parametrize("body_size", [1024, 4 * MIB - 1024])
def test_workers_stay_small_for_records_of_any_size(
    spark: SparkSession, tmp_path: Path, body_size: int
) -> None:
    store = log_of(tmp_path, body_size=body_size, size=64 * MIB)

    assert_workers_stay_small(spark, str(store), {})


@pytest.mark.spark
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc tells the memory")
def test_workers_stay_small_for_a_store_on_s3(spark: SparkSession, tmp_path: Path, s3: str) -> None:
    there = upload(log_of(tmp_path, body_size=4 * MIB - 1024, size=64 * MIB), s3)

    # Spark's workers have the environment in which Spark was started.
    given = {
        "storage.endpoint": os.environ["AWS_ENDPOINT_URL"],
        "storage.accessKey": os.environ["AWS_ACCESS_KEY_ID"],
        "storage.secretKey": os.environ["AWS_SECRET_ACCESS_KEY"],
    }
    assert_workers_stay_small(spark, there, given)


def assert_workers_stay_small(spark: SparkSession, where: str, given: dict[str, str]) -> None:
    columns = ["log_offset", "body", "properties", "properties_raw"]
    options = {"splitBytes": str(32 * MIB), **given}
    # Spark keeps a worker for tasks of the same environment, and what other tests made it take is
    # not what is asked here: another environment means workers of its own. It is that of the moment
    # in which a source was registered.
    spark.sparkContext.environment["WORKERS_OF"] = where
    own_name = f"store_of_{uuid.uuid4().hex}"

    class OwnSource(RocketmqStore):
        @classmethod
        def name(cls) -> str:
            return own_name

    spark.dataSource.register(OwnSource)
    others = dict(workers_below(os.getpid()))

    reader = spark.read.format(own_name).options(columns=",".join(columns), **options)
    total = reader.load(where).selectExpr("sum(length(body))").collect()[0][0]

    assert total > 40 * MIB
    peaks = {pid: mb for pid, mb in workers_below(os.getpid()) if pid not in others}
    assert max(peaks.values()) > 100, "No new worker has read: of which process is this the memory?"
    assert max(peaks.values()) <= WORKER_MB_MAX, peaks


@pytest.mark.soak
def test_fifty_thousand_queues_plan_in_seconds(tmp_path: Path) -> None:
    (tmp_path / "commitlog").mkdir()
    entry = bytes(8) + b"\0\0\0\x64" + bytes(8)
    for number in range(50_000):
        queue = tmp_path / "consumequeue" / f"T{number % 5_000}" / str(number // 5_000)
        queue.mkdir(parents=True)
        (queue / f"{0:020}").write_bytes(entry + bytes(20))

    begin_s, used_s = time.monotonic(), time.process_time()
    tasks = plan(tmp_path, ReadOptions(table="consumequeue"))
    print(f"{time.monotonic() - begin_s:.1f} s, {time.process_time() - used_s:.1f} s of CPU")

    assert time.process_time() - used_s < PLAN_S_MAX
    assert len(tasks) == 1
    reading = ReadOptions(table="consumequeue", columns=("topic", "queue_offset"))
    assert sum(batch.num_rows for task in tasks for batch in read(task, reading)) == 50_000
