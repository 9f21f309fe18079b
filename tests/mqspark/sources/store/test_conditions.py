"""Conditions mean what SQL says; filters of Spark become conditions; files are skipped by them."""

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import datasource as ds

from mqspark.errors import BadOption
from mqspark.frames import commitlog
from mqspark.sources.store.conditions import Condition, from_spark, log_range, matching, time_of
from mqspark.sources.store.options import reading_of
from mqspark.sources.store.reading import ReadOptions
from mqspark.sources.store.tables import plan
from storefmt.arrow.columns import SCHEMA
from tests.golden import Golden
from tests.mqspark.sources.store.reading import rows_of

BATCH = pa.RecordBatch.from_pydict(
    {"n": pa.array([1, None, 3], pa.int32()), "s": pa.array(["ab", "b", None])}
)


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        (Condition("n", "=", 3), [3]),
        (Condition("n", "<>", 3), [1]),
        (Condition("n", ">=", 1), [1, 3]),
        (Condition("n", "in", (1, None)), [1]),
        (Condition("n", "is null"), [None]),
        (Condition("s", "is not null"), [1, None]),
        (Condition("s", "starts with", "a"), [1]),
        (Condition("s", "contains", "b"), [1, None]),
    ],
)
def test_null_is_never_equal(condition: Condition, rows: list[int | None]) -> None:
    assert matching(BATCH, [condition]).column("n").to_pylist() == rows


@pytest.mark.parametrize(
    ("pushed", "condition"),
    [
        (ds.EqualTo(("topic",), "t"), Condition("topic", "=", "t")),
        (ds.Not(ds.EqualTo(("queue_id",), 1)), Condition("queue_id", "<>", 1)),
        (ds.In(("topic",), ("a", "b")), Condition("topic", "in", ("a", "b"))),
        (ds.Not(ds.IsNull(("tags",))), Condition("tags", "is not null")),
        (ds.StringEndsWith(("topic",), "x"), Condition("topic", "ends with", "x")),
        (ds.Not(ds.In(("topic",), ("a",))), None),
        (ds.EqualTo(("keys",), ["a"]), None),
        (ds.EqualTo(("queue_id",), 1 << 40), None),
        (ds.EqualTo(("properties", "TAGS"), "a"), None),
        (ds.EqualNullSafe(("topic",), "t"), None),
    ],
)
def test_only_what_surely_means_the_same_is_taken(
    pushed: ds.Filter, condition: Condition | None
) -> None:
    assert from_spark(pushed, SCHEMA) == condition


def test_topics_are_chosen_by_an_expression_of_the_whole_name(golden: Golden) -> None:
    store = golden.store("basic")
    reading = reading_of({"topicsPattern": "t.ny|clicks", "columns": "topic"})

    assert {row["topic"] for row in rows_of(store, reading)} == {"tiny"}
    with pytest.raises(BadOption, match="no regular expression"):
        reading_of({"topicsPattern": "["})
    with pytest.raises(BadOption, match="topicsPattern is for table commitlog"):
        reading_of({"topicsPattern": "a", "table": "topics"})


def test_offsets_and_times_leave_files_out(golden: Golden) -> None:
    store = golden.store("retention")
    whole = plan(store)
    offsets = Condition("log_offset", ">=", whole[-1].start)
    far = Condition("store_timestamp", ">", datetime(2031, 1, 1, tzinfo=UTC))

    assert log_range([offsets]) == (whole[-1].start, 1 << 63)
    assert plan(store, ReadOptions(where=(offsets,))) == whole[-1:]
    assert len(plan(store, ReadOptions(where=(far,)))) <= 1


def test_a_time_gives_the_rows_of_a_whole_read(golden: Golden) -> None:
    store = golden.store("basic")
    records = [row for row in golden.jsonl("basic", "records") if row["kind"] == "msg"]
    times = sorted(row["storeTimestamp"] for row in records)
    middle = times[len(times) // 2]
    reading = ReadOptions(
        columns=("topic",), where=(Condition("store_timestamp", ">", time_of(middle)),)
    )

    assert len(rows_of(store, reading)) == sum(time > middle for time in times)


@pytest.mark.spark
@pytest.mark.parametrize(
    "sql",
    [
        "topic = 'clicks_v1' and queue_id in (0, 1)",
        "tags is null and store_size > 300",
        "not (topic like 'o%') and unique_key is not null",
        "queue_offset < 3 or queue_id = 2",
    ],
)
def test_pushed_filters_give_the_rows_of_spark(
    spark: SparkSession, golden: Golden, sql: str
) -> None:
    store = str(golden.store("basic"))

    def rows(options: dict[str, Any]) -> list[Any]:
        frame = commitlog(spark, store, options=options).where(sql)
        return frame.select("log_offset", "topic").orderBy("log_offset").collect()

    pushed = rows({"pushdown": "true", "splitBytes": "1000000"})

    assert pushed == rows({})
    assert 0 < len(pushed) < 1420


@pytest.mark.spark
def test_options_of_the_source_are_conditions(spark: SparkSession, golden: Golden) -> None:
    store = golden.store("basic")
    records = [row for row in golden.jsonl("basic", "records") if row["kind"] == "msg"]
    some = records[100:900]
    options = {
        "topics": "clicks_v1, tiny",
        "startOffset": str(some[0]["phy"]),
        "endOffset": str(some[-1]["phy"]),
        "startTime": str(some[50]["storeTimestamp"]),
    }

    count = commitlog(spark, str(store), options=options, columns=["msg_id"]).count()

    kept = [
        row
        for row in some[:-1]
        if row["topic"] in ("clicks_v1", "tiny")
        and row["storeTimestamp"] >= some[50]["storeTimestamp"]
    ]
    assert count == len(kept) > 0
