"""A kill loses nothing although the disk took seconds for a sync before.

    one thread syncs     log ── 4 s ──────> queues ─> …        as in a running broker
    messages             before, while and after it hangs
    kill                 memory is gone, everything that was written is in the files

Rule: a kill takes nothing out of the page cache, so that every message that was written is read
after the next start, whichever sync hung and whenever it did. The time is made up; the files
are real, for a start may look at their times.
"""

import time
from collections import deque
from pathlib import Path

import pytest

from mqserver.store.commitlog.flush import FlushJob
from mqserver.store.disk.job import DiskJob
from mqserver.store.results import PutStatus
from mqserver.store.store import MessageStore
from mqserver.store.store_config import StoreConfig
from tests.server.store.stores import START_MS, abandon, bodies, message

STEP_MS, HOUSEKEEPING_MS, FLUSH_MS = 100, 200, 500
"""The intervals of a broker's timers; those of its settings are the defaults."""
QUEUE_COUNT = 4
CLOCK_OF_FILES = 5
"""CLOCK_REALTIME_COARSE of Linux, which goes on some hundred times a second."""


class Machine:
    """A store with the timers of a broker, and one thread for the disk that may hang.

    Args:
        stall_at_ms: the first job that begins at or after this time stalls.
        stall_ms: how long that job takes.
        stalls_log: whether that job syncs the log, or queues and index.
    """

    def __init__(
        self, root: Path, *, stall_at_ms: int = 0, stall_ms: int = 0, stalls_log: bool = True
    ) -> None:
        self.config = StoreConfig(
            store_path_root_dir=root,
            mapped_file_size_commit_log=8 << 20,
            max_hash_slot_num=1_000,
            max_index_num=20_000,
        )
        self.time_ms = 0
        self.sent: list[list[bytes]] = [[] for _ in range(QUEUE_COUNT)]
        self._stall_at_ms, self._stall_ms = stall_at_ms, stall_ms
        self._stalls_log = stalls_log
        self._jobs: deque[DiskJob] = deque()
        self._busy_until_ms = 0
        self.open()

    @property
    def now_ms(self) -> int:
        return START_MS + self.time_ms

    def open(self) -> None:
        """Start a second later."""
        self.time_ms += 1_000
        self.store = MessageStore.open(self.config, now_ms=self.now_ms)

    def send(self, count: int) -> None:
        """Put and write messages, 50 with each write."""
        first = sum(map(len, self.sent))
        for number in range(first, first + count):
            queue_id = number % QUEUE_COUNT
            body = b"%d" % number
            one = message(number, queue_id=queue_id, body=body)
            assert self.store.put(one, self.now_ms).status is PutStatus.PUT_OK
            self.sent[queue_id].append(body)
            if number % 50 == 49:
                self.store.write(self.now_ms)
        self.store.write(self.now_ms)

    def pass_until(self, time_ms: int) -> None:
        """Advance the time."""
        while self.time_ms < time_ms:
            self.time_ms += STEP_MS
            if self.time_ms % 1_000 == 0:
                self._let_files_age()
            self._work()
            if self.time_ms % FLUSH_MS == 0:
                self._begin(self.store.begin_flush())
            if self.time_ms % HOUSEKEEPING_MS == 0:
                self._begin(self.store.housekeeping(self.now_ms))

    def _let_files_age(self) -> None:
        """Wait until a file that is changed now gets a later time than all files before."""
        before = time.clock_gettime_ns(CLOCK_OF_FILES)
        while time.clock_gettime_ns(CLOCK_OF_FILES) == before:
            pass

    def _begin(self, job: DiskJob | None) -> None:
        if job is None:
            return
        self._jobs.append(job)
        is_stalled = isinstance(job, FlushJob) is self._stalls_log
        if self._stall_ms and is_stalled and self.time_ms >= self._stall_at_ms:
            self._busy_until_ms = self.time_ms + self._stall_ms
            self._stall_ms = 0
        self._work()

    def _work(self) -> None:
        while self._jobs and self.time_ms >= self._busy_until_ms:
            job = self._jobs.popleft()
            job.do_work()
            self.store.end_flush(job)

    def kill(self) -> None:
        """Drop what is in memory, and the jobs that its thread has not run."""
        self._jobs.clear()
        self._busy_until_ms = 0
        abandon(self.store)

    def unread(self) -> int:
        """Return how many messages cannot be read at their queue offset."""
        lost = 0
        for queue_id, sent in enumerate(self.sent):
            found = bodies(self.store, "topic-a", queue_id)
            lost += len(set(sent) - set(found)) if found != sent else 0
        return lost


def assert_all_is_read_after(machine: Machine) -> None:
    """Kill the process and start it, twice."""
    for _ in range(2):
        machine.kill()
        machine.open()

        assert machine.unread() == 0
        assert sum(map(len, machine.sent)) == sum(
            machine.store.max_offset("topic-a", queue_id) for queue_id in range(QUEUE_COUNT)
        )
    machine.store.close(machine.now_ms)


def test_hiccup_of_the_log_before_a_round_of_upkeep_loses_nothing_after_a_kill(
    tmp_path: Path,
) -> None:
    machine = Machine(tmp_path / "store", stall_at_ms=57_900, stall_ms=4_000)
    machine.send(4_000)
    machine.pass_until(57_800)
    machine.send(50)
    machine.pass_until(67_000)

    assert_all_is_read_after(machine)


@pytest.mark.parametrize("stalls_log", [True, False], ids=["log", "queues"])
@pytest.mark.parametrize("burst_ms", [-4_000, -1_500, -100, 100, 2_000])
@pytest.mark.parametrize("quiet_ms", [300, 9_000])
def test_hiccup_at_any_moment_loses_nothing_after_a_kill(
    tmp_path: Path, *, stalls_log: bool, burst_ms: int, quiet_ms: int
) -> None:
    for stall_at_ms in range(57_000, 62_001, 2_500):
        machine = Machine(
            tmp_path / str(stall_at_ms),
            stall_at_ms=stall_at_ms,
            stall_ms=4_000,
            stalls_log=stalls_log,
        )
        machine.send(90)
        machine.pass_until(stall_at_ms + burst_ms)
        machine.send(30)
        machine.pass_until(stall_at_ms + burst_ms + quiet_ms)

        assert_all_is_read_after(machine)
