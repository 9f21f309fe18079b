"""Every table of every golden store equals what the real Java code reported of it."""

import hashlib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from mqspark.sources.store.reading import ReadOptions
from mqspark.sources.store.tables import default_columns, table_names
from storefmt.arrow.columns import SCHEMA
from storefmt.config.fastjson import loads
from storefmt.formats.consumequeue import FILLER_SIZE
from tests.golden import Golden
from tests.mqspark.sources.store.reading import rows_of
from tests.storefmt.offline.stores import store_of

CRASHED = tuple(
    f"crash/{how}/{when}"
    for how in ("mmap", "checkpoint", "torn", "hole", "cqlost")
    for when in ("crashed", "recovered")
)
STORES = (
    *("basic", "kinds", "kinds-lmq", "ipv6", "retention", "default-geometry"),
    *("slave/slave", "slave/master", "v5"),
    *CRASHED,
)
TORN = tuple(name for name in CRASHED if "/torn/" in name or "/hole/" in name)
"""Where a power cut took the end of the log: its last record is torn."""
OF_MEMBER = {"master": "-master", "recovered": "-recovered"}


NO_TIME = -1
AS_THEY_ARE = (
    *("file", "physicOffset", "size", "magic", "bodyCRC", "bodyCrcOk", "topic", "queueId"),
    *("queueOffset", "flag", "sysFlag", "bodyLen", "bodySha256", "bornTimestamp"),
    *("storeTimestamp", "reconsumeTimes", "preparedTransactionOffset", "msgId", "properties"),
    "propertiesSha256_16",
)


def told(golden: Golden, name: str, which: str) -> list[dict[str, Any]]:
    family, _, member = name.rpartition("/")
    try:
        return list(golden.jsonl(family or name, which + OF_MEMBER.get(member, "")))
    except FileNotFoundError:
        # A recovery that left the log as it was has no list of its own.
        return list(golden.jsonl(family, which))


def said(golden: Golden, name: str) -> dict[str, Any]:
    family, _, member = name.rpartition("/")
    return golden.expected(family or name, "expected" + OF_MEMBER.get(member, ""))


def rows(directory: Path, table: str, columns: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    # Small splits and batches: the rows are put together of many.
    reading = ReadOptions(
        table=table,
        columns=columns or default_columns(table),
        split_size=300_000,
        rows_max=97,
        check_crc=table == "commitlog",
    )
    return rows_of(directory, reading)


@pytest.mark.parametrize("name", STORES)
def test_commitlog(golden: Golden, name: str) -> None:
    records = [row for row in told(golden, name, "records") if row["kind"] == "msg"]
    # Java's walk by sizes gives the torn record, too, with bytes left over: here it is damage.
    records = [row for row in records if not row["slack"]]

    found = rows(store_of(golden, name), "commitlog", tuple(SCHEMA.names))

    messages = [message(row) for row in found]
    # Java stops at damage; here whole records behind a hole are rows as well.
    behind = messages[len(records) :] if name in TORN else []
    assert messages[: len(messages) - len(behind)] == [java_message(row) for row in records]
    assert all(row["bodyCrcOk"] for row in behind)
    assert bool(behind) == ("/hole/" in name)


def message(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "file": row["file"],
        "physicOffset": row["log_offset"],
        "size": row["store_size"],
        "magic": row["magic"],
        "bodyCRC": row["body_crc"],
        "bodyCrcOk": row["crc_ok"],
        "topic": row["topic"],
        "queueId": row["queue_id"],
        "queueOffset": row["queue_offset"],
        "flag": row["flag"],
        "sysFlag": row["sys_flag"],
        "bodyLen": row["body_size"],
        "bodySha256": hashlib.sha256(row["body"]).hexdigest(),
        "bornTimestamp": ms(row["born_timestamp"]),
        "storeTimestamp": ms(row["store_timestamp"]),
        "bornPort": row["born_port"],
        "storePort": row["store_port"],
        "reconsumeTimes": row["reconsume_times"],
        "preparedTransactionOffset": row["prepared_transaction_offset"],
        "msgId": row["msg_id"],
        "properties": dict(row["properties"]),
        "propertiesSha256_16": hashlib.sha256(row["properties_raw"]).hexdigest()[:16],
        "tags": row["tags"],
        "uniqKey": row["unique_key"],
    }


def java_message(row: dict[str, Any]) -> dict[str, Any]:
    return {
        **{name: row[name] for name in AS_THEY_ARE},
        "bornTimestamp": shown(row["bornTimestamp"]),
        "bornPort": int(row["bornHost"].rpartition(":")[2]),
        "storePort": int(row["storeHost"].rpartition(":")[2]),
        "tags": row["properties"].get("TAGS"),
        "uniqKey": row["properties"].get("UNIQ_KEY"),
    }


def ms(moment: Any) -> int:
    # A time of no year that there is (a test of the client set it) is null.
    return NO_TIME if moment is None else round(moment.timestamp() * 1000)


def shown(time_ms: int) -> int:
    return time_ms if abs(time_ms) < 1 << 47 else NO_TIME


@pytest.mark.parametrize("name", STORES)
def test_consumequeue(golden: Golden, name: str) -> None:
    expected = {}
    for file in told(golden, name, "cq"):
        entries = expected.setdefault((file["topic"], int(file["queueId"])), [])
        entries += [tuple(entry) for entry in file["entries"] if entry[2] != FILLER_SIZE]

    found: dict[tuple[str, int], list[tuple[int, ...]]] = {}
    for row in rows(store_of(golden, name), "consumequeue"):
        entry = row["queue_offset"], row["log_offset"], row["size"], row["tags_code"]
        found.setdefault((row["topic"], row["queue_id"]), []).append(entry)

    assert found == {key: entries for key, entries in expected.items() if entries}


@pytest.mark.parametrize("name", STORES)
def test_index_and_its_headers(golden: Golden, name: str) -> None:
    files = told(golden, name, "index")
    expected = [
        (file["file"], n, key_hash, log_offset, previous)
        for file in files
        for n, key_hash, log_offset, _, previous in file["entries"]
    ]
    store = store_of(golden, name)

    names = ("file", "position", "key_hash", "log_offset", "prev_position")
    assert [tuple(row[name] for name in names) for row in rows(store, "index")] == expected

    headers = {row["file"]: row for row in rows(store, "index_files")}
    assert sorted(headers) == sorted(file["file"] for file in files)
    for file in files:
        header = headers[file["file"]]
        assert header["size"] == file["length"]
        assert header["begin_log_offset"] == file["beginPhyOffset"]
        assert header["end_log_offset"] == file["endPhyOffset"]
        assert header["hash_slot_count"] == file["slots"]
        # Java reads a count of 0, in a file that nothing was written to, as 1.
        assert header["index_count"] == max(1, file["indexCount"])
        for name, key in (("begin", "beginTimestamp"), ("end", "endTimestamp")):
            time = header[f"{name}_timestamp"]
            assert (0 if time is None else ms(time)) == file[key]


@pytest.mark.parametrize("name", [name for name in STORES if name != "v5"])
def test_state_files(golden: Golden, name: str) -> None:
    java = said(golden, name)["configManagers"]
    store = store_of(golden, name)

    offsets: dict[str, dict[str, int]] = {}
    for row in rows(store, "offsets"):
        key = f"{row['topic']}@{row['consumer_group']}"
        offsets.setdefault(key, {})[str(row["queue_id"])] = row["queue_offset"]
    if java["consumerOffset"]:
        # The stock manager loads nothing from a broker with light queues (kinds-lmq).
        assert offsets == {key: value for key, value in java["consumerOffset"].items() if value}
    delays = {str(row["delay_level"]): row["queue_offset"] for row in rows(store, "delay_offsets")}
    # A broker that was killed early had not written the file.
    assert delays == java.get("delayOffset", {})
    loaded = java["topics_read_write_perm_sysflag_order"]
    for row in rows(store, "topics"):
        names = ("read_queue_nums", "write_queue_nums", "perm", "topic_sys_flag", "order")
        assert [row[name] for name in names] == loaded[row["topic"]]
    loaded = java["groups_enable_fromMin_broadcast_retryQueues_retryMax_brokerId_slow"]
    for row in rows(store, "groups"):
        names = (
            *("consume_enable", "consume_from_min_enable", "consume_broadcast_enable"),
            *("retry_queue_nums", "retry_max_times", "broker_id"),
            "which_broker_when_consume_slowly",
        )
        assert [row[name] for name in names] == loaded[row["consumer_group"]]


def test_state_files_of_5x(golden: Golden) -> None:
    texts, store = said(golden, "v5")["configText"], golden.store("v5")

    def written(file: str, table: str) -> Any:
        value: Any = loads(texts[file])
        return value[table]

    offsets: dict[str, dict[int, int]] = {}
    for row in rows(store, "offsets"):
        key = f"{row['topic']}@{row['consumer_group']}"
        offsets.setdefault(key, {})[row["queue_id"]] = row["queue_offset"]
    kept = written("consumerOffset.json", "offsetTable")
    assert offsets == {key: value for key, value in kept.items() if value} != {}
    delays = {row["delay_level"]: row["queue_offset"] for row in rows(store, "delay_offsets")}
    assert delays == written("delayOffset.json", "offsetTable") != {}
    topics = written("topics.json", "topicConfigTable")
    assert {row["topic"]: fields(row, TOPIC_FIELDS) for row in rows(store, "topics")} == {
        name: [topic[java] for java in TOPIC_FIELDS.values()] for name, topic in topics.items()
    }
    assert {row["topic"]: loads(row["raw"]) for row in rows(store, "topics")} == topics
    kept = {row["topic"]: dict(row["attributes"] or ()) for row in rows(store, "topics")}
    assert kept == {name: topic.get("attributes", {}) for name, topic in topics.items()}
    groups = written("subscriptionGroup.json", "subscriptionGroupTable")
    assert {row["consumer_group"]: loads(row["raw"]) for row in rows(store, "groups")} == groups
    assert {row["consumer_group"]: fields(row, GROUP_FIELDS) for row in rows(store, "groups")} == {
        name: [group[java] for java in GROUP_FIELDS.values()] for name, group in groups.items()
    }


TOPIC_FIELDS = {
    "read_queue_nums": "readQueueNums",
    "write_queue_nums": "writeQueueNums",
    "perm": "perm",
    "topic_filter_type": "topicFilterType",
    "topic_sys_flag": "topicSysFlag",
    "order": "order",
}
GROUP_FIELDS = {
    "consume_enable": "consumeEnable",
    "consume_from_min_enable": "consumeFromMinEnable",
    "consume_broadcast_enable": "consumeBroadcastEnable",
    "retry_queue_nums": "retryQueueNums",
    "retry_max_times": "retryMaxTimes",
    "broker_id": "brokerId",
    "which_broker_when_consume_slowly": "whichBrokerWhenConsumeSlowly",
    "notify_consumer_ids_changed_enable": "notifyConsumerIdsChangedEnable",
}


def fields(row: dict[str, Any], names: dict[str, str]) -> list[Any]:
    return [row[name] for name in names]


@pytest.mark.parametrize("name", STORES)
def test_files_and_checkpoint(golden: Golden, name: str) -> None:
    java = said(golden, name)
    store = store_of(golden, name)

    sizes = {row["path"]: row["size"] for row in rows(store, "files")}
    expected = {path: of for path, of in java["files"].items() if not path.endswith("/")}
    assert sizes == {path: size_of(of) for path, of in expected.items()}

    (row,) = rows(store, "checkpoint")
    times = [row[f"{kind}_timestamp"] for kind in ("physic", "logics", "index")]
    assert [0 if time is None else ms(time) for time in times] == java["scan"]["checkpoint"]
    assert row["abort"] == java["scan"]["abort"]


def test_files_below_the_directories_of_5x_have_their_kind(golden: Golden) -> None:
    store = golden.store("v5")
    for name in ("batchconsumequeue/T/0/00000000000000000000", "timerlog/a/b", "rocksdbstore/x"):
        path = store / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(46))
    (store / "timerlog" / "circle").symlink_to(store)

    kinds = {row["path"]: row["kind"] for row in rows(store, "files")}

    assert set(kinds) == {
        path.relative_to(store).as_posix() for path in store.rglob("*") if path.is_file()
    }
    assert kinds["batchconsumequeue/T/0/00000000000000000000"] == "batchconsumequeue"
    assert (kinds["timerlog/a/b"], kinds["rocksdbstore/x"]) == ("timerlog", "rocksdbstore")


@pytest.mark.parametrize("name", STORES)
def test_files_say_how_each_ends_and_how_many_records_it_has(golden: Golden, name: str) -> None:
    store = store_of(golden, name)
    records = rows(store, "commitlog", columns=("file", "topic"))
    newest = {f"commitlog/{row['file']}": row["topic"] for row in records}
    counts = Counter(f"commitlog/{row['file']}" for row in records)
    entries = len(rows(store, "consumequeue")) + len(rows(store, "index"))

    files = rows(store, "files", columns=("path", "kind", "end_reason", "newest_topic", "records"))

    log = {row["path"]: row for row in files if row["kind"] == "commitlog"}
    others = [row for row in files if row["path"] not in log]
    assert {path: row["records"] for path, row in log.items() if row["records"]} == counts
    assert {path: row["newest_topic"] for path, row in log.items() if row["records"]} == newest
    ends = [log[path]["end_reason"] for path in sorted(counts)]
    assert ends[:-1] == ["blank"] * (len(ends) - 1)
    assert ends[-1] == "zero" or name in TORN
    assert sum(row["records"] or 0 for row in others) == entries
    assert {row["end_reason"] for row in others} == {None}


def size_of(file: Any) -> int:
    return int(file["length"] if isinstance(file, dict) else file[0])


@pytest.mark.parametrize("name", STORES)
def test_damage_is_the_torn_record_and_a_healthy_log_has_none(golden: Golden, name: str) -> None:
    torn = [row["physicOffset"] for row in told(golden, name, "records") if row.get("slack")]

    found = rows(store_of(golden, name), "damage")

    assert [row["log_offset"] for row in found] == torn
    assert bool(torn) == (name in TORN)


def test_every_table_is_tested_here() -> None:
    assert set(table_names()) == {
        *("commitlog", "consumequeue", "index", "index_files", "offsets", "delay_offsets"),
        *("topics", "groups", "files", "checkpoint", "damage"),
    }
