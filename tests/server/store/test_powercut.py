"""Power cuts of a real file system: ext4 in a file, copied while a store writes into it.

    sender ──> store ──> ext4 ──loop──> image ──cp──> copy ──mount──> open, check
                                          └ only what ext4 wrote back or was told to sync

SYNC_FLUSH: every message that was acknowledged when the copy began is in it. The sender is
stopped while it is copied, and goes on afterwards.
"""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
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

IMAGE_SIZE = 64 << 20
LOG_FILE_SIZE = 1 << 16
CUTS = 20
CUTS_IN_SOAK = 1_000
SEED = 5


def send_for_ever(root: Path) -> None:
    """Put messages with SYNC_FLUSH until killed; say how many are acknowledged."""
    store = open_store(small_config(root, sync=True, log_file_size=LOG_FILE_SIZE))
    number = sum(store.max_offset("topic-a", queue_id) for queue_id in (0, 1))
    while True:
        for _ in range(1 + number % 4):
            store.put(message(number), START_MS + number)
            number += 1
        store.write(START_MS + number)
        flush(store)
        print(number, flush=True)
        job = store.housekeeping(START_MS + number * 2_000)
        if job is not None:
            job.run()
            store.end_flush(job)


def run(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise OSError(f"{words[0]}: {done.stderr.strip()}")


@contextlib.contextmanager
def mounted(image: Path, directory: Path) -> Iterator[Path]:
    directory.mkdir(exist_ok=True)
    run("mount", "-o", "loop", str(image), str(directory))
    try:
        yield directory
    finally:
        run("umount", "-l", str(directory))


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """Return an image with an empty ext4, or skip where none can be mounted."""
    path = tmp_path / "image"
    with path.open("wb") as file:
        file.truncate(IMAGE_SIZE)
    try:
        run("mkfs.ext4", "-q", "-F", str(path))
        with mounted(path, tmp_path / "probe"):
            return path
    except OSError as error:
        pytest.skip(f"no ext4 in a file here: {error}")


def check(root: Path, acknowledged: int) -> int:
    """Return how many messages are left, at least those that were acknowledged."""
    store = open_store(small_config(root, sync=True, log_file_size=LOG_FILE_SIZE))
    ends = [store.max_offset("topic-a", queue_id) for queue_id in (0, 1)]
    assert sum(ends) >= acknowledged
    for queue_id, end in enumerate(ends):
        assert bodies(store, "topic-a", queue_id) == [
            message(2 * number + queue_id).body for number in range(end)
        ]
    assert 0 <= ends[0] - ends[1] <= 1
    assert store.recovery.damaged == []
    abandon(store)
    return sum(ends)


def last_said(path: Path) -> int:
    """Return the last whole number in a file of one a line, 0 for none."""
    lines = path.read_text().split("\n")[:-1]
    return int(lines[-1]) if lines else 0


def cut_power(image: Path, tmp_path: Path, count: int) -> int:
    """Copy the disk ``count`` times under load and check each copy; returns what was sent."""
    chance = random.Random(SEED)
    said = tmp_path / "said"
    words = [sys.executable, "-B", "-m", "tests.server.store.test_powercut"]
    path = os.pathsep.join([str(REPOSITORY), *sys.path])
    with mounted(image, tmp_path / "disk") as disk, said.open("wb") as out:
        sender = subprocess.Popen(
            [*words, str(disk / "store")],
            cwd=REPOSITORY,
            env={**os.environ, "PYTHONPATH": path},
            stdout=out,
        )
        try:
            while not last_said(said):
                assert sender.poll() is None
                time.sleep(0.01)
            for _ in range(count):
                time.sleep(chance.uniform(0.01, 0.15))
                sender.send_signal(signal.SIGSTOP)
                acknowledged = last_said(said)
                shutil.copyfile(image, tmp_path / "copy")
                sender.send_signal(signal.SIGCONT)
                with mounted(tmp_path / "copy", tmp_path / "after") as after:
                    check(after / "store", acknowledged)
                assert sender.poll() is None
        finally:
            sender.kill()
            sender.wait()
    return last_said(said)


def test_power_cuts_of_ext4_lose_nothing_that_was_acknowledged(image: Path, tmp_path: Path) -> None:
    assert cut_power(image, tmp_path, CUTS) > CUTS


@pytest.mark.soak
def test_many_power_cuts_of_ext4(image: Path, tmp_path: Path) -> None:
    # A disk of 64 MiB is full some day: as many senders as there are hundreds.
    for number in range(CUTS_IN_SOAK // 100):
        run("mkfs.ext4", "-q", "-F", str(image))
        (tmp_path / str(number)).mkdir()
        assert cut_power(image, tmp_path / str(number), 100) > 100


if __name__ == "__main__":
    send_for_ever(Path(sys.argv[1]))
