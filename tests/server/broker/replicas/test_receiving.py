"""The slave's end of a replication connection in a group, with a master that the test plays."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mqserver.broker.ha.receiving import Diverged, SlaveState
from mqserver.broker.replicas.frames import (
    SLAVE_HANDSHAKE,
    SLAVE_TRANSFER,
    MasterHandshake,
    SlaveHandshake,
    encode_master_handshake,
    encode_pieces,
    encode_slave_handshake,
)
from mqserver.broker.replicas.group_files import GroupFiles
from mqserver.broker.replicas.receiving import ReplicaReceiver
from mqserver.runtime.clock import SystemClock
from mqserver.store.store import MessageStore
from storefmt.config.master_epochs import EpochStart
from tests.server.broker.desk import broker_settings
from tests.waiting import until

EPOCH = EpochStart(3, 0)


class PlayedMaster:
    """A listening master whose one slave sends what ``read`` returns."""

    def __init__(self) -> None:
        self.connections: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        self.address = ""

    async def start(self) -> None:
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.address = "127.0.0.1:{1}".format(*server.sockets[0].getsockname())

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections.append((reader, writer))

    async def connected(self, count: int = 1) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        await until(lambda: len(self.connections) >= count, what="the slave connects")
        return self.connections[count - 1]


class Slave:
    """A receiver, and what it was told."""

    def __init__(self, root: Path) -> None:
        config = broker_settings(root)
        self.store = MessageStore.open(config.store, now_ms=1)
        self.files = GroupFiles(root, cluster_name="C", broker_name="g")
        self.confirmed: list[int] = []
        self.handshakes: list[MasterHandshake] = []
        self.verdict: Exception | None = None
        self.heard = 9
        self.receiver = ReplicaReceiver(
            self.store, config=config, clock=SystemClock(), files=self.files,
            broker_id=lambda: 2, compare=self._compare, greeted=self._greeted,
            epoch_shown=self._epoch_shown,
            written=lambda: None, confirmed=self.confirmed.append,
        )  # fmt: skip

    async def _compare(self) -> None:
        return

    def _epoch_shown(self, epoch: int) -> None:
        if epoch > self.heard:
            raise OSError(f"epoch {epoch} is new")

    async def _greeted(self, handshake: MasterHandshake) -> None:
        self.handshakes.append(handshake)
        if self.verdict is not None:
            raise self.verdict


@asynccontextmanager
async def played(root: Path) -> AsyncIterator[tuple[PlayedMaster, Slave]]:
    master, slave = PlayedMaster(), Slave(root)
    await master.start()
    slave.receiver.start()
    slave.receiver.set_master(master.address)
    try:
        yield master, slave
    finally:
        await slave.receiver.stop()
        slave.store.close(2)


def report(log_end: int) -> bytes:
    return SLAVE_TRANSFER.pack(2, log_end)


async def bytes_until_close(reader: asyncio.StreamReader) -> bytes:
    """Return what a slave sends until it closes.

    A slave that closes before it has read everything resets the connection: which of the two comes
    first depends on the event loop.
    """
    received = bytearray()
    with contextlib.suppress(ConnectionResetError):
        while data := await reader.read(SLAVE_TRANSFER.size):
            received += data
    return bytes(received)


async def test_a_slave_says_who_it_is_and_reports_after_the_masters_handshake(
    tmp_path: Path,
) -> None:
    async with played(tmp_path) as (master, slave):
        reader, writer = await master.connected()
        assert await reader.readexactly(SLAVE_HANDSHAKE.size) == encode_slave_handshake(
            SlaveHandshake(2)
        )
        writer.write(encode_master_handshake(100, [EPOCH]))

        assert await reader.readexactly(12) == report(0)
        assert slave.handshakes == [MasterHandshake(100, (EPOCH,))]


async def test_an_epoch_is_saved_before_its_bytes_and_the_confirm_offset_is_told(
    tmp_path: Path,
) -> None:
    async with played(tmp_path) as (master, slave):
        reader, writer = await master.connected()
        await reader.readexactly(SLAVE_HANDSHAKE.size)
        writer.write(encode_master_handshake(0, [EPOCH]))
        await reader.readexactly(12)

        parts = encode_pieces(0, b"x" * 40, epoch=EPOCH, confirm_offset=30, batch_size=100)
        writer.write(b"".join(parts))

        assert await reader.readexactly(12) == report(40)
        assert slave.confirmed == [30]
        assert GroupFiles(tmp_path, cluster_name="C", broker_name="g").epochs == [EPOCH]


@pytest.mark.parametrize(
    "bytes_after", [b"", encode_master_handshake(0, [EPOCH])], ids=["silent", "greets"]
)
async def test_a_master_that_is_left_gets_no_report(tmp_path: Path, bytes_after: bytes) -> None:
    async with played(tmp_path) as (master, slave):
        reader, writer = await master.connected()
        await reader.readexactly(SLAVE_HANDSHAKE.size)

        # A read that has begun gets what comes right before a reset.
        received = asyncio.create_task(bytes_until_close(reader))
        slave.receiver.follow_nobody()
        writer.write(bytes_after)

        assert await received == b""
        assert slave.handshakes == []
        await until(lambda: "has no master" in slave.receiver.problem)


async def test_a_slave_goes_to_another_master_while_the_first_one_hangs(tmp_path: Path) -> None:
    async with played(tmp_path) as (first, slave):
        await first.connected()
        second = PlayedMaster()
        await second.start()

        slave.receiver.follow_nobody()
        slave.receiver.set_master(second.address)

        reader, writer = await second.connected()
        await reader.readexactly(SLAVE_HANDSHAKE.size)
        writer.write(encode_master_handshake(0, [EPOCH]))
        assert await reader.readexactly(12) == report(0)


@pytest.mark.parametrize(
    "nonsense",
    [
        encode_master_handshake(0, [EPOCH])
        + b"".join(encode_pieces(0, b"x", epoch=EPOCH, confirm_offset=0, batch_size=9)),
        b"\0\0\0\7",
    ],
    ids=["bytes before the report", "another protocol"],
)
async def test_a_peer_that_breaks_the_protocol_is_left(tmp_path: Path, nonsense: bytes) -> None:
    async with played(tmp_path) as (master, slave):
        reader, writer = await master.connected()
        await reader.readexactly(SLAVE_HANDSHAKE.size)
        writer.write(nonsense)

        assert await reader.read() == b""
        assert slave.store.written_offset == 0


async def test_logs_with_nothing_in_common_wait_for_a_person(tmp_path: Path) -> None:
    async with played(tmp_path) as (master, slave):
        slave.verdict = Diverged("nothing in common")
        reader, writer = await master.connected()
        await reader.readexactly(SLAVE_HANDSHAKE.size)
        writer.write(encode_master_handshake(0, [EPOCH]))

        await until(lambda: slave.receiver.state is SlaveState.DIVERGED)
        assert slave.receiver.divergence == "nothing in common"


async def test_a_master_of_an_epoch_that_is_not_known_is_left(tmp_path: Path) -> None:
    async with played(tmp_path) as (master, slave):
        slave.heard = 2
        reader, writer = await master.connected()
        await reader.readexactly(SLAVE_HANDSHAKE.size)
        writer.write(encode_master_handshake(0, [EPOCH]))

        assert await reader.read() == b""
        assert slave.handshakes == []

        slave.heard = 3
        reader, writer = await master.connected(2)
        await reader.readexactly(SLAVE_HANDSHAKE.size)
        writer.write(encode_master_handshake(0, [EPOCH]))
        assert await reader.readexactly(12) == report(0)


async def test_bytes_of_an_epoch_that_is_not_known_are_not_received(tmp_path: Path) -> None:
    async with played(tmp_path) as (master, slave):
        slave.heard = 3
        reader, writer = await master.connected()
        await reader.readexactly(SLAVE_HANDSHAKE.size)
        writer.write(encode_master_handshake(0, [EPOCH]))
        await reader.readexactly(12)

        newer = EpochStart(4, 0)
        parts = encode_pieces(0, b"x" * 40, epoch=newer, confirm_offset=0, batch_size=100)
        writer.write(b"".join(parts))

        assert await reader.read() == b""
        assert slave.store.written_offset == 0
        assert slave.files.epochs == []
