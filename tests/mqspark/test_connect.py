"""A session of Spark Connect: the code is shipped, then the sources are registered."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mqserver.pytest_plugin import RocketMQ
from tests.golden import Golden
from tests.mqspark import everyjob
from tests.mqspark.cluster import HOME, READY_S, bare_python, environment
from tests.mqspark.kills import kill_tree
from tests.ports import free_ports
from tests.waiting import wait

pytestmark = [pytest.mark.spark, pytest.mark.soak, pytest.mark.timeout(2_400)]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """Yield the address of a server that does not have our code."""
    port, log = free_ports(1), tmp_path / "server.log"
    line = [
        str(HOME / "bin" / "spark-submit"),
        "--master",
        "local[1]",
        "--class",
        "org.apache.spark.sql.connect.service.SparkConnectServer",
        "--conf",
        f"spark.connect.grpc.binding.port={port}",
        "--conf",
        "spark.ui.enabled=false",
        "spark-internal",
    ]
    # Spark counts this server among its daemons.
    env = {**environment(bare_python(tmp_path / "python")), "SPARK_DAEMON_MEMORY": "1g"}
    with log.open("wb") as out:
        process = subprocess.Popen(line, stdout=out, stderr=out, cwd=tmp_path, env=env)

    def said() -> str:
        assert process.poll() is None, log.read_text()
        return log.read_text(errors="replace")

    try:
        wait(said, lambda text: "Spark Connect server started" in text, timeout_s=READY_S)
        yield f"sc://127.0.0.1:{port}"
    finally:
        kill_tree(process.pid)
        process.wait()


def test_every_source_and_job_is_that_of_the_local_engine(
    server: str, golden: Golden, orders: RocketMQ
) -> None:
    assert "connect" in everyjob.run(server, golden, orders)
