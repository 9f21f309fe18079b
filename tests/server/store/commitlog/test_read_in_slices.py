"""A large read pauses while others wait, and returns the same bytes."""

from collections.abc import Callable, Iterator
from itertools import chain, repeat
from pathlib import Path

import pytest

from mqserver.store.commitlog.log_files import CommitLog
from mqserver.store.commitlog.log_read import (
    BEGUN_MAX,
    PAUSES_MAX,
    PIECE_SIZE,
    OthersWait,
    PausedRead,
    ReadSlices,
    read_merged,
)
from mqserver.store.disk.disk import RealDisk

FILE_SIZE = 1 << 21
SIZE, FAR = 8_000, 50_000
PICKED = [(at, SIZE) for at in range(0, FILE_SIZE - SIZE, FAR)]
CONTENT = bytes(range(251)) * (FILE_SIZE // 251 + 1)
WHOLE = b"".join(CONTENT[at : at + size] for at, size in PICKED)


def scripted(*answers: bool) -> Callable[[], bool]:
    """Return what gives these answers and then no for ever."""
    rest: Iterator[bool] = chain(answers, repeat(False))
    return lambda: next(rest)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[CommitLog]:
    (tmp_path / f"{0:020d}").write_bytes(CONTENT)
    log = CommitLog(RealDisk(), tmp_path, file_size=FILE_SIZE, bases=[0], end=FILE_SIZE)
    yield log
    log.close()


def interrupted(log: CommitLog, slices: ReadSlices) -> PausedRead:
    with slices, pytest.raises(OthersWait) as caught:
        read_merged(log, PICKED)
    return caught.value.begun


def test_a_read_goes_on_where_others_went_first(log: CommitLog) -> None:
    slices = ReadSlices(scripted(True, False, True))
    begun = interrupted(log, slices)
    first = sum(map(len, begun.chunks))
    assert PIECE_SIZE <= first <= PIECE_SIZE + SIZE

    assert slices.may_go_on(begun)
    again = interrupted(log, slices)
    assert again is begun
    assert first < sum(map(len, begun.chunks)) < len(PICKED) * SIZE

    assert slices.may_go_on(begun)
    with slices:
        found = b"".join(read_merged(log, PICKED))
    assert found == WHOLE


def test_without_pieces_nobody_goes_first(log: CommitLog) -> None:
    slices = ReadSlices(scripted(*[True] * 100))
    interrupted(log, slices)

    assert b"".join(read_merged(log, PICKED)) == WHOLE


def test_other_records_are_read_from_the_first_on(log: CommitLog) -> None:
    slices = ReadSlices(scripted(True))
    assert slices.may_go_on(interrupted(log, slices))

    with slices:
        found = b"".join(read_merged(log, PICKED[1:]))
        assert found == WHOLE[SIZE:]
        # What was begun is gone with the read that had no use for it.
        assert not slices.begin(PICKED, size=0).chunks


def test_a_read_that_had_no_use_for_what_was_begun_leaves_nothing(log: CommitLog) -> None:
    slices = ReadSlices(scripted(True))
    assert slices.may_go_on(interrupted(log, slices))

    with slices:
        pass

    assert not slices.begin(PICKED, size=0).chunks


def test_a_read_that_starts_again_keeps_count_of_who_went_first(log: CommitLog) -> None:
    slices = ReadSlices(lambda: True)
    begun = interrupted(log, slices)
    while not slices.may_go_on(begun):
        continue

    assert slices.begin(PICKED[1:], size=0).pause_count == PAUSES_MAX


def test_room_that_was_given_up_is_used_again(log: CommitLog) -> None:
    slices = ReadSlices(scripted())
    begun = slices.begin(PICKED, size=len(PICKED) * SIZE)
    slices.give_up(begun)

    again = slices.begin(PICKED, size=len(PICKED) * SIZE)
    assert again.buffer is begun.buffer
    assert slices.begin(PICKED, size=10).buffer is not begun.buffer


def test_who_waits_goes_first_a_number_of_times(log: CommitLog) -> None:
    slices = ReadSlices(lambda: True)
    begun = interrupted(log, slices)

    asked = [slices.may_go_on(begun) for _ in range(PAUSES_MAX)]

    assert asked == [False] * (PAUSES_MAX - 1) + [True]
    with slices:
        assert b"".join(read_merged(log, PICKED)) == WHOLE


def test_few_reads_are_begun_at_a_time(log: CommitLog) -> None:
    slices = ReadSlices(lambda: True)
    begun = [interrupted(log, slices) for _ in range(BEGUN_MAX)]
    with slices:
        assert b"".join(read_merged(log, PICKED)) == WHOLE

    slices.is_waited_for = lambda: False
    assert slices.may_go_on(begun[0])
    slices.is_waited_for = lambda: True
    interrupted(log, slices)
