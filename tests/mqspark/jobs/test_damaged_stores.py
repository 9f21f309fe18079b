"""Every job on every damaged store returns what ``store …`` returns there, record by record."""

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from mqspark.frames import damage
from mqspark.jobs import duplicates, grep, lag, rewind, stats, timeline, trace
from mqspark.jobs.diff import diff_local
from mqspark.jobs.extract import extract_local
from storefmt.formats.message import Record
from storefmt.offline.analyse.record_counts import By, with_empty_spans
from storefmt.offline.analyse.rewind import rewinds_to
from storefmt.offline.analyse.stats import count_records
from storefmt.offline.analyse.trace import trace as trace_store
from storefmt.offline.views.storedir import StoreDir
from tests.golden import Golden
from tests.mqspark.damagedstores import CRASHED, stores_by_damage
from tests.mqspark.jobs.test_diff import expected as compared
from tests.mqspark.jobs.test_diff import said as differs

PATTERN = "[0-9][0-9]"
HOUR_MS = 3_600_000
TO_MS = 1_795_233_700_000
"""A minute and more after the first message of ``basic``."""
SOME = ("03-size-plus", "07-zero-page-early", "31-middle-missing", "35-props-length")
"""Those that Spark is asked about, too: one of each sort."""


@pytest.fixture(scope="module")
def stores(golden: Golden) -> dict[str, Path]:
    return stores_by_damage(golden)


def assert_same(
    stores: dict[str, Path], job: Callable[[Path], Any], store: Callable[[StoreDir], Any]
) -> None:
    for name, path in stores.items():
        with StoreDir.open(path) as opened:
            assert job(path) == store(opened), name


def of_log(stores: dict[str, Path]) -> dict[str, Path]:
    """Return the stores whose log is damaged: jobs that read nothing else need no others."""
    elsewhere = re.compile(r"\d+-(cq|index|checkpoint|json|abort)-")
    return {name: path for name, path in stores.items() if not elsewhere.match(name)}


def records(store: StoreDir) -> list[Record]:
    return list(store.log.sound_records())


def test_only_sound_records_are_counted(stores: dict[str, Path], golden: Golden) -> None:
    def total(path: Path) -> int:
        return sum(row["messages"] for row in stats.rows_of(stats.stats_local(str(path))))

    whole = total(golden.store("basic"))

    assert total(stores["repeat_records"]) == whole - 4
    assert total(stores["change_a_log_offset"]) == total(stores["36-phyoffset-field"]) == whole - 1
    # Its messages are those that the records say; only the names of two files are wrong.
    assert total(stores["29-swapped-names"]) == whole
    # One file is there twice in the place of another.
    assert total(stores["double_a_single_record"]) < whole


def test_stats_are_those_of_store_stats(stores: dict[str, Path]) -> None:
    def found(path: Path) -> tuple[Counter[str], Counter[str], Counter[int]]:
        counts: Counter[str] = Counter()
        sizes: Counter[str] = Counter()
        hours: Counter[int] = Counter()
        for row in stats.rows_of(stats.stats_local(str(path))):
            counts[row["topic"]] += row["messages"]
            sizes[row["topic"]] += row["bytes"]
            hours[row["hour_ms"]] += row["messages"]
        return counts, sizes, hours

    def expected(store: StoreDir) -> tuple[dict[Any, int], dict[Any, int], dict[Any, int]]:
        topics = count_records(store, By.TOPIC, columns=False)
        hours = count_records(store, By.TIME, bucket_ms=HOUR_MS, columns=False)
        return (
            {topic: tally.count for (topic, *_), tally in topics.items()},
            {topic: tally.size for (topic, *_), tally in topics.items()},
            {hour: tally.count for (hour, *_), tally in hours.items()},
        )

    assert_same(of_log(stores), found, expected)


def test_spans_are_those_of_store_timeline(stores: dict[str, Path]) -> None:
    def found(path: Path) -> list[tuple[int, int]]:
        rows = timeline.rows_of(timeline.timeline_local(str(path), every_ms=HOUR_MS))
        return [(row["start_ms"], row["count"]) for row in rows]

    def expected(store: StoreDir) -> list[tuple[int, int]]:
        tallies = count_records(store, By.TIME, bucket_ms=HOUR_MS, columns=False)
        by_start = {int(start or 0): tally for (start, *_), tally in tallies.items()}
        return [(start, tally.count) for start, tally in with_empty_spans(by_start, HOUR_MS)]

    assert_same(of_log(stores), found, expected)


def test_hits_are_those_of_a_plain_search(stores: dict[str, Path]) -> None:
    assert_same(
        of_log(stores),
        lambda path: [
            hit["log_offset"]
            for hit in grep.rows_of(grep.grep_local(str(path), pattern=PATTERN), pattern=PATTERN)
        ],
        lambda store: [
            one.log_offset for one in records(store) if re.search(PATTERN.encode(), one.body)
        ],
    )


def test_copies_are_those_of_the_records(stores: dict[str, Path]) -> None:
    def expected(store: StoreDir) -> dict[tuple[str, str], int]:
        counts = Counter(
            (one.topic, one.unique_key)
            for one in records(store)
            if one.unique_key
            and one.topic not in duplicates.BROKERS_OWN
            and not one.topic.startswith(duplicates.OWN_PREFIXES)
        )
        return {key: count for key, count in counts.items() if count > 1}

    assert_same(
        of_log(stores),
        lambda path: {
            (row["topic"], row["unique_key"]): row["copies"]
            for row in duplicates.rows_of(duplicates.duplicates_local(str(path)))
        },
        expected,
    )


def test_lag_is_that_of_store_offsets(stores: dict[str, Path]) -> None:
    def expected(store: StoreDir) -> dict[tuple[str, str], int]:
        sums: Counter[tuple[str, str]] = Counter()
        for info in store.group_offsets():
            sums[info.group, info.topic] += max(0, info.lag)
        return dict(sums)

    assert_same(
        stores,
        lambda path: {
            (row["group"], row["topic"]): row["lag"]
            for row in lag.rows_of(lag.lag_local([str(path)]))
        },
        expected,
    )


def test_moves_are_those_of_the_store(stores: dict[str, Path]) -> None:
    def expected(store: StoreDir) -> list[tuple[object, ...]]:
        moves = rewinds_to(store, store.group_offsets(), TO_MS)
        return sorted((m.group, m.topic, m.queue_id, m.target, m.replayed, m.size) for m in moves)

    names = ("group", "topic", "queue_id", "target", "replayed", "bytes")
    assert_same(
        stores,
        lambda path: sorted(
            tuple(row[name] for name in names)
            for row in rewind.rewind_plan_local([str(path)], to_ms=TO_MS).to_pylist()
        ),
        expected,
    )


def test_extracted_messages_are_the_records(stores: dict[str, Path], tmp_path: Path) -> None:
    def found(path: Path) -> list[int]:
        out = tmp_path / path.name
        manifest = extract_local([str(path)], to=str(out), kind="jsonl").to_pylist()
        lines = [line for row in manifest for line in (out / row["file"]).read_text().splitlines()]
        return sorted(json.loads(line)["log_offset"] for line in lines)

    # Each file is on the disk before it counts, which takes its time.
    some = {name: stores[name] for name in SOME}
    assert_same(some, found, lambda store: sorted(one.log_offset for one in records(store)))


def test_a_life_is_that_of_store_trace(stores: dict[str, Path], golden: Golden) -> None:
    messages = [row for row in golden.jsonl("basic", "records") if row["kind"] == "msg"]
    key = messages[-1]["properties"]["UNIQ_KEY"]
    some = {name: stores[name] for name in SOME}

    assert_same(
        some,
        lambda path: sorted(
            (row["step"], row["log_offset"])
            for row in trace.trace_local([str(path)], key=key).to_pylist()
            if row["step"] != trace.NOTE
        ),
        lambda store: sorted(
            (step.step.value, step.record.log_offset) for step in trace_store(store, key).steps
        ),
    )


def test_what_differs_is_what_store_diff_says(stores: dict[str, Path], golden: Golden) -> None:
    whole = str(golden.store("basic"))

    for name in (*SOME, *CRASHED):
        path = stores[name]
        assert differs(diff_local(whole, other=str(path))) == compared(whole, str(path)), name


@pytest.mark.spark
@pytest.mark.timeout(900)
def test_spark_gives_the_rows_of_the_local_engine(
    spark: SparkSession, stores: dict[str, Path]
) -> None:
    # Of `verify` and `rebuild` it is shown elsewhere; the others share this source.
    path = str(stores["repeat_records"])

    counted = stats.stats(spark, path).toArrow().to_pylist()
    hits = grep.grep(spark, path, pattern=PATTERN).toArrow().to_pylist()

    assert counted == stats.stats_local(path).to_pylist() != []
    assert hits == grep.grep_local(path, pattern=PATTERN).to_pylist() != []
    kinds = [row["kind"] for row in damage(spark, path).toArrow().to_pylist()]
    assert kinds == ["offset_mismatch"] * 2
