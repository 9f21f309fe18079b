"""A session of Spark Connect: the code is shipped, then the sources are registered."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.pytest_plugin import RocketMQ, running_pair
from tests.golden import Golden
from tests.pipeline.cluster import HOME, READY_S, environment
from tests.pipeline.kills import kill_tree
from tests.pipeline.livetopics import fill, make
from tests.ports import free_ports
from tests.waiting import wait

pytestmark = [pytest.mark.spark, pytest.mark.soak, pytest.mark.timeout(2_400)]
LIVE_COUNT = 40
CLIENT = """
import json, sys, tempfile
import pipeline
from pipeline.cli.registry import JOBS, as_plain, options_of
from pipeline.sources.store.tables import table_names
spark = pipeline.session(sys.argv[1])
assert "connect" in str(type(spark))
store, other, namesrv = sys.argv[2:]
found = {}
for name in table_names():
    found["table " + name] = pipeline.table(spark, name, store).count() >= 0
frame = pipeline.commitlog(spark, store, columns=["topic", "store_timestamp"])
found["rows"] = frame.where("topic = 'clicks_v1'").count()
live = spark.read.format("rocketmq").options(namesrv=namesrv, subscribe="Orders").load()
found["live"] = live.count()
sink = live.select("body").write.format("rocketmq").options(namesrv=namesrv, topic="Sunk")
sink.mode("append").save()
sunk = spark.read.format("rocketmq").options(namesrv=namesrv, subscribe="Sunk")
found["sunk"] = sunk.load().count()
given = {
    "grep": {"pattern": "violin4"},
    "trace": {"key": "ord-events"},
    "rewind-plan": {"to_ms": "0"},
}
for name, job in JOBS.items():
    if name == "trace":
        key = pipeline.commitlog(spark, store, columns=["unique_key"]).first()[0]
        given["trace"] = {"key": key}
    options = dict(given.get(name, {}))
    results = []
    for engine in ("connect", "local"):
        if name in ("extract", "rebuild"):
            options["to"] = tempfile.mkdtemp() + "/to"
        chosen = options_of(name, options)
        paths = [store, other]
        if engine == "local":
            table = job.local(paths, **chosen)
        else:
            table = job.spark(spark, paths, **chosen).toArrow()
        rows = job.rows_of(table, **chosen)
        plain = [{k: v for k, v in as_plain(row).items() if k != "seconds"} for row in rows]
        results.append(sorted(json.dumps(row, default=str, sort_keys=True) for row in plain))
    there, here = results
    # No key is in these stores twice.
    found[name] = there == here and bool(there or name == "duplicates")
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def pair() -> Iterator[RocketMQ]:
    """Yield a pair with one filled topic and one for the sink."""
    with running_pair() as started:
        make(started.namesrv, "Orders")
        fill(started.namesrv, "Orders", LIVE_COUNT)
        make(started.namesrv, "Sunk")
        yield started


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


def test_every_source_and_job_is_that_of_the_local_engine(
    server: str, golden: Golden, pair: RocketMQ
) -> None:
    stores = [str(golden.store(name)) for name in ("basic", "kinds")]
    line = [sys.executable, "-c", CLIENT, server, *stores, pair.namesrv]

    done = subprocess.run(line, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr[-4_000:]
    found = json.loads(done.stdout.splitlines()[-1])
    counts = {name: found.pop(name) for name in ("rows", "live", "sunk")}
    assert counts == {"rows": 750, "live": LIVE_COUNT, "sunk": LIVE_COUNT}
    assert {name: told for name, told in found.items() if told is not True} == {}
