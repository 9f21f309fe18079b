"""Work that meets bytes that are not in the page cache: when it runs again, and how it ends."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from mqserver.broker.serving.cold_reads import ColdReads, WarmUp, fault_of
from mqserver.store.commitlog.log_read import OthersWait, PausedRead
from mqserver.store.disk.nowait import ColdRead
from remoting.aio.server import ServerConn
from tests.server.doubles import FakeClock, FakeConn

SIZE = 100


class Threads(ColdReads):
    """Threads that read when the test lets them."""

    def __init__(self) -> None:
        super().__init__(FakeClock())
        self.tries_max = 2
        self.waiting: list[Callable[[int], object]] = []

    def warm(self, cold: ColdRead, again: Callable[[int], object]) -> None:
        cold.drop()
        self.waiting.append(again)

    def go_on(self, begun: PausedRead, again: Callable[[int], object]) -> None:
        self.waiting.append(again)

    def let_read(self, now_ms: int) -> None:
        self.waiting.pop()(now_ms)


class Work:
    """Work whose attempts end as they are told to."""

    def __init__(self, path: Path, *outcomes: str) -> None:
        self.outcomes = list(outcomes)
        self.attempts: list[tuple[int, bool]] = []
        self.errors: list[str] = []
        self.conn = FakeConn()
        self.threads = Threads()
        self._path = path

    def attempt(self, now_ms: int, may_wait: bool) -> None:
        self.attempts.append((now_ms, may_wait))
        match self.outcomes.pop(0):
            case "cold":
                fd = os.open(self._path, os.O_RDONLY)
                cold = ColdRead(fd, 1, 0)
                os.close(fd)
                raise cold
            case "others":
                raise OthersWait(PausedRead([], buffer=bytearray()))
            case "disk":
                raise OSError("gone")
            case "done":
                return
            case fault:
                raise ValueError(fault)

    def begin(self, *, needs_peer: bool = True) -> None:
        self.threads.with_disk(
            self.attempt,
            1,
            peer=cast(ServerConn, self.conn),
            size=SIZE,
            failed=lambda error: self.errors.append(fault_of(error)),
            needs_peer=needs_peer,
        )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "file").write_bytes(b"x")
    return tmp_path / "file"


def test_what_is_in_memory_is_done_at_once(path: Path) -> None:
    work = Work(path, "done")

    work.begin()

    assert (work.attempts, work.conn.kept_size) == ([(1, False)], 0)


def test_each_read_of_a_thread_allows_one_more_attempt_until_the_loop_waits(path: Path) -> None:
    work = Work(path, "cold", "others", "cold", "done")

    work.begin()
    for now_ms in (2, 3, 4):
        assert work.conn.kept_size == SIZE
        work.threads.let_read(now_ms)

    # A pause for others is not a read.
    assert work.attempts == [(1, False), (2, False), (3, False), (4, True)]
    assert (work.conn.kept_size, work.errors) == (0, [])


@pytest.mark.parametrize(
    ("outcome", "remark"),
    [
        ("disk", "cannot read the messages: gone"),
        ("bad", "the broker has an error: bad"),
    ],
)
def test_error_of_a_later_attempt_is_handed_over_and_that_of_the_first_is_raised(
    path: Path, outcome: str, remark: str
) -> None:
    later, first = Work(path, "cold", outcome), Work(path, outcome)

    later.begin()
    later.threads.let_read(2)
    with pytest.raises((OSError, ValueError)):
        first.begin()

    assert (later.errors, later.conn.kept_size) == ([remark], 0)
    assert (first.errors, first.conn.kept_size) == ([], 0)


@pytest.mark.parametrize(("needs_peer", "attempt_count"), [(True, 1), (False, 2)])
def test_work_of_a_connection_that_closed_ends_unless_it_changes_something(
    path: Path, needs_peer: bool, attempt_count: int
) -> None:
    work = Work(path, "cold", "done")

    work.begin(needs_peer=needs_peer)
    work.conn.close()
    work.threads.let_read(2)

    assert len(work.attempts) == attempt_count
    assert work.conn.kept_size == 0


def test_periodic_work_may_wait_after_reads_in_vain_and_not_after_one_that_helped(
    path: Path,
) -> None:
    threads, times = Threads(), []
    warm_up = WarmUp(threads, times.append)
    states = []
    with path.open("rb") as file:
        for now_ms in (1, 2):
            states.append((warm_up.may_wait, warm_up.is_running))
            warm_up.begin(ColdRead(file.fileno(), 1, 0))
            states.append((warm_up.may_wait, warm_up.is_running))
            threads.let_read(now_ms)
    states.append((warm_up.may_wait, warm_up.is_running))
    warm_up.succeeded()

    assert states == [(False, False), (False, True), (False, False), (True, True), (True, False)]
    assert not warm_up.may_wait
    assert times == [1, 2]
