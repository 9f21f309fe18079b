"""Opens every combination of states that a crash may leave at the ends of the files.

    log x queue x index x checkpoint x dispatch.json x abort, each in all of its states
      └─ open: exactly the whole records readable, derived files those of a fresh rebuild

A second table cuts every file of a store to every length, and a third loses every subset
of the derived files. All on a disk in memory, a few milliseconds each.
"""

import itertools
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from storefmt.offline.verify.store import verify
from storefmt.offline.views.storedir import StoreDir
from tests import soak
from tests.server.store.recovery.crashstates import derived
from tests.server.store.simdisk import SimDisk
from tests.server.store.stores import (
    START_MS,
    flush,
    keep_up,
    open_store,
    put_all,
    readable_count,
    records_of_key,
    small_config,
    step_up,
)

ROOT = Path("/store")
COUNT = 40
FILE_SIZE = 4096
CONFIG = small_config(ROOT, log_file_size=FILE_SIZE)

Files = dict[str, bytes]
Change = Callable[[Files], None]


def sources(*, clean: bool) -> Files:
    """Return the files of a store of 40 messages after a stop, or after a kill."""
    disk = SimDisk()
    store = open_store(CONFIG, disk=disk)
    put_all(store, range(COUNT // 2))
    if not clean:
        # The safe point is in the middle; later messages were flushed, and it does not cover them.
        flush(store)
        assert keep_up(store, START_MS + 3_600_000)
    put_all(store, range(COUNT // 2, COUNT))
    if clean:
        store.close(START_MS + COUNT)
        return disk.files()
    flush(store)
    # Queues and index are written; the next job would sync them.
    assert not step_up(store, START_MS + 3_602_000)
    return disk.files()


def disk_with(files: Files) -> SimDisk:
    """Return a disk with these files, all of them synced."""
    disk = SimDisk()
    disk.mkdir(ROOT)
    for name, content in files.items():
        path = Path(name)
        disk.mkdir(path.parent)
        file = disk.open(path, create=True)
        file.pwrite(content, 0)
    return disk.kept()


def last(files: Files, folder: str) -> str:
    names = [name for name in files if name.startswith(f"/store/{folder}/")]
    # The log file that was made ahead is empty.
    return max(name for name in names if files[name].strip(b"\0"))


def end_of(content: bytes, unit: int = 1) -> int:
    """Return where content ends and zeros begin."""
    return -(-len(content.rstrip(b"\0")) // unit) * unit


def cut(folder: str, back: int, unit: int = 1, fill: bytes = b"\0") -> Change:
    """Replace the last ``back`` bytes of content by ``fill``."""

    def change(files: Files) -> None:
        name = last(files, folder)
        data = files[name]
        end = max(end_of(data, unit) - back, 0)
        files[name] = data[:end] + (fill * back)[:back] + data[end + back :]

    return change


def resized(folder: str, by: int) -> Change:
    def change(files: Files) -> None:
        name = last(files, folder)
        size = len(files[name]) + by
        files[name] = files[name][: max(size, 0)].ljust(
            max(size, 0), b"\xff" if by > 600 else b"\0"
        )

    return change


def lost(folder: str, *, every: bool = False) -> Change:
    def change(files: Files) -> None:
        names = [name for name in files if name.startswith(f"/store/{folder}")]
        for name in names if every else names[-1:]:
            del files[name]

    return change


def ahead(files: Files) -> None:
    """Add an entry that points behind the end of the log."""
    name = last(files, "consumequeue")
    data = files[name]
    end = end_of(data, 20)
    entry = (1 << 30).to_bytes(8, "big") + (200).to_bytes(4, "big") + bytes(8)
    files[name] = (data[:end] + entry)[: len(data)].ljust(len(data), b"\0")


def as_it_is(files: Files) -> None:
    """Change nothing."""


def written(name: str, content: bytes) -> Change:
    def change(files: Files) -> None:
        files[name] = content

    return change


STATES: dict[str, dict[str, Change]] = {
    "log": {
        "whole": as_it_is,
        "cut in the last record": cut("commitlog", 100),
        "cut in its head": cut("commitlog", 180),
        "garbage in the last record": cut("commitlog", 100, fill=b"\xa5"),
        "file short": resized("commitlog", -1),
        "file long": resized("commitlog", 512),
    },
    "queue": {
        "whole": as_it_is,
        "cut in an entry": cut("consumequeue", 7),
        "short by an entry": cut("consumequeue", 20, 20),
        "short by three": cut("consumequeue", 60, 20),
        "ahead of the log": ahead,
        "garbage behind": cut("consumequeue", 0, 20, b"\xa5"),
        "file a byte short": resized("consumequeue", -1),
        "file empty": resized("consumequeue", -400),
        "last file lost": lost("consumequeue/topic-a/1"),
        "one lost": lost("consumequeue/topic-a/0", every=True),
        "all lost": lost("consumequeue", every=True),
    },
    "index": {
        "whole": as_it_is,
        "short by an entry": cut("index", 20),
        "file short": resized("index", -20),
        "file empty": resized("index", -2000),
        "last lost": lost("index"),
        "all lost": lost("index", every=True),
    },
    "checkpoint": {
        "whole": as_it_is,
        "lost": lost("checkpoint"),
        "garbage": written("/store/checkpoint", b"\xff" * 4096),
    },
    "dispatch": {"whole": as_it_is, "torn": written("/store/dispatch.json", b'{"version": 2, "st')},
}


_REBUILT: dict[bytes, dict[str, bytes]] = {}


def fresh_rebuild(disk: SimDisk) -> dict[str, bytes]:
    """Return the files that are rebuilt from the log alone, once for each log."""
    logs = {name: data for name, data in disk.files().items() if "/commitlog/" in name}
    key = b"".join(logs.values())
    if key not in _REBUILT:
        bare = disk_with(logs)
        open_store(CONFIG, disk=bare).close(START_MS)
        _REBUILT[key] = derived(bare)
    return _REBUILT[key]


@pytest.mark.parametrize("log_state", STATES["log"])
@pytest.mark.parametrize("clean", [True, False], ids=["stopped", "killed"])
def test_every_combination_of_tails_opens_to_the_whole_records(
    clean: bool, log_state: str, tmp_path: Path
) -> None:
    before = sources(clean=clean)
    expected = COUNT - (log_state not in ("whole", "file short", "file long"))
    parts = [STATES[part].items() for part in ("queue", "index", "checkpoint", "dispatch")]
    for states in itertools.product(*parts):
        files = dict(before)
        STATES["log"][log_state](files)
        for _, change in states:
            change(files)
        disk = disk_with(files)
        names = [name for name, _ in states]

        store = open_store(CONFIG, disk=disk)

        assert readable_count(store) == expected, names
        assert store.recovery.damaged == [], names
        store.close(START_MS)
        assert derived(disk) == fresh_rebuild(disk), names
    report = verify(StoreDir.open(on_real_disk(disk, tmp_path)), deep=True)
    # There is no broker here that would keep a list of topics.
    assert {finding.kind for finding in report.findings} <= {"config_missing"}


def on_real_disk(disk: SimDisk, root: Path) -> Path:
    for name, data in disk.files().items():
        path = root / Path(name).relative_to("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return root / "store"


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("clean", [True, False], ids=["stopped", "killed"])
def test_a_file_cut_to_any_length_opens(clean: bool, step: int) -> None:
    """Of files that are full; those of 64 KiB are in ``test_lengths``."""
    before = sources(clean=clean)
    last_log = last(before, "commitlog")
    tails = [name for name in before if name in (last_log, "/store/checkpoint")]
    tails += [name for name in before if "/index/" in name][-1:]
    tails += [name for name in before if "/consumequeue/" in name]
    cases = [
        (name, size)
        for name in tails
        # What a checkpoint says does not matter.
        for size in range(0, len(before[name]), 64 if "checkpoint" in name else step)
    ]
    for name, size in soak.some(cases, minutes=1) if step == 1 else cases:
        disk = disk_with({**before, name: before[name][:size]})

        store = open_store(CONFIG, disk=disk)

        count = readable_count(store)
        assert count == COUNT or name == last_log, (name, size)
        assert store.recovery.damaged == [], (name, size)
        assert len(disk.files().get(last_log, bytes(FILE_SIZE))) == FILE_SIZE


def test_any_subset_of_derived_files_may_go() -> None:
    before = sources(clean=True)
    killed = {**before, "/store/abort": b""}
    names = [name for name in before if name.split("/")[2] in ("consumequeue", "index")]
    wanted = fresh_rebuild(disk_with(before))
    for gone in itertools.product((False, True), repeat=len(names)):
        for files in (before, killed):
            dropped = {name for name, drop in zip(names, gone, strict=True) if drop}
            disk = disk_with({name: data for name, data in files.items() if name not in dropped})

            store = open_store(CONFIG, disk=disk)

            assert readable_count(store) == COUNT, dropped
            store.close(START_MS)
            assert derived(disk) == wanted, dropped


@pytest.mark.parametrize("left", ["stopped", "killed, dispatch.json lost", "killed"])
def test_wrong_bit_anywhere_in_the_header_of_an_index_file_is_put_right(left: str) -> None:
    before = sources(clean=left == "stopped")
    if left == "killed, dispatch.json lost":
        del before["/store/dispatch.json"]
    wanted = fresh_rebuild(disk_with(before))
    for name in [name for name in before if "/index/" in name]:
        for bit in range(8 * 36):
            header = bytearray(before[name])
            header[bit // 8] ^= 0x80 >> bit % 8
            disk = disk_with({**before, name: bytes(header)})

            store = open_store(CONFIG, disk=disk)

            assert readable_count(store) == COUNT, (name, bit)
            store.close(START_MS)
            assert derived(disk) == wanted, (name, bit)


def flipped(data: bytes, chance: random.Random, unit: int = 1) -> bytes:
    """Return content with one bit of it inverted, in its first ``unit`` bytes or anywhere."""
    bit = chance.randrange(8 * (unit if unit > 1 else max(len(data.rstrip(b"\0")), 1)))
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


@pytest.mark.parametrize("share", [40, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("left", ["stopped", "killed, dispatch.json lost", "killed"])
def test_derived_files_in_any_mix_of_states_are_built_again(left: str, share: int) -> None:
    """Each is whole, lost, empty, cut somewhere or has a wrong bit.

    After a kill of our own broker the start looks at ends only: there the wrong bit is in the
    header of the index. Without ``dispatch.json`` it is in the first entry of a queue, for of
    another's tags code an ext address may come; and queue files that were cut may be taken for
    files of that size: then it is enough that all can be read.
    """
    chance = random.Random(20261122)
    before = sources(clean=left == "stopped")
    if left == "killed, dispatch.json lost":
        del before["/store/dispatch.json"]
    names = [name for name in before if name.split("/")[2] in ("consumequeue", "index")]
    wanted = fresh_rebuild(disk_with(before))
    every = itertools.product(("whole", "lost", "empty", "cut", "flipped"), repeat=len(names))
    for states in soak.some(every, minutes=1) if share == 1 else list(every)[::share]:
        files = dict(before)
        for name, state in zip(names, states, strict=True):
            data = files.pop(name)
            is_index = "/index/" in name
            unit = 1 if left == "stopped" else 36 if is_index else 12
            if left == "killed" and not is_index and state == "flipped":
                state = "cut"
            if state == "flipped":
                files[name] = flipped(data, chance, unit)
            elif state != "lost":
                end = {"whole": len(data), "empty": 0, "cut": chance.randrange(len(data))}[state]
                files[name] = data[:end]
        disk = disk_with(files)

        store = open_store(CONFIG, disk=disk)

        assert readable_count(store) == COUNT, states
        for number in (0, COUNT // 2, COUNT - 1):
            assert len(records_of_key(store, "topic-a", f"k{number}", count_max=2)) == 1, states
        store.close(START_MS)
        if not any("as configured" in note for note in store.recovery.notes):
            assert derived(disk) == wanted, states
