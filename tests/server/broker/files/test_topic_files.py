"""topics.json and topicChanges.json: cheap changes, and nothing lost at any power cut or error."""

import contextlib
import copy
import itertools
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from mqserver.broker import state_tables
from mqserver.broker.files import topic_files
from mqserver.broker.files.loads import load_state
from mqserver.broker.files.topic_files import TopicFiles
from mqserver.broker.topics import topic_config
from mqserver.runtime.jsonfile import write_atomic
from storefmt.config.tables import DataVersion, TopicTable
from storefmt.offline import StoreDir
from storefmt.paths import StorePaths
from tests.server.broker.desk import Desk, running, store_config
from tests.server.broker.files.test_state_files import SimulatedFiles
from tests.server.store.simdisk import PowerCut, SimDisk

ROOT = Path("/store")
NEVER_MS = 3_600_000


class Writer:
    """A broker's topics and the two files on a simulated disk."""

    def __init__(self, disk: SimDisk, table: TopicTable) -> None:
        self.disk = disk
        self.table = table
        self.files = TopicFiles(StorePaths(ROOT), self.snapshot)

    def snapshot(self) -> TopicTable:
        return TopicTable(dict(self.table.topics), self.table.data_version)

    def change(self, seed: random.Random) -> None:
        """Create, change or delete one topic."""
        name, queue_count = f"topic-{seed.randrange(8)}", seed.randrange(1, 9)
        if seed.random() < 0.3:
            self.table.topics.pop(name, None)
        else:
            self.table.topics[name] = topic_config(name, queue_count=queue_count)
        counter = self.table.data_version.counter + 1
        self.table.data_version = DataVersion(timestamp_ms=counter, counter=counter)

    def save(self) -> None:
        self.files.snapshot()(self.write)

    def write(self, path: Path, text: str) -> None:
        write_atomic(path, text, files=SimulatedFiles(self.disk))


def new_writer() -> Writer:
    """Return a broker without topics and files."""
    disk = SimDisk()
    disk.mkdir(ROOT / "config")
    return Writer(disk, TopicTable())


def loaded(disk: SimDisk, directory: Path) -> TopicTable:
    """Return what a start reads from a disk."""
    config = directory / "config"
    config.mkdir(exist_ok=True)
    for path in config.iterdir():
        path.unlink()
    for name, data in disk.files().items():
        (config / Path(name).name).write_bytes(data)
    found = load_state(StorePaths(directory), store_config(directory)).topics
    return TopicTable() if found is None else found


def fails_at(disk: SimDisk, step: int, error: Exception) -> "itertools.count[int]":
    """Let one call of a disk fail; the counter is below 0 when it did."""
    left = itertools.count(step, -1)

    def call(name: str, path: Path) -> None:
        if next(left) == 0:
            raise error

    disk.on_call = call
    return left


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let four topics be many, and three changed ones."""
    monkeypatch.setattr(topic_files, "WHOLE_COUNT_MAX", 3)
    monkeypatch.setattr(topic_files, "CHANGED_COUNT_MAX", 2)


def after_a_cut(writer: Writer, step: int) -> Iterator[SimDisk]:
    """Yield what a power cut at one call of a save may leave; nothing if there is no such call."""
    left = fails_at(writer.disk, step, PowerCut())
    with contextlib.suppress(PowerCut):
        writer.save()
    if next(left) < 0:
        for choice in itertools.product(*(range(count) for count in writer.disk.doubts())):
            yield writer.disk.crash_as(choice)


@pytest.mark.parametrize("number", range(6))
def test_power_cut_in_any_save_leaves_the_topics_before_or_after_it(
    tmp_path: Path, number: int
) -> None:
    seed, writer, cuts = random.Random(number), new_writer(), 0
    for turn in range(30):
        before = writer.snapshot()
        if turn % 7 == 6:
            writer.files.complete()
        else:
            writer.change(seed)
        disk, files = writer.disk, writer.files
        for step in range(6):
            writer.disk, writer.files = disk.kept(), copy.copy(files)
            for after in after_a_cut(writer, step):
                cuts += 1
                assert loaded(after, tmp_path) in (before, writer.table)
        writer.disk, writer.files = disk, files
        writer.save()
        assert loaded(writer.disk, tmp_path) == writer.table
        if seed.random() < 0.2:
            # The next start goes on with what it reads.
            writer = Writer(writer.disk, loaded(writer.disk, tmp_path))
    assert cuts > 100


@pytest.mark.parametrize("number", range(20))
def test_what_a_save_reported_is_read_after_failures_of_others(tmp_path: Path, number: int) -> None:
    seed, writer = random.Random(number), new_writer()
    disk = writer.disk
    possible = [writer.snapshot()]
    for turn in range(40):
        writer.change(seed)
        if turn % 7 == 6:
            writer.files.complete()
        fails_at(disk, seed.randrange(8), OSError(5, "bad disk"))
        try:
            writer.save()
        except OSError:
            possible.append(writer.snapshot())
        else:
            possible = [writer.snapshot()]
        assert loaded(disk, tmp_path) in possible


async def test_each_of_many_creations_writes_what_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topic_files, "WHOLE_COUNT_MAX", 100)
    monkeypatch.setattr(topic_files, "CHANGED_COUNT_MAX", 20)
    monkeypatch.setattr(state_tables, "TOPICS_MS", NEVER_MS)
    written: list[tuple[str, int]] = []

    def counted(path: Path, text: str) -> None:
        if path.name in ("topics.json", "topicChanges.json"):
            written.append((path.name, text.count('"topicName"')))
        write_atomic(path, text)

    async with running(tmp_path) as desk:
        for number in range(200):
            await desk.create_topic(f"topic-{number}")
        files = desk.app._files
        files._write = counted
        for number in range(200, 300):
            await desk.create_topic(f"topic-{number}")
        # A start after a kill would read this, and so does a tool.
        with StoreDir.open(tmp_path) as store:
            assert set(store.topics().topics) == desk.app.broker.topics.names()
        creations = list(written)
        for _ in range(2):
            desk.app._tables._complete_topics(0)
            await files.settle()
        completions = written[len(creations) :]

    whole = [count for name, count in creations if name == "topics.json"]
    assert len(creations) == 100
    assert 4 <= len(whole) <= 6
    assert max(count for name, count in creations if name == "topicChanges.json") == 20
    assert [name for name, _ in completions] == ["topics.json"]


async def test_nothing_is_written_for_topics_that_did_not_change(desk: Desk) -> None:
    written: list[str] = []
    await desk.create_topic()
    files = desk.app._files
    await files.settle()
    files._write = lambda path, text: written.append(path.name)
    files.mark("topics")
    await files.settle()
    assert "topics.json" not in written
    files._write = write_atomic
