"""Frames of both directions, cut anywhere; and what was recorded of real brokers."""

import random

import pytest

from mqserver.broker.ha.frames import (
    HEADER,
    REPORT,
    SIZE_MAX,
    BadStream,
    Reports,
    Transfer,
    Transfers,
    transfer_frames,
)

SENT = [Transfer(0, b""), Transfer(0, b"abc"), Transfer(3, b"d" * 70_000), Transfer(70_003, b"")]


def bytes_of(frames: list[Transfer]) -> bytes:
    return b"".join(HEADER.pack(start, len(data)) + data for start, data in frames)


def fed(reader: Transfers | Reports, stream: bytes, size: int) -> list[object]:
    """Return what comes out of a stream that arrives in parts of that size."""
    parts = [stream[start : start + size] for start in range(0, len(stream), size)]
    return [one for part in parts for one in reader.feed(part)]


@pytest.mark.parametrize("size", [1, 5, 12, 13, 4096, 1 << 20])
def test_transfers_cut_anywhere_come_out_whole(size: int) -> None:
    stream, transfers = bytes_of(SENT), Transfers()

    assert fed(transfers, stream, size) == SENT


@pytest.mark.parametrize("head", [HEADER.pack(-1, 0), HEADER.pack(0, -1), HEADER.pack(5, 1 << 30)])
def test_header_that_no_master_sends_ends_the_connection(head: bytes) -> None:
    with pytest.raises(BadStream, match="at log offset"):
        Transfers().feed(head)


def test_largest_frame_is_taken() -> None:
    assert Transfers().feed(HEADER.pack(0, SIZE_MAX)) == []


@pytest.mark.parametrize("size", [1, 3, 8, 20])
def test_reports_cut_anywhere_come_out_whole(size: int) -> None:
    wanted = [0, 1, 1 << 40, 7]
    stream, reports = b"".join(REPORT.pack(one) for one in wanted), Reports()

    assert fed(reports, stream, size) == wanted


def test_bytes_are_sent_in_frames_of_the_batch_size() -> None:
    data = random.Random(1).randbytes(100_000)

    parts = transfer_frames(500, data, batch_size=32_768)

    frames = Transfers().feed(b"".join(parts))
    assert [(start, len(part)) for start, part in frames] == [
        (500, 32_768),
        (500 + 32_768, 32_768),
        (500 + 65_536, 32_768),
        (500 + 98_304, 100_000 - 98_304),
    ]
    assert b"".join(part for _, part in frames) == data


def test_sign_of_life_is_a_header_alone() -> None:
    assert b"".join(transfer_frames(77, b"", batch_size=10)) == HEADER.pack(77, 0)
