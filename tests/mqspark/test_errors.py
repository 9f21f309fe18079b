"""The errors that a user reads: one sentence at the end of Spark's trace, alone in the command."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from mqserver.pytest_plugin import RocketMQ, running_pair
from mqspark.__main__ import main
from mqspark.cli import live_jobs
from mqspark.cli.watching import cause_of
from tests.golden import Golden

NOBODY = "127.0.0.1:1"


@pytest.fixture(scope="module")
def pair() -> Iterator[RocketMQ]:
    """Yield a pair without topics of its own."""
    with running_pair() as started:
        yield started


def said(error: BaseException, sentence: str) -> None:
    """Check that a sentence ends what Spark says, and that the command would print it alone."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    ours = [number for number, line in enumerate(lines) if sentence in line]
    assert ours, str(error)
    # Behind it there are at most its hint and Spark's own stack.
    assert not any(line.startswith(("  File", "Traceback")) for line in lines[ours[-1] + 1 :])
    assert sentence in cause_of(error)  # type: ignore[arg-type]
    assert "\n" not in cause_of(error)  # type: ignore[arg-type]


@pytest.mark.spark
def test_the_sentence_ends_sparks_trace(
    spark: SparkSession, golden: Golden, pair: RocketMQ, tmp_path: Path
) -> None:
    store, nothing = str(golden.store("basic")), str(tmp_path / "nothing")
    offline = spark.read.format("rocketmq_store")
    live = {"namesrv": pair.namesrv, "subscribe": "Nowhere", "timeoutMs": "2000"}
    for load, sentence in (
        (lambda: offline.load(nothing), f"{nothing}: no such directory; give a broker's"),
        (
            lambda: spark.read.format("rocketmq_store").option("spilt", "1").load(store),
            "rocketmq_store has no option 'spilt'; it has table,",
        ),
        (
            lambda: spark.read.format("rocketmq_store").option("startTime", "soon").load(store),
            "option startTime is 'soon', expected ms since 1970, or a time as 2026-11-23T10:00:00Z",
        ),
        (
            lambda: spark.read.format("rocketmq").options(**live).load(),
            "topic Nowhere has no route",
        ),
        (
            lambda: spark.read.format("rocketmq").options(**live | {"namesrv": NOBODY}).load(),
            f"cannot connect to {NOBODY}",
        ),
    ):
        with pytest.raises(PySparkException) as raised:
            load().count()
        said(raised.value, sentence)


def test_the_sentence_is_alone_in_a_command_over_stores(
    golden: Golden, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, nothing = str(golden.store("basic")), str(tmp_path / "nothing")
    for words, code, sentence in (
        (["stats", nothing], 3, f"{nothing}: no such directory; give a broker's storePathRootDir"),
        (["stats", f"{nothing}*"], 3, f"{nothing}* matches no directory; give the storePath"),
        (
            ["stats", store, "--option", "colour=1"],
            2,
            "job stats has no option 'colour'; it has by",
        ),
        (["stats", store, "--option", "by=colour"], 2, "option by is 'colour', expected queue"),
        (["timeline", store, "--option", "every_ms=x"], 2, "option every_ms is 'x', expected a"),
    ):
        for engine in ("local", "spark") if code == 3 or "colour=1" in words else ("local",):
            # On Spark, too, these are said before a session starts.
            assert main([*words, "--engine", engine]) == code

            (line,) = capsys.readouterr().err.splitlines()
            assert json.loads(line)["error"].startswith(sentence)


def test_the_sentence_is_alone_in_a_command_over_topics(
    pair: RocketMQ, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for namesrv, more, sentence in (
        (pair.namesrv, "subscribe=Nowhere", "topic Nowhere has no route"),
        (NOBODY, "subscribe=Nowhere", f"cannot connect to {NOBODY}: Connection refused; is it the"),
        (pair.namesrv, "subscribes=Nowhere", "rocketmq has no option 'subscribes'; it has namesrv"),
    ):
        options = ["--option", f"namesrv={namesrv}", "--option", more, "--option", "timeoutMs=2000"]
        words = ["archive", str(tmp_path / "archive"), "--engine", "local", *options]

        assert live_jobs.main(words) > 0

        (line,) = capsys.readouterr().err.splitlines()
        assert sentence in json.loads(line)["error"]
