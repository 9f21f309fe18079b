"""``stats`` on both engines against the records that Java listed."""

import json
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from mqspark.errors import BadOption
from mqspark.jobs.stats import WAYS, rows_of, stats, stats_local
from storefmt.formats.hosts import address_text
from tests.golden import Golden
from tests.programs import python
from tests.storefmt.offline.stores import records_in

HOUR_MS = 3_600_000


def expected_rows(golden: Golden, name: str) -> list[dict[str, object]]:
    messages: Counter[tuple[str, int]] = Counter()
    sizes: Counter[tuple[str, int]] = Counter()
    for row in golden.jsonl(name, "records"):
        if row["kind"] == "msg":
            key = row["topic"], row["storeTimestamp"] // HOUR_MS * HOUR_MS
            messages[key] += 1
            sizes[key] += row["size"]
    finer = dict.fromkeys(("queue_id", "producer", "tag", "store"))
    return [
        {"topic": key[0], "hour_ms": key[1], "messages": count, "bytes": sizes[key], **finer}
        for key, count in sorted(messages.items())
    ]


@pytest.mark.parametrize("name", ["basic", "kinds", "retention", "ipv6"])
def test_local_engine_counts_what_java_listed(golden: Golden, name: str) -> None:
    found = rows_of(stats_local(str(golden.store(name))))

    assert found == expected_rows(golden, name)


def test_an_empty_log_gives_no_rows(tmp_path: Path) -> None:
    (tmp_path / "commitlog").mkdir()
    (tmp_path / "commitlog" / "00000000000000000000").write_bytes(bytes(4096))

    assert rows_of(stats_local(str(tmp_path))) == []


@pytest.mark.parametrize("by", WAYS)
def test_finer_rows_are_those_of_the_records(golden: Golden, by: str) -> None:
    store = golden.store("kinds")
    records = records_in(store)
    names = {
        "queue": lambda record: record.queue_id,
        "producer": lambda record: address_text(record.born_host),
        "tag": lambda record: record.tags,
        "store": lambda record: str(store),
    }
    expected = Counter((record.topic, names[by](record)) for record in records)

    rows = rows_of(stats_local(str(store), by=by))
    found: Counter[tuple[str, object]] = Counter()
    for row in rows:
        found[row["topic"], row["queue_id" if by == "queue" else by]] += row["messages"]

    assert found == expected
    assert sum(row["bytes"] for row in rows) == sum(record.size for record in records)


def test_what_nothing_is_counted_by_is_refused(golden: Golden) -> None:
    with pytest.raises(BadOption, match="queue, producer, tag"):
        stats_local(str(golden.store("kinds")), by="colour")


@pytest.mark.spark
@pytest.mark.parametrize("by", [None, *WAYS])
def test_spark_gives_the_rows_of_the_local_engine(
    spark: SparkSession, golden: Golden, by: str | None
) -> None:
    store = str(golden.store("kinds"))

    found = rows_of(stats(spark, store, by=by).toArrow())

    assert found == rows_of(stats_local(store, by=by))
    assert by or found == expected_rows(golden, "kinds")


def run(directory: Path) -> subprocess.CompletedProcess[str]:
    return python("-m", "mqspark", "stats", str(directory), "--engine", "local", code=None)


def test_the_process_prints_rows_and_nothing_else(golden: Golden) -> None:
    done = run(golden.store("basic"))

    assert done.returncode == 0
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert rows == expected_rows(golden, "basic")
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("case", "count"), [("33-magic-wrong", 1), ("36-phyoffset-field", 1), ("29-swapped-names", 2)]
)
def test_the_process_says_how_much_it_skipped(golden: Golden, case: str, count: int) -> None:
    done = run(golden.damaged(case))

    assert done.returncode == 0
    assert json.loads(done.stderr) == {"damage": count}


def test_the_process_refuses_what_is_no_store(tmp_path: Path) -> None:
    done = run(tmp_path)

    assert done.returncode == 3
    assert "commitlog" in json.loads(done.stderr)["error"]
