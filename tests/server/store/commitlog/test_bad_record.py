"""Dispatch of many records, one of which raises in one step: the others do not notice.

put 0 … 9 ── write ── dispatch: step of record 5 raises ──┬── now: the others are readable
                                                          ├── after the next start: all are
                                                          └── a slave: as the master
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mqserver.store.commitlog import dispatcher
from mqserver.store.commitlog.dispatcher import Dispatcher
from mqserver.store.index import index
from mqserver.store.index.index import Index
from mqserver.store.queues import queue_table
from mqserver.store.queues.entry_backlog import Backlog
from mqserver.store.queues.ext import ExtFiles
from mqserver.store.queues.queue import ConsumeQueue
from mqserver.store.queues.queue_table import QueueTable
from mqserver.store.raw_log import RawLog
from mqserver.store.results import DispatchEntry, PutStatus
from mqserver.store.store import MessageStore
from mqserver.store.store_errors import StoreFailed
from tests.server.store.stores import (
    START_MS,
    bodies,
    flush,
    message,
    open_store,
    records_of_key,
    run_of,
    small_config,
)
from tests.server.store.test_raw_log import append

BAD = 5
COUNT = 10


class Fault(Exception):
    """What a step raises."""


def _is_bad(value: object) -> bool:
    """Tell whether an argument is, or holds, the entry of the bad record."""
    if isinstance(value, DispatchEntry):
        return value.queue_offset == BAD
    return isinstance(value, list) and any(map(_is_bad, value))


raised: list[str] = []
"""The steps that raised in this test."""


@pytest.fixture(autouse=True)
def _forget() -> None:
    raised.clear()


def raising(method: Callable[..., Any], is_bad: Callable[..., bool]) -> Callable[..., Any]:
    """Return ``method``, which raises for the bad record."""

    def step(*args: Any, **kwargs: Any) -> Any:
        if is_bad(*args):
            raised.append(method.__name__)
            raise Fault(method.__name__)
        return method(*args, **kwargs)

    return step


def any_bad(*args: object) -> bool:
    return any(map(_is_bad, args))


class Step:
    """A step of dispatch, and what its failure leaves for the next start."""

    def __init__(
        self,
        kind: object,
        name: str,
        *,
        is_bad: Callable[..., bool] = any_bad,
        has_entry: bool = True,
        has_keys: bool = True,
    ) -> None:
        self.kind, self.name, self.is_bad = kind, name, is_bad
        self.has_entry, self.has_keys = has_entry, has_keys


def _is_bad_append(queue: ConsumeQueue, log_offset: int, size: int, tags_code: int) -> bool:
    return queue.max_offset == BAD and log_offset > 0


STEPS = {
    "the entry in plain Python": Step(Dispatcher, "_add_one"),
    "the bytes of the entry": Step(ConsumeQueue, "append", is_bad=_is_bad_append, has_entry=False),
    "the ext unit": Step(ExtFiles, "put_unit"),
    "the backlog": Step(Backlog, "add_one", is_bad=lambda *_: True),
    "eviction": Step(QueueTable, "evict", is_bad=lambda *_: True),
    "the keys of a group": Step(Index, "dispatch_new"),
    "the keys of a record": Step(index, "key_rows", has_keys=False),
}


def break_step(patch: pytest.MonkeyPatch, step: Step) -> None:
    # The kernel calls none of these steps.
    patch.setattr(dispatcher, "_add", None)
    patch.setattr(dispatcher, "KEYS_WAITING_MAX", 1)
    if step.kind is Backlog:
        # No queue is loaded at its first message.
        patch.setattr(queue_table, "LOADED_PUT_MAX", 0)
    if step.kind is QueueTable:
        patch.setattr(queue_table, "LOADED_MAX", -queue_table.SLACK - 1)
    patch.setattr(step.kind, step.name, raising(getattr(step.kind, step.name), step.is_bad))


def put_group(store: MessageStore) -> None:
    for number in range(COUNT):
        store.put(message(number, queue_id=0), START_MS)
    store.write(START_MS)
    flush(store)


def found(store: MessageStore) -> list[bytes]:
    return bodies(store, "topic-a", 0)


def keyed(store: MessageStore) -> list[int]:
    """Return the messages that their key finds."""
    return [
        number
        for number in range(COUNT)
        if records_of_key(store, "topic-a", f"k{number}", count_max=9)
    ]


EXPECTED = [message(number).body for number in range(COUNT)]
OTHERS = EXPECTED[:BAD] + EXPECTED[BAD + 1 :]


@pytest.mark.parametrize("sync", [False, True])
@pytest.mark.parametrize("name", STEPS)
def test_others_are_readable_at_once_and_all_after_the_next_start(
    name: str, sync: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = STEPS[name]
    config = small_config(tmp_path, sync=sync, enable_consume_queue_ext=step.kind is ExtFiles)
    store = open_store(config)
    with monkeypatch.context() as patch:
        break_step(patch, step)
        put_group(store)

    assert raised
    assert found(store) == (EXPECTED if step.has_entry else OTHERS)
    without_keys = range(0) if step.has_keys else range(BAD, BAD + 1)
    assert keyed(store) == [number for number in range(COUNT) if number not in without_keys]
    stop(store, whole=step.has_entry and step.has_keys)
    again = open_store(config)
    assert found(again) == EXPECTED
    assert keyed(again) == list(range(COUNT))
    again.close(START_MS)


def stop(store: MessageStore, *, whole: bool) -> None:
    """Stop a store; one with a record that lacks entries says that the next start recovers it."""
    if whole:
        store.close(START_MS)
        return
    with pytest.raises(StoreFailed, match="lacks entries; the next start makes them"):
        store.close(START_MS)


@pytest.mark.parametrize("name", [*STEPS, "the record itself"])
def test_slave_goes_on_behind_a_record_that_fails_there(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = STEPS.get(name) or Step(
        RawLog, "_make_entry", is_bad=lambda _, found: found.queue_offset == BAD, has_entry=False
    )
    master = open_store(small_config(tmp_path / "a"))
    ext = step.kind is ExtFiles
    config = small_config(tmp_path / "b", enable_consume_queue_ext=ext)
    slave = open_store(config)
    put_group(master)
    with monkeypatch.context() as patch:
        break_step(patch, step)
        append(slave, master.raw.read(0, 1 << 20))

    assert raised
    assert found(slave) == (EXPECTED if step.has_entry else OTHERS)
    slave.raw.cut()
    stop(slave, whole=step.has_entry and step.has_keys)
    again = open_store(config)
    assert found(again) == found(master) == EXPECTED
    again.close(START_MS)
    master.close(START_MS)


@pytest.mark.parametrize("sync", [False, True])
def test_observers_are_called_for_the_others(sync: bool, tmp_path: Path) -> None:
    store = open_store(small_config(tmp_path, sync=sync))
    seen: list[int] = []

    def fail(entries: list[DispatchEntry]) -> None:
        if any_bad(entries):
            raise Fault

    store.dispatched.add(fail)
    store.dispatched.add(lambda entries: seen.extend(entry.queue_offset for entry in entries))
    put_group(store)

    assert sorted(set(seen)) == list(range(COUNT))
    store.close(START_MS)


@pytest.mark.parametrize("numbers", [
    {"flag": 1 << 31}, {"sys_flag": 1 << 31}, {"born_ms": 1 << 63}, {"reconsume_times": 1 << 31},
    {"prepared_transaction_offset": -(1 << 63) - 1},
])  # fmt: skip
def test_message_with_a_number_of_too_many_bits_takes_no_place(
    numbers: dict[str, int], tmp_path: Path
) -> None:
    store = open_store(small_config(tmp_path))
    first = store.put(message(0, queue_id=0), START_MS)
    bad = replace(message(1, queue_id=0), **numbers)

    assert store.put(bad, START_MS).status is PutStatus.MESSAGE_ILLEGAL
    if "prepared_transaction_offset" not in numbers:
        assert store.put_run(run_of([bad, bad]), START_MS).status is PutStatus.MESSAGE_ILLEGAL
    after = store.put(message(2, queue_id=0), START_MS)
    store.write(START_MS)
    assert (after.queue_offset, after.log_offset) == (1, first.log_offset + first.size)
    assert found(store) == [message(0).body, message(2).body]
    store.close(START_MS)
