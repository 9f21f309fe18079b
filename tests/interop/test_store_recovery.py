"""The same damaged store, recovered by the real 4.9.7 store and by ours: what each serves.

    damage ──> copy ── real DefaultMessageStore ──┐
         └───> copy ── our MessageStore ──────────┴──> queues, offsets, messages, keys equal

Rule: what differs is in ``BETTER`` under a name, and there nothing is lost by ours.
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from storefmt.offline.views.storedir import StoreDir
from tests.golden import Golden
from tests.interop.kit.toolbox import Line, Toolbox
from tests.interop.test_store_continued import spec_of
from tests.server.store.stores import config_of, open_store, records_in, records_of_key

LOG_FILE_SIZE = 262144
Rows = list[list[int]]


def biggest_queue(root: Path) -> Path:
    """Return the directory with the most entries."""

    def size(directory: Path) -> int:
        return sum(len(path.read_bytes().rstrip(b"\0")) for path in directory.iterdir())

    return max((root / "consumequeue").glob("*/*"), key=size)


def tear(root: Path, back: int) -> None:
    """Zero the log from the middle of the record ``back`` before the end."""
    with StoreDir.open(root) as store:
        places = [item.log_offset for item in store.records() if hasattr(item, "queue_offset")]
    at = places[-back] + 60
    base = at // LOG_FILE_SIZE * LOG_FILE_SIZE
    with (root / "commitlog" / f"{base:020d}").open("r+b") as file:
        file.seek(at - base)
        file.write(bytes(LOG_FILE_SIZE - at + base))


def end_of_queue(root: Path, change: Callable[[bytes, int], bytes]) -> None:
    """Change the last file of the biggest queue; told its content and where its entries end."""
    path = max(biggest_queue(root).iterdir())
    data = path.read_bytes()
    end = -(-len(data.rstrip(b"\0")) // 20) * 20
    path.write_bytes(change(data, end)[: len(data)].ljust(len(data), b"\0"))


GARBAGE = (1).to_bytes(8, "big") + (256).to_bytes(4, "big") + bytes(8)


def cut_a_byte(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "whole": lambda root: None,
    "last record torn": lambda root: tear(root, 1),
    "fifth last record torn": lambda root: tear(root, 5),
    "all queues lost": lambda root: shutil.rmtree(root / "consumequeue"),
    "one queue lost": lambda root: shutil.rmtree(biggest_queue(root)),
    "last queue entries lost": lambda root: end_of_queue(root, lambda data, end: data[: end - 50]),
    "index lost": lambda root: shutil.rmtree(root / "index"),
    "checkpoint stale": lambda root: (root / "checkpoint").write_bytes(bytes(4096)),
    "checkpoint lost": lambda root: (root / "checkpoint").unlink(),
    "queues and index lost": lambda root: [
        shutil.rmtree(root / folder) for folder in ("consumequeue", "index")
    ],
    "garbage behind a queue": lambda root: end_of_queue(
        root, lambda data, end: data[:end] + GARBAGE
    ),
    "log a byte short": lambda root: cut_a_byte(max((root / "commitlog").iterdir())),
    "queue a byte short": lambda root: cut_a_byte(min(biggest_queue(root).iterdir())),
}
CRASHES = ("mmap", "checkpoint", "torn", "hole", "cqlost")

BETTER = {
    "one queue lost": "dispatch goes on behind the largest queue: the lost one stays empty",
    "last queue entries lost": "the same: entries below the largest queue's end stay lost",
    "index lost": "after a stop in order nothing is indexed again: no key is found",
    "garbage behind a queue, killed": "an entry that points into a record is served as one",
    "garbage behind a queue": "an entry that points into a record is served as one",
    "log a byte short": "the broker does not start",
    "log a byte short, killed": "the broker does not start",
    "queue a byte short": "the broker does not start",
    "queue a byte short, killed": "the broker does not start",
}
"""Where the real store does worse, and how."""


class Recovered(NamedTuple):
    """What a store serves after its recovery; of a queue: min, max, rows."""

    end: int
    queues: dict[str, tuple[int, int, Rows]]
    keys: list[int]


def recovered_by_us(root: Path, conf: dict[str, str], keys: list[list[str]]) -> Recovered:
    store = open_store(config_of(root, conf))
    queues: dict[str, tuple[int, int, Rows]] = {}
    for topic, queue_id in store.queues():
        low, high = store.min_offset(topic, queue_id), store.max_offset(topic, queue_id)
        rows: Rows = []
        at = low
        while at < high:
            found = store.reader.get_message(topic, queue_id, at, count_max=32)
            records = [record for chunk in found.chunks for record in records_in(chunk)]
            rows += [[one.queue_offset, one.log_offset, one.size] for one in records]
            assert found.next_offset > at
            at = found.next_offset
        if high:
            queues[f"{topic}@{queue_id}"] = low, high, rows
    counts = [len(records_of_key(store, topic, key, count_max=64)) for topic, key in keys]
    end = store.written_offset
    store.close(0)
    return Recovered(end, queues, counts)


def recovered_by_java(line: Line) -> Recovered:
    if line.get("error") is not None or not line["load"]:
        return Recovered(-1, {}, [])
    queues = {
        name: (queue["min"], queue["max"], [row[:3] for row in queue["served"]])
        for name, queue in line["queues"].items()
        if queue["max"]
    }
    return Recovered(line["maxPhy"], queues, line["keys"])


@pytest.mark.timeout(600)
def test_our_recovery_equals_the_real_one_but_where_it_is_better(
    golden: Golden, toolbox: Toolbox, tmp_path: Path
) -> None:
    specs: list[dict[str, object]] = []
    ours: dict[str, tuple[str, Recovered]] = {}

    def add(name: str, root: Path, conf: dict[str, str], keys: list[list[str]]) -> None:
        specs.append({**spec_of(root, conf, keys), "abort": (root / "abort").exists()})
        copy = tmp_path / "copy"
        shutil.copytree(root, copy)
        ours[str(root)] = name, recovered_by_us(copy, conf, keys)
        shutil.rmtree(copy)

    with StoreDir.open(golden.store("basic")) as store:
        keys = [[item.topic, key] for item in store.records() if (key := unique_key(item))][::29]
    for name, damage in DAMAGES.items():
        for killed in (False, True):
            root = golden.store("basic")
            damage(root)
            if killed:
                (root / "abort").touch()
            add(f"{name}, killed" if killed else name, root, golden.conf("basic"), keys)
    for case in CRASHES:
        name = f"crash/{case}"
        add(name, golden.family(name, "crashed"), golden.conf(name), [])

    lines = toolbox.run("OpenStores", {"stores": specs, "threads": 2}, timeout_s=500)

    theirs = {line["path"]: recovered_by_java(line) for line in lines}
    different = {name for path, (name, own) in ours.items() if own != theirs[path]}
    assert different == set(BETTER)
    for path, (name, own) in ours.items():
        for queue, (_, high, rows) in theirs[path].queues.items():
            mine = own.queues.get(queue, (0, 0, []))
            assert mine[1] >= high, (name, queue)
            assert all(row in mine[2] for row in rows), (name, queue)
    whole = next(own for name, own in ours.values() if name == "whole")
    for name, own in ours.values():
        if name in BETTER and not name.startswith("log"):
            assert own == whole, name


def unique_key(item: object) -> str | None:
    """Return the UNIQ_KEY of a record, None for what is none."""
    return getattr(item, "unique_key", None)
