"""What a job says of itself: its plan, its errors in one line."""

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pipeline.cli.watching import cause_of, plan_of, watched
from pipeline.frames import commitlog
from tests.golden import Golden

pytestmark = pytest.mark.spark


def test_an_error_of_the_planner_names_the_directory(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(PySparkException) as raised:
        commitlog(spark, str(tmp_path / "nothing")).count()

    assert "\n" not in cause_of(raised.value)
    assert str(tmp_path / "nothing") in cause_of(raised.value)


def test_an_error_of_a_worker_names_the_file(spark: SparkSession, golden: Golden) -> None:
    store = golden.damaged("33-magic-wrong")

    with pytest.raises(PySparkException) as raised:
        commitlog(spark, str(store), options={"onDamage": "fail"}).count()

    assert "commitlog/00000000000000000000" in cause_of(raised.value)


def test_an_unknown_option_is_named_in_one_line(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(PySparkException) as raised:
        commitlog(spark, str(tmp_path), options={"spiltBytes": "1"}).count()

    assert "has no option 'spiltbytes'" in cause_of(raised.value)


def test_a_plan_is_told_and_a_job_watched(spark: SparkSession, golden: Golden) -> None:
    frame = commitlog(spark, str(golden.store("basic")), columns=["topic"]).groupBy("topic").count()
    told: list[tuple[int, int]] = []

    with watched(spark, lambda done, total: told.append((done, total))):
        rows = frame.count()

    assert rows > 3
    assert "HashAggregate" in plan_of(frame)
    assert all(0 <= done <= total for done, total in told)
