"""The broker's JSON files: never empty, never half, never written before they are read."""

import asyncio
import contextlib
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from mqserver.broker.config import BrokerConfig
from mqserver.runtime.jsonfile import write_atomic
from storefmt.config.tables import ConfigDamaged, ConsumerOffsets, load_config
from tests.server.broker.desk import GROUP, TOPIC, running, with_topic
from tests.server.broker.test_lost_topics import lose_topics
from tests.server.store.simdisk import PowerCut, SimDisk
from tests.waiting import until

FILES = ["topics.json", "subscriptionGroup.json", "consumerOffset.json", "delayOffset.json"]
CONFIG = Path("/config")
FILE = CONFIG / "consumerOffset.json"


class SimulatedFiles:
    """What ``write_atomic`` asks for, on the simulated disk."""

    def __init__(self, disk: SimDisk) -> None:
        self._disk = disk

    def write_synced(self, path: Path, data: bytes) -> None:
        file = self._disk.open(path, create=True)
        file.truncate(0)
        file.pwrite(data, 0)
        file.fdatasync()

    def rename(self, source: Path, target: Path) -> None:
        self._disk.rename(source, target)

    def exists(self, path: Path) -> bool:
        return self._disk.stat(path) is not None

    def sync_directory(self, path: Path) -> None:
        self._disk.fsync_dir(path)


def offsets_text(queue_offset: int) -> str:
    return ConsumerOffsets({("T", "G"): {0: queue_offset}}).encode()


def written_twice() -> SimDisk:
    """Return a disk with a file and its copy, both durable."""
    disk = SimDisk()
    disk.mkdir(CONFIG)
    for queue_offset in (1, 2):
        write_atomic(FILE, offsets_text(queue_offset), files=SimulatedFiles(disk))
    return disk


def cuts_in_a_write(before: SimDisk, queue_offset: int) -> Iterator[SimDisk]:
    """Yield all that a power cut at any call of one more write may leave."""
    text = offsets_text(queue_offset)
    for step in itertools.count():
        disk = before.kept()
        left = itertools.count(step, -1)

        def cut(name: str, path: Path, left: "itertools.count[int]" = left) -> None:
            if next(left) == 0:
                raise PowerCut

        disk.on_call = cut
        with contextlib.suppress(PowerCut):
            write_atomic(FILE, text, files=SimulatedFiles(disk))
        for choice in itertools.product(*(range(count) for count in disk.doubts())):
            yield disk.crash_as(choice)
        if next(left) >= 0:
            return


def offset_read(disk: SimDisk, directory: Path) -> int:
    """Return what a start reads from a disk."""
    for path in directory.iterdir():
        path.unlink()
    for name, data in disk.files().items():
        (directory / Path(name).name).write_bytes(data)
    offsets = load_config(directory / "consumerOffset.json", ConsumerOffsets.decode)
    return offsets.offsets["T", "G"][0]


def test_power_cut_at_any_step_of_a_save_leaves_the_old_or_the_new_content(tmp_path: Path) -> None:
    """And so does the next one, at any step of the next save, four times over."""
    found = set()
    seen: dict[int, SimDisk] = {}
    states = 0
    for disk in cuts_in_a_write(written_twice(), 3):
        states += 1
        found.add(offset_read(disk, tmp_path))
        seen[disk.fingerprint()] = disk
    assert found == {2, 3}
    for queue_offset in (4, 5, 6):
        before, seen = seen, {}
        for disk in before.values():
            old = offset_read(disk, tmp_path)
            for second in cuts_in_a_write(disk, queue_offset):
                states += 1
                assert offset_read(second, tmp_path) in (old, queue_offset)
                seen[second.fingerprint()] = second

    print(f"{states} power cuts")
    assert states >= 500


def start_and_stop(root: Path) -> None:
    async def run() -> None:
        async with running(root):
            pass

    asyncio.run(run())


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("copy", [None, b"", b"{"], ids=["no copy", "empty copy", "half a copy"])
def test_file_that_is_empty_now_stops_the_start_and_nothing_is_written(
    tmp_path: Path, name: str, copy: bytes | None
) -> None:
    start_and_stop(tmp_path)
    directory = tmp_path / "config"
    (directory / name).write_bytes(b"")
    if copy is not None:
        (directory / f"{name}.bak").write_bytes(copy)
    else:
        (directory / f"{name}.bak").unlink(missing_ok=True)
    before = {path.name: path.read_bytes() for path in directory.iterdir()}

    with pytest.raises(ConfigDamaged) as refused:
        start_and_stop(tmp_path)

    assert f"{directory / name}: the file is empty" in str(refused.value)
    assert f"{name}.bak" in str(refused.value)
    assert {path.name: path.read_bytes() for path in directory.iterdir()} == before


@pytest.mark.parametrize("name", FILES)
def test_good_copy_of_an_empty_file_is_taken(tmp_path: Path, name: str) -> None:
    for _ in range(2):
        start_and_stop(tmp_path)
    path = tmp_path / "config" / name
    copy = path.with_name(f"{name}.bak").read_bytes()
    path.write_bytes(b"")

    start_and_stop(tmp_path)

    assert path.read_bytes() != b""
    assert copy != b""


async def test_consumer_offsets_are_saved_while_the_broker_runs_and_when_it_stops(
    tmp_path: Path,
) -> None:
    path = tmp_path / "config" / "consumerOffset.json"

    def saved() -> int:
        offsets = load_config(path, ConsumerOffsets.decode)
        return -1 if offsets is None else offsets.offsets.get((TOPIC, GROUP), {}).get(0, -1)

    async with running(tmp_path, flush_consumer_offset_interval_ms=1) as desk:
        await desk.commit(5)
        await until(lambda: saved() == 5)
        await desk.commit(6)

    assert saved() == 6
    assert BrokerConfig().flush_consumer_offset_interval_ms == 5_000


@pytest.mark.parametrize("gone", [True, False])
async def test_topics_that_have_messages_and_are_in_no_file_are_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, *, gone: bool
) -> None:
    async with with_topic(tmp_path) as desk:
        await desk.send(b"x")
    if gone:
        lose_topics(tmp_path)
    async with running(tmp_path):
        pass

    said = [line for line in caplog.messages if line.startswith("topics.json does not know")]
    assert len(said) == gone
    assert all(f"does not know 1 topics that have messages ({TOPIC});" in line for line in said)


LOSSES = {
    "topics.json": "topics are unknown until they are created again",
    "subscriptionGroup.json": "all consumer groups have the default settings",
    "consumerOffset.json": "no group has an offset",
    "delayOffset.json": "delayed messages that are still in the store are delivered again",
}


@pytest.mark.parametrize("name", FILES)
def test_file_that_is_gone_with_its_copy_is_told_with_what_it_costs(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    start_and_stop(tmp_path)
    assert not [line for line in caplog.messages if "used before" in line]
    path = tmp_path / "config" / name
    path.unlink()
    path.with_name(f"{name}.bak").unlink(missing_ok=True)

    start_and_stop(tmp_path)

    (told,) = [line for line in caplog.messages if "used before" in line]
    assert told.startswith(f"{path} and {name}.bak are missing")
    assert LOSSES[name] in told
    assert told.endswith("if you have a copy, stop this broker and restore it")


async def test_files_of_messages_of_another_broker_are_missed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with with_topic(tmp_path) as desk:
        await desk.send(b"x")
    (tmp_path / "dispatch.json").unlink()
    for path in (tmp_path / "config").iterdir():
        path.unlink()
    caplog.clear()

    async with running(tmp_path):
        pass

    assert len([line for line in caplog.messages if "used before" in line]) == len(FILES)


async def test_every_file_is_there_soon_after_the_first_start(tmp_path: Path) -> None:
    """So that a kill before the first change leaves none that would be missed."""

    async with running(tmp_path):
        await until(lambda: all((tmp_path / "config" / name).exists() for name in FILES))


def test_damaged_file_is_kept_aside_and_told_when_its_copy_is_taken(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    start_and_stop(tmp_path)
    path = tmp_path / "config" / "topics.json"
    path.with_name("topics.json.bak").write_bytes(path.read_bytes())
    path.write_bytes(b'{"dataVersion":')

    start_and_stop(tmp_path)

    assert path.with_name("topics.json.damaged").read_bytes() == b'{"dataVersion":'
    (told,) = [line for line in caplog.messages if "topics.json.damaged" in line]
    assert told.startswith(f"{path}: ")
    assert "was read from topics.json.bak" in told
