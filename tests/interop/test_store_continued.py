"""Golden stores, continued by our store: clean for our verify, served whole by the real one.

    golden store ──ours: open, put, close, open, put, close──> verify: nothing to find
                                                         └──> real DefaultMessageStore

The messages that were there are still served, and the new ones follow them in their queues.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from mqserver.store.store import MessageStore
from storefmt.formats.message import MAGIC_V2
from storefmt.offline.verify.findings import Severity
from storefmt.offline.verify.store import verify
from storefmt.offline.views.storedir import StoreDir
from tests.golden import Golden
from tests.interop.kit.toolbox import Line, Toolbox
from tests.server.store.stores import START_MS, config_of, message, open_store

COUNT = 40
NEW = "topic-a"
SETS = (
    "basic",
    "kinds",
    "kinds-lmq",
    "retention",
    "ipv6",
    "default-geometry",
    "slave",
    "crash/mmap",
    "crash/checkpoint",
    "crash/torn",
    "crash/hole",
    "crash/cqlost",
)


class Served(NamedTuple):
    """What a queue serves: [queue offset, log offset, size] of each message."""

    low: int
    high: int
    rows: list[list[int]]


def store_of(golden: Golden, name: str) -> Path:
    if name.startswith("crash/"):
        return golden.family(name, "crashed")
    return golden.family(name, "slave") if name == "slave" else golden.store(name)


def spec_of(path: Path, conf: Mapping[str, str], keys: list[list[str]]) -> dict[str, object]:
    """Return what the real store has to know; Java's defaults where nothing is said."""
    config = config_of(path, dict(conf))
    return {
        "path": str(path),
        "logFileSize": config.mapped_file_size_commit_log,
        "queueFileSize": config.mapped_file_size_consume_queue,
        "slots": config.max_hash_slot_num,
        "entries": config.max_index_num,
        "ext": conf.get("enableConsumeQueueExt") == "true",
        "dispatch": conf.get("enableMultiDispatch") == "true",
        "lmq": conf.get("enableLmq") == "true",
        "keys": keys,
        "abort": False,
    }


def served_by_us(path: Path) -> dict[str, Served]:
    """Return what every queue holds, as the offline reader sees it."""
    found = {}
    with StoreDir.open(path) as store:
        for topic, queue_id in store.queues():
            view = store.queue(topic, queue_id)
            rows = [
                [number, entry.log_offset, entry.size]
                for number, entry in view.entries(view.min_offset)
                if not entry.is_filler
            ]
            found[f"{topic}@{queue_id}"] = Served(view.min_offset, view.max_offset, rows)
    return found


def continue_with(store: MessageStore, first: int, *, topic: str, queue_id: int) -> None:
    """Put messages into a queue of the store and into those of a new topic."""
    for number in range(first, first + COUNT):
        for one in (message(number, topic=topic, queue_id=queue_id), message(number, topic=NEW)):
            store.put(one, START_MS * 2 + number)
        store.write(START_MS * 2 + number)


def continued(path: Path, conf: Mapping[str, str]) -> dict[str, Served]:
    """Open a store twice and put messages each time; returns what it serves before and after."""
    config = config_of(path, dict(conf))
    store = open_store(config)
    before = {
        f"{topic}@{queue_id}": store.max_offset(topic, queue_id)
        for topic, queue_id in store.queues()
    }
    topic, queue_id = next(queue for queue in store.queues() if store.max_offset(*queue))
    continue_with(store, 0, topic=topic, queue_id=queue_id)
    store.close(START_MS * 2)
    store = open_store(config)
    assert store.recovery.clean
    assert store.recovery.scanned_size == 0
    continue_with(store, COUNT, topic=topic, queue_id=queue_id)
    store.close(START_MS * 2)

    after = served_by_us(path)
    for name, high in before.items():
        added = 2 * COUNT if name == f"{topic}@{queue_id}" else 0
        assert after.get(name, Served(0, 0, [])).high == high + added, name
    assert after[f"{NEW}@0"].high == after[f"{NEW}@1"].high == COUNT
    return after


def check_served(line: Line, name: str, wanted: Mapping[str, Served]) -> None:
    assert line.get("error") is None, name
    assert line["load"] is True, name
    for queue, (low, high, rows) in wanted.items():
        found = line["queues"][queue]
        assert found["max"] == high, (name, queue)
        if rows:
            assert found["min"] == low, (name, queue)
            # A record tells its offset in its own queue, not that in a copy's.
            places = [row[1:3] for row in found["served"]]
            assert places == [row[1:] for row in rows], (name, queue)
    assert all(count >= 1 for count in line["keys"]), name


@pytest.mark.timeout(600)
def test_the_real_store_serves_golden_stores_that_we_continued(
    golden: Golden, toolbox: Toolbox
) -> None:
    specs, wanted = [], {}
    for name in SETS:
        path, conf = store_of(golden, name), golden.conf(name)
        wanted[str(path)] = name, continued(path, conf)
        with StoreDir.open(path) as store:
            findings = verify(store, deep=True).findings
        assert [one for one in findings if one.severity is not Severity.INFO] == [], name
        specs.append(spec_of(path, conf, [[NEW, f"k{number}"] for number in (0, 2 * COUNT - 1)]))

    lines = toolbox.run("OpenStores", {"stores": specs, "threads": 2}, timeout_s=400)

    assert len(lines) == len(SETS)
    for line in lines:
        check_served(line, *wanted[line["path"]])


@pytest.mark.timeout(300)
def test_we_continue_a_store_of_5_where_the_real_one_ends_at_the_first_new_record(
    golden: Golden, toolbox: Toolbox
) -> None:
    path, untouched, conf = golden.store("v5"), golden.store("v5"), golden.conf("v5")
    first_new = next(
        record["phy"] for record in golden.jsonl("v5", "records") if record.get("magic") == MAGIC_V2
    )
    kept = served_by_us(untouched)

    ours = continued(path, conf)
    (line,) = toolbox.run(
        "OpenStores", {"stores": [spec_of(untouched, conf, [])], "threads": 1}, timeout_s=120
    )

    with StoreDir.open(path) as store:
        assert verify(store, deep=True).findings == []
    assert all(ours[name].rows[: len(was.rows)] == was.rows for name, was in kept.items())
    assert line["load"] is True
    assert line["maxPhy"] == first_new
    lost = [name for name, was in kept.items() if line["queues"][name]["max"] < was.high]
    assert lost
