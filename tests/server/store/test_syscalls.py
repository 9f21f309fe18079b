"""SIGKILL at the N-th call of one kind that a real process makes, over a scripted run.

    strace -e inject=pwrite64:signal=SIGKILL:when=N  python this file  DIRECTORY
       prints a number when that many messages are acknowledged, and dies in call N

The page cache survives: this shows that no order of calls leaves a store that does not
open, with real files; what a power cut takes away is in ``test_crashstates``.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.golden import REPOSITORY
from tests.server.store.stores import (
    START_MS,
    abandon,
    bodies,
    flush,
    message,
    open_store,
    small_config,
)

COUNT = 60
CALLS = ("pwrite64", "fdatasync", "rename", "ftruncate", "fallocate", "unlink", "fsync")
SAMPLES = (1, 2, 5, 11, 23)


def scripted_run(root: Path) -> None:
    """Put messages with SYNC_FLUSH, over the ends of files; stop in order, and go on."""
    for part in (1, 2):
        store = open_store(small_config(root, sync=True, log_file_size=4096))
        first = COUNT // 2 * (part - 1)
        for number in range(first, first + COUNT // 2):
            store.put(message(number), START_MS + number)
            store.write(START_MS + number)
            flush(store)
            print(number + 1, flush=True)
            job = store.housekeeping(START_MS + number * 20_000)
            if job is not None:
                job.run()
                store.end_flush(job)
        store.close(START_MS + COUNT)


def acknowledged_until_killed(root: Path, call: str, number: int) -> tuple[bool, int]:
    """Return whether the run was killed, and how many messages it had acknowledged."""
    words = ["strace", "-qq", "-o", os.devnull, "-e", f"trace={call}"]
    words += ["-e", f"inject={call}:signal=SIGKILL:when={number}"]
    words += [sys.executable, "-B", "-m", "tests.server.store.test_syscalls", str(root)]
    path = os.pathsep.join([str(REPOSITORY), *sys.path])
    done = subprocess.run(
        words, cwd=REPOSITORY, env={**os.environ, "PYTHONPATH": path}, capture_output=True
    )
    said = done.stdout.split()
    return done.returncode != 0, int(said[-1]) if said else 0


@pytest.fixture(scope="module")
def strace(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skip where calls cannot be injected."""
    if shutil.which("strace") is None:
        pytest.skip("no strace: install it to kill a process at a call")
    words = ["strace", "-qq", "-o", os.devnull, "-e", "inject=getpid:retval=7", "true"]
    tried = subprocess.run(words, capture_output=True)
    if tried.returncode != 0:
        pytest.skip(f"strace may not trace here: {tried.stderr.decode()[:200]}")


def check(root: Path, acknowledged: int) -> None:
    """Open what is left: a beginning of the messages, with all that were acknowledged."""
    store = open_store(small_config(root, sync=True, log_file_size=4096))
    ends = [store.max_offset("topic-a", queue_id) for queue_id in (0, 1)]
    assert sum(ends) >= acknowledged
    for queue_id, end in enumerate(ends):
        wanted = [message(2 * number + queue_id).body for number in range(end)]
        assert bodies(store, "topic-a", queue_id) == wanted
    assert 0 <= ends[0] - ends[1] <= 1
    assert store.recovery.damaged == []
    abandon(store)


@pytest.mark.parametrize("call", CALLS)
def test_killed_at_a_sample_of_calls_it_opens(call: str, strace: None, tmp_path: Path) -> None:
    for number in SAMPLES:
        root = tmp_path / str(number) / "store"
        killed, acknowledged = acknowledged_until_killed(root, call, number)
        if not killed:
            assert acknowledged == COUNT
            break
        check(root, acknowledged)


@pytest.mark.soak
@pytest.mark.parametrize("call", CALLS)
def test_killed_at_every_call_it_opens(call: str, strace: None, tmp_path: Path) -> None:
    for number in range(1, 10_000):
        root = tmp_path / str(number) / "store"
        killed, acknowledged = acknowledged_until_killed(root, call, number)
        if not killed:
            assert acknowledged == COUNT
            return
        check(root, acknowledged)
        shutil.rmtree(root)
    pytest.fail("the run never came to its end")


if __name__ == "__main__":
    scripted_run(Path(sys.argv[1]))
