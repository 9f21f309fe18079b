"""What a job prints: its plan, and each error in one line."""

from pathlib import Path

import pytest
from pyspark import SparkStageInfo
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from mqspark.cli import watching
from mqspark.cli.watching import cause_of, plan_of, watch_progress
from mqspark.frames import commitlog
from tests.golden import Golden
from tests.waiting import wait

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

    with watch_progress(spark, lambda done, total: told.append((done, total))):
        rows = frame.count()

    assert rows > 3
    assert "HashAggregate" in plan_of(frame)
    assert all(0 <= done <= total for done, total in told)


def test_hints_behind_an_error_are_told_with_it() -> None:
    lines = [
        "Traceback (most recent call last):",
        "mqclient.errors.Unreachable: cannot connect to 10.0.0.1:9876: Connection refused",
        "is it the right address, is it running?",
        " SQLSTATE: 38000",
    ]

    told = cause_of(ValueError("\n".join(lines)))

    assert told.endswith("Connection refused; is it the right address, is it running?")


def test_a_job_that_no_worker_takes_is_warned_of_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Context:
        """A context whose one stage waits."""

        master = "spark://m:7077"
        _jsc = property(lambda self: self)

        def statusTracker(self) -> "Context":  # noqa: N802 - Spark's
            return self

        def getActiveStageIds(self) -> list[int]:  # noqa: N802
            return [0]

        def getStageInfo(self, stage: int) -> SparkStageInfo:  # noqa: N802
            return SparkStageInfo(stage, 0, "count", 4, 0, 0, 0)

        def sc(self) -> "Context":
            return self

        def executorMemory(self) -> int:  # noqa: N802
            return 1024

    monkeypatch.setattr(watching, "context_of", lambda spark: Context())
    monkeypatch.setattr(watching, "ASK_EVERY_S", 0.01)
    monkeypatch.setattr(watching, "STARVED_S", 0.05)
    warned: list[str] = []
    asked: list[int] = []

    def tell(done: int, total: int) -> None:
        asked.append(total)

    with watch_progress(None, tell, warn=warned.append):  # type: ignore[arg-type]
        wait(lambda: len(warned), lambda count: count == 1, what="a warning")

    assert asked == [4]
    assert "no free worker of spark://m:7077 offers the 1024 MiB" in warned[0]
