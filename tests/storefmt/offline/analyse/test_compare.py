"""Two stores compared: the same, a slave that is behind, and every kind of difference."""

import os
import shutil
from pathlib import Path

import pytest

from storefmt.offline.analyse.compare import (
    LogDifference,
    QueueDifference,
    compare_logs,
    compare_queues,
)
from storefmt.offline.views.storedir import StoreDir
from tests.golden import Golden
from tests.storefmt.offline.stores import HEALTHY, store_of


def compare(a: Path, b: Path) -> tuple[LogDifference, list[QueueDifference]]:
    with StoreDir.open(a) as left, StoreDir.open(b) as right:
        log = compare_logs(left, right)
        return log, list(compare_queues(left, right, log))


@pytest.mark.parametrize("name", HEALTHY)
def test_a_store_equals_itself(name: str, golden: Golden) -> None:
    path = store_of(golden, name)

    log, queues = compare(path, path)

    assert log.same
    assert queues == []


def test_master_and_slave_are_the_same(golden: Golden) -> None:
    log, queues = compare(golden.family("slave", "master"), golden.family("slave", "slave"))

    assert log.same
    assert log.a_start == log.b_start
    assert log.a_end == log.b_end
    assert queues == []


def test_a_slave_that_began_late_and_is_behind(golden: Golden) -> None:
    master, slave = golden.store("basic"), golden.store("basic")
    (slave / "commitlog" / f"{0:020d}").unlink()
    (slave / "commitlog" / f"{3670016:020d}").unlink()

    log, queues = compare(master, slave)

    assert log.same
    assert log.b_start == 262144
    assert log.a_start == 0
    assert log.b_end < log.a_end
    # Its queues were copied whole: what they point at is what is compared.
    assert all(queue.only_b == 0 for queue in queues)
    assert sum(queue.only_a for queue in queues) > 900


def test_one_other_bit_is_the_first_divergence(golden: Golden) -> None:
    a, b = golden.store("basic"), golden.damaged("01-bitflip-body-early")

    log, queues = compare(a, b)

    assert log.diverges_at == 262144 + 35170
    assert [(q.topic, q.queue_id, q.changed, q.first_changed) for q in queues] == [
        ("ord-events", 2, 1, 64)
    ]


def test_a_missing_file_is_no_equality(golden: Golden) -> None:
    log, _ = compare(golden.store("basic"), golden.damaged("31-middle-missing"))

    assert not log.same
    assert log.diverges_at == -1
    assert log.unread_size == 262144


def test_queues_that_differ_are_told_one_by_one(golden: Golden) -> None:
    a, b = golden.store("basic"), golden.store("basic")
    shutil.rmtree(b / "consumequeue" / "tiny" / "7")
    file = b / "consumequeue" / "ord-events" / "3" / f"{0:020d}"
    data = bytearray(file.read_bytes())
    data[:20], data[20:40] = data[20:40], data[:20]
    file.write_bytes(data)

    log, queues = compare(a, b)

    assert log.same
    found = {(q.topic, q.queue_id): (q.only_a, q.only_b, q.changed) for q in queues}
    assert found[("ord-events", 3)] == (0, 0, 2)
    assert found[("tiny", 7)][0] > 0
    assert found[("tiny", 7)][1:] == (0, 0)
    assert len(found) == 2


def test_empty_and_unlike_stores(golden: Golden, tmp_path: Path) -> None:
    (tmp_path / "commitlog").mkdir()
    path = golden.store("ipv6")

    log, queues = compare(path, tmp_path)

    assert log.b_end == 0
    assert all(queue.only_a > 0 for queue in queues)
    assert queues
    os.rmdir(tmp_path / "commitlog")
