"""A Structured Streaming query that is killed in mid-commit, from the real broker and from ours.

    offsets/N --> tasks write --> _spark_metadata/N --> commits/N
       planned      written          visible             committed

Rule: a run is killed with its whole tree as soon as the file of the chosen moment is there, in its
first or its second batch; the first one is often that in which the run before died.
"""

import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from mqspark.sources.live.write import DEDUP_PROPERTY
from tests.interop.kit.servers import Servers
from tests.mqspark.kills import LAST_RUN_TIMEOUT_S, kill_tree
from tests.mqspark.livetopics import fill, make, read_queues
from tests.waiting import wait

pytestmark = [
    pytest.mark.spark,
    pytest.mark.java,
    pytest.mark.soak,
    pytest.mark.timeout(7_200),
]
COUNT = 600
KILLS = 12
RUN_TIMEOUT_S = 900.0
TOO_SLOW = "Python worker failed to connect back"
"""Spark gives a process of its own 10 s to start, which a busy machine may not keep."""


def numbers(folder: Path) -> list[int]:
    """Return the numbers of the batches that have a file in a log of Spark's."""
    names = [path.name.removesuffix(".compact") for path in folder.glob("*")]
    return [int(name) for name in names if name.isdecimal()]


def killed_at(given: dict[str, str], reached: Callable[[], bool]) -> None:
    """Run the query and kill it as soon as a moment is reached.

    A run that Spark ends itself, because the machine is slow, is one more end of any kind.
    """
    process = started(given)
    try:
        wait(
            lambda: reached() or process.poll() is not None,
            what="a moment of a commit",
            timeout_s=RUN_TIMEOUT_S,
            pause_s=0.001,
        )
        ended = process.poll() is not None
        assert not ended or TOO_SLOW in said(given), f"the run ended by itself; {said(given)}"
    finally:
        kill_tree(process.pid)
        process.wait()
    if ended:
        killed_at(given, reached)


def log_of(given: dict[str, str]) -> Path:
    """Return the file that has what the last run printed."""
    return Path(given["checkpoint"]).with_suffix(".log")


def said(given: dict[str, str]) -> str:
    """Return the end of what the last run printed."""
    return log_of(given).read_text(errors="replace")[-4_000:]


def started(given: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start the query as a process."""
    with log_of(given).open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.mqspark.streamjob", json.dumps(given)],
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def finished(given: dict[str, str]) -> None:
    """Run the query to its end."""
    process = started(given)
    try:
        assert process.wait(timeout=LAST_RUN_TIMEOUT_S) == 0, said(given)
    finally:
        kill_tree(process.pid)


def next_batch(checkpoint: Path, chooser: random.Random) -> int:
    return max(numbers(checkpoint / "commits"), default=-1) + chooser.choice([1, 2])


@pytest.mark.parametrize("seed", [1])
def test_rows_are_in_parquet_once_after_kills_at_every_moment_of_a_commit(
    spark: SparkSession, servers: Servers, tmp_path: Path, seed: int
) -> None:
    namesrv, out, checkpoint = servers.namesrv.address, tmp_path / "out", tmp_path / "checkpoint"
    make(namesrv, "StreamKilled")
    fill(namesrv, "StreamKilled", COUNT)
    given = {"namesrv": namesrv, "topic": "StreamKilled"}
    given |= {"out": str(out), "checkpoint": str(checkpoint)}
    chooser = random.Random(seed)

    def written(batch: int) -> bool:
        if batch not in numbers(checkpoint / "offsets"):
            return False
        planned_ns = (checkpoint / "offsets" / str(batch)).stat().st_mtime_ns
        return any(path.stat().st_mtime_ns > planned_ns for path in out.glob("part-*.parquet"))

    moments: list[Callable[[int], bool]] = [
        lambda batch: batch in numbers(checkpoint / "offsets"),
        written,
        lambda batch: batch in numbers(out / "_spark_metadata"),
        lambda batch: batch in numbers(checkpoint / "commits"),
    ]
    for number in range(KILLS):
        batch, moment = next_batch(checkpoint, chooser), moments[number % len(moments)]
        killed_at(given, lambda batch=batch, moment=moment: moment(batch))
    finished(given)

    rows = spark.read.parquet(str(out)).select("queue_id", "queue_offset", "msg_id", "body")
    found = sorted((row["queue_id"], row["queue_offset"], row["msg_id"]) for row in rows.collect())
    records = read_queues(namesrv, "StreamKilled", total=COUNT)
    assert [one[:2] for one in found] == sorted(
        (record.queue_id, record.queue_offset) for record in records
    )
    assert len({one[2] for one in found}) == COUNT


@pytest.mark.parametrize("seed", [1])
def test_messages_are_in_a_topic_once_by_their_ids_after_kills(
    servers: Servers, tmp_path: Path, seed: int
) -> None:
    namesrv, checkpoint = servers.namesrv.address, tmp_path / "checkpoint"
    for topic in ("StreamSource", "StreamTarget"):
        make(namesrv, topic)
    fill(namesrv, "StreamSource", COUNT)
    given = {"namesrv": namesrv, "topic": "StreamSource", "target": "StreamTarget"}
    given |= {"checkpoint": str(checkpoint)}
    chooser = random.Random(seed)

    for number in range(KILLS - 2):
        batch = next_batch(checkpoint, chooser)
        log = checkpoint / ("offsets", "commits")[number % 2]
        killed_at(given, lambda batch=batch, log=log: batch in numbers(log))
    finished(given)

    by_id: dict[str, bytes] = {}

    def all_queued() -> bool:
        records = read_queues(namesrv, "StreamTarget", total=COUNT)
        by_id.update((record.properties[DEDUP_PROPERTY], record.body) for record in records)
        return len(by_id) >= COUNT

    wait(all_queued, what=f"{COUNT} ids", timeout_s=60.0)
    sources = read_queues(namesrv, "StreamSource", total=COUNT)
    assert sorted(by_id.values()) == sorted(record.body for record in sources)
