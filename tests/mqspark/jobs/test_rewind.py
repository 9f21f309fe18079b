"""``rewind-plan`` reports for each group what the records say."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from mqspark.jobs.rewind import rewind_plan, rewind_plan_local
from storefmt.offline.views.storedir import StoreDir
from tests.golden import Golden


def records_of(golden: Golden, name: str) -> dict[tuple[str, int], list[dict[str, Any]]]:
    found: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for row in golden.jsonl(name, "records"):
        if row["kind"] == "msg":
            found.setdefault((row["topic"], row["queueId"]), []).append(row)
    return found


def test_messages_and_bytes_are_those_between(golden: Golden) -> None:
    store = golden.store("basic")
    records = records_of(golden, "basic")
    times = sorted(row["storeTimestamp"] for rows in records.values() for row in rows)
    at_ms = times[len(times) // 2]

    rows = rewind_plan_local([str(store)], to_ms=at_ms).to_pylist()

    assert {"replayed", "skipped"} <= {
        name for row in rows for name in ("replayed", "skipped") if row[name]
    }
    for row in rows:
        mine = records[row["topic"], row["queue_id"]]
        low, high = sorted((row["target"], row["queue_offset"]))
        between = [each for each in mine if low <= each["queueOffset"] < high]
        assert row["replayed"] + row["skipped"] == len(between)
        assert row["bytes"] == sum(each["size"] for each in between)
        distance = abs(row["target_ms"] - at_ms)
        assert distance == min(abs(each["storeTimestamp"] - at_ms) for each in mine)
        assert row["command"].startswith(f"mqadmin offset reset {row['group']} {row['topic']} --to")


def test_one_group_alone(golden: Golden) -> None:
    store = golden.store("basic")
    with StoreDir.open(store) as opened:
        group = opened.group_offsets()[0].group

    rows = rewind_plan_local([str(store)], to_ms=0, group=group).to_pylist()

    assert {row["group"] for row in rows} == {group}
    assert all(row["skipped"] == 0 or row["queue_offset"] <= row["target"] for row in rows)


@pytest.mark.spark
def test_spark_gives_the_rows_of_the_local_engine(spark: SparkSession, golden: Golden) -> None:
    stores = [str(golden.store(name)) for name in ("basic", "kinds")]
    at_ms = 1_700_000_000_000

    there = rewind_plan(spark, stores, to_ms=at_ms).toArrow().to_pylist()

    key = ("group", "topic", "queue_id")
    here = rewind_plan_local(stores, to_ms=at_ms).to_pylist()
    assert sorted(there, key=lambda row: [row["store"], *map(row.get, key)]) == sorted(
        here, key=lambda row: [row["store"], *map(row.get, key)]
    )
    assert {Path(row["store"]) for row in there} == set(map(Path, stores))
