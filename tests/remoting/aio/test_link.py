"""One connection's bytes, with a transport that the test drives."""

import asyncio
from collections.abc import Sequence

from remoting.aio.channel import WRITE_SIZE, Channel, FutureWaiter
from remoting.aio.link import PAUSE_SIZE, Link, Outbox
from remoting.command import Command
from remoting.errors import BadFrame
from remoting.frame import RawFrame, encode_frame


class FakeTransport(asyncio.Transport):
    """Takes what is written, or keeps it when the peer is deaf."""

    def __init__(self, link: Link | None = None) -> None:
        super().__init__()
        self.writes: list[bytes] = []
        self.calls: list[str] = []
        self.kept_size = 0
        self.deaf = link
        self.high = 0

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self.high = high or 0

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.writes.append(bytes(data))
        if self.deaf is not None:
            self.kept_size += len(data)
            if self.kept_size > self.high and not self.deaf.write_paused:
                self.deaf.pause_writing()

    def get_write_buffer_size(self) -> int:
        return self.kept_size

    def is_closing(self) -> bool:
        return bool({"close", "abort"} & set(self.calls))

    def close(self) -> None:
        self.calls.append("close")

    def abort(self) -> None:
        self.calls.append("abort")

    def pause_reading(self) -> None:
        self.calls.append("pause")

    def resume_reading(self) -> None:
        self.calls.append("resume")


class Nobody:
    """Owns a connection that asks for nothing."""

    def forget(self, channel: Channel) -> None:
        pass

    def answer(self, channel: Channel, request: Command) -> None:
        pass


class Collector(Link):
    """Remembers frames and the error."""

    def __init__(self, outbox: Outbox) -> None:
        super().__init__(outbox, write_buffer_max=1_000_000)
        self.reads: list[int] = []
        self.error: BadFrame | None = None

    def on_frames(self, frames: Sequence[RawFrame]) -> None:
        self.reads.append(len(frames))

    def on_bad_frame(self, error: BadFrame) -> None:
        self.error = error


def connected(*, deaf: bool = False) -> tuple[Outbox, Collector, FakeTransport]:
    outbox = Outbox()
    link = Collector(outbox)
    transport = FakeTransport(link if deaf else None)
    link.connection_made(transport)
    return outbox, link, transport


def receive(link: Link, data: bytes) -> None:
    buffer = link.get_buffer(-1)
    buffer[: len(data)] = data
    link.buffer_updated(len(data))


async def test_clients_of_one_thread_share_a_read_buffer_and_threads_do_not() -> None:
    here = [connected()[1].get_buffer(-1) for _ in range(2)]

    elsewhere = await asyncio.to_thread(Collector(Outbox()).get_buffer, -1)

    assert here[0] is here[1]
    assert elsewhere is not here[0]


async def test_what_is_sent_in_one_turn_leaves_in_one_write() -> None:
    _, link, transport = connected()
    link.send(b"a")
    link.send(b"b")
    assert transport.writes == []
    await asyncio.sleep(0)
    link.send(b"c")
    await asyncio.sleep(0)
    assert transport.writes == [b"ab", b"c"]


async def test_requests_leave_while_the_client_makes_the_next_ones() -> None:
    outbox = Outbox()
    channel = Channel(Nobody(), "127.0.0.1:1", outbox)
    transport = FakeTransport()
    channel.connection_made(transport)
    frames = [encode_frame(Command(310, opaque=number, body=bytes(1_024))) for number in range(60)]

    for number, frame in enumerate(frames):
        channel.post(number, frame, FutureWaiter(asyncio.get_running_loop().create_future()), 9e9)
    early = [len(data) for data in transport.writes]
    outbox.flush()

    # The first one left alone; then as many at a time as are needed for WRITE_SIZE.
    size = len(frames[-1])
    assert early[0] == len(frames[0])
    assert len(early) == 4
    assert all(WRITE_SIZE < one <= WRITE_SIZE + size for one in early[1:])
    assert b"".join(transport.writes) == b"".join(frames)
    channel.pending.drain()
    channel.connection_lost(None)


async def test_what_is_sent_alone_leaves_now_but_behind_what_waits() -> None:
    _, link, transport = connected()
    link.send_alone(b"1")
    assert transport.writes == [b"1"]
    link.send(b"2")
    link.send_alone(b"3")
    assert transport.writes == [b"1"]
    await asyncio.sleep(0)
    assert transport.writes == [b"1", b"23"]
    link.close()
    link.send_alone(b"4")
    await asyncio.sleep(0)
    assert transport.writes == [b"1", b"23"]


async def test_what_is_held_leaves_with_the_flush_and_later_sends_by_themselves() -> None:
    outbox, link, transport = connected()
    outbox.defer_writes()
    link.send(b"a")
    await asyncio.sleep(0)
    assert transport.writes == []
    outbox.flush()
    assert transport.writes == [b"a"]
    link.send(b"b")
    await asyncio.sleep(0)
    assert transport.writes == [b"a", b"b"]


async def test_links_share_one_buffer_and_keep_their_own_frames() -> None:
    outbox = Outbox()
    first, second = Collector(outbox), Collector(outbox)
    data = encode_frame(Command(code=1))
    for part in (data[:5], data[5:]):
        receive(first, part)
        receive(second, part)
    assert first.reads == second.reads == [0, 1]
    assert first.activity == 2
    assert first.waiting_size == 0


async def test_bytes_that_are_no_frame_close_after_what_was_queued() -> None:
    _, link, transport = connected()
    link.send(b"answer")
    receive(link, b"\xff" * 8)
    assert link.error is not None
    assert transport.writes == [b"answer"]
    assert transport.calls == ["close"]
    receive(link, encode_frame(Command(code=1)))
    link.send(b"dropped")
    link.close()
    await asyncio.sleep(0)
    assert link.reads == []
    assert transport.writes == [b"answer"]
    assert transport.calls == ["close"]


async def test_frames_before_bytes_that_are_no_frame_are_handled() -> None:
    _, link, transport = connected()

    receive(link, encode_frame(Command(code=1)) * 2 + b"\xff" * 8)

    assert link.reads == [2]
    assert link.error is not None
    assert transport.calls == ["close"]


async def test_a_deaf_peer_is_paused_then_cut() -> None:
    outbox, link, transport = connected(deaf=True)
    link.send(bytes(PAUSE_SIZE + 1))
    outbox.flush()
    assert link.write_paused is True
    assert transport.calls == ["pause"]
    assert link.activity == 0
    link.send(bytes(1_000_000 - PAUSE_SIZE - 1))
    outbox.flush()
    assert not link.is_closing
    link.send(b"x")
    outbox.flush()
    assert link.is_closing
    assert transport.calls == ["pause", "abort"]


async def test_the_limit_holds_within_one_turn_too() -> None:
    _, link, transport = connected(deaf=True)
    for _ in range(5):
        link.send(bytes(400_000))
    assert link.is_closing
    assert sum(map(len, transport.writes)) < 2_000_000


async def test_a_peer_that_reads_again_is_read_again() -> None:
    outbox, link, transport = connected(deaf=True)
    link.send(bytes(900_000))
    outbox.flush()
    transport.kept_size = 0
    link.resume_writing()
    link.send(bytes(900_000))
    outbox.flush()
    assert not link.is_closing
    assert transport.calls == ["pause", "resume", "pause"]
    assert link.unsent_size == 900_000
