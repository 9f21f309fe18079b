"""The log on its way from a master to a slave: the real frames on simulated connections.

    slave   handshake ──> plan_begin ──┬── CutAt: cut, connect again
                                       └── BeginAt: report ──> append, sync, report, …
    master  handshake, then every new byte at once, and the confirm offset

Rule: a slave reports what it has synced. Both ends close a connection that was silent too long.
"""

from typing import TYPE_CHECKING, Any, Final

from mqserver.broker.replicas.begin_plan import CannotFollow, CutAt, plan_begin
from mqserver.broker.replicas.frames import (
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
from mqserver.broker.replicas.role_actions import Follow
from storefmt.config.master_epochs import epoch_at
from tests.simulation.disk import RECORD
from tests.simulation.network import Conn

if TYPE_CHECKING:
    from tests.simulation.replica import SimReplica

HEARTBEAT_MS: Final = 400
SILENCE_MS: Final = 3_000
BATCH_SIZE: Final = RECORD.size * 16


class Sending:
    """The master's end of one connection."""

    def __init__(self, master: "SimReplica", conn: Conn) -> None:
        self.broker_id = 0
        self._master = master
        self._conn = conn
        self._frames = SlaveFrames()
        self._sent_end: int | None = None
        self._heard_ms = master.steady_ms()
        master.later(HEARTBEAT_MS, self._beat)

    def received(self, conn: Conn, payload: Any) -> None:
        """Handle what the slave sent."""
        self._heard_ms = self._master.steady_ms()
        for frame in self._frames.feed(payload):
            match frame:
                case SlaveHandshake(broker_id):
                    self._shake_hands(broker_id)
                case SlaveReport(log_end):
                    self._reported(log_end)

    def closed(self, conn: Conn) -> None:
        """Note that the connection has ended."""
        self._master.sending_ended(self, was_counted=self._sent_end is not None)

    def close(self) -> None:
        """End the connection from this side."""
        self._conn.close(self._master)
        self.closed(self._conn)

    def _shake_hands(self, broker_id: int) -> None:
        master = self._master
        if master.role.in_sync is None:
            self.close()
            return
        master.one_connection_for(broker_id, self)
        self.broker_id = broker_id
        self._conn.send(master, encode_master_handshake(master.log.end, master.files.epochs))

    def _reported(self, log_end: int) -> None:
        master = self._master
        if not self.broker_id or master.role.in_sync is None:
            self.close()
        elif self._sent_end is None:
            if log_end > master.log.end:
                self.close()
                return
            self._sent_end = log_end
            master.execute(master.role.slave_connected(self.broker_id, log_end, master.steady_ms()))
            self.push()
        else:
            master.execute(
                master.role.slave_acknowledged(
                    self.broker_id,
                    log_end,
                    sent_end=self._sent_end,
                    now_ms=master.steady_ms(),
                )
            )

    def push(self, *, is_beat: bool = False) -> None:
        """Send what the slave does not have yet."""
        master = self._master
        if self._sent_end is None or not self._conn.is_open:
            return
        epochs, confirm = master.files.epochs, master.role.confirm_offset
        while self._sent_end < master.log.end or is_beat:
            is_beat = False
            epoch = epoch_at(epochs, self._sent_end)
            if epoch is None:
                # Written before there was a controller; the first epoch begins behind it.
                epoch = epochs[0]
            following = [entry for entry in epochs if entry.start_offset > self._sent_end]
            end = min(master.log.end, following[0].start_offset if following else master.log.end)
            data = master.log.read(self._sent_end, end)[:BATCH_SIZE]
            pieces = encode_pieces(
                self._sent_end, data, epoch=epoch, confirm_offset=confirm, batch_size=BATCH_SIZE
            )
            self._sent_end += len(data)
            self._conn.send(master, b"".join(pieces))

    def _beat(self) -> None:
        if self not in self._master.sendings:
            return
        if self._master.steady_ms() - self._heard_ms > SILENCE_MS:
            self.close()
            return
        self.push(is_beat=True)
        self._master.later(HEARTBEAT_MS, self._beat)


class Receiving:
    """The slave's end of a connection to the master that the controller named."""

    def __init__(self, slave: "SimReplica", follow: Follow, conn: Conn) -> None:
        self.follow = follow
        self.conn = conn
        self.is_beginning = True
        self._slave = slave
        self._frames = MasterFrames()
        self._heard_ms = slave.steady_ms()
        conn.send(slave, encode_slave_handshake(SlaveHandshake(slave.role.broker_id or 0)))
        self._watch()

    def received(self, conn: Conn, payload: Any) -> None:
        """Handle what the master sent."""
        self._heard_ms = self._slave.steady_ms()
        for frame in self._frames.feed(payload):
            if not self.conn.is_open or self._slave.receiving is not self:
                return
            if isinstance(frame, MasterHandshake):
                self._begin(frame)
            else:
                self._append(frame)

    def closed(self, conn: Conn) -> None:
        """Note that the connection has ended."""
        self._slave.receiving_ended(self)

    def close(self) -> None:
        """End the connection from this side."""
        self.conn.close(self._slave)
        self._slave.receiving_ended(self)

    def _begin(self, handshake: MasterHandshake) -> None:
        slave = self._slave
        newest = handshake.epochs[-1].epoch if handshake.epochs else 0
        if newest < self.follow.epoch:
            self.close()
            return
        try:
            plan = plan_begin(
                slave.files.epochs, log_min=0, log_end=slave.log.end, master=handshake
            )
        except CannotFollow as error:
            slave.world.note(slave.name, "cannot follow", error)
            self.close()
            return
        if isinstance(plan, CutAt):
            slave.cut_log(plan.log_offset)
            self.close()
            return
        slave.sync(lambda: self._report_first())

    def _report_first(self) -> None:
        self.is_beginning = False
        self.conn.send(self._slave, encode_report(self._slave.log.synced_end))

    def _append(self, piece: LogPiece) -> None:
        slave = self._slave
        if piece.log_offset != slave.log.end or self.is_beginning:
            self.close()
            return
        newest = slave.files.epochs[-1].epoch if slave.files.epochs else 0
        if piece.epoch.epoch > newest and piece.epoch.start_offset <= piece.log_offset:
            try:
                slave.files.begin_epoch(*piece.epoch)
            except OSError:
                self.close()
                return
        if piece.data:
            slave.append_copy(piece.log_offset, piece.data)
            slave.sync(lambda: self._synced(piece.confirm_offset))
        else:
            slave.followed(piece.confirm_offset)
            self._report()

    def _synced(self, confirm_offset: int) -> None:
        if self._slave.receiving is self:
            self._slave.followed(confirm_offset)
            self._report()

    def _report(self) -> None:
        self.conn.send(self._slave, encode_report(self._slave.reported_end()))

    def _watch(self) -> None:
        if self._slave.receiving not in (self, None):
            return
        if self._slave.steady_ms() - self._heard_ms > SILENCE_MS:
            self.close()
            return
        self._slave.later(HEARTBEAT_MS, self._watch)
