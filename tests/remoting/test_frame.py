"""Cutting a stream into frames: whole, in pieces, damaged, hostile."""

import random
import struct
from pathlib import Path

import pytest

from remoting.codes import SerializeType
from remoting.command import Command
from remoting.errors import BadCall, BadFrame
from remoting.frame import (
    FRAME_SIZE_MAX,
    HEADER_SIZE_MAX,
    FrameReader,
    RawFrame,
    decode_frame,
    encode_frame,
    frame_bytes,
    peek_code,
)
from tests.remoting.captures import COUNTS, SETS, frames
from tests.storefmt.broken import flipped


@pytest.mark.parametrize("name", SETS)
def test_recorded_streams_are_cut_into_their_frames(fact_tables: Path, name: str) -> None:
    recorded = frames(fact_tables, name)

    found = FrameReader().feed(b"".join(frame.data for frame in recorded))

    assert len(found) == COUNTS[name]
    for raw, frame in zip(found, recorded, strict=True):
        assert raw == (frame.serialize, frame.header, frame.body)
        cmd = decode_frame(raw)
        assert cmd.code == frame.code
        assert cmd.opaque == frame.opaque
        assert cmd.body == frame.body
        assert peek_code(raw) == frame.code
        [again] = FrameReader().feed(encode_frame(cmd))
        assert decode_frame(again) == cmd


@pytest.mark.parametrize("step", [1, 2, 3, 7, 64, 1000])
def test_a_stream_in_pieces_gives_the_same_frames(fact_tables: Path, step: int) -> None:
    stream = b"".join(frame.data for frame in frames(fact_tables, "5x_client"))
    reader = FrameReader()

    found = [
        raw for at in range(0, len(stream), step) for raw in reader.feed(stream[at : at + step])
    ]

    assert found == FrameReader().feed(stream)
    assert reader.waiting_size == 0


def test_a_frame_cut_at_each_byte_waits_for_the_rest(fact_tables: Path) -> None:
    data = frames(fact_tables, "json")[0].data[:700]
    data = struct.pack(">i", len(data) - 4) + data[4:]

    for cut in range(len(data)):
        reader = FrameReader()
        assert reader.feed(data[:cut]) == []
        assert reader.waiting_size == cut
        assert len(reader.feed(data[cut:] + data)) == 2


def test_a_long_frame_in_small_reads_is_joined_once() -> None:
    body = random.Random(1).randbytes(3_000_000)
    data = encode_frame(Command(code=10, body=body))
    reader = FrameReader()

    found = [raw for at in range(0, len(data), 1000) for raw in reader.feed(data[at : at + 1000])]

    assert [decode_frame(raw).body for raw in found] == [body]


def test_an_empty_read_changes_nothing() -> None:
    reader = FrameReader()

    assert reader.feed(b"") == []
    assert reader.feed(b"\x00") == []
    assert reader.feed(b"") == []
    assert reader.waiting_size == 1


@pytest.mark.parametrize(
    ("head", "text"),
    [
        (struct.pack(">iI", FRAME_SIZE_MAX + 1, 0), "the limit is"),
        (struct.pack(">iI", 2**31 - 1, 0), "the limit is"),
        (struct.pack(">iI", -1, 0), "header of 0 bytes in a frame of -1"),
        (struct.pack(">iI", -(2**31), 0), "in a frame of"),
        (struct.pack(">iI", 0, 0), "in a frame of 0"),
        (struct.pack(">iI", 3, 0), "in a frame of 3"),
        (struct.pack(">iI", 100, 97), "header of 97 bytes in a frame of 100"),
        (struct.pack(">iI", 100, 0xFFFFFF), "header of 16777215 bytes"),
        (
            struct.pack(">iI", FRAME_SIZE_MAX, HEADER_SIZE_MAX + 1),
            "header of 262145 bytes, the limit",
        ),
        (struct.pack(">iI", 100, 2 << 24 | 10), "serialisation byte 2"),
        (struct.pack(">iI", 100, 255 << 24 | 10), "serialisation byte 255"),
        (b"GET / HTTP/1.1\r\n\r\n", "the limit is"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "the limit is"),
    ],
)
def test_a_hostile_head_is_refused_before_its_bytes_come(head: bytes, text: str) -> None:
    with pytest.raises(BadFrame, match=text):
        FrameReader().feed(head)


def test_the_limit_is_exact() -> None:
    reader = FrameReader(frame_size_max=50)

    assert reader.feed(struct.pack(">iI", 50, 46) + bytes(46)) == [RawFrame(0, bytes(46), b"")]
    with pytest.raises(BadFrame):
        reader.feed(struct.pack(">iI", 51, 46))


def test_the_longest_header_of_a_real_client_is_taken() -> None:
    # Properties of the largest size, each byte of which JSON has to escape.
    command = Command(code=310, ext={"i": "\x01" * 32_767})
    reader = FrameReader()

    [raw] = reader.feed(encode_frame(command))

    assert len(raw.header) > 196_602
    assert decode_frame(raw).ext == command.ext


def test_frames_before_a_bad_one_are_lost_with_the_connection() -> None:
    good = encode_frame(Command(code=1))

    with pytest.raises(BadFrame):
        FrameReader().feed(good + b"\xff" * 8)


def test_a_bit_flipped_gives_frames_or_a_bad_frame_or_waits(fact_tables: Path) -> None:
    data = frames(fact_tables, "json")[20].data
    for at in range(min(len(data), 60) * 8):
        reader = FrameReader()
        try:
            found = reader.feed(flipped(data, at))
        except BadFrame:
            continue
        taken = sum(8 + len(raw.header) + len(raw.body) for raw in found)
        assert taken + reader.waiting_size == len(data)


def test_a_command_too_long_for_a_frame_is_our_fault() -> None:
    with pytest.raises(BadCall, match="the limit is"):
        encode_frame(Command(code=10, body=bytes(FRAME_SIZE_MAX)))
    with pytest.raises(BadCall, match="the limit is"):
        frame_bytes(0, bytes(1 << 24), b"")


def test_peek_reads_other_layouts_the_long_way() -> None:
    assert peek_code(RawFrame(0, b'{"opaque":1,"code":34}', b"")) == 34
    assert peek_code(RawFrame(0, b'{"code":"34","opaque":1}', b"")) == 34


@pytest.mark.parametrize("raw", [RawFrame(1, b"\x00", b""), RawFrame(0, b"{}", b"")])
def test_peek_refuses_what_is_no_header(raw: RawFrame) -> None:
    with pytest.raises(BadFrame):
        peek_code(raw)


def test_each_frame_is_read_by_its_own_byte() -> None:
    stream = encode_frame(Command(code=1)) + encode_frame(
        Command(code=2, serialize=SerializeType.ROCKETMQ)
    )

    assert [decode_frame(raw).serialize for raw in FrameReader().feed(stream)] == [0, 1]
