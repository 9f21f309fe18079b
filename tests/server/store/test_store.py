"""The store as a whole: visibility, flush jobs, housekeeping, locks, deleted topics."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mqserver.store.results import DispatchEntry, PutStatus
from mqserver.store.store import MessageStore
from mqserver.store.store_errors import StoreLocked
from storefmt.formats.checkpoint import Checkpoint
from tests.server.store.stores import (
    LOG_FILE_SIZE,
    START_MS,
    abandon,
    delete_topic,
    finish,
    flush,
    make_ahead,
    message,
    open_store,
    put_all,
    put_and_write,
    small_config,
    step_up,
)


def test_async_flush_shows_messages_after_the_write(store: MessageStore) -> None:
    seen: list[list[DispatchEntry]] = []
    store.dispatched.add(seen.append)
    store.put(message(1), START_MS)
    assert seen == []

    store.write(START_MS)

    assert [(entry.queue_id, entry.queue_offset) for entry in seen[0]] == [(1, 0)]
    assert store.max_offset("topic-a", 1) == 1
    assert store.needs_flush


def test_sync_flush_shows_messages_only_when_they_are_on_disk(tmp_path: Path) -> None:
    store = open_store(small_config(tmp_path, sync=True))
    put_and_write(store, [message(1)])
    job = store.begin_flush()
    put_and_write(store, [message(3)])

    assert store.begin_flush() is None
    assert store.max_offset("topic-a", 1) == 0
    assert finish(store, job)

    assert store.max_offset("topic-a", 1) == 1
    assert store.flushed_offset == job.until < store.written_offset
    flush(store)
    assert store.max_offset("topic-a", 1) == 2
    assert not store.needs_flush


@pytest.mark.parametrize("jump_ms", [-30 * 86_400_000, -3_600_000, 0, 3_600_000])
def test_housekeeping_goes_on_wherever_the_clock_is_set(
    store: MessageStore, tmp_path: Path, jump_ms: int
) -> None:
    put_all(store, range(20))
    flush(store)
    now_ms = START_MS + 1_000 + jump_ms

    syncs = [step_up(store, now_ms + step) for step in range(0, 61_000, 200)]

    assert (tmp_path / "consumequeue" / "topic-a" / "0").is_dir()
    assert any(syncs)
    abandon(store)


def test_housekeeping_moves_the_checkpoint_to_what_was_synced(tmp_path: Path) -> None:
    store = open_store(small_config(tmp_path, flush_consume_queue_thorough_interval_ms=1000))
    put_all(store, range(5))
    assert not step_up(store, START_MS + 500)
    flush(store)
    put_all(store, range(5, 9))

    assert not step_up(store, START_MS + 1000)
    job = store.housekeeping(START_MS + 1000)

    assert store.housekeeping(START_MS + 9000) is None
    assert finish(store, job)
    found = Checkpoint.decode((tmp_path / "checkpoint").read_bytes())
    assert found == Checkpoint(START_MS + 4, START_MS + 8, 0)


def test_next_log_file_is_made_ahead_and_removed_when_it_is_not_needed(
    store: MessageStore, tmp_path: Path
) -> None:
    put_and_write(store, [message(0, body=b"x" * (LOG_FILE_SIZE * 7 // 8))])

    make_ahead(store)

    assert len(list((tmp_path / "commitlog").iterdir())) == 2
    store.close(START_MS)
    assert len(list((tmp_path / "commitlog").iterdir())) == 1


def test_clean_stop_leaves_what_java_leaves(store: MessageStore, tmp_path: Path) -> None:
    assert (tmp_path / "abort").exists()
    put_all(store, range(3))

    store.close(START_MS)

    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["checkpoint", "commitlog", "consumequeue", "dispatch.json", "index", "lock"]
    assert (tmp_path / "checkpoint").stat().st_size == 4096
    assert (tmp_path / "lock").read_bytes() == b"lock"


def test_closing_twice_and_using_a_closed_store_is_harmless(store: MessageStore) -> None:
    store.close(START_MS)

    store.close(START_MS)

    assert store.put(message(1), START_MS).status is PutStatus.SERVICE_NOT_AVAILABLE
    assert store.housekeeping(START_MS) is None


def test_close_flushes_what_a_job_under_way_has_not(tmp_path: Path) -> None:
    store = open_store(small_config(tmp_path, sync=True))
    put_and_write(store, [message(1)])
    assert store.begin_flush() is not None
    store.put(message(3), START_MS)

    store.close(START_MS)

    again = open_store(small_config(tmp_path, sync=True))
    assert again.recovery.scanned_size == 0
    assert again.max_offset("topic-a", 1) == 2


def test_second_store_of_one_directory_is_refused(tmp_path: Path) -> None:
    open_store(small_config(tmp_path))

    with pytest.raises(StoreLocked, match="this process"):
        open_store(small_config(tmp_path))


def test_directory_locked_by_another_process_is_refused(tmp_path: Path) -> None:
    # As FileChannel.tryLock(0, 1, false) of the Java broker does it.
    program = (
        "import fcntl, sys; file = open(sys.argv[1], 'w');"
        "fcntl.lockf(file, fcntl.LOCK_EX, 1, 0); print('locked', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "lock")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        other.stdout.readline()

        with pytest.raises(StoreLocked, match="another broker"):
            open_store(small_config(tmp_path))

        other.stdin.close()


def test_an_open_store_holds_the_lock_java_takes(tmp_path: Path) -> None:
    open_store(small_config(tmp_path))
    program = (
        "import fcntl, sys; file = open(sys.argv[1], 'r+');"
        "fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0)"
    )

    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "lock")], capture_output=True, check=False
    )

    assert b"BlockingIOError" in done.stderr
    assert fcntl.LOCK_EX


def test_deleted_topic_leaves_an_empty_directory(store: MessageStore, tmp_path: Path) -> None:
    put_all(store, range(10))
    store.put(message(1, topic="stays"), START_MS)
    store.close(START_MS)
    store = open_store(small_config(tmp_path))

    count = delete_topic(store, "topic-a")

    assert count == 2
    assert store.queues() == [("stays", 1)]
    assert store.max_offset("topic-a", 0) == 0
    store.close(START_MS)
    assert os.listdir(tmp_path / "consumequeue" / "topic-a") == []


def test_many_queues_reach_their_files(tmp_path: Path) -> None:
    store = open_store(small_config(tmp_path, log_file_size=1 << 20))
    put_and_write(store, [message(queue_id, queue_id=queue_id) for queue_id in range(700)])

    store.close(START_MS)

    again = open_store(small_config(tmp_path, log_file_size=1 << 20))
    assert all(again.max_offset("topic-a", queue_id) == 1 for queue_id in range(700))
    abandon(again)
