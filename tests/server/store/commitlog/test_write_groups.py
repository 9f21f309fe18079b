"""The states of a group: the table, and what a store does in each of them."""

import errno
import os
from itertools import product
from pathlib import Path

import pytest

from mqserver.store.commitlog.append import PutGroup
from mqserver.store.commitlog.log_write import LogWrite
from mqserver.store.commitlog.write_groups import MOVES, Group, GroupEvent, GroupState
from mqserver.store.store import MessageStore
from mqserver.store.store_errors import StoreFailed, StoreFull
from storefmt.errors import BadCall
from tests.server.store.simdisk import SimDisk
from tests.server.store.stores import START_MS, bodies, message, open_store, small_config

ROOT = Path("/store")


@pytest.mark.parametrize(("state", "event"), list(product(GroupState, GroupEvent)))
def test_what_is_not_in_the_table_is_an_error(state: GroupState, event: GroupEvent) -> None:
    group = Group(PutGroup([], [], 0), needs_sync=True)
    group.state = state

    if (state, event) in MOVES:
        group.move(event)
        assert group.state is MOVES[state, event]
    else:
        with pytest.raises(BadCall, match=f"{state.name} cannot take {event.name}"):
            group.move(event)
        assert group.state is state


def test_every_group_ends_safe_or_failed_and_both_are_final() -> None:
    ends = {GroupState.SAFE, GroupState.FAILED}

    assert {state for state, _ in MOVES} == set(GroupState) - ends
    for state in set(GroupState) - ends:
        assert MOVES[state, GroupEvent.FAIL] is GroupState.FAILED


def opened(disk: SimDisk, *, sync: bool = False, **changes: object) -> MessageStore:
    return open_store(small_config(ROOT, sync=sync, **changes), disk=disk)


def put(store: MessageStore, *numbers: int) -> None:
    for number in numbers:
        assert store.put(message(number, queue_id=0), START_MS + number).queue_offset >= 0


def begun(store: MessageStore) -> LogWrite:
    job = store.begin_write(START_MS)
    assert job is not None
    return job


def ended(store: MessageStore, job: LogWrite) -> None:
    job.do_work()
    store.end_write(job)
    store.show_written(START_MS)


def seen(store: MessageStore) -> int:
    return store.max_offset("topic-a", 0)


@pytest.mark.parametrize("sync", [False, True])
def test_messages_are_seen_only_when_their_group_is_safe(sync: bool) -> None:
    store = opened(SimDisk(), sync=sync)
    put(store, 0, 1)
    first = begun(store)
    put(store, 2)
    assert (seen(store), store.waiting_count) == (0, 3)

    ended(store, first)
    second = begun(store)
    flush = store.begin_flush()
    assert flush is not None
    put(store, 3)
    ended(store, second)
    assert seen(store) == (0 if sync else 3)

    # The flush began when only the first group was written.
    flush.do_work()
    store.end_flush(flush)
    assert seen(store) == (2 if sync else 3)
    assert store.flushed_offset < store.written_offset
    store.close(START_MS)


@pytest.mark.parametrize("sync", [False, True])
def test_full_disk_undoes_the_group_and_what_was_put_behind_it(sync: bool) -> None:
    disk = SimDisk()
    store = opened(disk, sync=sync)
    put(store, 0)
    store.write(START_MS)
    put(store, 1, 2)
    job = begun(store)
    put(store, 3)
    job.error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(StoreFull, match="free space"):
        store.end_write(job)
    assert store.put_count == 1

    put(store, 4)
    store.write(START_MS)
    store.close(START_MS)

    assert stored(disk, sync=sync) == [0, 4]


def stored(disk: SimDisk, *, sync: bool) -> list[int]:
    """Return the numbers of the messages that a start finds."""
    disk.on_call = SimDisk().on_call
    store = opened(disk.kept(), sync=sync)
    texts = bodies(store, "topic-a", 0)
    store.close(START_MS)
    return [number for text in texts for number in range(10) if text == message(number).body]


def test_group_that_is_written_in_part_leaves_nothing_behind_after_a_kill() -> None:
    disk = SimDisk()
    store = opened(disk, log_file_size=4096)
    put(store, *range(3))
    job = begun(store)
    job.do_work()
    # The disk wrote all of it, and then said that it did not.
    job.error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(StoreFull):
        store.end_write(job)
    put(store, 9)
    store.write(START_MS)

    assert stored(disk, sync=False) == [9]


def test_broken_disk_fails_every_group_that_is_not_safe() -> None:
    store = opened(SimDisk(), sync=True)
    put(store, 0)
    store.write(START_MS)
    flush = store.begin_flush()
    assert flush is not None
    put(store, 1)
    job = begun(store)
    put(store, 2)
    flush.error = OSError(errno.EIO, os.strerror(errno.EIO))
    with pytest.raises(StoreFailed):
        store.end_flush(flush)
    job.do_work()
    with pytest.raises(StoreFailed, match="restart"):
        store.end_write(job)

    assert not store.takes_messages
    assert seen(store) == 0
    assert [group.state for group in flush.groups] == [GroupState.FAILED]


def test_one_write_runs_at_a_time() -> None:
    store = opened(SimDisk())
    put(store, 0)
    begun(store)
    put(store, 1)

    with pytest.raises(BadCall, match="has not ended"):
        store.begin_write(START_MS)
