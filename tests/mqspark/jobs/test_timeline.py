"""``timeline`` on both engines against ``store timeline``'s counting, record by record."""

import pytest
from pyspark.sql import SparkSession

from mqspark.jobs.timeline import rows_of, timeline, timeline_local
from storefmt.offline.analyse.record_counts import By, CountFilter, with_empty_spans
from storefmt.offline.analyse.stats import count_records
from storefmt.offline.views.storedir import StoreDir
from tests.golden import Golden


def expected(path: str, every_ms: int, wanted: CountFilter) -> list[tuple[int, int, int, int, int]]:
    with StoreDir.open(path) as store:
        found = count_records(store, By.TIME, wanted=wanted, bucket_ms=every_ms, columns=False)
    tallies = {int(start or 0): tally for (start, *_), tally in found.items()}
    return [
        (start, tally.count, tally.size, tally.first_ms, tally.last_ms)
        for start, tally in with_empty_spans(tallies, every_ms)
    ]


def said(table: object) -> list[tuple[int, int, int, int, int]]:
    names = ("start_ms", "count", "bytes", "first_ms", "last_ms")
    return [tuple(row[name] for name in names) for row in rows_of(table)]


@pytest.mark.parametrize("name", ["basic", "kinds", "retention"])
def test_spans_are_those_of_the_records(golden: Golden, name: str) -> None:
    store = str(golden.store(name))

    assert said(timeline_local(store, every_ms=1000)) == expected(store, 1000, CountFilter())


def test_the_fullest_span_is_one(golden: Golden) -> None:
    rows = rows_of(timeline_local(str(golden.store("basic"))))

    assert max(row["relative"] for row in rows) == 1
    assert len(rows) <= 60


@pytest.mark.spark
def test_spark_gives_the_spans_of_the_local_engine(spark: SparkSession, golden: Golden) -> None:
    store = str(golden.store("basic"))
    middle = rows_of(timeline_local(store, every_ms=1000))[2]["start_ms"]
    asked = {"every_ms": 250, "topic": "clicks_v1", "begin_ms": middle}

    there = said(timeline(spark, store, **asked).toArrow())

    assert there == said(timeline_local(store, **asked))
    assert there == expected(store, 250, CountFilter(topic="clicks_v1", begin_ms=middle))
    assert there
