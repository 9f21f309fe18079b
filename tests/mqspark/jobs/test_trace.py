"""``trace`` over several stores: the steps are those of ``store trace`` in each."""

import pytest
from pyspark.sql import SparkSession

from mqspark.jobs.trace import NOTE, rows_of, trace, trace_local
from storefmt.errors import NotInStore
from storefmt.offline.analyse.trace import trace as trace_store
from storefmt.offline.views.storedir import StoreDir
from tests.golden import Golden


@pytest.fixture
def stores(golden: Golden) -> list[str]:
    return [str(golden.store(name)) for name in ("basic", "kinds")]


@pytest.fixture
def key(golden: Golden) -> str:
    """Return the unique key of a message that was delivered again."""
    rows = golden.jsonl("kinds", "records")
    return next(
        row["properties"]["UNIQ_KEY"]
        for row in rows
        if row["kind"] == "msg" and row["topic"].startswith("%RETRY%")
    )


def assert_life(rows: list[dict], store: str, key: str, *, scan: bool = False) -> None:
    with StoreDir.open(store) as opened:
        life = trace_store(opened, key, scan=scan)
    found = [(row["step"], row["log_offset"]) for row in rows if row["step"] != NOTE]
    assert sorted(found) == sorted((s.step.value, s.record.log_offset) for s in life.steps)
    assert [row["detail"] for row in rows if row["step"] == NOTE] == life.notes


def test_every_copy_is_a_row(stores: list[str], key: str) -> None:
    rows = rows_of(trace_local(stores, key=key), key=key)

    assert_life(rows, stores[1], key)
    assert {row["store"] for row in rows} == {stores[1]}
    assert len([row for row in rows if row["step"] != NOTE]) > 3


def test_a_key_that_no_store_has_is_told(stores: list[str]) -> None:
    with pytest.raises(NotInStore, match="nowhere"):
        rows_of(trace_local(stores, key="nowhere"), key="nowhere")


@pytest.mark.parametrize("name", ["basic", "kinds", "retention"])
def test_reading_by_splits_finds_what_a_walk_finds(golden: Golden, name: str) -> None:
    directory = str(golden.store(name))
    records = [row for row in golden.jsonl(name, "records") if row["kind"] == "msg"]
    keys = {row["properties"]["UNIQ_KEY"] for row in records if "UNIQ_KEY" in row["properties"]}
    users = {key for row in records for key in row["properties"].get("KEYS", "").split()}
    some = [*sorted(keys)[::150], *sorted(users)[::150]]

    for key in some:
        rows = rows_of(trace_local([directory], key=key, scan=True), key=key)
        assert_life(rows, directory, key, scan=True)


def test_a_log_whose_files_have_wrong_names_is_walked(golden: Golden, key: str) -> None:
    directory = golden.store("kinds")
    (file,) = (directory / "commitlog").iterdir()
    base = file.stat().st_size
    file.rename(file.with_name(f"{base:020}"))

    rows = rows_of(trace_local([str(directory)], key=key, scan=True), key=key)

    assert len([row for row in rows if row["step"] != NOTE]) > 3


@pytest.mark.spark
@pytest.mark.parametrize("scan", [False, True])
def test_one_store_is_read_by_splits(
    spark: SparkSession, stores: list[str], key: str, scan: bool
) -> None:
    there = rows_of(trace(spark, stores[1:], key=key, scan=scan).toArrow(), key=key)

    assert there == rows_of(trace_local(stores[1:], key=key, scan=scan), key=key)


@pytest.mark.spark
def test_spark_gives_the_rows_of_the_local_engine(
    spark: SparkSession, stores: list[str], key: str
) -> None:
    there = rows_of(trace(spark, stores, key=key).toArrow(), key=key)

    assert there == rows_of(trace_local(stores, key=key), key=key)
