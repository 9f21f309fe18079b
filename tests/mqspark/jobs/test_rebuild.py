"""``rebuild``: the files of many tasks are byte for byte those of the real broker."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from mqspark.jobs.rebuild import is_damaged, rebuild, rebuild_local, targets_of
from storefmt.errors import BadCall
from tests.golden import Golden
from tests.storefmt.offline.repair.test_rebuild import PARTS, assert_same_files

DAMAGED = ["33-magic-wrong", "29-swapped-names", "31-middle-missing"]
HEALTHY = ["basic", "kinds", "kinds-lmq", "ipv6", "retention"]


@pytest.mark.spark
def test_files_of_many_stores_are_those_of_the_real_broker(
    spark: SparkSession, golden: Golden, tmp_path: Path
) -> None:
    stores = [str(golden.store(name)) for name in HEALTHY]
    damaged = [str(golden.damaged(case)) for case in DAMAGED]
    reals = targets_of([*stores, *damaged], str(tmp_path / "here"))
    here = rebuild_local(reals).to_pylist()

    targets = targets_of([*stores, *damaged], str(tmp_path / "there"))
    there = rebuild(spark, targets).toArrow().to_pylist()

    assert there == here
    assert is_damaged(there)
    assert not is_damaged(row for row in there if row["store"] not in damaged)
    for store, out in targets.items():
        for part in PARTS:
            assert_same_files(Path(out), Path(reals[store] if store in damaged else store), part)
        assert {path.name for path in Path(out).iterdir()} <= set(PARTS)


def test_the_target_must_be_new(golden: Golden, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "something").touch()

    with pytest.raises(BadCall, match="not empty"):
        rebuild_local({str(golden.store("basic")): str(tmp_path / "out")})


def test_without_index_there_is_none(golden: Golden, tmp_path: Path) -> None:
    rows = rebuild_local(
        {str(golden.store("basic")): str(tmp_path / "out")}, with_index=False
    ).to_pylist()

    assert {row["kind"] for row in rows} == {"queue"}
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["consumequeue"]
