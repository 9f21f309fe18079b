"""The offset table."""

from collections.abc import Generator

import pytest

from mqserver.broker.clients.consumer_offsets import NO_OFFSET, Offsets
from storefmt.config.tables import ConsumerOffsets


def filled() -> Offsets:
    offsets = Offsets()
    offsets.commit("G", "T", queue_id=0, queue_offset=5)
    offsets.commit("G", "T", queue_id=1, queue_offset=9)
    offsets.commit("H", "T", queue_id=0, queue_offset=3)
    offsets.commit("G", "U", queue_id=0, queue_offset=1)
    return offsets


def test_last_commit_counts_also_backwards() -> None:
    offsets = filled()

    offsets.commit("G", "T", queue_id=0, queue_offset=2)

    assert offsets.get("G", "T", queue_id=0) == 2
    assert offsets.get("G", "T", queue_id=7) == NO_OFFSET
    assert offsets.get("X", "T", queue_id=0) == NO_OFFSET


@pytest.mark.parametrize(("queue_id", "queue_offset"), [(0, -1), (-1, 0)])
def test_negative_commits_change_nothing(queue_id: int, queue_offset: int) -> None:
    offsets = filled()
    before = offsets.change_count

    with pytest.raises(ValueError, match="neither may be negative"):
        offsets.commit("G", "T", queue_id=queue_id, queue_offset=queue_offset)

    assert offsets.change_count == before


def test_table_can_be_read_back_and_is_a_snapshot() -> None:
    offsets = filled()
    table = offsets.table()

    offsets.commit("G", "T", queue_id=0, queue_offset=77)

    assert Offsets(table).get("G", "T", queue_id=0) == 5
    assert table == ConsumerOffsets.decode(table.encode())


def test_who_is_where() -> None:
    offsets = filled()

    assert offsets.topics_of("G") == ["T", "U"]
    assert offsets.groups_of("T") == ["G", "H"]
    assert offsets.queues("G", "T") == {0: 5, 1: 9}
    assert offsets.queues("X", "T") == {}


def test_copy_and_delete() -> None:
    offsets = filled()

    offsets.copy("G", "C", topic="T")
    offsets.copy("X", "D", topic="T")
    offsets.delete_group("G")

    assert offsets.queues("C", "T") == {0: 5, 1: 9}
    assert offsets.groups_of("T") == ["H", "C"]


def whole(steps: Generator[None, None, dict[int, int]]) -> dict[int, int]:
    """Return what comes of something that is done in slices."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: dict[int, int] = end.value
            return found


def test_lowest_leaves_out_groups_and_what_is_no_longer_readable() -> None:
    offsets = filled()

    everyone = whole(offsets.lowest("T", min_offset=lambda queue_id: 0))
    without = whole(offsets.lowest("T", min_offset=lambda queue_id: 0, without=frozenset({"H"})))
    readable = whole(offsets.lowest("T", min_offset=lambda queue_id: 4))

    assert everyone == {0: 3, 1: 9}
    assert without == readable == {0: 5, 1: 9}
