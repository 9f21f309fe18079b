"""Which of two positions of a group is the newer one, and when one is taken."""

import pytest

from server.broker.offsets import NO_OFFSET
from server.broker.slavesync import newest


@pytest.mark.parametrize(
    ("known", "told", "seen", "wanted"),
    [
        (NO_OFFSET, 5, None, 5),
        (5, 9, 5, 9),
        (9, 5, None, 9),
        (9, 5, 5, 9),
        (9, 6, 5, 9),
        (9, 4, 8, 4),
        (9, 0, 9, 0),
        (9, -1, 9, 9),
        (NO_OFFSET, -1, None, NO_OFFSET),
    ],
    ids=[
        "nothing is known here",
        "the master went on",
        "the slave has newer ones of its own",
        "the master stands still",
        "the master goes on behind the slave",
        "the master was reset",
        "the master was reset to the beginning",
        "no position",
        "no position of nobody",
    ],
)
def test_older_position_never_replaces_a_newer_one_but_a_reset_does(
    known: int, told: int, seen: int | None, wanted: int
) -> None:
    assert newest(known, told=told, seen=seen) == wanted
