"""The epochs of a log, as files of 5.4.0 have them."""

import pytest

from storefmt.config.master_epochs import (
    EpochStart,
    appended,
    common_end,
    cut,
    decode,
    encode,
    epoch_at,
)
from storefmt.errors import ConfigDamaged

TWO = [EpochStart(1, 0), EpochStart(2, 256632)]


@pytest.mark.parametrize(
    ("text", "entries"),
    [("2\n891011744\n1-0\n2-256632\n", TWO), ("1\n1725254278\n1-0\n", TWO[:1])],
)
def test_files_of_java_are_read_and_written(text: str, entries: list[EpochStart]) -> None:
    assert decode(text.encode()) == entries
    assert encode(entries) == text


def test_a_crc_of_0_is_not_checked() -> None:
    assert decode(b"2\n0\n1-0\n2-256632\n") == TWO


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"", "0 lines"),
        (b"1\n", "1 lines"),
        (b"x\n1\n1-0\n", "line 1"),
        (b"1\n-5\n1-0\n", "line 2"),
        (b"3\n0\n1-0\n2-256632\n", "2 entries, expected 3"),
        (b"2\n891011745\n1-0\n2-256632\n", "CRC 891011744"),
        (b"2\n0\n2-0\n1-9\n", "1-9 after 2-0"),
        (b"2\n0\n1-9\n2-9\n", "2-9 after 1-9"),
        (b"1\n0\n1\n", "expected epoch-offset"),
        (b"1\n0\n2147483648-0\n", "line 3, the epoch"),
        (b"1\n0\n1-9223372036854775808\n", "line 3, the offset"),
        (b"1\n0\n1--1\n", "line 3, the offset"),
        ("1\n0\n1-٣\n".encode(), "not ASCII"),
        (b"9" * 5_000 + b"\n0\n1-0\n", "line 1"),
    ],
)
def test_a_damaged_file_is_refused(text: bytes, problem: str) -> None:
    with pytest.raises(ConfigDamaged, match=problem):
        decode(text)


def test_every_cut_of_a_file_is_noticed() -> None:
    text = encode(TWO).encode()
    for size in range(len(text) - 1):
        with pytest.raises(ConfigDamaged):
            decode(text[:size])


@pytest.mark.parametrize(
    ("ours", "our_end", "theirs", "their_end", "expected"),
    [
        ([(1, 0)], 527952, [(1, 0), (2, 256632)], 1229304, 256632),
        ([(1, 0), (2, 256632)], 300000, [(1, 0), (2, 256632)], 290000, 290000),
        ([(1, 0), (2, 100)], 150, [(1, 0), (3, 120)], 500, 100),
        ([(1, 0), (2, 100)], 150, [(1, 0), (2, 90)], 500, 90),
        ([(2, 100)], 150, [(3, 100)], 150, None),
        ([], 0, [(1, 0)], 10, None),
        ([(1, 0)], 10, [], 0, None),
    ],
    ids=[
        "as measured on 5.4.0", "same epochs", "two followers", "other start",
        "nothing in common", "empty here", "empty there",
    ],
)  # fmt: skip
def test_logs_are_the_same_up_to_the_end_of_their_last_common_epoch(
    ours: list[tuple[int, int]],
    our_end: int,
    theirs: list[tuple[int, int]],
    their_end: int,
    expected: int | None,
) -> None:
    one = [EpochStart(*entry) for entry in ours]
    other = [EpochStart(*entry) for entry in theirs]

    assert common_end(one, our_end=our_end, theirs=other, their_end=their_end) == expected
    assert common_end(other, our_end=their_end, theirs=one, their_end=our_end) == expected


def test_an_epoch_without_bytes_leaves_no_entry() -> None:
    assert appended(TWO, 3, 300000) == [*TWO, EpochStart(3, 300000)]
    assert appended(TWO, 3, 256632) == [TWO[0], EpochStart(3, 256632)]
    assert appended([], 1, 0) == TWO[:1]
    with pytest.raises(ValueError, match="epoch 2 follows epoch 2"):
        appended(TWO, 2, 300000)


def test_a_cut_log_loses_the_epochs_behind_its_end() -> None:
    assert cut(TWO, 256633) == TWO
    assert cut(TWO, 256632) == TWO[:1]
    assert cut(TWO, 0) == []


def test_the_epoch_of_a_byte_is_the_last_that_began_before_it() -> None:
    assert epoch_at(TWO, 256631) == TWO[0]
    assert epoch_at(TWO, 256632) == TWO[1]
    assert epoch_at(TWO[1:], 0) is None
