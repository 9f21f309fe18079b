"""``diff`` on both engines against ``store diff``'s comparing."""

from typing import Any

import pytest
from pyspark.sql import SparkSession

from mqspark.jobs import diff as job
from storefmt.offline.analyse.compare import compare_logs, compare_queues
from storefmt.offline.views.storedir import StoreDir
from tests.golden import Golden


def expected(a: str, b: str) -> tuple[Any, ...]:
    with StoreDir.open(a) as left, StoreDir.open(b) as right:
        log = compare_logs(left, right)
        queues = [
            (q.topic, q.queue_id, q.only_a, q.only_b, q.changed, q.first_changed)
            for q in compare_queues(left, right, log)
        ]
    return (log.same, log.diverges_at, log.differing_size + log.unread_size), queues


def said(table: Any) -> tuple[Any, ...]:
    log, *queues = table.to_pylist()
    names = ("topic", "queue_id", "only_a", "only_b", "changed", "first")
    parts = [tuple(row[name] for name in names) for row in queues]
    return (log["same"], log["first"], log["changed"]), parts


@pytest.fixture
def pair(golden: Golden) -> tuple[str, str]:
    return str(golden.store("basic")), str(golden.damaged("33-magic-wrong"))


@pytest.mark.parametrize("range_size", [100_000, 1 << 30])
def test_ranges_put_together_are_the_whole(
    pair: tuple[str, str], range_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "SPLIT_SIZE", range_size)
    monkeypatch.setattr(job, "QUEUES_A_TASK", 3)

    table = job.diff_local(pair[0], other=pair[1])

    assert said(table) == expected(*pair)
    assert job.is_different(table.to_pylist())


def test_a_slave_that_has_all_is_the_same(golden: Golden) -> None:
    rows = job.diff_local(str(golden.store("basic")), other=str(golden.store("basic")))

    assert not job.is_different(rows.to_pylist())


def test_a_file_that_is_gone_is_counted(golden: Golden, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "SPLIT_SIZE", 70_000)
    whole, holed = golden.store("basic"), golden.store("basic")
    sorted((holed / "commitlog").iterdir())[1].unlink()

    table = job.diff_local(str(whole), other=str(holed))

    assert said(table) == expected(str(whole), str(holed))
    assert table.to_pylist()[0]["changed"] > 0


@pytest.mark.spark
def test_spark_gives_the_rows_of_the_local_engine(
    spark: SparkSession, pair: tuple[str, str]
) -> None:
    there = job.diff(spark, pair[0], other=pair[1]).toArrow()

    assert there.to_pylist() == job.diff_local(pair[0], other=pair[1]).to_pylist()
