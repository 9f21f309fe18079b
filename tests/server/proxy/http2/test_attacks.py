"""The public catalogue of HTTP/2 attacks: what each of them may cost, counted and not timed.

    CVE-2023-44487 rapid reset         CVE-2025-8671 made you reset      CVE-2024-27316 CONTINUATION
    CVE-2019-9511 data dribble         CVE-2019-9512 PING flood          CVE-2019-9513 priorities
    CVE-2019-9514 RST_STREAM flood     CVE-2019-9515 SETTINGS flood      CVE-2019-9516 empty names
    CVE-2019-9517 internal buffering   CVE-2019-9518 empty frames        CVE-2016-6581 HPACK bomb

Rule: a turn of the loop ends by the clock of ``Turns``, which tests move themselves, so
nothing here depends on how fast the machine is.
"""

import asyncio
import gzip
import itertools
import struct

import pytest

from mqserver.proxy.http2.calls import INFLATIONS_MAX, GrpcCall, GrpcMethod
from mqserver.proxy.http2.connection import CONTINUATIONS_MAX, STREAMS_MAX
from mqserver.proxy.http2.frames import (
    END_HEADERS,
    END_STREAM,
    SETTING,
    Error,
    FrameType,
    Setting,
    frame,
    reset,
    settings,
    window_update,
)
from mqserver.proxy.http2.hpack import encode
from remoting.aio import costs
from remoting.aio.resources import Budget
from remoting.aio.starts import CALLS_A_TURN
from remoting.aio.turns import TURN_S
from tests.server.proxy.http2.peer import REQUEST, Endless, Peer, method
from tests.waiting import until

READING_S = 1e-5
"""What each look at the clock takes: a frame costs one of them."""
BLOCK = encode(*REQUEST)


def _ticking() -> "itertools.count[float]":
    return itertools.count(1.0, READING_S)


class Busy:
    """Work without end."""

    def work(self, end_s: float) -> bool:
        return True


FLOODS = {
    "ping flood": frame(FrameType.PING, 0, 0, bytes(8)),
    "settings flood": settings({Setting.INITIAL_WINDOW_SIZE: 1}),
    "empty settings flood": settings({}),
    "priority flood, a stream that depends on itself": frame(
        FrameType.PRIORITY, 0, 1, struct.pack(">IB", 1, 255)
    ),
    "empty DATA frames": frame(FrameType.DATA, 0, 1),
    "padding alone": frame(FrameType.DATA, 0x8, 1, b"\x00"),
    "window updates of one byte": window_update(0, 1),
    "window updates of a stream": window_update(1, 1),
    "resets of a closed stream": reset(3, Error.CANCEL),
    "unknown frames": frame(0xBB, 0, 0, b""),
}


@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS)
async def test_a_flood_of_frames_ends_a_turn_in_time_and_keeps_nothing(flood: bytes) -> None:
    clock = _ticking()
    peer = Peer({"Run": GrpcMethod(Endless().run)}, now_s=lambda: next(clock))
    peer.say(frame(FrameType.HEADERS, END_HEADERS, 1, BLOCK))
    peer.say(frame(FrameType.HEADERS, END_HEADERS, 3, BLOCK) + reset(3, Error.CANCEL))
    await peer.heard()
    held_size = peer.connection.held_size

    peer.say(flood * 4_000)
    waiting_count = peer.resources.turns.waiting_count
    left_size = len(peer.connection._rest)
    for _ in range(50):
        await peer.heard()

    assert waiting_count == 1
    assert left_size >= len(flood) * (4_000 - TURN_S / READING_S)
    assert peer.wire.reads
    assert peer.connection.held_size == held_size
    peer.connection.connection_lost(None)


async def test_settings_and_window_updates_walk_no_streams() -> None:
    peer = Peer(given={Setting.INITIAL_WINDOW_SIZE: 0})
    for _ in range(500):
        peer.call("Echo", b"m")
    await peer.heard()
    outflow = peer.connection._outflow
    walked_count = outflow.walked_count
    entries = b"".join(
        SETTING.pack(Setting.INITIAL_WINDOW_SIZE, number % 2 * 3) for number in range(2_731)
    )

    peer.say(frame(FrameType.SETTINGS, 0, 0, entries[:-6]))
    after_settings = outflow.walked_count - walked_count
    peer.say(window_update(0, 1) * 1_000)
    after_updates = outflow.walked_count - walked_count

    # One pass over the streams that wait, since their window may have grown; 2,730 entries were.
    assert after_settings <= 501
    assert after_updates <= 501
    peer.say(settings({Setting.INITIAL_WINDOW_SIZE: 100}))
    await peer.heard()
    assert not peer.connection.streams


async def test_a_call_that_is_reset_counts_until_its_work_ends() -> None:
    peer = Peer(method(Endless().run))
    await peer.heard()
    peer.connection.lingering_count = STREAMS_MAX

    stream = peer.call("Run", b"")

    refused = (FrameType.RST_STREAM, 0, stream, struct.pack(">I", Error.REFUSED_STREAM))
    assert await peer.heard() == [refused]
    assert not peer.wire.was_closed


RESETS = {
    "rapid reset": reset(1, Error.CANCEL),
    "made you reset: a window that grows by nothing": window_update(1, 0),
    "made you reset: a window that overflows": window_update(1, (1 << 31) - 1),
    "made you reset: DATA behind the end": frame(FrameType.DATA, 0, 1, b"x"),
}


@pytest.mark.parametrize("reset_frame", RESETS.values(), ids=RESETS)
async def test_a_reset_stops_the_method_and_frees_what_the_call_held(reset_frame: bytes) -> None:
    endless = Endless()
    peer = Peer(method(endless.run))
    path = encode(*REQUEST[:2], (":path", "/Test/Run"), REQUEST[3])
    body = frame(FrameType.DATA, END_STREAM, 1, bytes(5))
    peer.say(frame(FrameType.HEADERS, END_HEADERS, 1, path) + body)
    await peer.heard()

    peer.say(reset_frame)
    await peer.heard()

    assert endless.cancelled.is_set()
    assert peer.connection.held_size == 0
    assert not peer.wire.was_closed


async def test_empty_continuations_end_the_connection() -> None:
    peer = Peer()
    await peer.heard()

    peer.say(
        frame(FrameType.HEADERS, 0, 1, BLOCK)
        + frame(FrameType.CONTINUATION, 0, 1) * (CONTINUATIONS_MAX + 1)
    )

    assert (await peer.goaway())[0] is Error.ENHANCE_YOUR_CALM


@pytest.mark.parametrize(
    "block",
    [b"\x84" * 400, b"\x40\x01a\x7f\x81\x1e" + b"v" * 3_968 + b"\xbe" * 100, b"\x00\x00\x00" * 900],
    ids=["400 indexed fields", "one long field of the table, again and again", "empty names"],
)
async def test_a_short_header_block_cannot_stand_for_much(block: bytes) -> None:
    peer = Peer()
    await peer.heard()

    peer.say(frame(FrameType.HEADERS, END_HEADERS, 1, block))
    heard = await peer.heard()

    kinds = {each.kind for each in heard}
    assert kinds & {FrameType.GOAWAY, FrameType.RST_STREAM}
    assert peer.connection.held_size == 0


async def test_header_blocks_of_much_text_end_a_slice() -> None:
    clock = _ticking()
    peer = Peer(now_s=lambda: next(clock))
    await peer.heard()
    huffman = b"\x00\x01a\xff" + bytes((0x80 | 7_873 & 0x7F, 7_873 >> 7)) + bytes(8_000)
    block = BLOCK + huffman

    peer.say(b"".join(frame(FrameType.HEADERS, END_HEADERS, 2 * n + 1, block) for n in range(20)))

    # 32 KiB of fields end each slice: three blocks of 13,000 bytes.
    assert peer.connection._header_size <= 3 * 17_000


async def test_endless_empty_messages_end_a_call_with_its_second_message() -> None:
    peer = Peer()
    stream = peer.call("Echo", ends=False)
    await peer.heard()

    peer.say(frame(FrameType.DATA, 0, stream, bytes(5 * 3_000)))
    _, fields = await peer.answer(stream)

    assert fields["grpc-message"] == "the request has more than 1 message"
    assert peer.connection.held_size == 0


async def test_empty_messages_of_a_stream_stay_bytes_until_they_are_asked_for() -> None:
    peer = Peer(given={Setting.INITIAL_WINDOW_SIZE: 0})
    stream = peer.call("Each", ends=False)
    await peer.heard()

    peer.say(frame(FrameType.DATA, 0, stream, bytes(5 * 3_000)))
    await peer.heard()

    call = peer.connection.streams[stream].receiver
    assert isinstance(call, GrpcCall)
    assert len(call._data) >= 5 * 2_990
    peer.connection.connection_lost(None)


async def test_a_connection_that_waits_for_its_slice_is_not_read_from() -> None:
    clock = _ticking()
    peer = Peer(now_s=lambda: next(clock))
    await peer.heard()
    peer.resources.turns.add(Busy())

    peer.say(frame(FrameType.PING, 0, 0, bytes(8)))

    assert peer.resources.turns.waiting_count == 2
    assert not peer.wire.reads


async def test_what_gives_way_frees_what_it_holds_at_once() -> None:
    peer = Peer(budget=(budget := Budget(1 << 20)))
    streams = [peer.call("Each", ends=False) for _ in range(20)]
    await peer.heard()
    call = peer.connection.streams[streams[0]].receiver
    assert isinstance(call, GrpcCall)

    for stream in streams:
        peer.say(frame(FrameType.DATA, 0, stream, b"\x00\x00\x0f\x00\x00" + bytes(16_000)) * 4)

    assert peer.wire.was_closed
    assert not call._data
    assert peer.connection.held_size <= 20 * (costs.STREAM.size + 2_000)
    peer.connection.connection_lost(None)
    await peer.heard()
    assert (peer.connection.held_size, budget.used_size) == (0, 0)


async def test_messages_of_a_stream_share_the_time_of_a_turn() -> None:
    clock = _ticking()
    handled_count = 0

    async def run(call: GrpcCall) -> None:
        nonlocal handled_count
        async for _ in call.messages():
            handled_count += 1

    def prepare(message: bytes) -> tuple[bytes, int]:
        for _ in range(100):
            next(clock)
        return message, 0

    methods = {"Run": GrpcMethod(run, takes_stream=True, prepare=prepare)}
    peer = Peer(methods, now_s=lambda: next(clock))
    peer.call("Run", ends=False)
    await peer.heard()

    peer.say(frame(FrameType.DATA, 0, 1, bytes(5 * 3_000)))
    for _ in range(10):
        await asyncio.sleep(0)

    assert 0 < handled_count <= 10 * TURN_S / (100 * READING_S)
    peer.connection.connection_lost(None)


async def test_a_message_of_a_stream_is_charged_until_it_is_handled() -> None:
    budget, is_handled = Budget(), asyncio.Event()

    async def run(call: GrpcCall) -> None:
        async for _ in call.messages():
            await is_handled.wait()

    methods = {"Run": GrpcMethod(run, takes_stream=True, prepare=lambda data: (data, 7_000))}
    peer = Peer(methods, budget=budget)
    stream = peer.call("Run", ends=False)
    await peer.heard()
    open_size = budget.used_size

    peer.say_message(stream, bytes(10_000))
    await peer.heard()
    handling_size = budget.used_size
    is_handled.set()
    await peer.heard()
    peer.connection.charge()

    assert handling_size == open_size + 17_000
    assert budget.used_size == open_size
    peer.connection.connection_lost(None)


async def test_few_calls_start_in_a_turn_and_those_that_wait_can_be_cancelled() -> None:
    endless, started = Endless(), 0

    async def run(call: GrpcCall) -> bytes:
        nonlocal started
        started += 1
        return await endless.run(call)

    peer = Peer(method(run))
    for _ in range(100):
        peer.call("Run", b"")
    await asyncio.sleep(0)
    in_a_turn = started
    peer.say(b"".join(reset(1 + 2 * number, Error.CANCEL) for number in range(100)))
    await peer.heard()

    assert in_a_turn <= 2 * CALLS_A_TURN
    assert started <= 4 * CALLS_A_TURN
    assert not peer.connection.streams
    assert peer.resources.calls.waiting_count == 0


async def test_a_bomb_is_charged_before_it_is_inflated_and_few_at_a_time() -> None:
    budget = Budget(1 << 30)
    peer = Peer(budget=budget, size_max=1 << 20)
    bomb = gzip.compress(bytes(1_000_000))
    streams = [
        peer.call("Echo", ends=False, more=(("grpc-encoding", "gzip"),))
        for _ in range(CALLS_A_TURN)
    ]
    for stream in streams:
        peer.say_message(stream, bomb, flag=1)
        peer.say(frame(FrameType.DATA, END_STREAM, stream))
    # One step of the loop: the tasks have begun, no thread has answered.
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    limit = 2 * (min(1 << 20, len(bomb) * 1_040) + 1)
    waiting = CALLS_A_TURN * (len(bomb) + costs.STREAM.size + 5 * costs.FIELD.size + 1_000)
    assert peer.calls.inflations.waiting_count == CALLS_A_TURN - INFLATIONS_MAX
    assert INFLATIONS_MAX * limit <= budget.used_size <= INFLATIONS_MAX * limit + waiting
    peer.connection.connection_lost(None)


async def test_an_inflated_request_is_decoded_in_the_time_that_connections_share() -> None:
    was_in_turn: list[bool] = []

    def prepare(message: bytes) -> tuple[bytes, int]:
        was_in_turn.append(peer.resources.turns.is_working)
        return message, 7_000

    budget, endless = Budget(), Endless()
    peer = Peer({"Run": GrpcMethod(endless.run, prepare=prepare)}, budget=budget)
    stream = peer.call("Run", ends=False, more=(("grpc-encoding", "gzip"),))
    open_size = budget.used_size
    peer.say_message(stream, gzip.compress(b"m"), flag=1)
    peer.say(frame(FrameType.DATA, END_STREAM, stream))
    await until(lambda: was_in_turn)
    await peer.heard()

    assert was_in_turn == [True]
    assert budget.used_size == open_size + 1 + 7_000
    peer.connection.connection_lost(None)


async def test_an_answer_that_is_not_read_is_charged() -> None:
    async def run(call: GrpcCall) -> bytes:
        return bytes(500_000)

    budget = Budget(300_000)
    peer = Peer(method(run), budget=budget, given={Setting.INITIAL_WINDOW_SIZE: 0})

    peer.call("Run", b"")
    await peer.heard()

    assert peer.wire.was_closed


async def test_open_calls_and_their_headers_are_charged() -> None:
    budget = Budget()
    peer = Peer(method(Endless().run), budget=budget)

    for _ in range(100):
        peer.call("Run", b"", more=(("x", "y" * 1_000),))
    await peer.heard()

    assert budget.used_size >= 100 * (costs.STREAM.size + 1_000 + 5 * costs.FIELD.size)
    peer.connection.connection_lost(None)
    await peer.heard()
    assert budget.used_size == 0


async def test_calls_that_end_at_once_are_ended_in_several_turns() -> None:
    clock = _ticking()
    peer = Peer(method(Endless().run), now_s=lambda: next(clock))
    for _ in range(STREAMS_MAX):
        peer.call("Run", b"")
    for _ in range(200):
        await peer.heard()

    peer.connection.connection_lost(None)
    first = len(peer.connection.streams)
    for _ in range(50):
        await peer.heard()

    assert first >= STREAMS_MAX - TURN_S / READING_S
    assert not peer.connection.streams
    assert peer.is_gone
