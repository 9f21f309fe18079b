"""Every source, the sink and every job over stores in one session, compared with the local engine.

    python -m tests.mqspark.everyjob MASTER STORE OTHER NAMESRV

Prints JSON: counts of rows by what was read, and for each table and job whether it is right.
``Orders`` and ``Sunk`` are topics of the name server; the second is empty and gets the rows of the
first, once by a batch and once by a stream.
"""

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import mqspark
from mqserver.pytest_plugin import RocketMQ
from mqspark.cli.registry import JOBS, options_of
from mqspark.sources.store.tables import table_names
from tests.golden import REPOSITORY, Golden
from tests.mqspark.streams import run_to_end
from tests.programs import ran

LIVE_COUNT = 40
"""The messages of ``Orders``."""
COUNTS = {"rows": 750, "live": LIVE_COUNT, "sunk": LIVE_COUNT, "streamed": 2 * LIVE_COUNT}
GIVEN = {"grep": {"pattern": "violin4"}, "rewind-plan": {"to_ms": "0"}}


def run(master: str, golden: Golden, pair: RocketMQ, *, packages: str = "") -> str:
    """Run all of it in a process, and check what it prints; return what session and PySpark it had.

    Args:
        packages: a directory with packages that take the place of those of this environment.
    """
    stores = [str(golden.store(name)) for name in ("basic", "kinds")]
    line = [sys.executable, "-m", "tests.mqspark.everyjob", master, *stores, pair.namesrv]
    path = os.pathsep.join(filter(None, [packages, str(REPOSITORY)]))
    env = {**os.environ, "PYTHONPATH": path}
    done = ran(*line, env=env, timeout_s=2_400)
    found = json.loads(done.stdout.splitlines()[-1])
    session: str = found.pop("session")
    counts = {name: found.pop(name) for name in COUNTS}
    assert counts == COUNTS, counts
    wrong = {name: told for name, told in found.items() if told is not True}
    assert not wrong, wrong
    return session


def main(master: str, store: str, other: str, namesrv: str) -> None:
    """Read, write and run everything."""
    spark = mqspark.session(master)
    found: dict[str, Any] = {"session": f"{type(spark).__module__} of {spark.version}"}
    for name in table_names():
        found[f"table {name}"] = mqspark.table(spark, name, store).count() >= 0
    frame = mqspark.commitlog(spark, store, columns=["topic", "store_timestamp"])
    found["rows"] = frame.where("topic = 'clicks_v1'").count()

    def topic(name: str) -> Any:
        return spark.read.format("rocketmq").options(namesrv=namesrv, subscribe=name).load()

    found["live"] = topic("Orders").count()
    sink = topic("Orders").select("body").write.format("rocketmq")
    sink.options(namesrv=namesrv, topic="Sunk").mode("append").save()
    found["sunk"] = topic("Sunk").count()
    stream = spark.readStream.format("rocketmq").options(
        namesrv=namesrv, subscribe="Orders", startingOffsets="earliest", columns="body,tags"
    )
    with tempfile.TemporaryDirectory() as checkpoint:
        into = stream.load().writeStream.format("rocketmq").trigger(availableNow=True)
        into = into.options(namesrv=namesrv, topic="Sunk", checkpointLocation=checkpoint)
        run_to_end(into.start)
    found["streamed"] = topic("Sunk").count()
    (key,) = mqspark.commitlog(spark, store, columns=["unique_key"]).take(1)[0]
    for name in JOBS:
        given = {**GIVEN, "trace": {"key": key}}.get(name, {})
        there, here = (rows(name, [store, other], given, spark=one) for one in (spark, None))
        # No key is in these stores twice.
        found[name] = there == here and bool(there or name == "duplicates")
    print(json.dumps(found))


def rows(name: str, stores: list[str], given: dict[str, str], *, spark: Any) -> list[str]:
    """Return the rows of a job as sorted texts; ``spark`` is None for the local engine."""
    job = JOBS[name]
    with tempfile.TemporaryDirectory() as scratch:
        if name in ("extract", "rebuild"):
            given = given | {"to": str(Path(scratch, "to"))}
        chosen = options_of(name, given)
        if spark is None:
            table = job.local(stores, **chosen)
        else:
            table = job.spark(spark, stores, **chosen).toArrow()
        plain = [dict(row) for row in job.rows_of(table, **chosen)]
    for row in plain:
        row.pop("seconds", None)
    return sorted(json.dumps(row, default=str, sort_keys=True) for row in plain)


if __name__ == "__main__":
    main(*sys.argv[1:])
