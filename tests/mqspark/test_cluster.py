"""A real cluster of two workers: code that is shipped to it, and an executor that dies."""

import json
import os
import signal
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from mqserver.pytest_plugin import RocketMQ
from mqspark.shipping import PACKAGES, write_code
from storefmt.arrow.columns import has_kernel
from tests.golden import REPOSITORY, Golden
from tests.mqspark.cluster import READY_S, Cluster, environment, running_cluster
from tests.mqspark.everyjob import LIVE_COUNT
from tests.mqspark.kills import kill_tree
from tests.mqspark.livetopics import as_sent, read_queues
from tests.programs import python
from tests.waiting import wait

pytestmark = [pytest.mark.spark, pytest.mark.timeout(2_400)]
JOB = REPOSITORY / "tests" / "mqspark" / "clusterjob.py"
STREAM = JOB.with_name("streamjob.py")
COUNT = 1_420


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Yield a cluster, or skip where there is no Java."""
    with running_cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


def result(process: subprocess.Popen[str]) -> dict[str, object]:
    out, errors = process.communicate(timeout=READY_S * 2)
    assert process.returncode == 0, errors[-4_000:]
    found: dict[str, object] = json.loads(out.strip().splitlines()[-1])
    return found


def test_code_in_a_zip_file_and_an_executor_that_is_killed(
    cluster: Cluster, golden: Golden, tmp_path: Path
) -> None:
    code, seen = write_code(tmp_path / "code.zip"), tmp_path / "seen"
    seen.mkdir()

    store = str(golden.store("basic"))
    process = cluster.submit("--py-files", str(code), str(JOB), store, str(seen))
    wait(
        lambda: len(list(seen.iterdir())) >= 3 or process.poll() is not None,
        what="three tasks begin",
        timeout_s=READY_S,
    )
    # A job that ended by itself says why.
    assert process.poll() is None, process.communicate()[1][-4_000:]
    victim = cluster.executors()[0]
    os.kill(victim, signal.SIGKILL)
    found = result(process)

    assert (found["rows"], found["distinct"]) == (COUNT, COUNT)
    # Not from this checkout: from the file that was shipped.
    assert "code.zip" in str(found["code"])
    assert found["kernel"] is has_kernel()
    assert victim not in cluster.executors()


def test_streams_run_with_code_in_a_zip_file(
    cluster: Cluster, orders: RocketMQ, tmp_path: Path
) -> None:
    code, out = write_code(tmp_path / "code.zip"), tmp_path / "out"
    given = {"namesrv": orders.namesrv, "topic": "Orders", "checkpoint": str(tmp_path / "one")}
    again = {**given, "checkpoint": str(tmp_path / "two"), "target": "Sunk"}

    for each in ({**given, "out": str(out)}, again):
        process = cluster.submit("--py-files", str(code), str(STREAM), json.dumps(each))
        _, errors = process.communicate(timeout=READY_S)
        assert process.returncode == 0, errors[-4_000:]

    stored = pq.ParquetDataset([str(path) for path in out.glob("*.parquet")]).read()
    assert stored.num_rows == LIVE_COUNT
    sent = sorted(bytes(body) for body in stored.column("body").to_pylist())
    sunk = read_queues(orders.namesrv, "Sunk", total=LIVE_COUNT)
    assert sorted(as_sent(record).body for record in sunk) == sent


@pytest.mark.soak
def test_code_in_an_archive(cluster: Cluster, golden: Golden, tmp_path: Path) -> None:
    packed, seen = tmp_path / "code.tar.gz", tmp_path / "seen"
    seen.mkdir()
    with tarfile.open(packed, "w:gz") as archive:
        for package in PACKAGES:
            for file in sorted((REPOSITORY / package).rglob("*.py")):
                archive.add(file, file.relative_to(REPOSITORY))

    found = result(
        cluster.submit(
            "--archives",
            f"{packed}#code",
            "--conf",
            "spark.executorEnv.PYTHONPATH=./code",
            str(JOB),
            str(golden.store("basic")),
            str(seen),
            env={"PYTHONPATH": str(REPOSITORY)},
        )
    )

    assert (found["rows"], found["distinct"]) == (COUNT, COUNT)
    assert "/code/storefmt" in str(found["code"])


def test_a_job_says_that_no_worker_offers_enough(cluster: Cluster, golden: Golden) -> None:
    line = [sys.executable, "-m", "mqspark", "stats", str(golden.store("basic"))]
    env = {
        **environment(cluster.python),
        "PYTHONPATH": str(REPOSITORY),
        "SPARK_EXECUTOR_MEMORY": "3g",
    }

    process = subprocess.Popen(
        [*line, "--master", cluster.url],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
    )
    assert process.stderr is not None
    # Such a job never ends by itself.
    said = next((text for text in process.stderr if "no task has started" in text), "")
    kill_tree(process.pid)
    process.communicate()

    assert "offers the 3072 MiB" in json.loads(said)["hint"]
    assert "SPARK_EXECUTOR_MEMORY" in said


@pytest.mark.soak
def test_the_command_line_ships_its_own_code(cluster: Cluster, golden: Golden) -> None:
    line = ("-m", "mqspark", "stats", golden.store("basic"), "--master", cluster.url)
    env = {**environment(cluster.python), "PYTHONPATH": str(REPOSITORY)}

    done = python(*line, env=env)

    rows = [json.loads(text) for text in done.stdout.splitlines()]
    assert sum(row["messages"] for row in rows) == COUNT
