"""How many bytes of a log a job reads, and where: the driver's part does not grow with the log."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from mqspark.__main__ import main
from mqspark.cli.registry import JOBS, options_of
from mqspark.frames import damage
from mqspark.schemas import DAMAGE
from mqspark.sources.store.reading import ReadOptions
from mqspark.sources.store.skipped import collect_notes
from mqspark.sources.store.tables import default_columns, plan, read
from storefmt.formats.scan import LogFile
from tests.golden import Golden
from tests.storefmt.offline.damages import LOG_OFFSETS, lose_two_log_files, zero_pages

READ_MAX = 1 << 18
"""The driver may look at the ends of files, whatever their size is."""
CASES = ("03-size-plus", "29-swapped-names", "33-magic-wrong", "36-phyoffset-field")
OPTIONS = {"grep": {"pattern": "a"}, "timeline": {"every_ms": "60000"}, "events": {}, "stats": {}}


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Yield the sizes of what this process reads of logs."""
    sizes: list[int] = []
    read_into, read_bytes = LogFile.read_into, LogFile.read

    def noted_into(self: LogFile, buffer: memoryview, pos: int) -> int:
        sizes.append(read_into(self, buffer, pos))
        return sizes[-1]

    def noted_bytes(self: LogFile, pos: int, size: int) -> bytes:
        data = read_bytes(self, pos, size)
        sizes.append(len(data))
        return data

    monkeypatch.setattr(LogFile, "read_into", noted_into)
    monkeypatch.setattr(LogFile, "read", noted_bytes)
    return sizes


def damaged_stores(golden: Golden) -> Iterator[Path]:
    yield golden.store("basic")
    yield from map(golden.damaged, CASES)
    for change in (*LOG_OFFSETS, lose_two_log_files, zero_pages):
        store = golden.store("basic")
        change(store)
        yield store


def row_count(store: Path) -> int:
    """Return the number of rows of the table damage."""
    reading = ReadOptions(table=DAMAGE, columns=default_columns(DAMAGE))
    return sum(batch.num_rows for part in plan(store, reading) for batch in read(part, reading))


def test_a_job_notes_the_damage_that_the_table_has(golden: Golden) -> None:
    counts = []
    for store in damaged_stores(golden):
        counts.append(row_count(store))
        for name, given in {**OPTIONS, "duplicates": {}}.items():
            with collect_notes() as skipped:
                JOBS[name].local(str(store), **options_of(name, given))
            assert skipped.count() == counts[-1], (store, name)

    assert counts[0] == 0
    assert all(counts[1:])


def test_the_local_engine_reads_the_log_once(
    golden: Golden, reads: list[int], capfd: pytest.CaptureFixture[str]
) -> None:
    store = golden.damaged("33-magic-wrong")
    size = sum(path.stat().st_size for path in (store / "commitlog").iterdir())

    assert main(["stats", str(store), "--engine", "local"]) == 0

    assert json.loads(capfd.readouterr().err) == {"damage": 1}
    # Around damage, and behind the last record of a file, a part is read again.
    assert size <= sum(reads) < 2 * size


@pytest.mark.spark
@pytest.mark.parametrize("job", OPTIONS)
def test_the_driver_reads_no_log(
    spark: SparkSession,
    golden: Golden,
    reads: list[int],
    capfd: pytest.CaptureFixture[str],
    job: str,
) -> None:
    store = golden.store("basic")
    zero_pages(store)
    expected = damage(spark, str(store)).count()
    words = [
        word for name, value in OPTIONS[job].items() for word in ("--option", f"{name}={value}")
    ]
    reads.clear()

    assert main([job, str(store), "--master", "local[2]", *words]) == 0

    assert sum(reads) < READ_MAX
    said = [json.loads(line) for line in capfd.readouterr().err.splitlines() if line[:1] == "{"]
    assert {"damage": expected} in said
