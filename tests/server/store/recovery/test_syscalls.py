"""Kills a real process at the N-th system call of a kind, in a scripted run.

    300 messages with SYNC_FLUSH: files of log, queues and index roll, two state files are
    replaced again and again, the store stops in order and goes on
       └─ killed at call N: every file is there whole, old or new, and the store opens

The page cache survives: this shows that no order of calls leaves a store that does not
open, with real files; what a power cut takes away is in ``test_crashstates``.
"""

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from mqserver.runtime.jsonfile import write_atomic
from storefmt.config.tables import ConsumerOffsets, load_config
from storefmt.offline.verify.store import verify
from storefmt.offline.views.storedir import StoreDir
from tests.server.forking import ForkServer, at_each_call, changing_calls, fork_server
from tests.server.store.stores import (
    START_MS,
    flush,
    keep_up,
    message,
    open_store,
    readable_count,
    records_of_key,
    small_config,
)

MODULE = "tests.server.store.recovery.test_syscalls"
COUNT = 300
COUNT_IN_SAMPLE = 60
SAVE_EVERY = 20
LOG_FILE_SIZE = 8192
CALLS = (
    "pwrite64",
    "write",
    "openat",
    "rename",
    "ftruncate",
    "fallocate",
    "linkat",
    "unlink",
    "mkdir",
)
"""All that changes a file or a name: between two of them a kill leaves the same."""
SAMPLES = (1, 4, 11, 23)


def offsets_path(root: Path) -> Path:
    return root / "config" / "consumerOffset.json"


def saved_number(root: Path) -> int:
    """Return the content of the state file, which is the old or the new one."""
    offsets = load_config(offsets_path(root), ConsumerOffsets.decode)
    return -1 if offsets is None else offsets.offsets["topic-a", "G"][0] * 2


def scripted_run(root: Path, said: memoryview) -> None:
    """Put messages into several files; stop properly, and start once more.

    The name of the directory is the number of messages. ``said`` gets the number of messages that
    are acknowledged (2 bytes) and the state that is saved (2 bytes).
    """
    half = int(root.name) // 2
    for first in (0, half):
        store = open_store(small_config(root, sync=True, log_file_size=LOG_FILE_SIZE))
        for number in range(first, first + half):
            store.put(message(number), START_MS + number)
            store.write(START_MS + number)
            flush(store)
            said[0:2] = (number + 1).to_bytes(2, "big")
            if number % SAVE_EVERY == 0:
                save(root, number, said)
            keep_up(store, START_MS + number * 20_000)
        store.close(START_MS + first + half)


def save(root: Path, number: int, said: memoryview) -> None:
    """Replace two state files, as a broker does."""
    (root / "config").mkdir(exist_ok=True)
    offsets = ConsumerOffsets({("topic-a", "G"): {0: number // 2}})
    write_atomic(offsets_path(root), offsets.encode())
    said[2:4] = number.to_bytes(2, "big")
    write_atomic(root / "ha.json", json.dumps({"partsAt": number}), keeps_old=False)


def check(root: Path, said: bytes) -> None:
    """Open the store: it has the first messages, and all that were acknowledged."""
    acknowledged, saved = (int.from_bytes(said[pos : pos + 2].ljust(2, b"\0")) for pos in (0, 2))
    assert saved_number(root) in (saved, saved + SAVE_EVERY, 0, -1)[: 2 if saved else 4]
    if (root / "ha.json").exists():
        parts_at = json.loads((root / "ha.json").read_bytes())["partsAt"]
        assert parts_at in (saved, max(saved - SAVE_EVERY, 0))
    store = open_store(small_config(root, sync=True, log_file_size=LOG_FILE_SIZE))
    count = readable_count(store)
    assert count >= acknowledged
    assert store.recovery.damaged == []
    for number in range(max(0, count - 3), count):
        assert len(records_of_key(store, "topic-a", f"k{number}", count_max=2)) == 1
    store.close(START_MS)
    with StoreDir.open(root) as directory:
        found = {one.kind for one in verify(directory).findings}
    # There is no broker here that would keep a list of topics; a .tmp may be left, and between
    # the two renames of a state file its .bak stands for it.
    assert found <= {"config_missing", "config_fallback", "stranger"}


@pytest.fixture(scope="module")
def children(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkServer]:
    with fork_server(MODULE, tmp_path_factory.mktemp("log")) as found:
        yield found


def opens_after_kill(children: ForkServer, root: Path, call: str, number: int) -> bool:
    """Kill a run at a call and check; False when it has no such call."""
    ended = children.run(root, call, f"signal=SIGKILL:when={number}")
    children.check(root, ended)
    if not ended.was_killed:
        assert int.from_bytes(ended.said[:2]) == int(root.name)
    shutil.rmtree(root)
    return ended.was_killed


@pytest.mark.parametrize("call", [*CALLS, "fdatasync", "fsync"])
def test_killed_at_a_sample_of_calls_it_opens(
    call: str, children: ForkServer, tmp_path: Path
) -> None:
    for number in SAMPLES:
        if not opens_after_kill(children, tmp_path / str(COUNT_IN_SAMPLE), call, number):
            break


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_killed_at_every_call_that_changes_something_it_opens(tmp_path: Path) -> None:
    points = changing_calls(MODULE, tmp_path / "whole", CALLS, COUNT)

    def kill(children: ForkServer, directory: Path, call: str, number: int) -> None:
        assert opens_after_kill(children, directory / str(COUNT), call, number), (call, number)

    at_each_call(kill, MODULE, tmp_path, points, minutes=5)

    print(Counter(call for call, _ in points))
    assert len(points) > 6 * COUNT
