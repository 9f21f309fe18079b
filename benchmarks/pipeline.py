"""Spark over a store against the decoder alone, Spark's Parquet reader and plainer sources.

    python -m benchmarks.pipeline                     a store of eight log files of 256 MiB
    python -m benchmarks.pipeline --pure              the same without compiled kernels, before
    python -m benchmarks.pipeline --growth 1 4 16     only jobs over so many GiB, on a small cluster
    python -m benchmarks.pipeline --write FILE        append the tables to a file, too

Ways take turns, round by round, warm, with the files in the page cache. CPU seconds are those
of the JVM and of every Python process below this one; wall seconds say little where others
use the machine. Quote the ratios of one run, and of a store large enough that the 0.1 to 0.2 s
that any job takes count for little.
"""

import argparse
import os
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from benchmarks.logs import make_store
from benchmarks.scan import SIX
from benchmarks.telling import markdown, tell
from mqspark.frames import commitlog, table
from mqspark.jobs.extract import extract
from mqspark.jobs.rebuild import rebuild
from mqspark.jobs.stats import COLUMNS as COUNTED
from mqspark.jobs.stats import stats, stats_local
from mqspark.jobs.verify import verify, verify_local
from mqspark.sessions import session
from mqspark.sources.store.reading import ReadOptions
from mqspark.sources.store.spread import TaskRows, spread
from mqspark.sources.store.tables import plan, read, schema_of
from storefmt.arrow.columns import has_kernel, iter_batches
from storefmt.kernels import PURE
from tests.mqspark.cluster import environment, running_cluster

MIB: Final = 1 << 20
TICKS: Final = os.sysconf("SC_CLK_TCK")
NAIVE_SCHEMA: Final = (
    "topic string, queue_id int, queue_offset bigint, log_offset bigint, "
    "store_timestamp timestamp, body_size int"
)
"""The columns that the decoder gives, with its types."""
_HEAD: Final = "!iiiiiqqiqqqqiqi"


class Spent(NamedTuple):
    """Seconds of one run; of its CPU time, those of a cluster's workers and executors."""

    wall_s: float
    cpu_s: float
    workers_s: float = 0.0


class NaiveReader(DataSourceReader):
    """Gives a tuple a record out of a loop with ``struct``: what one would write first."""

    def __init__(self, path: str, with_properties: bool) -> None:
        self._path = path
        self._with_properties = with_properties

    def partitions(self) -> list[InputPartition]:
        """Return a partition a file."""
        return [InputPartition(str(each)) for each in sorted(Path(self._path).iterdir())]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        """Yield the six columns of each record, and its properties where they are asked for."""
        # A module's Struct cannot be pickled with the class that is sent to the workers.
        head = struct.Struct(_HEAD)
        data, pos = Path(partition.value).read_bytes(), 0
        while pos + 91 <= len(data):
            head_fields = head.unpack_from(data, pos)
            size, magic, _, queue, _, offset, at, _, _, _, stored, _, _, _, body = head_fields
            if magic != -626843481 or size <= 0:
                return
            start = pos + 88 + body
            end = start + 1 + data[start]
            topic = data[start + 1 : end].decode()
            six = topic, queue, offset, at, datetime.fromtimestamp(stored / 1000, UTC), body
            if self._with_properties:
                texts = data[end + 2 : pos + size].decode().rstrip("\2").split("\2")
                yield *six, dict(text.split("\1", 1) for text in texts)
            else:
                yield six
            pos += size


class NaiveSource(DataSource):
    """The data source with that reader."""

    @classmethod
    def name(cls) -> str:
        """Return the format's name."""
        return "naive"

    def schema(self) -> str:
        """Return the six columns."""
        return NAIVE_SCHEMA

    def reader(self, schema: StructType) -> NaiveReader:
        """Return the reader of a ``commitlog`` directory."""
        return NaiveReader(self.options["path"], "properties" in schema.names)


def below(parent: int) -> Iterator[tuple[int, list[str]]]:
    """Yield (pid, numbers of /proc/PID/stat) of a process and of all below it."""
    found: dict[int, list[str]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            found[int(stat.parent.name)] = stat.read_text().rpartition(")")[2].split()
        except OSError:
            # It ended meanwhile; whoever waited for it has its time.
            continue
    for pid, fields in found.items():
        above = pid
        while above != parent and above in found:
            above = int(found[above][1])
        if above == parent:
            yield pid, fields


def ticks() -> dict[int, int]:
    """Return the CPU time of this process and of each below it, with their ended children."""
    return {pid: sum(map(int, fields[11:15])) for pid, fields in below(os.getpid())}


def measure(work: Callable[[], object], workers: Collection[int] = ()) -> Spent:
    """Run ``work`` and return what it took.

    Args:
        workers: process ids; what runs below them is counted apart, too.

    Spark ends workers that were idle for a minute, and nobody gets the time of those: what a
    worker did before this work must not be taken off when it ends meanwhile.
    """
    wall_s, before = time.monotonic(), ticks()
    work()
    wall_s, after = time.monotonic() - wall_s, ticks()
    spent = {pid: (used - before.get(pid, 0)) / TICKS for pid, used in after.items()}
    apart = {pid for worker in workers for pid, _ in below(worker)}
    return Spent(wall_s, sum(spent.values()), sum(spent.get(pid, 0.0) for pid in apart))


def run(frame: DataFrame) -> None:
    """Have every row of a frame made, and thrown away."""
    frame.write.format("noop").mode("overwrite").save()


def decode(paths: list[Path], columns: tuple[str, ...]) -> None:
    """Decode columns in this process."""
    assert sum(batch.num_rows for batch in iter_batches(paths, columns=columns)) > 0


def joined(spark: SparkSession, store: str) -> None:
    """Verify queues the plain way: a full outer join of the log and the queues."""
    columns = ("topic", "queue_id", "queue_offset", "log_offset", "store_size")
    log = commitlog(spark, store, columns=(*columns, "crc_ok"), options={"checkCrc": "true"})
    queues = table(spark, "consumequeue", store).select(
        "topic", "queue_id", "queue_offset", "log_offset", "size"
    )
    both = log.alias("a").join(queues.alias("b"), ["topic", "queue_id", "queue_offset"], "outer")
    wrong = both.where(
        "a.log_offset is distinct from b.log_offset or store_size <> size or not crc_ok"
    )
    assert wrong.count() == 0


def ways_of(spark: SparkSession, store: Path, scratch: Path) -> dict[str, Callable[[], object]]:
    """Return what is measured, by name."""
    path, columns = str(store), list(SIX)
    logs = sorted((store / "commitlog").iterdir())
    parquet = str(scratch / "six.parquet")
    commitlog(spark, path, columns=columns).write.parquet(parquet)
    spark.dataSource.register(NaiveSource)
    reading = ReadOptions(columns=SIX)
    splits = TaskRows(
        partial(_read, reading=reading), plan(store, reading), schema_of("commitlog", SIX)
    )
    numbers = iter(range(1 << 30))

    def rebuilt() -> None:
        target = {path: str(scratch / f"rebuilt-{next(numbers)}")}
        assert rebuild(spark, target, with_index=False).count() > 0

    def extracted() -> None:
        target = str(scratch / f"extracted-{next(numbers)}")
        assert extract(spark, [path], to=target).count() > 0
        shutil.rmtree(target)

    def written() -> None:
        target = str(scratch / f"written-{next(numbers)}")
        writer = commitlog(spark, path).write.partitionBy("topic").option("compression", "zstd")
        writer.parquet(target)
        shutil.rmtree(target)

    # Making a frame starts Python processes of its own: it is measured apart from reading.
    six = commitlog(spark, path, columns=columns)
    body = commitlog(spark, path, columns=[*columns, "body"])
    mapped = commitlog(spark, path, columns=[*columns, "properties"])
    naive = spark.read.format("naive").load(str(store / "commitlog"))
    naive_mapped = (
        spark.read.format("naive")
        .schema(f"{NAIVE_SCHEMA}, properties map<string, string>")
        .load(str(store / "commitlog"))
    )
    empty = scratch / "empty"
    (empty / "commitlog").mkdir(parents=True)
    return {
        "decoder alone, 6 columns": lambda: decode(logs, SIX),
        "decoder alone, 6 and body": lambda: decode(logs, (*SIX, "body")),
        "Spark, a new frame of an empty log": lambda: run(commitlog(spark, str(empty))),
        "Spark, 6 columns": lambda: run(six),
        "Spark, 6 and body": lambda: run(body),
        "Spark, 6 and properties": lambda: run(mapped),
        "Spark's Parquet reader, 6 columns": lambda: run(spark.read.parquet(parquet)),
        "splits and mapInArrow, 6 columns": lambda: run(spread(spark, splits)),
        "tuples from a loop with struct": lambda: run(naive),
        "the same, 6 and properties": lambda: run(naive_mapped),
        "verify": lambda: verify(spark, [path]).collect(),
        "verify by outer join, crc": lambda: joined(spark, path),
        "rebuild of queues": rebuilt,
        "extract to Parquet": extracted,
        "Spark's writer, partitionBy": written,
        "warm trivial job": lambda: spark.range(10).count(),
    }


def _read(split: Any, *, reading: ReadOptions) -> Iterator[Any]:
    yield from read(split, reading)


GOALS: Final = (
    ("Spark scan, of the decoder", "decoder alone, 6 columns", "Spark, 6 columns", "0.38"),
    ("with bodies, of the decoder", "decoder alone, 6 and body", "Spark, 6 and body", "0.20"),
    ("of Spark's Parquet reader", "Spark's Parquet reader, 6 columns", "Spark, 6 columns", "0.30"),
    ("times tuples", "tuples from a loop with struct", "Spark, 6 columns", "5"),
    ("times tuples, properties", "the same, 6 and properties", "Spark, 6 and properties", "8"),
    ("times mapInArrow", "splits and mapInArrow, 6 columns", "Spark, 6 columns", "1"),
    ("verify, of the scan", "verify", "Spark, 6 columns", "at most 1.6"),
    ("verify, of the join", "verify", "verify by outer join, crc", "at most 0.5"),
    ("rebuild, of the scan", "rebuild of queues", "Spark, 6 columns", "at most 4.5"),
    (
        "extract, of Spark's writer",
        "extract to Parquet",
        "Spark's writer, partitionBy",
        "1",
    ),
)
"""(what, CPU of this, over CPU of that, the goal)."""


def tables_of(spent: dict[str, list[Spent]], count: int, head: str) -> str:
    """Return the tables as Markdown."""
    cpu = {name: statistics.median(each.cpu_s for each in runs) for name, runs in spent.items()}
    ways = []
    for name, runs in spent.items():
        wall_s = statistics.median(each.wall_s for each in runs)
        has_rows = not any(word in name for word in ("empty", "trivial"))
        rate = f"{count / cpu[name]:,.0f}" if has_rows and cpu[name] > 0 else "–"
        ways.append([name, f"{cpu[name]:.2f}", f"{wall_s:.2f}", rate])
    ratios = [
        [what, goal, f"{cpu[top] / max(cpu[under], 1e-9):.2f}"]
        for what, top, under, goal in GOALS
        if top in cpu and under in cpu
    ]
    of_ways = markdown(("way", "CPU s", "wall s", "rows a CPU s"), ways)
    return f"{head}\n\n{of_ways}\n{markdown(('ratio of CPU time', 'goal', 'seen'), ratios)}"


def growth(sizes: list[float], directory: Path | None) -> str:
    """Return a table of jobs over logs of so many GiB, on both engines.

    Spark is a cluster of two workers with a core each, so that the driver is a process of its own.
    Log files are of 1 GiB, as brokers make them. The first
    runs of a job are slow, since the JVM compiles it.
    """
    os.environ.update(environment())
    rows = []
    with (
        tempfile.TemporaryDirectory(prefix="mq-grow-", dir=directory) as scratch,
        running_cluster(Path(scratch)) as cluster,
    ):
        spark = session(cluster.url)
        for size in sizes:
            store, count = str(Path(scratch, "store")), max(1, round(size))
            make_store(Path(store), file_count=count, file_size=1024 * MIB, body_size=1024)
            logs = sorted(Path(store, "commitlog").iterdir())

            # A frame is made anew each time: one that was collected keeps what it shuffled.
            def least(work: Callable[[], object]) -> Spent:
                runs = [measure(work, cluster.workers) for _ in range(8)]
                return min(runs, key=lambda spent: spent.cpu_s)

            decoder = least(partial(decode, logs, COUNTED)).cpu_s
            for name, local, there in (
                ("stats", partial(stats_local, store), partial(stats, spark, store)),
                ("verify", partial(verify_local, [store]), partial(verify, spark, [store])),
            ):
                here, far = least(local), least(lambda there=there: there().collect())
                driver_s = far.cpu_s - far.workers_s
                seconds = decoder, here.cpu_s, driver_s, far.workers_s, far.cpu_s / decoder
                rows.append([count, name, *(f"{spent_s:.2f}" for spent_s in seconds)])
                print(rows[-1], flush=True)
            shutil.rmtree(store)
        spark.stop()
    titles = ("GiB of log", "job", "decoder alone", "local engine", "Spark's driver")
    table = markdown([*titles, "Spark's workers", "Spark, of the decoder"], rows)
    return f"CPU seconds, the least of eight runs:\n\n{table}"


def main() -> int:
    """Run the rounds and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--body", type=int, default=1024)
    parser.add_argument("--only", nargs="*", help="words of the ways to measure")
    parser.add_argument("--growth", type=float, nargs="*", default=[], metavar="GIB")
    parser.add_argument("--directory", type=Path, help="where stores are made")
    parser.add_argument("--write", type=Path, help="append the tables to this file")
    parser.add_argument("--pure", action="store_true", help="before, all of it without kernels")
    options = parser.parse_args()
    if options.pure:
        # What is compiled is chosen when it is imported.
        again = [word for word in sys.argv[1:] if word != "--pure"]
        line = [sys.executable, "-m", "benchmarks.pipeline", *again]
        subprocess.run(line, env={**os.environ, PURE: "1"}, check=True)
    if options.growth:
        tell(growth(options.growth, options.directory), options.write)
        return 0
    spark = session("local[2]")
    with tempfile.TemporaryDirectory(prefix="mq-spark-", dir=options.directory) as scratch:
        store = Path(scratch, "store")
        make_store(store, file_count=options.files, file_size=256 * MIB, body_size=options.body)
        ways = {
            name: way
            for name, way in ways_of(spark, store, Path(scratch)).items()
            if options.only is None or any(word in name for word in options.only)
        }
        spent: dict[str, list[Spent]] = {name: [] for name in ways}
        for number in range(options.rounds + 1):
            for name, way in ways.items():
                took = measure(way)
                print(f"round {number} {name:34} {took.cpu_s:7.2f} s of CPU", flush=True)
                if number:
                    spent[name].append(took)
        count = commitlog(spark, str(store), columns=["topic"]).count()
    load = os.getloadavg()[0]
    decoder = "compiled" if has_kernel() else "pure"
    text = tables_of(
        spent,
        count,
        f"{time.strftime('%Y-%m-%d')}, {options.files * 256} MiB, {count:,} records with bodies "
        f"of {options.body} bytes, medians of {options.rounds} rounds, pyspark {spark.version}, "
        f"local[2], decoder {decoder}, load {load:.0f}",
    )
    spark.stop()
    tell(text, options.write)
    return 0


if __name__ == "__main__":
    sys.exit(main())
