"""A store at a glance, and its files."""

from pathlib import Path

import pytest

from storefmt.arrow.columns import iter_batches
from storefmt.offline import StoreDir
from tests.golden import Golden
from tests.storefmt.offline.stores import HEALTHY, store_of


@pytest.mark.parametrize("name", HEALTHY)
def test_info_fits_the_records(golden: Golden, name: str) -> None:
    with StoreDir.open(store_of(golden, name)) as store:
        info = store.info()
        records = [item for item in store.records() if hasattr(item, "store_ms")]

    assert info.version == ("5.x" if name == "v5" else "4.x")
    assert info.first_ms == records[0].store_ms
    assert info.last_ms == records[-1].store_ms
    assert info.behind_size == 0
    assert not info.aborted
    assert info.notes == []
    assert info.message_count >= len(records)


def test_lag_of_groups_is_the_queue_end_less_the_offset(golden: Golden) -> None:
    with StoreDir.open(golden.store("basic")) as store:
        found = {(one.group, one.topic, one.queue_id): one.lag for one in store.info().groups}

    assert found[("grp-b", "clicks_v1", 0)] == 750 - 100
    assert found[("g-over", "tiny", 0)] == 5 - 999999


def test_offsets_of_light_queues_are_among_the_groups(golden: Golden) -> None:
    with StoreDir.open(golden.store("kinds-lmq")) as store:
        managers = golden.expected("kinds-lmq")["configManagers"]
        topics = {topic for topic, _ in store.offsets()}

    assert any(topic.startswith("%LMQ%") for topic in topics), managers


def test_killed_broker_and_damaged_files_are_noted(golden: Golden) -> None:
    path = golden.damaged("23-json-cut")
    (path / "abort").touch()
    (path / "checkpoint").unlink()

    with StoreDir.open(path) as store:
        info = store.info()

    assert info.aborted
    assert info.checkpoint is None
    assert len(info.notes) == 3
    assert "consumerOffset.json.bak is used instead" in info.notes[-1]


def test_files_cover_the_log_and_the_queues(golden: Golden) -> None:
    with StoreDir.open(golden.store("retention")) as store:
        files = store.files()
        log = [file for file in files if file.kind == "commitlog"]
        queue = [file for file in files if file.name.startswith("consumequeue/rt_single/0/")]

    assert [file.end for file in log[:-1]] == [file.start for file in log[1:]]
    assert all(0 < file.first_ms <= file.last_ms for file in log)
    assert [(file.start, file.end) for file in queue] == [
        (400, 500), (500, 600), (600, 700), (700, 753),
    ]  # fmt: skip
    assert queue[-1].fill_size == 53 * 20


def test_a_log_file_says_how_it_ends(basic: Path) -> None:
    first, *_, last = sorted((basic / "commitlog").iterdir())
    with StoreDir.open(basic) as store:
        whole = store.files()[0]
    # Cut behind the last record; then other bytes behind it.
    first.write_bytes(first.read_bytes()[: last_record_end(first)])
    last.write_bytes(last.read_bytes()[: last_record_end(last)] + b"?" * 200)

    with StoreDir.open(basic) as store:
        ends = {file.name: file.end_reason for file in store.files()}

    assert whole.end_reason == "blank"
    assert whole.fill_size == whole.size
    assert ends[f"commitlog/{first.name}"] == "truncated"
    assert ends[f"commitlog/{last.name}"] == "bad_magic"
    assert ends["checkpoint"] == ""


def last_record_end(path: Path) -> int:
    batches = iter_batches([path], columns=("log_offset", "store_size"))
    *_, newest = (row for batch in batches for row in batch.to_pylist())
    return int(newest["log_offset"]) + int(newest["store_size"]) - int(path.name)


def test_stock_store_is_read_in_no_time(golden: Golden) -> None:
    # 1 GiB of log and 420 MB of index, nearly all of it holes.
    with StoreDir.open(golden.store("default-geometry")) as store:
        info, files = store.info(), store.files()

    assert info.size > 1_500_000_000
    assert info.used_size == 311_901
    assert sum(file.fill_size for file in files if file.kind == "index") < 21_000_000
