"""Several stores in one job or load: lists, patterns and ``file:///``, on both engines."""

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from mqspark.frames import commitlog, table
from mqspark.jobs import diff, duplicates, events, grep, stats, timeline
from mqspark.sources.store.stores import stores_of
from storefmt.errors import NotAStore
from tests.golden import Golden

PATTERN = "[0-9]"


@pytest.fixture
def pair(golden: Golden, tmp_path: Path) -> list[str]:
    names = {"a": "basic", "b": "kinds"}
    for name, store in names.items():
        shutil.copytree(golden.store(store), tmp_path / "fleet" / name)
    return [str(tmp_path / "fleet" / name) for name in names]


def test_a_pattern_a_uri_and_a_list_name_the_same_stores(pair: list[str]) -> None:
    above = str(Path(pair[0]).parent)

    assert stores_of(pair) == pair
    assert stores_of(f"{above}/*") == pair
    assert stores_of([f"file://{above}/[ab]", pair[0]]) == pair
    with pytest.raises(NotAStore, match="matches no directory"):
        stores_of(f"{above}/none-*")


def test_a_directory_with_a_bracket_in_its_name_is_no_pattern(tmp_path: Path) -> None:
    odd = tmp_path / "a[1]"
    odd.mkdir()

    assert stores_of(str(odd)) == [str(odd)]


def test_a_pattern_on_s3(s3: str, golden: Golden) -> None:
    from tests.mqspark.sources.store.test_stores import upload

    root = s3.rpartition("/")[0]
    for name in ("one", "two"):
        upload(golden.store("kinds"), f"{root}/{name}")

    found = stores_of(f"{root}/*")

    assert found == [f"{root}/one", f"{root}/two"]
    rows = stats.rows_of(stats.stats_local(f"{root}/t*"))
    assert rows == stats.rows_of(stats.stats_local(f"{root}/two"))


def test_sums_of_several_stores_are_those_of_each(pair: list[str]) -> None:
    each = [stats.rows_of(stats.stats_local(path)) for path in pair]

    together = stats.rows_of(stats.stats_local(pair))
    by_store = stats.rows_of(stats.stats_local(pair, by="store"))

    assert sum(row["messages"] for row in together) == sum(
        row["messages"] for rows in each for row in rows
    )
    for path, rows in zip(pair, each, strict=True):
        assert [row | {"store": None} for row in by_store if row["store"] == path] == rows
    counted = timeline.timeline_local(pair, every_ms=3_600_000).to_pylist()
    assert sum(row["count"] for row in counted) == sum(row["messages"] for row in together)


def test_rows_say_of_which_store_they_are(pair: list[str]) -> None:
    hits = grep.rows_of(grep.grep_local(pair, pattern=PATTERN), pattern=PATTERN)
    happened = events.events_local(pair).to_pylist()

    for path in pair:
        own = grep.rows_of(grep.grep_local(path, pattern=PATTERN), pattern=PATTERN)
        assert [hit for hit in hits if hit["store"] == path] == own != []
        there = events.events_local(path).to_pylist()
        assert [row for row in happened if row["store"] == path] == there != []


def test_copies_in_two_stores_are_duplicates_without_an_offset(pair: list[str]) -> None:
    twice = [pair[0], str(Path(pair[0]).parent / "copy")]
    shutil.copytree(twice[0], twice[1])

    found = duplicates.rows_of(duplicates.duplicates_local(twice))

    assert found
    assert {tuple(row["stores"]) for row in found} == {tuple(sorted(twice))}
    assert {(row["first_log_offset"], row["last_log_offset"]) for row in found} == {(None, None)}


def test_one_store_is_compared_with_several(pair: list[str]) -> None:
    rows = diff.diff_local(pair[0], other=[pair[0], pair[1]]).to_pylist()

    same = [row for row in rows if row["other"] == pair[0]]
    assert not diff.is_different(same)
    assert [row["kind"] for row in same] == ["log"]
    assert diff.is_different(rows)
    assert diff.is_different([row for row in rows if row["other"] == pair[1]])


@pytest.mark.spark
def test_both_engines_agree_on_several_stores(spark: SparkSession, pair: list[str]) -> None:
    twice = [*pair, pair[0].removesuffix("a") + "c"]
    shutil.copytree(twice[0], twice[2])
    for there, here in (
        (stats.stats(spark, pair, by="store"), stats.stats_local(pair, by="store")),
        (timeline.timeline(spark, pair), timeline.timeline_local(pair)),
        (events.events(spark, pair), events.events_local(pair)),
        (duplicates.duplicates(spark, twice), duplicates.duplicates_local(twice)),
        (grep.grep(spark, pair, pattern=PATTERN), grep.grep_local(pair, pattern=PATTERN)),
        # No queue differs from that of the first, which must not hide what the second differs in.
        (diff.diff(spark, pair[0], other=pair), diff.diff_local(pair[0], other=pair)),
    ):
        assert there.toArrow().to_pylist() == here.to_pylist() != []


@pytest.mark.spark
def test_a_load_of_several_stores(spark: SparkSession, pair: list[str]) -> None:
    reader = spark.read.format("rocketmq_store")
    alone = {path: commitlog(spark, path, columns=["topic"]).count() for path in pair}

    both = reader.load(pair)
    some = reader.option("columns", "store").load(f"file://{Path(pair[0]).parent}/*")

    assert both.columns[0] == "store"
    assert "store" not in table(spark, "topics", pair[0]).columns
    for frame in (both, some):
        counted = frame.groupBy("store").count().collect()
        assert {row["store"]: row["count"] for row in counted} == alone
