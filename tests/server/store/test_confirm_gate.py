"""What a failover may take back is in no queue."""

from pathlib import Path

import pytest

from mqserver.store.confirm_gate import ConfirmGate
from mqserver.store.results import DispatchEntry, PutMessage
from mqserver.store.store import MessageStore
from mqserver.store.store_config import FlushDiskType, StoreConfig
from storefmt.formats.consumequeue import FILLER_SIZE

HOST = b"\x7f\0\0\1\0\0\0\1"


def entry(log_offset: int, size: int = 100) -> DispatchEntry:
    return DispatchEntry("T", 0, log_offset // 100, log_offset, size, 0, 0, 0, ())


def offsets(gate: ConfirmGate, *entries: DispatchEntry) -> list[int]:
    admitted, handles = gate.admit(list(entries), [0] * len(entries))
    assert len(admitted) == len(handles)
    return [one.log_offset for one in admitted]


def test_without_a_group_everything_may_be_read() -> None:
    gate = ConfirmGate()

    assert offsets(gate, entry(0), entry(100)) == [0, 100]
    assert offsets(gate) == []
    assert len(gate) == 0


def test_what_is_not_confirmed_is_held_in_order() -> None:
    gate = ConfirmGate()
    gate.limit = 150

    assert offsets(gate, entry(0), entry(100)) == [0]
    assert offsets(gate, entry(200)) == []
    assert len(gate) == 2
    gate.limit = 299
    assert offsets(gate) == [100]
    gate.limit = None
    assert offsets(gate, entry(300)) == [200, 300]


def test_nothing_of_an_empty_log_is_confirmed() -> None:
    gate = ConfirmGate()
    gate.limit = 0

    assert offsets(gate, entry(0)) == []
    gate.limit = 100
    assert offsets(gate) == [0]


def test_fillers_of_a_queue_wait_only_for_what_is_before_them() -> None:
    gate = ConfirmGate()
    gate.limit = 100
    filler = entry(0, FILLER_SIZE)

    assert len(offsets(gate, filler, entry(0), filler, entry(100))) == 3
    assert len(gate) == 1


@pytest.mark.parametrize("flush", list(FlushDiskType))
def test_a_reader_sees_only_what_is_confirmed(tmp_path: Path, flush: FlushDiskType) -> None:
    config = StoreConfig(store_path_root_dir=tmp_path / "store", flush_disk_type=flush)
    store = MessageStore.open(config, now_ms=1)
    message = PutMessage(
        topic="T", topic_bytes=b"T", queue_id=0, body=b"body", properties=b"", born_ms=1,
        born_host=HOST, store_host=HOST,
    )  # fmt: skip
    store.confirm(0, 1)

    ends = []
    for _ in range(3):
        result = store.put(message, 1)
        store.write(1)
        ends.append(result.log_offset + result.size)
        while job := store.begin_flush():
            job.do_work()
            store.end_flush(job)

    assert store.max_offset("T", 0) == 0
    assert store.waiting_count == 3
    store.confirm(ends[1] - 1, 2)
    assert store.max_offset("T", 0) == 1
    store.confirm(ends[1], 2)
    assert store.max_offset("T", 0) == 2
    store.close(3)
    store = MessageStore.open(config, now_ms=4)
    assert store.max_offset("T", 0) == 3
    store.close(5)
