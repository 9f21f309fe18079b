"""The port where the slaves of a group connect, with slaves that the test plays."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mqserver.broker.config import BrokerConfig
from mqserver.broker.replicas.frames import (
    LogPiece,
    MasterFrames,
    MasterHandshake,
    SlaveHandshake,
    encode_report,
    encode_slave_handshake,
)
from mqserver.broker.replicas.sending import GroupLinks, ReplicaLink, ReplicaServer
from mqserver.runtime.clock import SystemClock
from mqserver.store.store import MessageStore
from remoting.aio.resources import Places
from remoting.codes import ResponseCode
from storefmt.config.master_epochs import EpochStart
from tests.server.store.stores import START_MS, open_store, put_all, small_config
from tests.waiting import until


@dataclass
class MasterState:
    """What the master knows, and what it was told of its slaves."""

    epochs: list[EpochStart] = field(default_factory=lambda: [EpochStart(1, 0)])
    confirm_offset: int = 0
    told: list[tuple[str, int, int]] = field(default_factory=list)

    def slave_began(self, link: ReplicaLink) -> None:
        self.told.append(("began", link.broker_id, link.acked_offset))

    def slave_reported(self, link: ReplicaLink) -> None:
        self.told.append(("reported", link.broker_id, link.acked_offset))

    def slave_gone(self, link: ReplicaLink) -> None:
        self.told.append(("gone", link.broker_id, 0))


class PlayedSlave:
    """One connection to the port."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self._frames = MasterFrames()
        self._read: list[MasterHandshake | LogPiece] = []

    def say(self, data: bytes) -> None:
        self.writer.write(data)

    async def frame(self) -> MasterHandshake | LogPiece:
        while not self._read:
            data = await self.reader.read(1 << 16)
            assert data, "the master closed the connection"
            self._read += self._frames.feed(data)
        return self._read.pop(0)

    async def piece(self) -> LogPiece:
        frame = await self.frame()
        assert isinstance(frame, LogPiece)
        return frame

    async def log(self, end: int) -> list[LogPiece]:
        """Return the pieces up to a log offset, without heartbeats."""
        pieces: list[LogPiece] = []
        while not pieces or pieces[-1].log_offset + len(pieces[-1].data) < end:
            piece = await self.piece()
            pieces += [piece] * bool(piece.data)
        return pieces


@dataclass
class Port:
    store: MessageStore
    server: ReplicaServer
    leadership: MasterState
    number: int

    async def slave(self, broker_id: int = 2, begin: int | None = 0) -> PlayedSlave:
        """Connect; with ``begin``, greet and report it."""
        slave = PlayedSlave(*await asyncio.open_connection("127.0.0.1", self.number))
        if begin is not None:
            slave.say(encode_slave_handshake(SlaveHandshake(broker_id)))
            assert isinstance(await slave.frame(), MasterHandshake)
            slave.say(encode_report(begin))
        return slave


@asynccontextmanager
async def opened(root: Path, *, count: int = 5) -> AsyncIterator[Port]:
    store = open_store(small_config(root))
    put_all(store, range(count))
    leadership = MasterState()
    config = BrokerConfig(
        ha_transfer_batch_size=1_000, ha_send_heartbeat_interval_ms=600_000,
        ha_housekeeping_interval_ms=600_000,
    )  # fmt: skip
    server = ReplicaServer(
        store, GroupLinks(config, lambda: leadership.confirm_offset), config=config,
        clock=SystemClock(), may_connect=lambda ip, local_ip: True, places=Places(),
        leadership=leadership,
    )  # fmt: skip
    number = await server.start("127.0.0.1", 0)
    try:
        yield Port(store, server, leadership, number)
    finally:
        await server.stop()
        store.close(START_MS)


async def test_a_slave_gets_epochs_then_the_log_from_where_it_reports(tmp_path: Path) -> None:
    async with opened(tmp_path) as port:
        slave = await port.slave(begin=None)
        slave.say(encode_slave_handshake(SlaveHandshake(2)))
        end = port.store.written_offset

        assert await slave.frame() == MasterHandshake(end, (EpochStart(1, 0),))
        slave.say(encode_report(0))
        assert await slave.piece() == LogPiece(0, EpochStart(1, 0), 0, b"")
        pieces = await slave.log(end)
        assert b"".join(piece.data for piece in pieces) == port.store.raw.read(0, end)
        assert port.leadership.told == [("began", 2, 0)]


async def test_a_piece_is_of_one_epoch(tmp_path: Path) -> None:
    async with opened(tmp_path) as port:
        end = port.store.written_offset
        epochs = port.leadership.epochs = [EpochStart(2, 100), EpochStart(4, end - 50)]

        pieces = await (await port.slave()).log(end)

        for piece in pieces:
            last = piece.log_offset + len(piece.data) - 1
            assert {number for number in (piece.log_offset, last) if number >= end - 50} in (
                set(), {piece.log_offset, last},
            )  # fmt: skip
        by_epoch = {piece.epoch for piece in pieces}
        assert by_epoch == {EpochStart(0, 0), *epochs}


async def test_reports_reach_the_in_sync_set_and_confirm_is_told_soon(tmp_path: Path) -> None:
    async with opened(tmp_path) as port:
        slave = await port.slave()
        end = port.store.written_offset
        await slave.log(end)
        slave.say(encode_report(end))
        await until(lambda: ("reported", 2, end) in port.leadership.told)

        port.leadership.confirm_offset = end
        port.server.confirmed()

        assert await slave.piece() == LogPiece(end, EpochStart(1, 0), end, b"")


async def test_a_slave_that_connects_again_counts_once(tmp_path: Path) -> None:
    async with opened(tmp_path) as port:
        end = port.store.written_offset
        first = await port.slave()
        await first.log(end)

        second = await port.slave(begin=end)

        while await first.reader.read(1 << 16):
            pass
        assert port.leadership.told == [("began", 2, 0), ("began", 2, end)]
        second.writer.close()
        await until(lambda: port.leadership.told[-1] == ("gone", 2, 0))


async def test_another_slave_does_not_end_the_connection(tmp_path: Path) -> None:
    async with opened(tmp_path) as port:
        end = port.store.written_offset
        first, second = await port.slave(2), await port.slave(3, begin=end)
        await first.log(end)
        await second.piece()

        links = port.server._links.links
        assert sorted(link.broker_id for link in links if isinstance(link, ReplicaLink)) == [2, 3]


@pytest.mark.parametrize("report", [1 << 40, -1], ids=["beyond the log", "negative"])
async def test_a_report_that_cannot_be_is_refused(tmp_path: Path, report: int) -> None:
    async with opened(tmp_path) as port:
        slave = await port.slave(begin=None)
        slave.say(encode_slave_handshake(SlaveHandshake(2)))
        await slave.frame()
        slave.say(encode_report(report))

        assert await slave.reader.read() == b""
        assert port.leadership.told == [("gone", 2, 0)]


async def test_a_slave_of_4_9_is_refused(tmp_path: Path) -> None:
    async with opened(tmp_path) as port:
        slave = await port.slave(begin=None)
        slave.say((0).to_bytes(8, "big"))

        assert await slave.reader.read() == b""
        assert port.leadership.told == []


def test_messages_wait_for_the_answer_offset_and_not_for_any_slave() -> None:
    answer_offset = -1
    links = GroupLinks(BrokerConfig(slave_timeout_ms=100), lambda: answer_offset)
    codes: list[ResponseCode] = []
    links.wait(100, codes.append, begin=0, now_ms=0)
    links.wait(200, codes.append, begin=100, now_ms=0)
    assert codes == []

    answer_offset = 150
    links.settle()
    assert codes == [ResponseCode.SUCCESS]
    links.expire(100)
    assert codes == [ResponseCode.SUCCESS, ResponseCode.FLUSH_SLAVE_TIMEOUT]
