"""Multi-dispatch and light queues, against a store of the real broker and by themselves."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from mqserver.store.results import DispatchEntry, PutMessage, PutStatus, RunResult
from mqserver.store.store import MessageStore
from mqserver.store.store_config import StoreConfig
from mqserver.store.store_errors import StoreFull
from storefmt.formats.message import decode_record
from storefmt.formats.properties import INNER_MULTI_QUEUE_OFFSET, parse_properties
from tests.golden import Golden
from tests.server.store.simdisk import SimDisk, refusing
from tests.server.store.stores import (
    START_MS,
    abandon,
    bodies,
    config_of,
    copied,
    delete_topic,
    entries_on_disk,
    index_contents,
    log_records,
    message,
    message_of,
    open_store,
    put_and_write,
    records_of_key,
    run_of,
    small_config,
    tree,
)

# Queues that hold nothing but copies; the others of that store have ext addresses.
COPIED = ["%LMQ%kd-u1", "%LMQ%kd-u2", "%LMQ%kd-u3", "kd-multi"]


def golden_config(golden: Golden, root: Path) -> StoreConfig:
    config = config_of(root, golden.conf("kinds-lmq"))
    return replace(config, enable_multi_dispatch=True, enable_lmq=True)


def light_config(root: Path, **changes: object) -> StoreConfig:
    return small_config(root, enable_multi_dispatch=True, enable_lmq=True, **changes)


def offsets_of_copies(store: MessageStore, log_offset: int) -> str:
    record = decode_record(store.reader.read_record(log_offset))
    return record.properties[INNER_MULTI_QUEUE_OFFSET]


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

    assert offsets_of_copies(store, place.log_offset) == "10,2"
    assert store.max_offset("%LMQ%kd-u1", 0) == 11
    assert store.max_offset("kd-multi", 1) == 3


def put_copied(store: MessageStore, number: int, names: str) -> PutStatus:
    status = store.put(copied(number, names), START_MS).status
    store.write(START_MS)
    return status


def put_batch(store: MessageStore, *messages: PutMessage) -> RunResult:
    result = store.put_run(run_of(messages), START_MS)
    store.write(START_MS)
    return result


def own_queue_bodies(store: MessageStore) -> list[list[bytes]]:
    return [bodies(store, topic, queue_id) for topic, queue_id in sorted(store.queues())]


NAMED = ["%LMQ%a,other", "%LMQ%a", "topic-a,%LMQ%a,topic-a", " ", "other,%LMQ%b,%LMQ%a"]


def test_batch_is_copied_like_single_messages(tmp_path: Path) -> None:
    singly = open_store(light_config(tmp_path / "a"))
    at_once = open_store(light_config(tmp_path / "b"))
    told: list[DispatchEntry] = []
    at_once.dispatched.add(told.extend)

    # What a producer says of queue offsets does not count.
    several = [copied(n, names, offsets="9", born_ms=7) for n, names in enumerate(NAMED)]
    put_and_write(singly, [replace(one) for one in several])
    result = put_batch(at_once, *several)

    assert result.status is PutStatus.PUT_OK
    assert log_records(tmp_path / "a") == log_records(tmp_path / "b")
    assert at_once.queues() == singly.queues()
    assert own_queue_bodies(at_once) == own_queue_bodies(singly)
    assert len(bodies(at_once, "%LMQ%a", 0)) == 4
    assert [entry.log_offset for entry in told] == sorted(entry.log_offset for entry in told)


@pytest.mark.parametrize("multi_dispatch", [True, False])
@pytest.mark.parametrize("offsets", ["0", "1", "6", "9"])
def test_what_the_messages_of_a_batch_say_of_queue_offsets_hides_no_queue_after_a_kill(
    tmp_path: Path, offsets: str, multi_dispatch: bool
) -> None:
    config = small_config(tmp_path, log_file_size=1 << 20, enable_multi_dispatch=multi_dispatch)
    store = open_store(config)
    for number in range(6):
        store.put(message(number, queue_id=1), START_MS)
    strays = [copied(50 + n, "topic-a", offsets=offsets, topic="topic-b") for n in range(3)]
    put_batch(store, *strays)
    sent = own_queue_bodies(store)
    abandon(store)

    after = open_store(config)

    assert [len(queue) for queue in sent] == [6 + 3 * multi_dispatch, 3]
    assert own_queue_bodies(after) == sent


def test_batch_with_a_name_that_is_refused_leaves_nothing(tmp_path: Path) -> None:
    store = open_store(light_config(tmp_path, max_lmq_consume_queue_num=1))

    statuses = [
        put_batch(store, copied(1, "%LMQ%a,other"), copied(2, names)).status
        for names in ("a/b", "%LMQ%b", "%LMQ%a")
    ]

    illegal, exceeded = PutStatus.MESSAGE_ILLEGAL, PutStatus.LMQ_CONSUME_QUEUE_NUM_EXCEEDED
    assert statuses == [illegal, exceeded, PutStatus.PUT_OK]
    assert len(bodies(store, "topic-a", 1)) == len(bodies(store, "%LMQ%a", 0)) == 2
    assert store.max_offset("other", 1) == 1


def test_batch_that_could_not_be_written_takes_no_offset_of_a_copy(disk: SimDisk) -> None:
    store = open_store(light_config(Path("/store")), disk=disk)
    put_batch(store, copied(0, "%LMQ%a,other"))
    disk.on_call = refusing("pwrite")
    with pytest.raises(StoreFull):
        put_batch(store, copied(1, "%LMQ%a"), copied(2, "%LMQ%a,topic-a,other"))
    disk.on_call = lambda name, path: None
    put_batch(store, copied(3, "%LMQ%a"), copied(4, "other"))

    first, third, fourth = (message(number).body for number in (0, 3, 4))
    assert bodies(store, "topic-a", 1) == [first, third, fourth]
    assert bodies(store, "%LMQ%a", 0) == [first, third]
    assert bodies(store, "other", 1) == [first, fourth]
    assert offsets_of_copies(store, store.last_log_offset) == "1"
    store.close(START_MS)


@pytest.mark.parametrize("has_files", [True, False], ids=["killed", "rebuilt"])
def test_message_that_names_its_own_queue_is_there_once_also_after_a_start(
    tmp_path: Path, has_files: bool
) -> None:
    config = light_config(tmp_path)
    store = open_store(config)
    for number in range(5):
        put_copied(store, number, "topic-a,%LMQ%a")
    put_batch(store, *(copied(number, "topic-a,%LMQ%a") for number in range(5, 9)))
    sent = bodies(store, "topic-a", 1)
    if has_files:
        abandon(store)
    else:
        store.close(START_MS)
        shutil.rmtree(tmp_path / "consumequeue")

    after = open_store(config)

    assert sent == [message(number).body for number in range(9)]
    assert bodies(after, "topic-a", 1) == bodies(after, "%LMQ%a", 0) == sent
    assert after.max_offset("topic-a", 1) == 9


def test_copies_are_read_counted_and_told_like_messages_of_their_queues(tmp_path: Path) -> None:
    store = open_store(light_config(tmp_path))
    told: list[DispatchEntry] = []
    store.dispatched.add(told.extend)

    put_copied(store, 1, "%LMQ%a,%LMQ%b,other,%LMQ%a")
    put_copied(store, 2, "%LMQ%a,")
    put_copied(store, 3, " ")

    assert offsets_of_copies(store, 0) == "0,0,0,0"
    first, second = message(1).body, message(2).body
    assert bodies(store, "%LMQ%a", 0) == [first, second]
    assert bodies(store, "%LMQ%b", 0) == [first]
    assert bodies(store, "other", 1) == [first]
    assert bodies(store, "topic-a", 1) == [first, second, message(3).body]
    assert [(entry.topic, entry.queue_offset) for entry in told[:4]] == [
        ("topic-a", 0), ("%LMQ%a", 0), ("%LMQ%b", 0), ("other", 0),
    ]  # fmt: skip
    assert store.put_count == 3
    assert len(records_of_key(store, "topic-a", "k1", count_max=9)) == 1


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


def test_waiting_messages_are_copied_once_when_they_are_put_again(tmp_path: Path) -> None:
    config = light_config(tmp_path)
    store = open_store(config)
    stale = copied(1, "%LMQ%a", offsets="7", topic="SCHEDULE_TOPIC_XXXX")

    store.put(stale, START_MS)
    put_and_write(store, [copied(1, "%LMQ%a", sys_flag=4)])
    abandon(store)
    store = open_store(config)

    assert store.max_offset("SCHEDULE_TOPIC_XXXX", 1) == 1
    assert store.max_offset("%LMQ%a", 0) == 0


@pytest.mark.parametrize("name", ["../../up", "a/b", "a,,b", "x" * 128, "%LMQ%" + "é" * 62])
def test_name_that_is_no_topic_is_refused(tmp_path: Path, name: str) -> None:
    store = open_store(light_config(tmp_path))

    assert put_copied(store, 1, name) is PutStatus.MESSAGE_ILLEGAL
    assert store.written_offset == 0


def test_one_light_queue_too_many_is_refused_and_others_go_on(tmp_path: Path) -> None:
    store = open_store(light_config(tmp_path, max_lmq_consume_queue_num=2))

    statuses = [put_copied(store, at, f"%LMQ%{name}") for at, name in enumerate("abcab")]
    delete_topic(store, "%LMQ%a")
    statuses.append(put_copied(store, 6, "%LMQ%c"))

    ok, exceeded = PutStatus.PUT_OK, PutStatus.LMQ_CONSUME_QUEUE_NUM_EXCEEDED
    assert statuses == [ok, ok, exceeded, ok, ok, ok]


def test_without_the_setting_nothing_is_copied(store: MessageStore) -> None:
    one = copied(1, "%LMQ%a")

    put_and_write(store, [one])

    assert store.queues() == [("topic-a", 1)]
    assert one.properties == copied(1, "%LMQ%a").properties


@pytest.mark.parametrize("behind", [0, 2])
@pytest.mark.parametrize("offsets", ["0", "1", "3", "6", "9", "9" * 5_000])
def test_what_a_producer_says_of_copies_changes_no_queue_of_a_broker_that_makes_none(
    tmp_path: Path, offsets: str, behind: int
) -> None:
    store = open_store(small_config(tmp_path, log_file_size=1 << 20))
    for number in range(6):
        store.put(message(number, queue_id=1), START_MS)
    for _ in range(2):
        stray = copied(50, "topic-a", offsets=offsets, topic="topic-b")
        store.put(stray, START_MS)
    put_and_write(store, [message(number, queue_id=1) for number in range(6, 6 + behind)])
    sent = bodies(store, "topic-a", 1)
    abandon(store)

    after = open_store(small_config(tmp_path, log_file_size=1 << 20))

    assert len(sent) == 6 + behind
    assert bodies(after, "topic-a", 1) == sent
    assert after.max_offset("topic-a", 1) == 6 + behind
