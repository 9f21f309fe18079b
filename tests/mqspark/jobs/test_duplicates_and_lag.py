"""``duplicates`` and ``lag`` on both engines, against counts of the records Java listed."""

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from mqspark.jobs import duplicates, lag
from storefmt.formats.scan import scan_log
from storefmt.offline.views.storedir import StoreDir
from tests.golden import Golden
from tests.mqspark.jobs.test_lag import middle_ms
from tests.storefmt.offline.damages import LOG_OFFSET_POS


def copies_of(golden: Golden, name: str) -> dict[tuple[str, str], int]:
    keys: Counter[tuple[str, str]] = Counter()
    for row in golden.jsonl(name, "records"):
        if row["kind"] != "msg" or "UNIQ_KEY" not in row["properties"]:
            continue
        topic = row["topic"]
        own = topic in duplicates.BROKERS_OWN or topic.startswith(duplicates.OWN_PREFIXES)
        if not own:
            keys[topic, row["properties"]["UNIQ_KEY"]] += 1
    return {key: count for key, count in keys.items() if count > 1}


@pytest.mark.parametrize("name", ["basic", "kinds", "retention"])
def test_copies_are_those_of_the_records(golden: Golden, name: str) -> None:
    found = duplicates.rows_of(duplicates.duplicates_local(str(golden.store(name))))

    assert {(row["topic"], row["unique_key"]): row["copies"] for row in found} == copies_of(
        golden, name
    )


def test_messages_that_are_stored_again_are_copies(golden: Golden) -> None:
    store = golden.store("basic")
    (first, *_) = sorted((store / "commitlog").iterdir())
    last = max((store / "commitlog").iterdir())
    copy = store / "commitlog" / f"{int(last.name) + last.stat().st_size:020}"
    copy.write_bytes(first.read_bytes())
    # A copied file alone is damage, which says nothing of its messages.
    assert duplicates.duplicates_local(str(store)).num_rows == 0

    raw = bytearray(first.read_bytes())
    for start in scan_log(bytes(raw), 0, len(raw))[0]:
        place = slice(start + LOG_OFFSET_POS, start + LOG_OFFSET_POS + 8)
        raw[place] = (int(copy.name) + start).to_bytes(8, "big")
    copy.write_bytes(raw)
    found = duplicates.rows_of(duplicates.duplicates_local(str(store)))

    assert len(found) > 100
    assert {row["copies"] for row in found} == {2}


@pytest.mark.parametrize("name", ["basic", "kinds"])
def test_lag_is_the_sum_over_the_queues(golden: Golden, name: str) -> None:
    directory = golden.store(name)
    expected: Counter[tuple[str, str]] = Counter()
    with StoreDir.open(directory) as store:
        for info in store.group_offsets():
            expected[info.group, info.topic] += max(0, info.lag)

    found = lag.rows_of(lag.lag_local([str(directory)]))

    assert {(row["group"], row["topic"]): row["lag"] for row in found} == dict(expected)
    assert [row["lag"] for row in found] == sorted((row["lag"] for row in found), reverse=True)


@pytest.mark.spark
def test_spark_gives_the_rows_of_the_local_engine(spark: SparkSession, golden: Golden) -> None:
    store = str(golden.store("kinds"))

    older = lag.older_of(f"{store}/config/consumerOffset.json@{middle_ms(Path(store))}")
    doubled = duplicates.rows_of(duplicates.duplicates(spark, store).toArrow())
    behind = lag.rows_of(lag.lag(spark, [store], offsets=older).toArrow())

    assert doubled == duplicates.rows_of(duplicates.duplicates_local(store))
    assert behind == lag.rows_of(lag.lag_local([store], offsets=older))
