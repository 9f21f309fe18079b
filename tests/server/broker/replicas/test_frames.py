"""The replication connection of a group with a controller; bytes as captured from 5.4.0."""

import pytest

from mqserver.broker.replicas.frames import (
    BadReplicaFrame,
    LogPiece,
    MasterFrames,
    MasterHandshake,
    SlaveFrames,
    SlaveHandshake,
    SlaveReport,
    encode_master_handshake,
    encode_pieces,
    encode_report,
    encode_slave_handshake,
)
from storefmt.config.master_epochs import EpochStart

EPOCH_1 = EpochStart(1, 0)
SLAVE_STREAM = bytes.fromhex(
    "00000001 0000 0000 0000000000000002"
    "00000002 0000000000000000"
    "00000002 0000000000003c90"
    "00000002 0000000000003e28"
)
SLAVE_FRAMES = [SlaveHandshake(2), SlaveReport(0), SlaveReport(0x3C90), SlaveReport(0x3E28)]
LOG = bytes(range(256)) * 2
MASTER_STREAM = bytes.fromhex(
    "00000001 0000000c 0000000000003c90 00000001 00000001 0000000000000000"
    "00000002 00000000 0000000000000000 00000001 0000000000000000 0000000000003c90"
) + bytes.fromhex(
    "00000002 00000200 0000000000000000 00000001 0000000000000000 0000000000000100"
) + LOG  # fmt: skip
MASTER_FRAMES = [
    MasterHandshake(0x3C90, (EPOCH_1,)),
    LogPiece(0, EPOCH_1, 0x3C90, b""),
    LogPiece(0, EPOCH_1, 0x100, LOG),
]


def test_frames_of_a_slave_are_read_and_written_as_captured() -> None:
    written = encode_slave_handshake(SlaveHandshake(2)) + b"".join(
        encode_report(frame.log_end) for frame in SLAVE_FRAMES if isinstance(frame, SlaveReport)
    )

    assert SlaveFrames().feed(SLAVE_STREAM) == SLAVE_FRAMES
    assert written == SLAVE_STREAM


def test_frames_of_a_master_are_read_and_written_as_captured() -> None:
    written = encode_master_handshake(0x3C90, [EPOCH_1])
    for confirm_offset, data in ((0x3C90, b""), (0x100, LOG)):
        written += b"".join(
            encode_pieces(0, data, epoch=EPOCH_1, confirm_offset=confirm_offset, batch_size=32_768)
        )

    assert MasterFrames().feed(MASTER_STREAM) == MASTER_FRAMES
    assert written == MASTER_STREAM


@pytest.mark.parametrize("size", [1, 3, 19, 20, 36])
def test_streams_may_be_cut_anywhere(size: int) -> None:
    slave, master = SlaveFrames(), MasterFrames()
    from_slave = [
        frame
        for start in range(0, len(SLAVE_STREAM), size)
        for frame in slave.feed(SLAVE_STREAM[start : start + size])
    ]
    from_master = [
        frame
        for start in range(0, len(MASTER_STREAM), size)
        for frame in master.feed(MASTER_STREAM[start : start + size])
    ]

    assert from_slave == SLAVE_FRAMES
    assert from_master == MASTER_FRAMES


def test_flags_of_a_handshake() -> None:
    handshake = SlaveHandshake(7, begins_at_last_file=True, is_learner=True)

    assert SlaveFrames().feed(encode_slave_handshake(handshake)) == [handshake]


def test_large_pieces_are_cut_and_small_epochs_fit() -> None:
    parts = encode_pieces(1000, LOG, epoch=EPOCH_1, confirm_offset=5, batch_size=200)
    frames = MasterFrames()
    frames.feed(encode_master_handshake(0, []))

    pieces = frames.feed(b"".join(parts))

    assert [piece.log_offset for piece in pieces if isinstance(piece, LogPiece)] == [
        1000,
        1200,
        1400,
    ]
    assert b"".join(piece.data for piece in pieces if isinstance(piece, LogPiece)) == LOG


def test_the_newest_of_many_epochs_are_sent() -> None:
    epochs = [EpochStart(number, number) for number in range(1, 1_500)]

    (handshake,) = MasterFrames().feed(encode_master_handshake(9_999, epochs))

    assert handshake == MasterHandshake(9_999, tuple(epochs[-1_000:]))


def test_the_end_of_a_former_epoch_is_recognised() -> None:
    assert LogPiece(5, EpochStart(2, 9), 0, b"abcd").is_of_former_epoch
    assert not LogPiece(9, EpochStart(2, 9), 0, b"abcd").is_of_former_epoch


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("00000002 0000000000000000", "before the handshake"),
        ("00000003", "state 3"),
        ("00000001 0000 0000 0000000000000000", "broker 0"),
        ("00000001 0000 0000 ffffffffffffffff", "broker -1"),
        ("00000001 0000 0000 0000000000000002" * 2, "second handshake"),
        ("00000001 0000 0000 0000000000000002 00000002 ffffffffffffffff", "ends at -1"),
    ],
)
def test_a_slave_that_breaks_the_protocol_is_refused(text: str, problem: str) -> None:
    with pytest.raises(BadReplicaFrame, match=problem):
        SlaveFrames().feed(bytes.fromhex(text))


HANDSHAKE = "00000001 00000000 0000000000000000 ffffffff"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("00000002", "before the handshake"),
        ("00000004", "state 4"),
        ("00000001 0000000d 0000000000000000 00000001", "13 bytes of epochs"),
        ("00000001 7ffffff8 0000000000000000 00000001", "bytes of epochs"),
        ("00000001 fffffff4 0000000000000000 00000001", "-12 bytes of epochs"),
        ("00000001 00000000 ffffffffffffffff ffffffff", "the end of the log of -1"),
        (
            "00000001 00000018 0000000000000000 00000002"
            "00000002 0000000000000000 00000001 0000000000000009",
            "epoch",
        ),
        (HANDSHAKE * 2, "second handshake"),
        (
            HANDSHAKE + "00000002 04000001 0000000000000000 00000001 0000000000000000"
            "0000000000000000",
            "67108865 bytes of the log",
        ),
        (
            HANDSHAKE + "00000002 00000000 ffffffffffffffff 00000001 0000000000000000"
            "0000000000000000",
            "a log offset of -1",
        ),
    ],
)
def test_a_master_that_breaks_the_protocol_is_refused(text: str, problem: str) -> None:
    with pytest.raises(BadReplicaFrame, match=problem):
        MasterFrames().feed(bytes.fromhex(text))
