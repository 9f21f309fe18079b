"""``events`` on both engines against what ``store events`` says."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from mqspark.jobs.events import events, events_local
from storefmt.offline.analyse.events import store_events
from storefmt.offline.views.storedir import StoreDir
from tests.golden import Golden


def expected(path: Path | str, pause_ms: int) -> list[dict[str, Any]]:
    with StoreDir.open(path) as store:
        found = store_events(store, pause_ms=pause_ms, columns=False)
        return [{"store": str(path), **one._asdict()} for one in found]


@pytest.mark.parametrize("name", ["basic", "kinds", "retention", "v5"])
def test_events_are_those_of_the_records(golden: Golden, name: str) -> None:
    store = golden.store(name)

    assert events_local(str(store), pause_ms=500).to_pylist() == expected(store, 500)


@pytest.mark.spark
def test_spark_tells_the_events_of_the_local_engine(spark: SparkSession, golden: Golden) -> None:
    store = str(golden.store("basic"))

    there = events(spark, store, pause_ms=500).toArrow().to_pylist()

    assert there == expected(store, 500)
    assert any(row["kind"] == "pause" for row in there)
