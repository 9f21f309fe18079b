"""Multi-dispatch and light queues, against a store of the real broker and by themselves."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from server.store.config import StoreConfig
from server.store.results import DispatchEntry, PutMessage, PutStatus
from server.store.store import MessageStore
from storefmt.formats.message import decode_record
from storefmt.formats.properties import (
    INNER_MULTI_DISPATCH,
    INNER_MULTI_QUEUE_OFFSET,
    parse_properties,
)
from tests.golden import Golden
from tests.server.store.stores import (
    START_MS,
    abandon,
    bodies,
    config_of,
    delete_topic,
    entries_on_disk,
    index_contents,
    log_records,
    message,
    message_of,
    open_store,
    small_config,
    tree,
)

# Queues that hold nothing but copies; the others of that store have ext addresses.
COPIED = ["%LMQ%kd-u1", "%LMQ%kd-u2", "%LMQ%kd-u3", "kd-multi"]


def golden_config(golden: Golden, root: Path) -> StoreConfig:
    config = config_of(root, golden.conf("kinds-lmq"))
    config.enable_multi_dispatch = config.enable_lmq = True
    return config


def light_config(root: Path) -> StoreConfig:
    config = small_config(root)
    config.enable_multi_dispatch = config.enable_lmq = True
    return config


def copied(number: int, names: str, **changes: object) -> PutMessage:
    one = message(number, queue_id=1)
    properties = f"{INNER_MULTI_DISPATCH}\x01{names}\x02".encode() + one.properties
    return replace(one, properties=properties, **changes)  # type: ignore[arg-type]


def copied_queues(root: Path) -> dict[str, bytes]:
    return tree(root, *(f"consumequeue/{name}" for name in COPIED))


def test_golden_store_is_written_again_byte_for_byte(golden: Golden, tmp_path: Path) -> None:
    source, root = golden.store("kinds-lmq"), tmp_path / "store"
    codes = entries_on_disk(source)
    store = open_store(golden_config(golden, root))

    for record in log_records(source):
        one = message_of(record, codes.get(record.log_offset, 0))
        named = parse_properties(one.properties)
        if named.pop(INNER_MULTI_QUEUE_OFFSET, None) is not None:
            one.properties = "\x02".join(
                f"{name}\x01{value}" for name, value in named.items()
            ).encode()
            one.tags_code = 76
        store.put(one, record.store_ms)
        store.write(record.store_ms)
    store.close(0)

    assert tree(root, "commitlog") == tree(source, "commitlog")
    assert copied_queues(root) == copied_queues(source)
    assert index_contents(root) == index_contents(source)


@pytest.mark.parametrize("clean", [True, False], ids=["stopped", "killed"])
def test_golden_store_gets_its_copies_back(golden: Golden, clean: bool) -> None:
    root = golden.store("kinds-lmq")
    before = copied_queues(root)
    for name in COPIED[1:]:
        shutil.rmtree(root / "consumequeue" / name)
    if not clean:
        (root / "abort").touch()

    store = open_store(golden_config(golden, root))
    found = {name: store.max_offset(name, 0) for name in COPIED}
    store.close(0)

    expected = golden.expected("kinds-lmq")["open"]["queues"]
    assert found == {name: expected[f"{name}@0"]["max"] for name in COPIED}
    assert copied_queues(root) == before


def test_golden_store_opens_with_the_offsets_java_has_and_goes_on(golden: Golden) -> None:
    root = golden.store("kinds-lmq")
    config = golden_config(golden, root)
    store = open_store(config)
    expected = golden.expected("kinds-lmq")["open"]["queues"]

    assert store.recovery.rebuilt_queues == []
    for name, queue in expected.items():
        topic, _, queue_id = name.rpartition("@")
        assert store.max_offset(topic, int(queue_id)) == queue["max"], name
    place = store.put(copied(1, "%LMQ%kd-u1,kd-multi"), START_MS)
    store.write(START_MS)

    record = store.read_record(place.log_offset)
    assert record is not None
    assert decode_record(record).properties[INNER_MULTI_QUEUE_OFFSET] == "10,2"
    assert store.max_offset("%LMQ%kd-u1", 0) == 11
    assert store.max_offset("kd-multi", 1) == 3
    store.close(0)


def put_copied(store: MessageStore, number: int, names: str) -> PutStatus:
    status = store.put(copied(number, names), START_MS).status
    store.write(START_MS)
    return status


def test_copies_are_read_counted_and_told_like_messages_of_their_queues(tmp_path: Path) -> None:
    store = open_store(light_config(tmp_path))
    told: list[DispatchEntry] = []
    store.on_dispatch = told.extend

    put_copied(store, 1, "%LMQ%a,%LMQ%b,other,%LMQ%a")
    put_copied(store, 2, "%LMQ%a,")
    put_copied(store, 3, " ")

    record = store.read_record(0)
    assert record is not None
    assert decode_record(record).properties[INNER_MULTI_QUEUE_OFFSET] == "0,0,0,0"
    first, second = message(1).body, message(2).body
    assert bodies(store, "%LMQ%a", 0) == [first, second]
    assert bodies(store, "%LMQ%b", 0) == [first]
    assert bodies(store, "other", 1) == [first]
    assert bodies(store, "topic-a", 1) == [first, second, message(3).body]
    assert [(entry.topic, entry.queue_offset) for entry in told[:4]] == [
        ("topic-a", 0), ("%LMQ%a", 0), ("%LMQ%b", 0), ("other", 0),
    ]  # fmt: skip
    assert store.put_count == 3
    assert len(store.query("topic-a", "k1", count_max=9).records) == 1
    store.close(START_MS)


def test_restart_and_kill_keep_the_copies(tmp_path: Path) -> None:
    config = light_config(tmp_path)
    store = open_store(config)
    for number in range(50):
        put_copied(store, number, "%LMQ%a,other")
    abandon(store)

    killed = open_store(config)
    counts = [killed.max_offset("%LMQ%a", 0), killed.max_offset("other", 1)]
    put_copied(killed, 50, "%LMQ%a,other")
    killed.close(START_MS)
    again = open_store(config)

    assert counts == [50, 50]
    assert again.recovery.clean
    assert bodies(again, "%LMQ%a", 0) == [message(number).body for number in range(51)]
    again.close(START_MS)


def test_waiting_messages_are_copied_once_when_they_are_put_again(tmp_path: Path) -> None:
    config = light_config(tmp_path)
    store = open_store(config)
    stale = copied(1, f"%LMQ%a\x02{INNER_MULTI_QUEUE_OFFSET}\x017", topic="SCHEDULE_TOPIC_XXXX")
    stale.topic_bytes = b"SCHEDULE_TOPIC_XXXX"

    store.put(stale, START_MS)
    store.put(copied(1, "%LMQ%a", sys_flag=4), START_MS)
    store.write(START_MS)
    abandon(store)
    store = open_store(config)

    assert store.max_offset("SCHEDULE_TOPIC_XXXX", 1) == 1
    assert store.max_offset("%LMQ%a", 0) == 0
    store.close(START_MS)


@pytest.mark.parametrize("name", ["../../up", "a/b", "a,,b", "x" * 128, "%LMQ%" + "é" * 62])
def test_name_that_is_no_topic_is_refused(tmp_path: Path, name: str) -> None:
    store = open_store(light_config(tmp_path))

    assert put_copied(store, 1, name) is PutStatus.MESSAGE_ILLEGAL
    assert store.written_offset == 0
    store.close(START_MS)


def test_one_light_queue_too_many_is_refused_and_others_go_on(tmp_path: Path) -> None:
    config = light_config(tmp_path)
    config.max_lmq_consume_queue_num = 2
    store = open_store(config)

    statuses = [put_copied(store, at, f"%LMQ%{name}") for at, name in enumerate("abcab")]
    delete_topic(store, "%LMQ%a")
    statuses.append(put_copied(store, 6, "%LMQ%c"))

    ok, exceeded = PutStatus.PUT_OK, PutStatus.LMQ_CONSUME_QUEUE_NUM_EXCEEDED
    assert statuses == [ok, ok, exceeded, ok, ok, ok]
    store.close(START_MS)


def test_without_the_setting_nothing_is_copied(tmp_path: Path) -> None:
    store = open_store(small_config(tmp_path))
    one = copied(1, "%LMQ%a")

    store.put(one, START_MS)
    store.write(START_MS)

    assert store.queues() == [("topic-a", 1)]
    assert one.properties == copied(1, "%LMQ%a").properties
    store.close(START_MS)
