"""Every table of a store equals what the offline reader returns; no Spark."""

from pathlib import Path

import pytest

from mqspark.sources.store.reading import ReadOptions
from mqspark.sources.store.tables import default_columns, plan, read, table_names
from storefmt.errors import RecordDamaged
from storefmt.formats.consumequeue import CQ_ENTRY, FILLER
from storefmt.offline.views.storedir import StoreDir
from tests.golden import Golden
from tests.mqspark.sources.store.reading import rows
from tests.work import lines_of

STORES = ["basic", "kinds", "ipv6", "retention"]


@pytest.mark.parametrize("name", STORES)
@pytest.mark.parametrize("split_size", [400, 1 << 20])
def test_consumequeue_has_every_entry_once(golden: Golden, name: str, split_size: int) -> None:
    directory = golden.store(name)
    with StoreDir.open(directory) as store:
        expected = [
            (topic, queue_id, queue_offset, *entry)
            for topic, queue_id in store.queues()
            for queue_offset, entry in store.queue(topic, queue_id).entries()
        ]

    found = [
        tuple(row[name] for name in default_columns("consumequeue")[:6])
        for row in rows(directory, "consumequeue", split_size=split_size, rows_max=7)
    ]

    assert found == expected


@pytest.mark.parametrize("filler_count", [7, 2000])
def test_the_fillers_of_a_queue_that_starts_late_are_no_entries(
    golden: Golden, filler_count: int
) -> None:
    directory = golden.store("default-geometry")
    queue = directory / "consumequeue" / "late" / "0"
    queue.mkdir(parents=True)
    entries = b"".join(CQ_ENTRY.pack(100 * number, 100, 7) for number in range(5))
    raw = FILLER * filler_count + entries
    (queue / f"{0:020d}").write_bytes(raw.ljust(6_000_000, b"\0"))

    found = [row for row in rows(directory, "consumequeue", rows_max=3) if row["topic"] == "late"]

    assert [row["queue_offset"] for row in found] == [filler_count + n for n in range(5)]
    assert [row["log_offset"] for row in found] == [0, 100, 200, 300, 400]
    files = rows(directory, "files", columns=("path", "records"))
    assert {"path": f"consumequeue/late/0/{0:020d}", "records": 5} in files


@pytest.mark.parametrize("name", STORES)
def test_index_has_every_entry_once(golden: Golden, name: str) -> None:
    directory = golden.store(name)
    with StoreDir.open(directory) as store:
        expected = [
            (view.span.path.name, number, *entry[:2], entry.previous)
            for view in store.index_files
            for number, entry in view.entries()
        ]

    names = ("file", "position", "key_hash", "log_offset", "prev_position")
    found = [tuple(row[name] for name in names) for row in rows(directory, "index", split_size=300)]

    assert found == expected
    with_entries = [row["file"] for row in rows(directory, "index_files") if row["index_count"] > 1]
    assert with_entries == sorted({file for file, *_ in expected})


@pytest.mark.parametrize("name", STORES)
def test_state_tables_say_what_the_reader_says(golden: Golden, name: str) -> None:
    directory = golden.store(name)
    with StoreDir.open(directory) as store:
        topics = sorted(store.topics().topics)
        groups = sorted(store.groups().groups)
        lags = [(info.group, info.topic, info.queue_id, info.lag) for info in store.group_offsets()]
        delays = sorted(store.delay_offsets().items())
        files = [view.name for view in store.files()]

    assert [row["topic"] for row in rows(directory, "topics")] == topics
    assert [row["consumer_group"] for row in rows(directory, "groups")] == groups
    assert [
        (row["consumer_group"], row["topic"], row["queue_id"], row["lag"])
        for row in rows(directory, "offsets")
    ] == lags
    assert [
        (row["delay_level"], row["queue_offset"]) for row in rows(directory, "delay_offsets")
    ] == delays
    assert [row["path"] for row in rows(directory, "files")] == files
    assert len(rows(directory, "checkpoint")) == 1


def test_a_consumed_message_gives_its_store_time(golden: Golden) -> None:
    found = rows(golden.store("basic"), "offsets")

    consumed = [
        row for row in found if row["min_offset"] < row["queue_offset"] <= row["max_offset"]
    ]
    assert consumed
    assert all(row["last_consumed_timestamp"] is not None for row in consumed)


@pytest.mark.parametrize("table", table_names())
def test_columns_come_in_the_order_they_are_asked_for(golden: Golden, table: str) -> None:
    directory = golden.store("basic")
    columns = tuple(reversed(default_columns(table)))
    reading = ReadOptions(table=table, columns=columns)

    schemas = {
        tuple(batch.schema.names)
        for task in plan(directory, reading)
        for batch in read(task, reading)
    }

    assert schemas in ({columns}, set())


def store_of_queues(root: Path, count: int) -> Path:
    (root / "commitlog").mkdir(parents=True)
    for number in range(count):
        queue = root / "consumequeue" / f"T{number % 300}" / str(number // 300)
        queue.mkdir(parents=True)
        (queue / f"{0:020}").write_bytes(bytes(8) + b"\0\0\0\x64" + bytes(8) + bytes(20))
    return root


def test_thousands_of_queues_are_few_tasks(tmp_path: Path) -> None:
    store = store_of_queues(tmp_path, 3000)

    assert len(plan(store, ReadOptions(table="consumequeue"))) == 1
    assert len(rows(store, "consumequeue")) == 3000


def test_the_work_of_planning_grows_with_the_queues(tmp_path: Path) -> None:
    reading = ReadOptions(table="consumequeue")
    few, many = store_of_queues(tmp_path / "few", 100), store_of_queues(tmp_path / "many", 1000)

    assert lines_of(lambda: plan(many, reading)) < 12 * lines_of(lambda: plan(few, reading))


def test_a_damaged_checkpoint_has_no_times_or_is_an_error(golden: Golden) -> None:
    store = golden.damaged("21-checkpoint-short")

    (row,) = rows(store, "checkpoint")

    times = [row[f"{kind}_timestamp"] for kind in ("physic", "logics", "index")]
    assert (times, row["abort"]) == ([None] * 3, False)
    with pytest.raises(RecordDamaged, match="checkpoint of 10 bytes"):
        rows(store, "checkpoint", fail_on_damage=True)
