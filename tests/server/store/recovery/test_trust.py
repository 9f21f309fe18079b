"""A start after a crash of our broker scans only the records after the safe point."""

import copy
import json
import os
import random
import shutil
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from mqserver.store.commitlog.log_scan import ScannedRecord
from mqserver.store.disk.disk import FilePath, FileStat, RealDisk
from mqserver.store.queues.queue_rows import QueueRow, QueueRows
from mqserver.store.recovery import opening, recover
from mqserver.store.recovery.safe_point import (
    SafePoint,
    StoreState,
    read_safe_point,
    write_safe_point,
)
from mqserver.store.recovery.trust import SafePointWrong
from mqserver.store.store import MessageStore
from mqserver.store.store_config import StoreConfig
from storefmt.formats.consumequeue import FILLER
from storefmt.paths import StorePaths
from tests.server.store.recovery.test_crash import config_for
from tests.server.store.recovery.test_recover import INDEX_DAMAGES
from tests.server.store.simdisk import PowerCut, SimDisk
from tests.server.store.stores import (
    LOG_FILE_SIZE,
    START_MS,
    abandon,
    bodies,
    delete_topic,
    flush,
    index_contents,
    keep_up,
    message,
    open_store,
    put_all,
    put_and_write,
    records_of_key,
    small_config,
    step_up,
    tree,
)

SYNCED, COUNT = 90, 100
FOLDERS = ("commitlog", "consumequeue")


def sync(store: MessageStore) -> None:
    """Sync everything, as the upkeep of once a minute does."""
    flush(store)
    assert keep_up(store, START_MS + 3_600_000)


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that was killed after 100 messages, 90 of them below its safe point."""
    root = tmp_path_factory.mktemp("killed") / "store"
    store = open_store(small_config(root))
    put_all(store, range(SYNCED))
    sync(store)
    put_all(store, range(SYNCED, COUNT))
    # Queues and index are in the page cache, and nothing says that they are on the disk.
    assert not step_up(store, START_MS + 3_602_000)
    abandon(store)
    return root


@pytest.fixture(scope="module")
def whole(killed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same store, recovered by a scan of its whole log and stopped properly."""
    root = tmp_path_factory.mktemp("whole") / "store"
    shutil.copytree(killed, root)
    (root / "dispatch.json").unlink()
    store = open_store(small_config(root))
    assert store.recovery.record_count == COUNT
    store.close(START_MS)
    return root


@pytest.fixture
def root(killed: Path, tmp_path: Path) -> Path:
    """A private copy of ``killed``; times of files stay."""
    shutil.copytree(killed, tmp_path / "store")
    return tmp_path / "store"


def stop_and_compare(store: MessageStore, root: Path, whole: Path) -> None:
    """Stop a store and assert that its bytes are those that a walk of the whole log leaves."""
    store.close(START_MS)
    assert tree(root, *FOLDERS) == tree(whole, *FOLDERS)
    assert index_contents(root) == index_contents(whole)


def test_start_after_a_kill_walks_the_tail_alone(root: Path, whole: Path) -> None:
    store = open_store(small_config(root))

    assert store.recovery.record_count == COUNT - SYNCED
    assert store.recovery.rebuilt_queues == []
    assert len(bodies(store, "topic-a", 0)) == COUNT // 2
    for number in range(COUNT):
        assert len(records_of_key(store, "topic-a", f"k{number}", count_max=9)) == 1
    stop_and_compare(store, root, whole)


def test_kill_right_after_a_start_keeps_the_tail_short_without_any_key(tmp_path: Path) -> None:
    config = small_config(tmp_path / "store")
    store = open_store(config)
    for number in range(SYNCED):
        put_and_write(store, [replace(message(number), keys=(), properties=b"")])
    sync(store)
    abandon(store)

    for _ in range(3):
        store = open_store(config)
        assert store.recovery.record_count == 0
        abandon(store)


def test_kill_right_after_a_start_costs_the_same_tail_again(root: Path, whole: Path) -> None:
    for _ in range(3):
        store = open_store(small_config(root))
        assert store.recovery.record_count == COUNT - SYNCED
        abandon(store)

    store = open_store(small_config(root))
    sync(store)
    abandon(store)
    store = open_store(small_config(root))

    assert store.recovery.record_count == 0
    stop_and_compare(store, root, whole)


def test_start_after_a_java_broker_came_in_between_walks_everything(root: Path) -> None:
    (root / "lock").write_bytes(b"lock")

    store = open_store(small_config(root))

    assert store.recovery.record_count == COUNT
    abandon(store)


def queue_file(root: Path, number: int) -> Path:
    return sorted((root / "consumequeue" / "topic-a" / "0").iterdir())[number]


DAMAGES: dict[str, Callable[[Path], object]] = {
    "all queues gone": lambda root: shutil.rmtree(root / "consumequeue"),
    "queue gone": lambda root: shutil.rmtree(root / "consumequeue/topic-a/0"),
    "first file gone": lambda root: queue_file(root, 0).unlink(),
    "middle file gone": lambda root: queue_file(root, 1).unlink(),
    "last file gone": lambda root: queue_file(root, -1).unlink(),
    "all but the first gone": lambda root: [queue_file(root, -1).unlink() for _ in range(2)],
    "file short": lambda root: os.truncate(queue_file(root, 1), 399),
    "file long": lambda root: os.truncate(queue_file(root, 1), 401),
    "file empty": lambda root: os.truncate(queue_file(root, -1), 0),
    "garbage": lambda root: queue_file(root, 1).write_bytes(b"\xa5" * 400),
    "zeros": lambda root: queue_file(root, 0).write_bytes(bytes(400)),
    "another file's content": lambda root: shutil.copyfile(
        queue_file(root, 0), queue_file(root, 1)
    ),
    "last entries gone": lambda root: queue_file(root, -1).write_bytes(bytes(400)),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_queue_that_is_not_as_it_was_is_built_again_from_the_whole_log(
    root: Path, whole: Path, damage: str
) -> None:
    other = root / "consumequeue" / "topic-a" / "1"
    DAMAGES[damage](root)
    before = {path: path.stat().st_mtime_ns for path in sorted(other.glob("*"))[:-1]}

    store = open_store(small_config(root))

    if before:
        # What agrees with the log is not written.
        assert store.recovery.rebuilt_queues == [("topic-a", 0)]
        assert {path: path.stat().st_mtime_ns for path in before} == before
    assert store.recovery.record_count == COUNT
    assert any("scanning the whole log: queue 0 of topic-a" in n for n in store.recovery.notes)
    stop_and_compare(store, root, whole)


@pytest.mark.parametrize("damage", INDEX_DAMAGES)
def test_damaged_index_gets_every_key_back(root: Path, whole: Path, damage: str) -> None:
    INDEX_DAMAGES[damage](sorted((root / "index").iterdir()))

    store = open_store(small_config(root))

    stop_and_compare(store, root, whole)


def test_safe_point_with_a_flipped_bit_counts_as_absent(root: Path, whole: Path) -> None:
    path = root / "dispatch.json"
    text = path.read_bytes()
    assert b'"safeLogOffset": ' in text
    at = text.index(b'"safeLogOffset": ') + len(b'"safeLogOffset": ')
    path.write_bytes(text[:at] + bytes([text[at] ^ 1]) + text[at + 1 :])

    store = open_store(small_config(root))

    assert store.recovery.record_count == COUNT
    stop_and_compare(store, root, whole)


def change_queues(root: Path, change: Callable[[QueueRows], object]) -> None:
    """Change the queues that the safe point of a store names."""
    disk, paths = RealDisk(), StorePaths(root)
    point = read_safe_point(disk, paths)
    change(point.queues)
    write_safe_point(disk, paths, point)


def test_safe_point_that_names_what_cannot_be_a_queue_is_not_trusted(
    root: Path, whole: Path
) -> None:
    change_queues(root, lambda queues: queues.put_row("../topic-a", 0, QueueRow(0, 0, 5)))

    store = open_store(small_config(root))

    assert any("names a queue that cannot be one" in note for note in store.recovery.notes)
    assert store.recovery.record_count == COUNT
    stop_and_compare(store, root, whole)


@pytest.mark.parametrize("by", [-SYNCED // 2, -20, -1, 1, 5, 20])
def test_safe_point_that_counts_wrongly_costs_a_walk_and_no_message(
    root: Path, whole: Path, by: int
) -> None:
    def change(queues: QueueRows) -> None:
        row = queues.get("topic-a", 0)
        queues.put_row("topic-a", 0, row._replace(end=row.end + by))

    change_queues(root, change)

    store = open_store(small_config(root))

    assert store.recovery.record_count >= COUNT
    assert len(bodies(store, "topic-a", 0)) == COUNT // 2
    stop_and_compare(store, root, whole)


def test_safe_point_that_leaves_out_a_queue_costs_a_walk_and_no_message(
    root: Path, whole: Path
) -> None:
    change_queues(root, lambda queues: queues.pop("topic-a", 1))

    store = open_store(small_config(root))

    assert store.recovery.record_count == COUNT
    stop_and_compare(store, root, whole)


def test_store_whose_entries_became_fillers_is_healed_by_the_start_of_this_version(
    root: Path, whole: Path
) -> None:
    """An earlier version replaced sound entries by fillers and recorded them as right."""
    path = queue_file(root, 0)
    path.write_bytes(FILLER * (path.stat().st_size // len(FILLER)))
    text = (root / "dispatch.json").read_bytes().rpartition(b', "crc": ')[0]
    text = text.replace(b'"version": 4', b'"version": 3')
    (root / "dispatch.json").write_bytes(text + b', "crc": %d}' % zlib.crc32(text))

    store = open_store(small_config(root))

    assert len(bodies(store, "topic-a", 0)) == COUNT // 2
    assert any("an earlier version" in note for note in store.recovery.notes)
    stop_and_compare(store, root, whole)


def test_interrupted_walk_leaves_no_safe_point_that_promises_what_it_changed(
    root: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue_file(root, -1).unlink()

    def interrupt(self: recover.Recovery, records: Sequence[ScannedRecord]) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(recover.Recovery, "_process_records", interrupt)
        with pytest.raises(KeyboardInterrupt):
            open_store(small_config(root))
    point = read_safe_point(RealDisk(), StorePaths(root))

    store = open_store(small_config(root))

    assert point.state is StoreState.RECOVERING
    assert not len(point.queues)
    stop_and_compare(store, root, whole)


@pytest.mark.parametrize("is_foreign", [True, False])
def test_interrupted_recovery_goes_on_where_it_was(
    root: Path, whole: Path, is_foreign: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_every_size = LOG_FILE_SIZE // 4
    monkeypatch.setattr(recover, "SAVE_EVERY_SIZE", save_every_size)
    if is_foreign:
        (root / "dispatch.json").unlink()
    else:
        shutil.rmtree(root / "consumequeue")
    taken: list[ScannedRecord] = []

    def interrupt(self: recover.Recovery, records: Sequence[ScannedRecord]) -> None:
        left = 80 - len(taken)
        taken.extend(records)
        take(self, records[: left - 1] if left > 0 else records)
        if 0 < left <= len(records):
            raise KeyboardInterrupt

    take = recover.Recovery._process_records
    monkeypatch.setattr(recover.Recovery, "_process_records", interrupt)
    with pytest.raises(KeyboardInterrupt):
        open_store(small_config(root))

    store = open_store(small_config(root))

    # No more is read again than what came after the last save.
    rest_size = store.recovery.log_end - taken[79].log_offset
    assert rest_size < store.recovery.scanned_size <= rest_size + save_every_size + taken[79].size
    assert store.recovery.record_count < COUNT // 2
    stop_and_compare(store, root, whole)


def test_recovery_tries_to_save_seldom_while_the_queue_of_a_topic_made_again_is_in_doubt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recover, "SAVE_EVERY_SIZE", 2048)
    config = small_config(tmp_path, log_file_size=1 << 20)
    store = open_store(config)
    put_and_write(store, [message(number) for number in range(30)])
    delete_topic(store, "topic-a")
    store.put(message(30), START_MS)
    put_and_write(store, [message(number, topic="topic-b") for number in range(200)])
    sent = {topic: bodies(store, topic, 0) for topic in ("topic-a", "topic-b")}
    store.close(START_MS)
    # As a store of the real broker, which does not say that a topic was deleted.
    (tmp_path / "dispatch.json").unlink()
    saves: list[bool] = []

    def counted(self: recover.Recovery, until: int) -> None:
        saves.append(self.queues.is_settled)
        save(self, until)

    save = recover.Recovery._save
    monkeypatch.setattr(recover.Recovery, "_save", counted)
    store = open_store(config)

    assert False in saves
    assert len(saves) <= store.written_offset // 2048
    assert {topic: bodies(store, topic, 0) for topic in sent} == sent


@pytest.mark.parametrize("gap", [1, 3])
def test_queue_file_behind_one_that_a_power_cut_took_does_not_replace_those_before(
    root: Path, whole: Path, gap: int
) -> None:
    last = queue_file(root, -1)
    size = last.stat().st_size
    late = last.with_name(f"{int(last.name) + (gap + 1) * size:020d}")
    late.write_bytes(last.read_bytes())

    store = open_store(small_config(root))

    assert len(bodies(store, "topic-a", 0)) == COUNT // 2
    assert store.recovery.record_count == COUNT - SYNCED
    stop_and_compare(store, root, whole)


@pytest.mark.parametrize("number", [-(1 << 70), -1, 0, 7, 1 << 62, 1 << 64, 1 << 99, float("inf")])
@pytest.mark.parametrize(
    "name",
    ["safeLogOffset", "logFileSize", "queueFileSize", "lockNs", "clockMs", "minOf", "end", "index"],
)
def test_store_opens_whatever_number_is_in_its_dispatch_json(
    root: Path, whole: Path, name: str, number: float
) -> None:
    path = root / "dispatch.json"
    text, mark, _ = path.read_bytes().rpartition(b', "crc": ')
    value = json.loads(text + b"}")
    if name == "end":
        value["queues"] = {"topic-a": f"0 0 {number} 0"}
    elif name == "index":
        value["index"]["header"] = [number] * 6
    else:
        value[name] = number
    text = json.dumps(value)[:-1].encode()
    path.write_bytes(text + mark + b"%d}" % zlib.crc32(text))

    store = open_store(small_config(root))

    stop_and_compare(store, root, whole)


def run(disk: SimDisk, chance: random.Random) -> None:
    """Put, flush, sync and delete a topic until the power is cut."""
    now_ms = START_MS
    store = open_store(config_for(), disk=disk)
    for number in range(200):
        topic = chance.choice(["topic-a", "topic-a", "topic-b", "gone"])
        body = b"%d:" % number + b"x" * chance.randrange(600)
        store.put(message(number, topic=topic, body=body), now_ms)
        store.write(now_ms)
        if chance.random() < 0.5:
            flush(store)
        now_ms += chance.randrange(20)
        keep_up(store, now_ms)
        if chance.random() < 0.02:
            delete_topic(store, "gone")


class Counting(RealDisk):
    """A disk that records which directories and files of queues are listed."""

    def __init__(self) -> None:
        self.looks: list[str] = []

    def list(self, path: FilePath) -> list[str]:
        self._note(path)
        return super().list(path)

    def stat(self, path: FilePath) -> FileStat | None:
        self._note(path)
        return super().stat(path)

    def _note(self, path: FilePath) -> None:
        if "consumequeue" in Path(path).parts:
            self.looks.append(str(path))


@pytest.mark.parametrize("are_entries_written", [False, True])
def test_queues_that_all_go_on_are_listed_once(tmp_path: Path, are_entries_written: bool) -> None:
    """The listing at the start has the files of all queues, so none of them is listed again."""
    config = small_config(tmp_path / "store")
    store = open_store(config)
    for number in range(2):
        put_and_write(store, [message(queue_id, queue_id=queue_id) for queue_id in range(30)])
        if not number:
            sync(store)
    if are_entries_written:
        assert not step_up(store, START_MS + 3_602_000)
    abandon(store)
    disk = Counting()

    store = open_store(config, disk=disk)

    assert [store.max_offset("topic-a", queue_id) for queue_id in range(30)] == [2] * 30
    assert len(bodies(store, "topic-a", 29)) == 2
    assert disk.looks == []
    store.close(START_MS)


def contents(disk: SimDisk) -> dict[str, bytes]:
    """Return the files to compare; index files are named by their order."""
    files = {path: data for path, data in disk.files().items() if Path(path).parent.name != "store"}
    index = [path for path in sorted(files) if Path(path).parent.name == "index"]
    return {
        f"index {index.index(path)}" if path in index else path: data
        for path, data in files.items()
    }


def distrust(*args: object, **names: object) -> SafePoint:
    raise SafePointWrong("told so")


@pytest.mark.parametrize("seed", range(12))
def test_fast_start_leaves_the_bytes_of_a_whole_walk(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    for number in range(12):
        disk = SimDisk()
        cut = chance.randrange(20, 900)
        disk.cut_power_at(cut)
        with pytest.raises(PowerCut):
            run(disk, random.Random(seed * 100 + number))
        # A kill leaves all that was written, a power cut any part of what was not synced.
        fast = disk.crash(cut) if number % 3 else copy.deepcopy(disk)
        fast.on_call = SimDisk().on_call
        slow = copy.deepcopy(fast)

        store = open_store(config_for(), disk=fast)
        with monkeypatch.context() as patch:
            patch.setattr(opening, "check_point", distrust)
            other = open_store(config_for(), disk=slow)

        assert store.recovery.record_count <= other.recovery.record_count
        assert store.queues() == other.queues()
        store.close(START_MS)
        other.close(START_MS)
        assert contents(fast) == contents(slow)


def test_kill_while_a_flush_took_long_loses_nothing_to_readers(tmp_path: Path) -> None:
    """Entries of records that are not flushed are in queue files when a round of syncs begins."""
    config = StoreConfig(
        store_path_root_dir=tmp_path / "store", mapped_file_size_commit_log=1 << 20
    )
    store = open_store(config)
    put_all(store, range(400))
    flush(store)
    put_all(store, range(400, 450))
    assert store.begin_flush() is not None
    # The upkeep of once a second writes the queues; the log is still being flushed.
    assert not keep_up(store, START_MS + 5_000)
    put_all(store, range(10_001, 12_001, 2))
    assert keep_up(store, START_MS + 60_000)
    abandon(store)

    store = open_store(config)

    assert [len(bodies(store, "topic-a", n)) for n in (0, 1)] == [225, 1_225]
