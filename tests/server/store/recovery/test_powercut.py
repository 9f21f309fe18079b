"""Power cuts of a real file system: an image of ext4 is copied while a store writes into it.

    sender ──> store ──> ext4 ──loop──> image ──cp──> copy ──mount──> open, check
                                          └ only what ext4 wrote back or was told to sync

SYNC_FLUSH: every message that was acknowledged when the copy began is in it. The sender is
stopped while it is copied, and goes on afterwards; a copy counts when ext4 wrote nothing
meanwhile.
"""

import contextlib
import math
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

from mqserver.store.results import PutStatus
from tests import soak
from tests.golden import REPOSITORY
from tests.server.store.stores import (
    START_MS,
    abandon,
    flush,
    keep_up,
    message,
    open_store,
    readable_count,
    small_config,
)

IMAGE_SIZE = 64 << 20
LOG_FILE_SIZE = 1 << 16
SENT_MAX = 100_000
"""Messages of one sender: their files of a few KiB take more than half of the image."""
CUTS = 20
CUTS_IN_SOAK = 1_000
SEED = 5


def send_all(root: Path) -> None:
    """Put messages with SYNC_FLUSH until killed or done; print how many are acknowledged."""
    store = open_store(small_config(root, sync=True, log_file_size=LOG_FILE_SIZE))
    number = sum(store.max_offset("topic-a", queue_id) for queue_id in (0, 1))
    while number < SENT_MAX:
        for _ in range(1 + number % 4):
            assert store.put(message(number), START_MS + number).status is PutStatus.PUT_OK
            number += 1
        store.write(START_MS + number)
        flush(store)
        print(number, flush=True)
        keep_up(store, START_MS + number * 2_000)


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


def copy_disk(image: Path, disk: Path, copy: Path) -> None:
    """Copy the image while ext4 does not write, since a copy made meanwhile would be no disk.

    Args:
        disk: where it is mounted; nobody writes there, so that ext4 soon has no more writes.
    """
    device = disk.stat().st_dev
    statistics = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/stat")

    def writes() -> tuple[int, int]:
        """Return how many writes have ended, and how many requests are in progress."""
        numbers = statistics.read_text().split()
        return int(numbers[4]), int(numbers[8])

    # A new file each time: of one that is still mounted, for want of time or of a garbage
    # collection, mount(8) would take the loop device again, with all that is in its cache.
    copy.unlink(missing_ok=True)
    before = writes()
    while True:
        shutil.copyfile(image, copy)
        after = writes()
        if after == before and not after[1]:
            return
        before = after


def check(root: Path, acknowledged: int) -> int:
    """Return how many messages are left, at least those that were acknowledged."""
    store = open_store(small_config(root, sync=True, log_file_size=LOG_FILE_SIZE))
    count = readable_count(store)
    assert count >= acknowledged
    assert store.recovery.damaged == []
    abandon(store)
    return count


def last_said(path: Path) -> int:
    """Return the number in the last whole line of a file, 0 for none."""
    lines = path.read_text().split("\n")[:-1]
    return int(lines[-1]) if lines else 0


def cut_power(
    image: Path, tmp_path: Path, count: int, *, seed: int = SEED, seconds: float = math.inf
) -> int:
    """Copy the disk ``count`` times under load and check each copy.

    Args:
        seconds: no further sender is started after so many seconds.

    Returns:
        The number of copies.
    """
    chance = random.Random(seed)
    end_s = time.monotonic() + seconds
    cuts = 0
    while cuts < count and time.monotonic() < end_s:
        # A new sender, on a disk that has space for all it sends.
        run("mkfs.ext4", "-q", "-F", str(image))
        directory = tmp_path / str(cuts)
        directory.mkdir()
        cuts += cut_sender(image, directory, min(CUTS, count - cuts), chance)
    return cuts


def cut_sender(image: Path, tmp_path: Path, count: int, chance: random.Random) -> int:
    """Cut the power of one sender until it is done, at most ``count`` times.

    Returns:
        The number of cuts.
    """
    cuts = 0
    said = tmp_path / "said"
    words = [sys.executable, "-B", "-m", "tests.server.store.recovery.test_powercut"]
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
            while cuts < count and sender.poll() is None:
                time.sleep(chance.uniform(0.01, 0.15))
                sender.send_signal(signal.SIGSTOP)
                acknowledged = last_said(said)
                copy_disk(image, disk, tmp_path / "copy")
                sender.send_signal(signal.SIGCONT)
                with mounted(tmp_path / "copy", tmp_path / "after") as after:
                    check(after / "store", acknowledged)
                cuts += 1
            assert sender.poll() in (None, 0)
        finally:
            sender.kill()
            sender.wait()
    return cuts


def test_power_cuts_of_ext4_lose_nothing_that_was_acknowledged(image: Path, tmp_path: Path) -> None:
    cut_power(image, tmp_path, CUTS)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_many_power_cuts_of_ext4(image: Path, tmp_path: Path) -> None:
    count = cut_power(image, tmp_path, CUTS_IN_SOAK, seed=soak.SEED, seconds=soak.seconds(4))

    print(f"seed {soak.SEED}: {count} cuts")


if __name__ == "__main__":
    send_all(Path(sys.argv[1]))
