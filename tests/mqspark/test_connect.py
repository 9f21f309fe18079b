"""A session of Spark Connect: the code is shipped, then the sources are registered."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from mqserver.pytest_plugin import RocketMQ
from tests.golden import REPOSITORY, Golden
from tests.mqspark import everyjob
from tests.mqspark.cluster import HOME, READY_S, bare_python, environment, running_cluster
from tests.mqspark.everyjob import LIVE_COUNT
from tests.mqspark.kills import kill_tree
from tests.mqspark.livetopics import read_queues
from tests.mqspark.streams import TRIES
from tests.ports import free_ports
from tests.programs import python
from tests.waiting import wait

pytestmark = [pytest.mark.spark, pytest.mark.soak, pytest.mark.timeout(2_400)]
STREAM = REPOSITORY / "tests" / "mqspark" / "streamjob.py"


@contextmanager
def running_server(directory: Path, *, master: str, python: str) -> Iterator[str]:
    """Yield the address of a server that does not have our code, and that writes to a directory."""
    port, log = free_ports(1), directory / "server.log"
    line = [
        str(HOME / "bin" / "spark-submit"),
        "--master",
        master,
        "--driver-java-options",
        f"-Djava.io.tmpdir={directory}",
        "--class",
        "org.apache.spark.sql.connect.service.SparkConnectServer",
        "--conf",
        f"spark.connect.grpc.binding.port={port}",
        "--conf",
        "spark.ui.enabled=false",
        "spark-internal",
    ]
    # Spark counts this server among its daemons.
    env = {**environment(python), "SPARK_DAEMON_MEMORY": "1g", "SPARK_LOCAL_DIRS": str(directory)}
    with log.open("wb") as out:
        process = subprocess.Popen(line, stdout=out, stderr=out, cwd=directory, env=env)

    def said() -> str:
        assert process.poll() is None, log.read_text()
        return log.read_text(errors="replace")

    try:
        wait(said, lambda text: "Spark Connect server started" in text, timeout_s=READY_S)
        yield f"sc://127.0.0.1:{port}"
    finally:
        kill_tree(process.pid)
        process.wait()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """Yield the address of a server whose executors are in its own process."""
    python = bare_python(tmp_path / "python")
    with running_server(tmp_path, master="local[1]", python=python) as address:
        yield address


def test_every_source_and_job_is_that_of_the_local_engine(
    server: str, golden: Golden, orders: RocketMQ
) -> None:
    assert "connect" in everyjob.run(server, golden, orders)


def test_streams_bring_their_code_to_executors_on_other_machines(
    orders: RocketMQ, tmp_path: Path
) -> None:
    hidden, out = tmp_path / "server", tmp_path / "out"
    hidden.mkdir()
    given = {"namesrv": orders.namesrv, "topic": "Orders"}
    (tmp_path / "cluster").mkdir()
    with (
        running_cluster(tmp_path / "cluster", hidden=hidden) as cluster,
        running_server(hidden, master=cluster.url, python=cluster.python) as address,
    ):
        for each in (
            {"checkpoint": "one", "out": str(out)},
            {"checkpoint": "two", "target": "Sunk"},
        ):
            checkpoint = str(tmp_path / each["checkpoint"])
            stream({**given, **each, "checkpoint": checkpoint, "master": address})

    stored = pq.ParquetDataset([str(path) for path in out.glob("*.parquet")]).read()
    assert stored.num_rows == LIVE_COUNT
    assert len(read_queues(orders.namesrv, "Sunk", total=LIVE_COUNT)) == LIVE_COUNT


def stream(given: dict[str, str]) -> None:
    """Run a stream to its end with the packages of this checkout; see ``tests.mqspark.streams``."""
    env = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    for _ in range(TRIES):
        done = python(str(STREAM), json.dumps(given), env=env, code=None)
        if "failed to connect back" not in done.stderr:
            break
    assert done.returncode == 0, done.stderr[-4_000:]
