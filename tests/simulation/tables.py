"""What brokers have besides the log: consumer offsets, and their place on name servers.

    consumer ── reads up to the confirm offset ──> commits at a master
    slave    ── asks its master now and then ────> SlaveSync (the real one) ──> own offsets
    broker   ── registers: on each new role, and every period ──> RouteTable (the real one)

Rule: a consumer never commits more than a reader of that broker could see. Offsets are on the disk
at once; that an end of them may be lost only means that messages are read again.
"""

from typing import TYPE_CHECKING, Final

from mqserver.broker.clients.consumer_offsets import NO_OFFSET
from mqserver.broker.ha.slave_synchronize import MasterProgress, MasterTables, SlaveSync
from mqserver.broker.replicas.roles import Role
from mqserver.namesrv.routes import BadRegistration, RouteTable
from remoting.headers import RegisterBroker
from storefmt.config.tables import ConsumerOffsets, DataVersion
from tests.simulation.disk import QUEUES, RECORD

if TYPE_CHECKING:
    from tests.simulation.replica import SimReplica

NAMESRV: Final = "n0:1"
TOPIC: Final = "T"
CONSUMERS: Final = "G"
SYNC_MS: Final = (300.0, 1_500.0)
"""Between two questions of a slave; 10 s in a real broker."""
REGISTER_MS: Final = 4_000.0
"""Between two registrations without a change; 30 s in a real broker."""
COMMIT_MS: Final = 120.0


class SimOffsets:
    """The offsets of one group on one broker; in the place of the real table."""

    def __init__(self) -> None:
        self.queues: dict[int, int] = {}

    def get(self, group: str, topic: str, *, queue_id: int) -> int:
        """Return the next queue offset to read."""
        return self.queues.get(queue_id, NO_OFFSET)

    def commit(self, group: str, topic: str, *, queue_id: int, queue_offset: int) -> None:
        """Set it."""
        self.queues[queue_id] = queue_offset

    def adopt(self, table: object) -> tuple[()]:
        """Adopt topics, groups or delay offsets, of which there are none."""
        return ()


class Tables:
    """The tables of one life of a broker.

    Args:
        broker: whose they are.
        offsets: what its disk has.
    """

    def __init__(self, broker: "SimReplica", offsets: SimOffsets) -> None:
        self.offsets = offsets
        self._broker = broker
        self.sync = SlaveSync(
            topics=offsets, groups=offsets, offsets=offsets, delay=offsets,  # type: ignore[arg-type]
        )  # fmt: skip
        self.sync.may_settle = self._has_begun
        self._ask_later()

    def _has_begun(self) -> bool:
        receiving = self._broker.receiving
        return receiving is not None and not receiving.is_beginning

    def consume(self) -> None:
        """Let a consumer read some messages of each queue, and commit."""
        broker, random = self._broker, self._broker.world.random
        if broker.role.role is not Role.LEADING:
            return
        for queue_id, end in enumerate(queue_ends(broker, broker.role.confirm_offset)):
            begin = max(self.offsets.get(CONSUMERS, TOPIC, queue_id=queue_id), 0)
            if end > begin:
                read = random.randint(begin, end)
                self.offsets.commit(CONSUMERS, TOPIC, queue_id=queue_id, queue_offset=read)
        broker.observer.offsets_changed(broker)

    def settle(self) -> None:
        """Adopt what the master reported, if the log has come so far."""
        if self._broker.role.role is Role.FOLLOWING:
            self.sync.settle(self._broker.log.synced_end)
            self._broker.observer.offsets_changed(self._broker)

    def _ask_later(self) -> None:
        self._broker.later(self._broker.world.random.uniform(*SYNC_MS), self._ask)

    def _ask(self) -> None:
        self._ask_later()
        broker, follow = self._broker, self._broker.role.master
        if broker.role.role is not Role.FOLLOWING or follow is None:
            return
        master = broker.peers[follow.address]
        if not broker.network.is_blocked(broker.name, master.name):
            broker.world.at(
                broker.network.latency_ms(), master.arrive, master.generation,
                self._answer, master, broker.generation,
            )  # fmt: skip

    def _answer(self, master: "SimReplica", generation: int) -> None:
        """Let the master read its tables; the end of its log comes last, as in ``MasterCalls``."""
        broker = self._broker
        queues = {(TOPIC, CONSUMERS): dict(master.tables.offsets.queues)}
        progress = MasterProgress(
            ConsumerOffsets(queues), None, master.log.end, master.log.end  # type: ignore[arg-type]
        )  # fmt: skip
        if not broker.network.is_blocked(master.name, broker.name):
            broker.world.at(
                broker.network.latency_ms(), broker.arrive, generation,
                self._adopt, master.name, progress,
            )  # fmt: skip

    def _adopt(self, address: str, progress: MasterProgress) -> None:
        follow = self._broker.role.master
        if follow is None or follow.address != address:
            return
        self.sync.adopt(MasterTables(None, None, progress))  # type: ignore[arg-type]
        self.settle()


def queue_ends(broker: "SimReplica", log_offset: int) -> list[int]:
    """Return the next offset of each queue behind the records of a log up to ``log_offset``."""
    ends: dict[int, int] = {}
    whole = min(log_offset, broker.log.end) // RECORD.size * RECORD.size
    while whole > 0 and len(ends) < QUEUES:
        whole -= RECORD.size
        _, queue_id, queue_offset = RECORD.unpack_from(broker.log.data, whole)
        ends.setdefault(queue_id, queue_offset + 1)
    return [ends.get(queue_id, 0) for queue_id in range(QUEUES)]


class SimNamesrv:
    """One name server: the real routes, without a socket."""

    def __init__(self) -> None:
        self.routes = RouteTable()
        self.name = NAMESRV

    def register(self, broker: "SimReplica", header: RegisterBroker, state_version: int) -> None:
        """Process a registration, or refuse it."""
        version = DataVersion(0, 0, {"stateVersion": state_version})
        before = self._master_version()
        try:
            for _ in self.routes.register(
                header, {}, version, conn_id=id(broker), now_ms=int(broker.world.now_ms)
            ):
                pass
        except BadRegistration as error:
            broker.world.note(self.name, "refuses", broker.name, error)
        if header.broker_id == 0:
            broker.observer.registered(broker, before, self._master_version())

    def _master_version(self) -> int:
        """Return the stateVersion of the broker with id 0; 0 for none."""
        master = self.master("g")
        version = None if master is None else self.routes.data_version(master)
        return 0 if version is None else int(str(version.extra["stateVersion"]))

    def master(self, broker_name: str) -> str | None:
        """Return the address with id 0."""
        data = self.routes.cluster_info().broker_addr_table.get(broker_name)
        return None if data is None else data.broker_addrs.get(0)


class Registration:
    """The registrations of one life of a broker."""

    def __init__(self, broker: "SimReplica") -> None:
        self._broker = broker
        self._later()

    def _later(self) -> None:
        self._broker.later(REGISTER_MS * self._broker.world.random.uniform(0.2, 1.0), self._repeat)

    def _repeat(self) -> None:
        self.register()
        self._broker.later(REGISTER_MS, self._repeat)

    def register(self) -> None:
        """Register with the role of this moment, unless the broker has none."""
        broker, role = self._broker, self._broker.role
        is_master = broker.was_master
        if role.role is not (Role.LEADING if is_master else Role.FOLLOWING):
            return
        header = RegisterBroker(
            broker_name="g",
            broker_addr=broker.name,
            cluster_name="C",
            ha_server_addr=broker.name,
            broker_id=0 if is_master else role.broker_id or 1,
        )
        if not broker.network.is_blocked(broker.name, NAMESRV):
            namesrv, epoch = broker.namesrv, role.epoch
            broker.world.at(broker.network.latency_ms(), namesrv.register, broker, header, epoch)
