"""A session of Spark Connect: the code is shipped, then the sources are registered."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.golden import Golden
from tests.pipeline.cluster import HOME, READY_S, environment
from tests.pipeline.kills import kill_tree
from tests.ports import free_ports
from tests.waiting import wait

pytestmark = [pytest.mark.spark, pytest.mark.soak, pytest.mark.timeout(2_400)]
CLIENT = """
import json, sys
from pipeline.frames import commitlog
from pipeline.sessions import session
spark = session(sys.argv[1])
frame = commitlog(spark, sys.argv[2], columns=["topic", "store_timestamp"])
found = frame.where("topic = 'clicks_v1'").agg({"topic": "count", "store_timestamp": "min"}).first()
print(json.dumps([found[0] if isinstance(found[0], int) else found[1], str(type(spark))]))
"""


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
    env = {**environment(), "SPARK_DAEMON_MEMORY": "1g"}
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


def test_rows_are_those_of_the_store(server: str, golden: Golden) -> None:
    line = [sys.executable, "-c", CLIENT, server, str(golden.store("basic"))]

    done = subprocess.run(line, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr[-4_000:]
    count, kind = json.loads(done.stdout.splitlines()[-1])
    assert count == 750
    assert "connect" in kind
