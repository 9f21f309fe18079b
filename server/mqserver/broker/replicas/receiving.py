"""The slave's end of replication in a group: the handshake, epochs and the confirm offset.

    connect ──> own id ──> epochs of the master ──┬─ own log is a beginning ──> report, receive
                                                  ├─ own log has more ──> noted, restart, cut
                                                  └─ nothing in common ──> DIVERGED

Rule: as in ``ha.receiving``, which appends, writes, flushes and reports. A new epoch is in the
epoch file before the first of its bytes is in the log.

Source: store/ha/autoswitch/AutoSwitchHAClient.java (5.4.0).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from mqserver.broker.config import BrokerConfig
from mqserver.broker.ha.frames import BadStream, Transfer
from mqserver.broker.ha.receiving import Compare, MasterStream, Receiver
from mqserver.broker.replicas.frames import (
    LogPiece,
    MasterFrames,
    MasterHandshake,
    SlaveHandshake,
    encode_report,
    encode_slave_handshake,
)
from mqserver.broker.replicas.group_files import GroupFiles
from mqserver.runtime.clock import Clock
from mqserver.store.store import MessageStore
from storefmt.config.master_epochs import EpochStart

LOG = logging.getLogger(__name__)

HANDSHAKE_S: Final = 3.0
RETRY_S: Final = 0.2

EpochShown = Callable[[int], None]
"""Called with an epoch before its bytes are received; raises OSError if they may not be yet."""
Greeted = Callable[[MasterHandshake], Awaitable[None]]
"""Called with the master's handshake; raises Diverged or OSError if nothing may be received."""


class _ReplicaStream(MasterStream):
    """One connection to the master of a group."""

    def __init__(self, received: Callable[[MasterStream, bytes], None]) -> None:
        super().__init__(received)
        self.frames = MasterFrames()
        self.handshake: asyncio.Future[MasterHandshake] = asyncio.get_running_loop().create_future()

    def encode_report(self, log_offset: int) -> bytes:
        """Return the bytes of a report."""
        return encode_report(log_offset)

    def fail(self, error: Exception) -> None:
        """End the connection with an error, and the wait for the handshake."""
        super().fail(error)
        if not self.handshake.done():
            self.handshake.set_exception(error)
            # It may be that nobody waits for it any more.
            self.handshake.exception()


class ReplicaReceiver(Receiver):
    """Copies the log of the master of a group into one store.

    Args:
        store: the store of the slave.
        config: the settings.
        clock: gives the time of store writes.
        files: the epochs of the log.
        broker_id: returns the id in the group.
        compare: called after each connect, before the handshake.
        greeted: decides by the master's handshake.
        epoch_shown: decides by the newest epoch of the master.
        written: called when messages that were received have become visible in queues.
        confirmed: called with a confirm offset that the master sent.
    """

    retry_s = RETRY_S

    def __init__(
        self,
        store: MessageStore,
        *,
        config: BrokerConfig,
        clock: Clock,
        files: GroupFiles,
        broker_id: Callable[[], int],
        compare: Compare,
        greeted: Greeted,
        epoch_shown: EpochShown,
        written: Callable[[], None],
        confirmed: Callable[[int], None],
    ) -> None:
        super().__init__(store, config=config, clock=clock, compare=compare, written=written)
        self._files = files
        self._broker_id = broker_id
        self._greeted = greeted
        self._epoch_shown = epoch_shown
        self._confirmed = confirmed
        self._connection: _ReplicaStream | None = None
        """The last connection, whether or not anything is received on it yet."""

    def follow_nobody(self) -> None:
        """Leave the present master, which was replaced or is not known to lead any more.

        From now on it gets no report, also if its handshake is still awaited.
        """
        self.master = ""
        if self._connection is not None:
            self._connection.fail(OSError("the group has another master, or none"))

    async def _follow(self) -> None:
        if not self.master:
            raise OSError("the group has no master")
        await super()._follow()

    def _make_stream(self) -> MasterStream:
        self._connection = _ReplicaStream(self._received)
        return self._connection

    async def _greet(self, stream: MasterStream) -> None:
        assert isinstance(stream, _ReplicaStream)
        assert stream.transport is not None
        config = self._config
        handshake = SlaveHandshake(
            self._broker_id(),
            begins_at_last_file=config.sync_from_last_file,
            is_learner=config.async_learner,
        )
        stream.transport.write(encode_slave_handshake(handshake))
        async with asyncio.timeout(HANDSHAKE_S):
            master = await stream.handshake
        if master.epochs:
            self._epoch_shown(master.epochs[-1].epoch)
        await self._greeted(master)
        await self._flush_all()
        if stream.ended.done():
            # Before the first report: it may follow another master by now.
            stream.ended.result()

    def _received(self, stream: MasterStream, data: bytes) -> None:
        assert isinstance(stream, _ReplicaStream)
        if stream.handshake.done():
            super()._received(stream, data)
            return
        self.heard_ms = self._clock.now_ms()
        frames = stream.frames.feed(data)
        if not frames:
            return
        if len(frames) > 1 or not isinstance(frames[0], MasterHandshake):
            raise BadStream("it sends bytes before it was told where this log ends")
        stream.handshake.set_result(frames[0])

    def _decode(self, stream: MasterStream, data: bytes) -> list[Transfer]:
        """Return the bytes of the log in what came, after new epochs are saved.

        Raises:
            BadStream: it breaks the protocol.
            OSError: the epoch file cannot be written, or an epoch may not be received yet.
        """
        assert isinstance(stream, _ReplicaStream)
        transfers: list[Transfer] = []
        confirm_offset = -1
        for piece in stream.frames.feed(data):
            if not isinstance(piece, LogPiece):
                raise BadStream("a second handshake")
            self._note_epoch(piece.epoch)
            transfers.append(Transfer(piece.log_offset, piece.data))
            confirm_offset = max(confirm_offset, piece.confirm_offset)
        if confirm_offset >= 0:
            self._confirmed(confirm_offset)
        return transfers

    def _note_epoch(self, epoch: EpochStart) -> None:
        newest = self._files.epochs[-1].epoch if self._files.epochs else 0
        if epoch.epoch > newest:
            self._epoch_shown(epoch.epoch)
            self._files.begin_epoch(epoch.epoch, epoch.start_offset)
            LOG.info("epoch %d begins at %d of the log", epoch.epoch, epoch.start_offset)
