"""Unusual layouts: Raft logs, batch consume queues, and logs with missing files."""

from pathlib import Path

import pytest

from mqspark.errors import BadOption
from mqspark.schemas import DAMAGE
from mqspark.sources.store.log_tables import MissingLogFiles
from mqspark.sources.store.options import reading_of
from mqspark.sources.store.reading import ReadOptions, StoreLayout
from mqspark.sources.store.tables import plan
from storefmt.arrow.columns import SCHEMA
from storefmt.errors import DamageKind, NotAStore, RecordDamaged
from tests.golden import Golden
from tests.mqspark.sources.store.reading import rows
from tests.storefmt.vectors import expected_of, raft_records, unpack

MESSAGES = tuple(name for name in SCHEMA.names if name != "crc_ok")


@pytest.mark.parametrize("layout", [StoreLayout.AUTO, StoreLayout.DLEDGER])
def test_messages_of_a_raft_log_are_its_records(tmp_path: Path, layout: StoreLayout) -> None:
    store = unpack("dledger", tmp_path)
    records = raft_records()

    found = rows(store, columns=MESSAGES, layout=layout, rows_max=3)

    assert len(records) > 3
    assert [(row["log_offset"], row["store_size"], row["topic"], row["body"]) for row in found] == [
        (one.log_offset, one.size, one.topic, one.body) for one in records
    ]
    names = {path.name for path in (store / "dledger-n0" / "data").iterdir()}
    assert {row["file"] for row in found} <= names
    assert rows(store, DAMAGE, layout=layout) == []


def test_a_raft_log_goes_on_behind_an_older_log(golden: Golden) -> None:
    store = golden.store("ipv6")
    older = rows(store)
    unpack("dledger", store)

    assert len(rows(store)) == len(older) + len(raft_records())
    assert rows(store, layout=StoreLayout.FILE) == older
    assert len(rows(store, layout=StoreLayout.DLEDGER)) == len(raft_records())


def test_damage_of_a_raft_log_is_the_record_or_the_end_of_its_file(tmp_path: Path) -> None:
    store = unpack("dledger", tmp_path)
    records = raft_records()
    path = min((store / "dledger-n0" / "data").iterdir())
    good = path.read_bytes()
    second = records[1].log_offset

    # The record's own magic; its entry is whole.
    path.write_bytes(good[: second + 4] + b"\1" + good[second + 5 :])
    (lost,) = rows(store, DAMAGE)
    assert (lost["log_offset"], lost["kind"]) == (second - 48, DamageKind.BAD_MAGIC)
    assert lost["resumed_at"] == second + records[1].size
    assert len(rows(store)) == len(records) - 1
    with pytest.raises(RecordDamaged, match=path.name):
        rows(store, fail_on_damage=True)

    # The entry around it.
    path.write_bytes(good[: second - 48] + b"\7" + good[second - 47 :])
    (lost,) = rows(store, DAMAGE)
    assert (lost["log_offset"], lost["resumed_at"]) == (second - 48, len(good))
    behind = [one for one in records if second <= one.log_offset < len(good)]
    assert len(rows(store)) == len(records) - len(behind)


def test_several_raft_logs_are_refused_by_name(tmp_path: Path) -> None:
    store = unpack("dledger", tmp_path)
    (store / "dledger-n0").rename(store / "dledger-n1")
    unpack("dledger", store)

    with pytest.raises(BadOption, match="several Raft logs \\(dledger-n0, dledger-n1\\)"):
        rows(store)


def test_batch_queues_are_those_that_java_read(tmp_path: Path) -> None:
    store = unpack("five", tmp_path)

    for layout in (StoreLayout.AUTO, StoreLayout.BATCHCQ):
        found = [
            row for row in rows(store, "consumequeue", layout=layout, rows_max=2)
            if row["kind"] == "bcq"
        ]  # fmt: skip
        names = ("queue_id", "queue_offset", "log_offset", "size", "tags_code", "batch_num")
        assert [[row[name] for name in names] for row in found] == [
            unit[:-1] for unit in expected_of("five")["units"]
        ]
        assert all(row["topic"] == "bq-topic" for row in found)
        assert all(row["store_timestamp"] is not None for row in found)
    assert not [
        row for row in rows(store, "consumequeue", layout=StoreLayout.FILE) if row["kind"] == "bcq"
    ]


def test_a_file_that_is_gone_is_a_gap(golden: Golden) -> None:
    store = golden.store("basic")
    first, second, third, *_ = sorted((store / "commitlog").iterdir())
    second.unlink()

    (found,) = rows(store, DAMAGE)

    gone = int(second.name), int(third.name)
    assert (found["file"], found["kind"]) == (second.name, "gap")
    assert (found["log_offset"], found["resumed_at"]) == gone
    assert found["length"] == gone[1] - gone[0]
    assert [
        each for each in plan(store, ReadOptions(table=DAMAGE)) if isinstance(each, MissingLogFiles)
    ]
    assert not [each for each in plan(store) if isinstance(each, MissingLogFiles)]
    assert first.exists()


def test_layouts_that_cannot_be_are_refused_by_name(golden: Golden) -> None:
    with pytest.raises(BadOption, match="layout is 'rocksdb', expected auto or file or batchcq"):
        reading_of({"layout": "rocksdb"})
    with pytest.raises(BadOption, match="layout dledger has no table index; it has commitlog"):
        reading_of({"layout": "dledger", "table": "index"})
    with pytest.raises(NotAStore, match="holds no Raft log"):
        rows(golden.store("ipv6"), layout=StoreLayout.DLEDGER)
    assert reading_of({"layout": "BatchCQ", "table": "consumequeue"}).layout is StoreLayout.BATCHCQ
