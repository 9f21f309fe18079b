"""The next log file is created ahead, once, by a thread or by the put that needs it first."""

import threading
from pathlib import Path

import pytest

from mqserver.store.commitlog.next_file import NextFile
from mqserver.store.results import PutStatus
from mqserver.store.store import MessageStore
from tests.server.store.simdisk import SimDisk, refusing
from tests.server.store.stores import START_MS, bodies, finish, message, open_store, small_config

ROOT = Path("/store")
FILE_SIZE = 4096
SECOND = Path("/store/commitlog/00000000000000004096")


def filled_to_three_quarters(disk: SimDisk, *, warm: bool = False) -> MessageStore:
    """Return a store of which seven messages fill a file and eight do not fit."""
    config = small_config(ROOT, log_file_size=FILE_SIZE, warm_maped_file_enable=warm)
    store = open_store(config, disk=disk)
    put(store, 6)
    return store


def put(store: MessageStore, count: int) -> list[PutStatus]:
    statuses = []
    for _ in range(count):
        statuses.append(store.put(message(0, body=b"x" * 360), START_MS).status)
        store.write(START_MS)
    return statuses


def test_file_is_made_by_the_job_and_used_without_another_call(disk: SimDisk) -> None:
    store = filled_to_three_quarters(disk)
    job = store.begin_next_file()
    assert disk.stat(SECOND) is None

    finish(store, job)
    calls: list[str] = []
    disk.on_call = lambda name, path: calls.append(name)
    put(store, 4)

    assert set(calls) == {"pwrite"}
    assert len(bodies(store, "topic-a", 0)) == 10
    assert store.begin_next_file() is None


def test_file_that_is_needed_at_once_is_made_at_once_and_only_once(disk: SimDisk) -> None:
    store = filled_to_three_quarters(disk)
    job = store.begin_next_file()

    put(store, 4)
    made = disk.stat(SECOND)
    calls: list[str] = []
    disk.on_call = lambda name, path: calls.append(name)
    finish(store, job)

    assert made is not None
    assert calls == []
    assert len(bodies(store, "topic-a", 0)) == 10


def test_no_job_is_due_early_and_only_one_at_a_time() -> None:
    store = open_store(small_config(ROOT, log_file_size=FILE_SIZE), disk=SimDisk())
    assert store.begin_next_file() is None
    put(store, 2)
    assert store.begin_next_file() is None
    put(store, 4)

    assert store.begin_next_file() is not None
    assert store.begin_next_file() is None


def test_without_space_nothing_is_left_and_it_is_tried_again(disk: SimDisk) -> None:
    store = filled_to_three_quarters(disk)
    disk.on_call = refusing("allocate")
    assert finish(store, store.begin_next_file())

    assert disk.stat(SECOND) is None
    assert not store.failure
    assert put(store, 1) == [PutStatus.PUT_OK]
    assert put(store, 3)[-1] is PutStatus.SERVICE_NOT_AVAILABLE
    assert "free space on its disk" in store.failure
    disk.on_call = SimDisk().on_call
    assert put(store, 4) == [PutStatus.PUT_OK] * 4


def test_stop_leaves_no_file_that_was_made_ahead() -> None:
    for is_ended in (True, False):
        store = filled_to_three_quarters(disk := SimDisk())
        job = store.begin_next_file()
        job.do_work()
        if is_ended:
            store.end_flush(job)

        store.close(START_MS)

        assert disk.list(SECOND.parent) == ["00000000000000000000"]


def test_warming_writes_zeros_and_syncs_them(disk: SimDisk) -> None:
    calls: list[str] = []
    store = filled_to_three_quarters(disk, warm=True)
    disk.on_call = lambda name, path: calls.append(name)

    assert finish(store, store.begin_next_file())

    assert calls == ["fsync_dir", "create", "allocate", "pwrite"]
    assert disk.files()[str(SECOND)] == bytes(FILE_SIZE)


def test_warming_syncs_now_and_then_and_ends_when_the_file_is_needed(disk: SimDisk) -> None:
    disk.mkdir(ROOT)
    calls: list[str] = []
    size, mib = 16 << 20, 1 << 20
    job = NextFile(
        disk=disk, path=ROOT / "next", base=0, size=size, warm_size=4 * mib, is_first=True
    )
    taken: list[threading.Thread] = []

    def look(name: str, path: Path) -> None:
        calls.append(name)
        if calls.count("fdatasync") == 2 and not taken:
            taken.append(threading.Thread(target=job.take_file))
            taken[0].start()
            # It says that it needs the file before it waits for it.
            assert job._needed.wait(60)

    disk.on_call = look
    job.do_work()
    taken[0].join()

    durable = ["create", "allocate", "fsync_dir", "fsync_dir"]
    assert calls == [*durable, *(["pwrite"] * 4 + ["fdatasync"]) * 2]


def test_file_that_was_given_up_is_not_made(disk: SimDisk) -> None:
    store = filled_to_three_quarters(disk)
    job = store.begin_next_file()
    job.give_up()
    job.do_work()

    assert disk.stat(SECOND) is None
    with pytest.raises(OSError, match="cancelled"):
        job.take_file()
    assert put(store, 4)[-1] is PutStatus.PUT_OK
