"""Dispatch with and without kernels: the same queues, index files and counters, also on errors."""

import contextlib
import errno
import random
from pathlib import Path
from typing import NamedTuple

import pytest

from mqserver.store.commitlog import dispatcher as dispatcher_module
from mqserver.store.commitlog.dispatcher import KEYS_WAITING_MAX, Dispatcher
from mqserver.store.entry_writes import EntryWrite
from mqserver.store.index.index import Index
from mqserver.store.queues.queue_rows import QueueRow
from mqserver.store.queues.queue_table import QueueHandle, QueueTable
from mqserver.store.results import DispatchEntry
from storefmt.dispatch import index_table
from storefmt.formats import javahash
from storefmt.formats.sysflag import TRANSACTION_COMMIT, TRANSACTION_PREPARED, TRANSACTION_ROLLBACK
from storefmt.kernels import forms
from storefmt.paths import StorePaths
from tests.server.store.simdisk import SimDisk
from tests.twins import compiled, needs_kernel, use_form

QUEUES = 6
SLOTS = 16
SIZE = 100
KEYS = ("order-17", "ключ", "😀-1", "", "polygenelubricants", "AC110001234518B4AAC20E2F2A6704CE")
FLAGS = (0, 0, 1, TRANSACTION_PREPARED, TRANSACTION_COMMIT, TRANSACTION_ROLLBACK, -1, -13, -1 << 31)
WAYS = list(forms("add_entries"))
built = needs_kernel("add_entries", "add_rows_compiled")


class Parts(NamedTuple):
    """A dispatcher and what it writes to; some calls of the disk fail."""

    disk: SimDisk
    table: QueueTable
    index: Index
    dispatcher: Dispatcher
    refusals: list[int | None]
    """The error of each write of queues and index."""


def make(way: str, refused: set[int], monkeypatch: pytest.MonkeyPatch) -> Parts:
    """Return a dispatcher that works this way; the disk refuses the calls of these numbers."""
    use_form(monkeypatch, way, dispatcher_module, "_add", "add_entries")
    use_form(monkeypatch, way, index_table, "_key_rows", "key_rows_compiled")
    use_form(monkeypatch, way, index_table, "_add_rows", "add_rows_compiled")
    use_form(monkeypatch, way, javahash, "_hash", "hash_compiled")
    disk, calls = SimDisk(), 0

    def refuse(name: str, path: Path) -> None:
        nonlocal calls
        calls += name in ("pwrite", "create", "truncate")
        if calls in refused:
            refused.discard(calls)
            raise OSError(errno.ENOSPC, "no space", str(path))

    table = QueueTable(disk, StorePaths(Path("/store")), file_size=400)
    index = Index(disk, Path("/store/index"), slot_count=SLOTS, entry_count_max=50)
    disk.on_call = refuse
    return Parts(disk, table, index, Dispatcher(index, table), [])


def records(numbers: random.Random, log_offset: int, count: int) -> list[DispatchEntry]:
    """Return records one after another, in runs of one queue or in turns."""
    entries = []
    queue_id = 0
    for number in range(count):
        if numbers.random() < 0.4:
            queue_id = numbers.randrange(QUEUES)
        keys = tuple(numbers.choice(KEYS) for _ in range(numbers.choice((0, 1, 1, 2, 3))))
        code = numbers.choice((0, 2598919, -1, (1 << 63) - 1, -(1 << 63)))
        at, flag = log_offset + number * SIZE, numbers.choice(FLAGS)
        topic = numbers.choice(("topic-a", "topic-b"))
        entries.append(DispatchEntry(topic, queue_id, 0, at, SIZE, code, at * 30, flag, keys))
    return entries


def write_all(parts: Parts) -> None:
    """Write queues and index as the upkeep does."""
    job = EntryWrite(parts.table)
    for slot in parts.table.unwritten():
        job.add_queue(slot)
    job.add_index(parts.index, pages_max=1)
    job.do_work()
    parts.refusals.append(job.error and job.error.errno)
    job.end()


def step(parts: Parts, numbers: random.Random, log_offset: int) -> int:
    """Change something that may happen between dispatches, then dispatch some records."""
    _, table, index, dispatcher, _ = parts
    action = numbers.randrange(8)
    if action == 0:
        table.evict_after_start()
        table.evict_idle()
    elif action == 1:
        write_all(parts)
    elif action == 2:
        dispatcher.put_keys(1)
    elif action == 3:
        with contextlib.suppress(OSError):
            index.write()
    count = numbers.randrange(1, 2 * KEYS_WAITING_MAX)
    entries = records(numbers, log_offset, count)
    handles: list[QueueHandle] = []
    for entry in entries:
        handle: QueueHandle | None = table.queues.get((entry.topic, entry.queue_id))
        if handle is None:
            handle = table.handle(entry.topic, entry.queue_id)
        if entry.sys_flag & TRANSACTION_ROLLBACK in (0, TRANSACTION_COMMIT):
            if isinstance(handle, int):
                table.columns.assign_offsets(handle, 1)
            else:
                handle.next_offset += 1
        handles.append(handle)
    if action == 4:
        table.take_topic("topic-b")
    elif action == 5:
        # Its slot is still the handle of its records.
        table.find("topic-a", numbers.randrange(QUEUES))
    dispatcher.dispatch(entries, handles, now_ms=log_offset + 1)
    return log_offset + count * SIZE


def state(parts: Parts) -> dict[str, object]:
    """Return everything that a dispatch may change."""
    disk, table, index, dispatcher, refusals = parts
    columns = table.columns
    slots = range(len(columns.queue_ids[:64]))
    return {
        "files": disk.files(),
        "loaded": {key: (q.numbers, bytes(q.tail)) for key, q in table.queues.items()},
        "evicted": [columns.get(n) for n in slots],
        "backlog": (bytes(table.files.backlog.chunk), list(table.files.backlog._run_counts)),
        "index": [
            (f.path, f.header, bytes(f._fresh), bytes(f._dirty), bytes(f._slots or b""))
            for f in index.files
        ],
        "keys": (list(dispatcher._waiting), dispatcher._in_part, index._skip_keys),
        "ends": (dispatcher.dispatched_offset, dispatcher.last_store_ms),
        "refusals": list(refusals),
    }


@built
def test_kernels_change_what_plain_python_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatcher_module, "UNWRITTEN_MAX", 9)
    monkeypatch.setattr("mqserver.store.queues.queue_table.LOADED_IDLE_MAX", 2)
    monkeypatch.setattr("mqserver.store.queues.queue_table.LOADED_PUT_MAX", 5)
    seen: list[dict[str, object]] = []
    for number in range(24):
        plain = states_of("pure", number, monkeypatch)
        assert states_of("compiled", number, monkeypatch) == plain
        seen += plain

    # The seeds are worth something: entries rested, the disk was full, files were full.
    assert any(after["backlog"][0] for after in seen)
    assert any(errno.ENOSPC in after["refusals"] for after in seen)
    assert any(len(after["index"]) > 2 for after in seen)


def states_of(way: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """Return what there is after each of some dispatches."""
    numbers = random.Random(seed)
    refused = {numbers.randrange(200) for _ in range(seed % 12)}
    parts, log_offset = make(way, refused, monkeypatch), 0
    states = []
    for _ in range(12):
        log_offset = step(parts, numbers, log_offset)
        states.append(state(parts))
    return states


@built
def test_kernel_stops_before_what_is_not_a_record_and_keeps_the_records_before_it() -> None:
    add_entries = compiled("add_entries")

    table = QueueTable(SimDisk(), StorePaths(Path("/store")), file_size=400)
    queue = table.obtain("topic-a", 0)
    slot = table.put_row("topic-a", 1, QueueRow(0, 0, 0))
    backlog = table.files.backlog
    record = DispatchEntry("topic-a", 0, 0, 0, SIZE, 0, 1, 0, ())
    for records_, handles, done in (
        ([(1, 2)], [queue], 0),
        ([None], [0], 0),
        ([record._replace(log_offset=1 << 63)], [queue], 0),
        ([record._replace(sys_flag=1 << 31)], [queue], 0),
        ([record, record._replace(size=1 << 31), record], [queue] * 3, 1),
        ([record, record._replace(sys_flag=1 << 40), record], [queue] * 3, 1),
        ([record], [-1], 0),
        ([record], [len(table.columns.written)], 0),
        ([record], [1 << 63], 0),
        ([record, record._replace(size=1 << 31)], [slot, slot], 1),
    ):
        assert done == add_entries(records_, handles, 0, table.columns, backlog, evicted_max=9)
    # Each record before a bad one is there once, in full.
    assert (len(queue.tail), queue.max_offset) == (2 * 20, 2)
    assert (len(backlog.chunk), backlog.added, table.columns.unwritten[slot]) == (28, 1, 1)
    with pytest.raises(ValueError, match="1 records from 0 on and 0 queues"):
        add_entries([record], [], 0, table.columns, backlog, evicted_max=9)


@built
def test_kernel_refuses_columns_of_other_numbers() -> None:
    add_entries = compiled("add_entries")

    table = QueueTable(SimDisk(), StorePaths(Path("/store")), file_size=400)
    slot = table.put_row("topic-a", 0, QueueRow(0, 0, 0))
    record = DispatchEntry("topic-a", 0, 0, 0, SIZE, 0, 1, 0, ())
    columns, backlog = table.columns, table.files.backlog
    waiting = columns.waiting
    for other in (columns.written, waiting[:1], waiting.toreadonly(), [0] * len(waiting)):
        columns.waiting = other  # type: ignore[assignment]
        with pytest.raises(TypeError, match="column"):
            add_entries([record], [slot], 0, columns, backlog, evicted_max=9)
    assert not backlog.chunk


@built
def test_entries_of_evicted_queues_go_on_in_the_next_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for way in WAYS:
        _, table, _, dispatcher, _ = make(way, set(), monkeypatch)
        slots: list[QueueHandle] = [
            table.put_row("topic-a", number, QueueRow(0, 0, 0)) for number in range(100)
        ]
        records = [
            DispatchEntry("topic-a", number % 100, 0, number * SIZE, SIZE, 0, 1, 0, ())
            for number in range(2_400)
        ]
        dispatcher.dispatch(records, slots * 24, now_ms=1)
        backlog = table.files.backlog
        places = table.columns.waiting[:100].tolist()
        found.append(
            (backlog.chunk_count, places, [backlog.take_entries(place) for place in places])
        )

    assert found[0] == found[1]
    assert found[0][0] == 2
    assert {len(entries) for entries in found[0][2]} == {24 * 20}
