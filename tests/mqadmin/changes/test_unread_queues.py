"""Which queues a change of a topic takes away from its readers."""

import pytest

from mqadmin.changes.unread_queues import lost_queues
from storefmt.config.tables import TopicConfig


@pytest.mark.parametrize(
    ("old", "new", "lost"),
    [
        ((8, 8, 6), (4, 4, 6), range(4, 8)),
        ((8, 8, 6), (4, 8, 6), range(4, 8)),
        ((8, 4, 6), (4, 4, 6), range(4, 8)),
        ((4, 4, 6), (4, 8, 6), range(4, 8)),
        ((4, 8, 6), (4, 8, 4), range(4, 4)),
        ((8, 8, 6), (8, 4, 6), range(8, 8)),
        ((4, 4, 6), (8, 8, 6), range(8, 8)),
        ((4, 4, 6), (4, 4, 2), range(4)),
        ((4, 4, 6), (4, 4, 4), range(4, 4)),
        (None, (4, 8, 6), range(4, 8)),
        (None, (8, 8, 6), range(8, 8)),
        (None, (8, 8, 2), range(8)),
    ],
)
def test_lost_queues(
    old: tuple[int, int, int] | None, new: tuple[int, int, int], lost: range
) -> None:
    def config(counts: tuple[int, int, int]) -> TopicConfig:
        read, write, perm = counts
        return TopicConfig("T", read, write, perm=perm)

    assert lost_queues(config(old) if old else None, config(new)) == lost
