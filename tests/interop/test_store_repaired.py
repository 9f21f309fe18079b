"""What we repair and rebuild, opened by the real 4.9.7 store: it serves every message.

    damaged store ──repair──> copy ──real DefaultMessageStore──> every queue, read to its end

One JVM opens all copies, as they are and as after a kill (an abort file), where it walks
the log itself and dispatches again.
"""

import shutil
from pathlib import Path

import pytest

from storefmt.offline.output_dir import OutputDirectory
from storefmt.offline.repair.rebuild import StoreShape, rebuild
from storefmt.offline.repair.repair import repair
from storefmt.offline.verify.seal import CHECKSUMS, seal
from storefmt.offline.views.storedir import StoreDir
from tests.golden import Golden
from tests.interop.kit.toolbox import Line, Toolbox
from tests.storefmt.offline.damages import DAMAGES

SHAPE = {"logFileSize": 262144, "queueFileSize": 6000, "slots": 500, "entries": 1000}
GEOMETRY = StoreShape(queue_file_size=6000, index_slot_count=500, index_entry_count=1000)
"""The same, for stores that have no file left to tell it."""
KEYS = 6


def expected_of(path: Path) -> tuple[dict[str, list[list[int]]], list[list[str]], int]:
    """Return what each queue holds, some keys, and the end of the log, as we read it."""
    queues, keys = {}, []
    with StoreDir.open(path) as store:
        for topic, queue_id in store.queues():
            view = store.queue(topic, queue_id)
            queues[f"{topic}@{queue_id}"] = [
                [k, entry.log_offset, entry.size]
                for k, entry in view.entries(view.min_offset)
                if not entry.is_filler
            ]
        for item in store.records():
            unique = getattr(item, "unique_key", None)
            if unique and len(keys) < KEYS:
                keys.append([item.topic, unique])
        return queues, keys, store.log.end


def open_all(toolbox: Toolbox, paths: list[Path], *, abort: bool) -> dict[str, Line]:
    stores = [
        {"path": str(path), "abort": abort, "keys": expected_of(path)[1], **SHAPE} for path in paths
    ]
    lines = toolbox.run("OpenStores", {"stores": stores, "threads": 8}, timeout_s=240)
    return {line["path"]: line for line in lines}


def assert_served(line: Line, path: Path, wanted: tuple[dict[str, list[list[int]]], int]) -> None:
    queues, end = wanted
    assert line.get("error") is None, path.name
    assert line["load"] is True, path.name
    assert line["maxPhy"] == end, path.name
    for name, entries in queues.items():
        served = [row[:3] for row in line["queues"][name]["served"]]
        assert served == entries, (path.name, name)
        if entries:
            assert line["queues"][name]["max"] == entries[-1][0] + 1
    assert all(count >= 1 for count in line["keys"]), path.name


@pytest.mark.timeout(300)
@pytest.mark.parametrize("abort", [False, True], ids=["stopped", "killed"])
def test_the_real_store_serves_every_repaired_one(
    abort: bool, golden: Golden, toolbox: Toolbox, tmp_path: Path
) -> None:
    outs = []
    for damage in golden.damages():
        path = golden.damaged(damage["case"])
        outs.append(tmp_path / damage["case"])
        with StoreDir.open(path) as store:
            repair(store, OutputDirectory.make(outs[-1], source=path))
        shutil.rmtree(path)
    wanted = {out: expected_of(out) for out in outs}

    lines = open_all(toolbox, outs, abort=abort)

    for out, (queues, _, end) in wanted.items():
        assert_served(lines[str(out)], out, (queues, end))
        records = sum(len(entries) for entries in queues.values())
        assert records >= 1419 or out.name.startswith(("30", "41")), out.name


@pytest.mark.timeout(300)
def test_the_real_store_serves_what_is_left_of_whole_files(
    golden: Golden, toolbox: Toolbox, tmp_path: Path
) -> None:
    outs = []
    for damage in DAMAGES:
        path = golden.store("basic")
        damage(path)
        outs.append(tmp_path / damage.__name__)
        with StoreDir.open(path) as store:
            repair(store, OutputDirectory.make(outs[-1], source=path), shape=GEOMETRY)
        shutil.rmtree(path)
    wanted = {out: expected_of(out) for out in outs}

    lines = open_all(toolbox, outs, abort=False)

    for out, (queues, _, end) in wanted.items():
        line = lines[str(out)]
        with StoreDir.open(out) as store:
            # A lone file that is full: the real store goes on in it, over the blank.
            over_blank = store.log.last_end if len(store.log.spans) == 1 else end
        assert_served(line, out, (queues, over_blank))


@pytest.mark.timeout(300)
def test_the_real_store_serves_what_was_rebuilt_and_sealed(
    basic: Path, toolbox: Toolbox, tmp_path: Path
) -> None:
    with StoreDir.open(basic) as store:
        rebuild(store, OutputDirectory.make(tmp_path / "new", source=basic))
        list(seal(store, basic / CHECKSUMS))
    for part in ("consumequeue", "index"):
        shutil.rmtree(basic / part)
        shutil.move(tmp_path / "new" / part, basic / part)
    queues, _, end = expected_of(basic)

    (line,) = open_all(toolbox, [basic], abort=False).values()

    assert_served(line, basic, (queues, end))
    assert (basic / CHECKSUMS).is_dir()
