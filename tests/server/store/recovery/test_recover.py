"""Recovery of torn tails, damage in the middle, and lost queues and index files."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from mqserver.store.store_config import StoreConfig
from tests.golden import Golden
from tests.server.store.stores import (
    LOG_FILE_SIZE,
    START_MS,
    abandon,
    bodies,
    config_of,
    delete_topic,
    flush,
    index_contents,
    log_records,
    message,
    open_store,
    put_all,
    records_of_key,
    small_config,
    tree,
)

COUNT = 90


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of 90 messages in two queues, stopped in order; several files of each kind."""
    root = tmp_path_factory.mktemp("filled") / "store"
    store = open_store(small_config(root))
    put_all(store, range(COUNT))
    store.close(START_MS + COUNT)
    return root


@pytest.fixture
def copy(filled: Path, tmp_path: Path) -> Path:
    """A private copy of ``filled``; times of files stay, so it still counts as untouched."""
    root = tmp_path / "store"
    shutil.copytree(filled, root)
    return root


def crashed(root: Path) -> None:
    (root / "abort").touch()


def last_log_file(root: Path) -> Path:
    return max((root / "commitlog").iterdir())


def test_untouched_store_opens_without_a_scan(copy: Path) -> None:
    store = open_store(small_config(copy))

    assert store.recovery.clean
    assert store.recovery.scanned_size == 0
    assert store.max_offset("topic-a", 0) == COUNT // 2
    assert len(records_of_key(store, "topic-a", f"k{COUNT - 1}", count_max=5)) == 1


@pytest.mark.parametrize("was_killed", [False, True])
def test_log_cut_at_every_byte_keeps_the_whole_records(copy: Path, was_killed: bool) -> None:
    records = log_records(copy)
    path = last_log_file(copy)
    base = int(path.name)
    whole = path.read_bytes()
    ends = [record.log_offset + record.size for record in records]
    spare = copy.with_name("spare")
    for cut in range(records[-3].log_offset - base, ends[-1] - base + 2, 3):
        shutil.copytree(copy, spare)
        os.truncate(spare / "commitlog" / path.name, cut)
        if was_killed:
            crashed(spare)

        store = open_store(small_config(spare))

        end = max(end for end in ends if end <= base + cut)
        assert store.written_offset == end
        assert store.recovery.damaged == []
        kept = sum(one <= end for one in ends)
        assert store.max_offset("topic-a", 0) + store.max_offset("topic-a", 1) == kept
        abandon(store)
        found = (spare / "commitlog" / path.name).read_bytes()
        assert found == whole[: end - base].ljust(len(whole), b"\0")
        shutil.rmtree(spare)


def test_torn_record_is_erased_and_its_place_used_again(copy: Path) -> None:
    crashed(copy)
    last = log_records(copy)[-1]
    with last_log_file(copy).open("r+b") as file:
        file.seek(last.log_offset % LOG_FILE_SIZE + 100)
        file.write(b"\xff" * 8)

    store = open_store(small_config(copy))
    (place,) = put_all(store, [COUNT - 1])

    assert place.log_offset == last.log_offset
    assert place.queue_offset == last.queue_offset
    assert store.recovery.cut_size > 0


def test_records_that_a_recovery_discarded_never_come_back(tmp_path: Path) -> None:
    config = small_config(tmp_path / "store")
    store = open_store(config)
    equal = [message(number, queue_id=0, body=b"x" * 100) for number in range(100, 110)]
    places = [store.put(one, START_MS) for one in equal]
    store.write(START_MS)
    abandon(store)
    path = last_log_file(config.store_path_root_dir)
    with path.open("r+b") as file:
        file.seek(places[5].log_offset + 120)
        file.write(b"\0" * 16)

    store = open_store(config)
    assert store.max_offset("topic-a", 0) == 5
    again = store.put(equal[5], START_MS)
    store.write(START_MS)
    abandon(store)
    store = open_store(config)

    assert again.log_offset == places[5].log_offset
    assert store.max_offset("topic-a", 0) == 6
    assert (
        path.read_bytes()[places[6].log_offset :].count(0) == LOG_FILE_SIZE - places[6].log_offset
    )


def test_damage_in_the_middle_leaves_everything_else_readable(copy: Path) -> None:
    victim = log_records(copy)[20]
    path = copy / "commitlog" / f"{victim.log_offset // LOG_FILE_SIZE * LOG_FILE_SIZE:020d}"
    with path.open("r+b") as file:
        file.seek(victim.log_offset % LOG_FILE_SIZE + 95)
        file.write(b"\xff\xff")
    before = path.read_bytes()

    store = open_store(small_config(copy))

    assert store.recovery.damaged == [(victim.log_offset, victim.size)]
    readable = bodies(store, "topic-a", 0) + bodies(store, "topic-a", 1)
    assert len(readable) == COUNT - 1
    assert store.max_offset("topic-a", victim.queue_id) == COUNT // 2
    store.close(START_MS)
    assert path.read_bytes() == before


def test_missing_log_file_in_the_middle_costs_only_its_own_records(copy: Path) -> None:
    first, *_ = sorted((copy / "commitlog").iterdir())
    second = copy / "commitlog" / f"{LOG_FILE_SIZE:020d}"
    lost = [r for r in log_records(copy) if LOG_FILE_SIZE <= r.log_offset < 2 * LOG_FILE_SIZE]
    assert first.name != second.name
    assert lost
    second.unlink()

    store = open_store(small_config(copy))

    readable = bodies(store, "topic-a", 0) + bodies(store, "topic-a", 1)
    assert len(readable) == COUNT - len(lost)
    assert store.recovery.damaged == [(LOG_FILE_SIZE, LOG_FILE_SIZE)]


def test_file_with_the_records_of_another_place_gives_no_message_twice(copy: Path) -> None:
    shutil.copyfile(copy / "commitlog" / f"{0:020d}", copy / "commitlog" / f"{LOG_FILE_SIZE:020d}")

    store = open_store(small_config(copy))

    found = bodies(store, "topic-a", 0) + bodies(store, "topic-a", 1)
    assert len(found) == len(set(found)) < COUNT
    assert store.recovery.damaged[0][0] == LOG_FILE_SIZE


@pytest.mark.parametrize("change", [-1, 1, -5000, 4096])
def test_log_file_of_another_length_opens_and_gets_its_length_back(copy: Path, change: int) -> None:
    path = last_log_file(copy)
    os.truncate(path, LOG_FILE_SIZE + change)

    store = open_store(small_config(copy))

    assert store.max_offset("topic-a", 0) > 0
    store.close(START_MS)
    assert path.stat().st_size == LOG_FILE_SIZE


def _queue(root: Path, queue_id: int = 0) -> Path:
    return root / "consumequeue" / "topic-a" / str(queue_id)


def _rewrite(path: Path, change: Callable[[bytes], bytes]) -> None:
    path.write_bytes(change(path.read_bytes()))


QUEUE_DAMAGES: dict[str, Callable[[Path], None]] = {
    "all queues gone": lambda root: shutil.rmtree(root / "consumequeue"),
    "one queue gone": lambda root: shutil.rmtree(_queue(root)),
    "topic's queues gone": lambda root: [shutil.rmtree(_queue(root, q)) for q in (0, 1)] and None,
    "first file gone": lambda root: min(_queue(root).iterdir()).unlink(),
    "middle file gone": lambda root: sorted(_queue(root).iterdir())[1].unlink(),
    "last file gone": lambda root: max(_queue(root).iterdir()).unlink(),
    "file empty": lambda root: os.truncate(max(_queue(root).iterdir()), 0),
    "file a byte short": lambda root: os.truncate(min(_queue(root).iterdir()), 399),
    "file a byte long": lambda root: os.truncate(max(_queue(root).iterdir()), 401),
    "garbage": lambda root: sorted(_queue(root).iterdir())[1].write_bytes(b"\xa5" * 400) and None,
    "flipped tag": lambda root: _rewrite(
        sorted(_queue(root).iterdir())[1], lambda data: data[:39] + b"\x55" + data[40:]
    ),
    "entry zeroed": lambda root: _rewrite(
        min(_queue(root).iterdir()), lambda data: data[:100] + bytes(20) + data[120:]
    ),
    "entries behind the end": lambda root: _rewrite(
        max(_queue(root).iterdir()), lambda data: data[:380] + b"\1" * 20
    ),
    "file too many": lambda root: (_queue(root) / f"{4000:020d}").write_bytes(b"\1" * 400) and None,
}


@pytest.mark.parametrize("was_killed", [False, True])
@pytest.mark.parametrize("damage", QUEUE_DAMAGES)
def test_damaged_queue_is_built_again_byte_for_byte(
    copy: Path, damage: str, was_killed: bool
) -> None:
    before = tree(copy, "consumequeue")
    QUEUE_DAMAGES[damage](copy)
    if was_killed:
        crashed(copy)

    store = open_store(small_config(copy))

    assert len(bodies(store, "topic-a", 0)) == COUNT // 2
    assert store.recovery.rebuilt_queues
    store.close(START_MS)
    assert tree(copy, "consumequeue") == before


INDEX_DAMAGES: dict[str, Callable[[list[Path]], None]] = {
    "all gone": lambda files: [file.unlink() for file in files] and None,
    "first gone": lambda files: files[0].unlink(),
    "middle gone": lambda files: files[1].unlink(),
    "last gone": lambda files: files[-1].unlink(),
    "last short": lambda files: os.truncate(files[-1], 500),
    "first empty": lambda files: os.truncate(files[0], 0),
    "last header zero": lambda files: _rewrite(files[-1], lambda data: bytes(40) + data[40:]),
    "first header zero": lambda files: _rewrite(files[0], lambda data: bytes(40) + data[40:]),
    "first header garbage": lambda files: _rewrite(files[0], lambda data: b"\7" * 40 + data[40:]),
    "last slots garbage": lambda files: _rewrite(
        files[-1], lambda data: data[:40] + b"\x7f" * 64 + data[104:]
    ),
}


@pytest.mark.parametrize("was_killed", [False, True])
@pytest.mark.parametrize("damage", INDEX_DAMAGES)
def test_damaged_index_is_built_again_with_every_key(
    copy: Path, damage: str, was_killed: bool
) -> None:
    before = index_contents(copy)
    INDEX_DAMAGES[damage](sorted((copy / "index").iterdir()))
    if was_killed:
        crashed(copy)

    store = open_store(small_config(copy))

    for number in range(COUNT):
        found = records_of_key(store, "topic-a", f"k{number}", count_max=8)
        assert any(f"body {number} ".encode() in record for record in found)
    store.close(START_MS)
    assert index_contents(copy) == before


@pytest.mark.parametrize("content", [None, b"", b"\xff" * 4096, bytes(4096), b"abc"])
@pytest.mark.parametrize("was_killed", [False, True])
def test_lost_checkpoint_costs_nothing(copy: Path, content: bytes | None, was_killed: bool) -> None:
    (copy / "checkpoint").unlink()
    if content is not None:
        (copy / "checkpoint").write_bytes(content)
    if was_killed:
        crashed(copy)

    store = open_store(small_config(copy))

    assert store.max_offset("topic-a", 1) == COUNT // 2
    store.close(START_MS)
    assert (copy / "checkpoint").stat().st_size == 4096


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"version": 9}', b"\xff\xfe", b"[" * 9999])
def test_damaged_safe_point_counts_as_absent(copy: Path, content: bytes) -> None:
    (copy / "dispatch.json").write_bytes(content)

    store = open_store(small_config(copy))

    assert store.recovery.record_count == COUNT
    assert store.recovery.rebuilt_queues == []


def test_basic_golden_store_gets_its_queues_and_index_back(golden: Golden) -> None:
    root = golden.store("basic")
    queues, index = tree(root, "consumequeue"), index_contents(root)
    shutil.rmtree(root / "consumequeue")
    shutil.rmtree(root / "index")

    store = open_store(config_of(root, golden.conf("basic")))
    store.close(START_MS)

    assert tree(root, "consumequeue") == queues
    assert index_contents(root) == index


def test_every_damage_of_the_golden_set_opens_and_keeps_all_other_records(golden: Golden) -> None:
    total = golden.expected("basic")["scan"]["messages"]
    for damage in golden.damages():
        root = golden.damaged(damage["case"])
        config = config_of(root, golden.conf("basic"))
        # Without any file of the log, a start has to be confirmed.
        config.start_with_lost_commit_log = not any((root / "commitlog").iterdir())
        store = open_store(config)

        seen = sum(len(bodies(store, topic, queue_id)) for topic, queue_id in store.queues())

        files = {change["file"] for change in damage["changes"]}
        log_files = sum(name.startswith("commitlog") for name in files)
        log_files_left = any((root / "commitlog").iterdir())
        if not log_files:
            assert seen == total, damage["case"]
        assert seen > 0 or not log_files_left, damage["case"]
        store.close(START_MS)
        shutil.rmtree(root)


def test_topic_that_was_deleted_stays_deleted_after_a_crash(tmp_path: Path) -> None:
    config = small_config(tmp_path / "store")
    store = open_store(config)
    store.put(message(1, topic="gone"), START_MS)
    put_all(store, range(10))
    flush(store)
    delete_topic(store, "gone")
    put_all(store, range(10, 20))
    abandon(store)

    store = open_store(config)

    assert ("gone", 1) not in store.queues()
    assert store.max_offset("topic-a", 0) == 10


def test_topic_made_again_starts_at_zero_also_after_a_crash(tmp_path: Path) -> None:
    config: StoreConfig = small_config(tmp_path / "store")
    store = open_store(config)
    put_all(store, range(10))
    delete_topic(store, "topic-a")
    put_all(store, range(100, 104))
    abandon(store)

    store = open_store(config)

    assert store.max_offset("topic-a", 0) == 2
    assert [body[:8] for body in bodies(store, "topic-a", 0)] == [b"body 100", b"body 102"]
