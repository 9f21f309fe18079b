"""The epochs of a log, as files of 5.4.0 have them."""

import pytest

from storefmt.config.master_epochs import EpochStart, decode, encode
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
