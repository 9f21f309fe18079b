"""Counting a log: the fast and the slow way agree with the real reader's lines."""

from collections import Counter

import pytest

from storefmt.offline import StoreDir
from storefmt.offline.analyse import record_counts
from storefmt.offline.analyse.record_counts import (
    BUCKETS_MS,
    OTHERS,
    By,
    CountFilter,
    bucket_for,
    with_empty_spans,
)
from storefmt.offline.analyse.stats import count_records
from tests.golden import Golden
from tests.storefmt.offline.stores import HEALTHY, store_of

BOTH = pytest.mark.parametrize("columns", [False, True], ids=["records", "columns"])


@pytest.fixture(autouse=True)
def installed(request: pytest.FixtureRequest) -> None:
    if "columns" in request.node.name:
        pytest.importorskip("pyarrow")


@BOTH
@pytest.mark.parametrize("name", ["basic", "kinds", "ipv6", "v5", "retention"])
def test_counts_equal_the_real_readers(golden: Golden, name: str, columns: bool) -> None:
    lines = [line for line in golden.jsonl(name, "records") if line["kind"] == "msg"]
    with StoreDir.open(golden.store(name)) as store:
        queues = count_records(store, By.QUEUE, columns=columns)
        tags = count_records(store, By.TAG, columns=columns)

    assert {key: tally.count for key, tally in queues.items()} == Counter(
        (line["topic"], line["queueId"]) for line in lines
    )
    assert {key[0]: tally.count for key, tally in tags.items()} == Counter(
        line["properties"].get("TAGS") for line in lines
    )
    assert sum(tally.size for tally in queues.values()) == sum(line["size"] for line in lines)
    times = [line["storeTimestamp"] for line in lines]
    assert min(tally.first_ms for tally in queues.values()) == min(times)
    assert max(tally.last_ms for tally in queues.values()) == max(times)


@pytest.mark.parametrize("name", HEALTHY)
def test_both_ways_agree(golden: Golden, name: str) -> None:
    pytest.importorskip("pyarrow")
    with StoreDir.open(store_of(golden, name)) as store:
        for by in By:
            slow = count_records(store, by, bucket_ms=1000, columns=False)
            fast = count_records(store, by, bucket_ms=1000, columns=True)

            assert fast == slow


@BOTH
def test_filters_narrow_what_is_counted(golden: Golden, columns: bool) -> None:
    lines = [line for line in golden.jsonl("basic", "records") if line["kind"] == "msg"]
    at = lines[700]["storeTimestamp"]
    with StoreDir.open(golden.store("basic")) as store:
        found = count_records(
            store, By.TOPIC, wanted=CountFilter(topic="tiny", begin_ms=at, end_ms=at + 4_000),
            columns=columns,
        )  # fmt: skip

    wanted = [
        line
        for line in lines
        if line["topic"] == "tiny" and at <= line["storeTimestamp"] <= at + 4_000
    ]
    assert sum(tally.count for tally in found.values()) == len(wanted)


@BOTH
def test_damage_is_passed_over(golden: Golden, columns: bool) -> None:
    with StoreDir.open(golden.damaged("33-magic-wrong")) as store:
        found = count_records(store, By.TOPIC, columns=columns)

    assert 1300 < sum(tally.count for tally in found.values()) < 1420


def test_too_many_keys_are_counted_as_others(
    golden: Golden, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_counts, "KEYS_MAX", 3)
    with StoreDir.open(golden.store("basic")) as store:
        found = count_records(store, By.TOPIC, columns=False)

    assert len(found) == 4
    assert (OTHERS,) in found
    assert sum(tally.count for tally in found.values()) == 1420


def test_spans_suit_the_time_between_the_ends() -> None:
    day = 86_400_000

    assert bucket_for(0, 0) == 1_000
    assert bucket_for(0, 30_000) == 1_000
    assert bucket_for(0, day) == 3_600_000
    assert bucket_for(0, 10**15) == BUCKETS_MS[-1]


def test_empty_spans_between_others_are_there_but_not_a_million() -> None:
    tally = record_counts.RecordCount(1, 100, 5, 5)

    starts = [at for at, _ in with_empty_spans({0: tally, 3000: tally}, 1000)]
    assert starts == [0, 1000, 2000, 3000]
    assert [at for at, _ in with_empty_spans({0: tally, 10**12: tally}, 1000)] == [0, 10**12]
    assert with_empty_spans({}, 1000) == []
