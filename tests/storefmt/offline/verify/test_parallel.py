"""Several processes find what one finds, in the same order, and none is left behind."""

import multiprocessing
import os
import random
import signal
import struct
import threading
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from storefmt.errors import DamageKind, RecordDamaged, StoreError
from storefmt.offline import StoreDir, parallel
from storefmt.offline.analyse.record_counts import By, Key, RecordCount
from storefmt.offline.analyse.stats import count_records
from storefmt.offline.parallel import map_files, workers_for
from storefmt.offline.verify.findings import Report
from storefmt.offline.verify.seal import CHECKSUMS, SealResult, seal
from storefmt.offline.verify.store import verify
from tests.golden import Golden
from tests.programs import python
from tests.records import record_bytes
from tests.storefmt.offline import stores
from tests.storefmt.offline.stores import HEALTHY, store_of
from tests.storefmt.offline.verify.test_bulk import CRASHED, damage
from tests.storefmt.offline.verify.test_large import sparse_store

parallel_module = pytest.importorskip(
    "storefmt.offline.verify.parallel_verify", reason="numpy is needed"
)

NOW_MS = 1_700_000_000_000
HEAD_SIZE = 88
"""Bytes of a record before its body."""


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let small logs be worth several processes, and cut them into parts."""
    monkeypatch.setattr(parallel, "PARALLEL_SIZE_MIN", 0)
    monkeypatch.setattr(parallel, "COUNTING_SIZE_MIN", 0)
    monkeypatch.setattr(parallel_module, "LOG_PART_SIZE", 48 << 10)


def in_this_process(*args: object, **named: object) -> object:
    return map_files(*args, **{**named, "worker_count": 1})  # type: ignore[arg-type]


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do the work of the workers in this process, which starts a hundred times as fast."""
    monkeypatch.setattr(parallel_module, "map_files", in_this_process)


def report_of(path: Path, jobs: int, *, deep: bool = False) -> Report:
    return stores.report_of(path, deep=deep, bulk=True, jobs=jobs)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", [*HEALTHY, *CRASHED])
def test_pieces_of_golden_stores_give_the_same_report(golden: Golden, name: str) -> None:
    path = store_of(golden, name)

    assert report_of(path, 2, deep=True) == report_of(path, 1, deep=True)


@pytest.mark.usefixtures("here")
def test_pieces_of_damaged_stores_give_the_same_report(golden: Golden) -> None:
    for case in golden.damages():
        path = golden.damaged(case["case"])

        assert report_of(path, 2) == report_of(path, 1), case["case"]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("seed", range(8))
def test_pieces_of_random_damage_give_the_same_report(golden: Golden, seed: int) -> None:
    chance = random.Random(seed)
    path = golden.store(chance.choice(["basic", "kinds", "v5"]))
    files = sorted(file for file in (path / "commitlog").iterdir() if file.is_file())
    for _ in range(chance.randint(1, 6)):
        damage(chance.choice(files), chance)

    assert report_of(path, 2) == report_of(path, 1)


@pytest.mark.parametrize("name", ["basic", "kinds-lmq", "slave/slave", "crash/torn/crashed"])
def test_processes_give_the_same_report(golden: Golden, name: str) -> None:
    path = store_of(golden, name)

    assert report_of(path, 2) == report_of(path, 1)
    assert multiprocessing.active_children() == []


def test_processes_give_the_same_report_of_damage(golden: Golden) -> None:
    path = golden.damaged("33-magic-wrong")

    assert report_of(path, 2) == report_of(path, 1)


@pytest.mark.usefixtures("here")
def test_most_windows_come_from_the_pieces(golden: Golden, monkeypatch: pytest.MonkeyPatch) -> None:
    from storefmt.offline.verify.bulk import Bulk

    here: list[int] = []
    original = Bulk.check_window

    def at(self: Bulk, span: object, pos: int, base: int) -> object:
        here.append(pos)
        return original(self, span, pos, base)  # type: ignore[arg-type]

    monkeypatch.setattr(Bulk, "check_window", at)
    path = golden.store("basic")
    with StoreDir.open(path) as store:
        file_count, piece_count = len(store.log.spans), len(list(parallel_module.log_parts(store)))
        verify(store, bulk=True, jobs=2)

    # The end of each file is looked at here: it holds too few records for a window.
    assert piece_count > 2 * file_count
    assert len(here) <= 2 * file_count


def record_at(log_offset: int, queue_offset: int, body: bytes) -> bytes:
    return record_bytes(
        queue_offset=queue_offset, log_offset=log_offset, born_ms=NOW_MS, store_ms=NOW_MS, body=body
    )


@pytest.mark.usefixtures("here")
def test_records_within_a_body_are_no_records(tmp_path: Path) -> None:
    # Each body holds records that say they lie where they do; one has queue entries, too.
    log, entries, number = b"", b"", 0
    while len(log) < 1 << 20:
        inner, at = b"", len(log) + HEAD_SIZE
        for _ in range(60):
            inner += record_at(at + len(inner), number, b"inner" * 20)
        record = record_at(len(log), number, inner)
        assert record[HEAD_SIZE : HEAD_SIZE + len(inner)] == inner
        entries += struct.pack(">qiq", len(log), len(record), 0)
        log, number = log + record, number + 1
    (tmp_path / "commitlog").mkdir()
    (tmp_path / "commitlog" / f"{0:020d}").write_bytes(log + bytes(4096))
    queue = tmp_path / "consumequeue" / "T" / "0"
    queue.mkdir(parents=True)
    (queue / f"{0:020d}").write_bytes(entries.ljust(6000, b"\0"))

    report = report_of(tmp_path, 2)

    assert report == report_of(tmp_path, 1)
    assert report.records == number


def stats_of(path: Path, by: By, jobs: int) -> list[tuple[Key, RecordCount]]:
    with StoreDir.open(path) as store:
        return list(count_records(store, by, columns=True, jobs=jobs).items())


def test_tallies_come_in_the_same_order(golden: Golden) -> None:
    pytest.importorskip("pyarrow")
    path = golden.store("basic")

    assert stats_of(path, By.QUEUE, 2) == stats_of(path, By.QUEUE, 1)


def test_too_many_keys_are_told_in_the_same_way(
    golden: Golden, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow")
    from storefmt.offline.analyse import record_counts, stats

    monkeypatch.setattr(stats, "map_files", in_this_process)
    path = golden.store("basic")
    for keys_max in (1, 3, 8):
        monkeypatch.setattr(record_counts, "KEYS_MAX", keys_max)

        assert stats_of(path, By.QUEUE, 2) == stats_of(path, By.QUEUE, 1)


def sealed(path: Path, target: Path, jobs: int) -> tuple[list[SealResult], dict[str, bytes]]:
    with StoreDir.open(path) as store:
        results = list(seal(store, target, jobs=jobs))
    return results, {file.name: file.read_bytes() for file in sorted(target.iterdir())}


def test_checksums_are_the_same_and_find_the_same(basic: Path, tmp_path: Path) -> None:
    assert sealed(basic, tmp_path / "two", 2) == sealed(basic, basic / CHECKSUMS, 1)

    for number, file in enumerate(sorted((basic / "commitlog").iterdir())):
        damage(file, random.Random(number))
    two, one = report_of(basic, 2), report_of(basic, 1)
    assert two == one
    assert not two.ok


def test_small_logs_stay_in_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "PARALLEL_SIZE_MIN", 100)

    assert workers_for(99, 4) == 1
    assert workers_for(100, 4) == 4
    assert workers_for(100, 1) == 1
    assert workers_for(100, 4, counting=True) == 4
    assert workers_for(100, 1000) == parallel.WORKERS_MAX


@pytest.mark.parametrize(("core_count", "expected"), [(1, 1), (2, 1), (3, 1), (4, 4), (64, 8)])
def test_few_cores_are_left_to_one_process(
    monkeypatch: pytest.MonkeyPatch, core_count: int, expected: int
) -> None:
    monkeypatch.setattr(parallel, "PARALLEL_SIZE_MIN", 100)
    monkeypatch.setattr(parallel, "_core_count", lambda: core_count)

    assert workers_for(100, None) == expected


def doubled(made: int, task: int) -> int:
    return made + 2 * task


def killed(made: int, task: int) -> int:
    if task == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return task


def refused(made: int, task: int) -> int:
    if task == 3:
        raise RecordDamaged("task 3 is bad", kind=DamageKind.BAD_CRC, pos=3)
    return task


def ten() -> int:
    return 10


def run(function: Callable[[int, int], int], count: int = 20) -> Generator[int, None, None]:
    return map_files(function, range(count), make=ten, worker_count=2)


def test_results_come_in_order_from_any_thread() -> None:
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.extend(run(doubled)))

    thread.start()
    thread.join()

    assert found == [10 + 2 * number for number in range(20)]
    assert multiprocessing.active_children() == []


def test_a_killed_worker_is_told() -> None:
    with pytest.raises(StoreError, match=r"worker process was killed.*--jobs 1"):
        list(run(killed))

    assert multiprocessing.active_children() == []


def test_an_error_keeps_its_class() -> None:
    with pytest.raises(RecordDamaged, match="task 3 is bad") as caught:
        list(run(refused))

    assert caught.value.pos == 3
    assert multiprocessing.active_children() == []


def test_who_stops_early_ends_the_workers() -> None:
    # So many that who waited for the rest would be here for ever.
    results = run(doubled, 1_000_000_000_000)
    first = next(results)

    results.close()

    assert first == 10
    assert multiprocessing.active_children() == []


LEFT = """
import os, signal, sys, time
from storefmt.offline.parallel import map_files
from tests.storefmt.offline.verify.test_parallel import doubled, ten

results = map_files(doubled, range(100), make=ten, worker_count=2)
next(results)
from multiprocessing import active_children
print(*[child.pid for child in active_children()], flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_workers_end_when_their_parent_is_killed() -> None:
    made = python("-c", LEFT, code=None)

    pids = [int(word) for word in made.stdout.split()]
    assert made.returncode == -signal.SIGKILL
    assert len(pids) == 2
    # The pipes of ``run`` are closed only when the last process is gone.
    assert not any(Path(f"/proc/{pid}/cmdline").exists() and alive(pid) for pid in pids)


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}/status").read_text().partition("State:\t")[2][:1] != "Z"


MEMORY = """
import sys
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from storefmt.offline import StoreDir, parallel, verify

parallel.PARALLEL_SIZE_MIN = 0
with StoreDir.open(sys.argv[1]) as store:
    report = verify(store, jobs=2)
own = Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]
print(report.records, int(own) + 2 * getrusage(RUSAGE_CHILDREN).ru_maxrss)
"""


def test_three_processes_take_little_memory(tmp_path: Path) -> None:
    if not Path("/proc/self/status").exists():
        pytest.skip("no /proc here to read the most memory from")
    path = sparse_store(tmp_path, 20)

    made = python("-c", MEMORY, str(path))

    records, peak_kib = map(int, made.stdout.split())
    assert records == 20
    assert peak_kib < 256 << 10
