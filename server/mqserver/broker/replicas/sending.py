"""The master's end of replication in a group: the port and the connections of the slaves.

    handshake of a slave ──> own epochs ──> its first report: where to begin ──> pieces of the log
    report ──> in-sync set ──> confirm offset ──> answers, readers, and the next piece

Rule: a piece is of one epoch, and says which; with it goes the confirm offset, which an idle slave
gets soon after it has moved. A slave that connects again ends its older connection, so that only
one of them counts.

Source: store/ha/autoswitch/AutoSwitchHAConnection.java, AutoSwitchHAService.java (5.4.0).
"""

import asyncio
import logging
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from mqserver.broker.config import BrokerConfig
from mqserver.broker.ha.frames import BadStream
from mqserver.broker.ha.links import Links, LinkState, SlaveLink
from mqserver.broker.ha.sending import SlaveConn, SlaveServer
from mqserver.broker.replicas.frames import (
    SlaveFrames,
    SlaveHandshake,
    SlaveReport,
    encode_master_handshake,
    encode_pieces,
)
from mqserver.runtime.clock import Clock
from mqserver.store.store import MessageStore
from remoting.aio.resources import Places
from storefmt.config.master_epochs import EpochStart

LOG = logging.getLogger(__name__)

CONFIRM_S: Final = 0.005
"""After so long an idle slave gets a confirm offset that has moved."""
NO_EPOCH: Final = EpochStart(0, 0)
"""The epoch of bytes that were written before the group had a controller."""


class MasterState(Protocol):
    """What the connections of slaves need of the master."""

    @property
    def epochs(self) -> Sequence[EpochStart]:
        """Return the epochs of the log, the oldest first."""
        ...

    @property
    def confirm_offset(self) -> int:
        """Return up to where every required replica has the log."""
        ...

    def slave_began(self, link: "ReplicaLink") -> None:
        """Note a slave that says where its log ends."""
        ...

    def slave_reported(self, link: "ReplicaLink") -> None:
        """Note how far a slave has the log."""
        ...

    def slave_gone(self, link: "ReplicaLink") -> None:
        """Note that the connection of a slave has ended."""
        ...


class ReplicaLink(SlaveLink):
    """One connection of a slave of the group."""

    def __init__(self, address: str, *, now_ms: int) -> None:
        super().__init__(address, now_ms=now_ms)
        self.handshake: SlaveHandshake | None = None
        """What the slave said of itself."""
        self.sent_confirm_offset = -1
        """The confirm offset that it was told last."""

    @property
    def broker_id(self) -> int:
        """Return the id of the slave; 0 before its handshake."""
        return 0 if self.handshake is None else self.handshake.broker_id


class _ReplicaConn(SlaveConn):
    """One connection of a slave of the group.

    Args:
        link: its state.
        handle: called with the frames of each read.
    """

    def __init__(
        self,
        link: ReplicaLink,
        handle: Callable[["_ReplicaConn", list[SlaveHandshake | SlaveReport]], None],
    ) -> None:
        super().__init__(link, lambda slave, reports: None)
        self.replica = link
        self._frames = SlaveFrames()
        self._handle = handle

    def feed(self, data: bytes) -> None:
        """Decode frames and handle them; raises BadStream."""
        frames = self._frames.feed(data)
        if self.failure is None:
            self._handle(self, frames)


class GroupLinks(Links):
    """The slaves of a master of a group, and the messages that wait for them.

    Args:
        config: the settings.
        answer_offset: returns the log offset below which messages may be answered.
    """

    def __init__(self, config: BrokerConfig, answer_offset: Callable[[], int]) -> None:
        super().__init__(config)
        self._answer_offset = answer_offset

    @property
    def confirmed_offset(self) -> int:
        """The log offset below which every required replica has the messages."""
        return self._answer_offset()

    def has_near(self, log_offset: int) -> bool:
        """Tell that messages wait: the in-sync set decides, however far behind a slave is."""
        return True


class ReplicaServer(SlaveServer):
    """Sends the log of a master to the slaves of its group.

    Args:
        store: the store of the master.
        links: the connections.
        config: the settings.
        clock: gives the time of reports.
        may_connect: tells whether an address is allowed.
        places: counts connections against the process's limit.
        leadership: epochs and confirm offset; it is told what slaves do.
    """

    def __init__(
        self,
        store: MessageStore,
        links: Links,
        *,
        config: BrokerConfig,
        clock: Clock,
        may_connect: Callable[[str, str], bool],
        places: Places,
        leadership: MasterState,
    ) -> None:
        super().__init__(
            store,
            links,
            config=config,
            clock=clock,
            may_connect=may_connect,
            heard_epoch=lambda epoch, address: None,
            places=places,
        )
        self._leadership = leadership
        self._telling: asyncio.TimerHandle | None = None

    def confirmed(self) -> None:
        """Tell idle slaves soon that the confirm offset has moved."""
        if self._telling is None and self._slaves:
            loop = asyncio.get_running_loop()
            self._telling = loop.call_later(CONFIRM_S, self._tell)

    def _tell(self) -> None:
        self._telling = None
        confirm_offset = self._leadership.confirm_offset
        for slave in self._slaves:
            link = slave.link
            if (
                isinstance(link, ReplicaLink)
                and link.state is LinkState.SENDING
                and not slave.is_full
                and link.sent_confirm_offset < min(confirm_offset, link.sent_offset)
            ):
                self._send(slave, b"")

    async def stop(self) -> None:
        """Close the port and every connection."""
        if self._telling is not None:
            self._telling.cancel()
        await super().stop()

    def _make_link(self, address: str) -> SlaveLink:
        return ReplicaLink(address, now_ms=self._clock.now_ms())

    def _make_conn(self, link: SlaveLink) -> SlaveConn:
        assert isinstance(link, ReplicaLink)
        return _ReplicaConn(link, self._handle)

    def _gone(self, slave: SlaveConn) -> None:
        link = slave.link
        if isinstance(link, ReplicaLink) and link.broker_id and not self._is_replaced(link):
            self._leadership.slave_gone(link)

    def _is_replaced(self, link: ReplicaLink) -> bool:
        """Tell whether the same slave has begun to copy on another connection."""
        return any(
            isinstance(other, ReplicaLink)
            and other is not link
            and other.broker_id == link.broker_id
            and other.state is LinkState.SENDING
            for other in self._links.links
        )

    def _handle(self, slave: _ReplicaConn, frames: Sequence[SlaveHandshake | SlaveReport]) -> None:
        """Handle the frames of one read; raises BadStream."""
        for frame in frames:
            if isinstance(frame, SlaveHandshake):
                self._shake_hands(slave, frame)
            else:
                self._accept_report(slave, frame.log_end)

    def _shake_hands(self, slave: _ReplicaConn, handshake: SlaveHandshake) -> None:
        slave.replica.handshake = handshake
        if slave.transport is not None:
            epochs = self._leadership.epochs
            slave.transport.write(encode_master_handshake(self._store.written_offset, epochs))

    def _accept_report(self, slave: _ReplicaConn, log_end: int) -> None:
        store, link = self._store, slave.replica
        if link.handshake is None:
            raise BadStream("a report before the handshake")
        end, log_min = store.written_offset, store.min_log_offset
        is_first = link.state is LinkState.SILENT
        first = log_min
        if link.handshake.begins_at_last_file:
            first = max(log_min, end - end % store.raw.file_size)
        link.reported(log_end, log_min=log_min, log_end=end, last_file=first)
        link.heard_ms = self._clock.now_ms()
        if not is_first:
            self._leadership.slave_reported(link)
            return
        LOG.info("slave %d (%s) has %d of the log", link.broker_id, link.address, log_end)
        for other in self._slaves:
            if other is not slave and other.link in self._links.links:
                self._replace(other, link.broker_id)
        # It learns of epoch and confirm offset at once, whether or not there are bytes for it.
        self._send(slave, b"")
        self._leadership.slave_began(link)
        slave.news.set()

    def _replace(self, other: SlaveConn, broker_id: int) -> None:
        """End an older connection of a slave that has connected again."""
        if isinstance(other.link, ReplicaLink) and other.link.broker_id == broker_id:
            other.fail(OSError("it has connected again"))

    def _send(self, slave: SlaveConn, data: bytes) -> None:
        """Send the next bytes of the log, which are of one epoch; b"" sends a heartbeat."""
        link = slave.link
        if slave.failure is not None or slave.transport is None:
            return
        assert isinstance(link, ReplicaLink)
        confirm_offset = self._leadership.confirm_offset
        parts = encode_pieces(
            link.sent_offset,
            data,
            epoch=self._epoch_of(link.sent_offset)[0],
            confirm_offset=confirm_offset,
            batch_size=self._config.ha_transfer_batch_size,
        )
        link.sent_offset += len(data)
        link.sent_confirm_offset = min(confirm_offset, link.sent_offset)
        slave.transport.writelines(parts)

    def _epoch_of(self, log_offset: int) -> tuple[EpochStart, int | None]:
        """Return the epoch of a byte, and where the next epoch begins; None if there is none."""
        epochs = self._leadership.epochs
        number = bisect_right(epochs, log_offset, key=lambda entry: entry.start_offset)
        epoch = epochs[number - 1] if number else NO_EPOCH
        return epoch, epochs[number].start_offset if number < len(epochs) else None

    def _read(self, log_offset: int) -> bytes:
        """Return bytes of one epoch; raises BadStream if they are deleted here."""
        data = super()._read(log_offset)
        end = self._epoch_of(log_offset)[1]
        return data if end is None else data[: end - log_offset]
