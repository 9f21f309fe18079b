"""Controllers over one store, in a simulated world.

    SimController   handlers, rules, BrokerGroups, Detection: the real ones
    SharedRecords   the store of all of them: compare and swap, and a lease that names the leader

Rule: the store itself is never wrong. What goes wrong is the way to it: a controller may not reach
it, may wait long, and may not hear that its change was made.
"""

import contextlib
from typing import Any, Final

from mqserver.controller import handlers
from mqserver.controller.broker_groups import BrokerGroups
from mqserver.controller.controller_config import ControllerConfig
from mqserver.controller.controller_state import ControllerState
from mqserver.controller.detection import PROBE_AFTER_MS, Detection
from mqserver.controller.group_record import GroupRecord
from mqserver.controller.group_store import StoreUnavailable, Versioned
from mqserver.controller.leadership import LEASE_S, RENEWAL_MS
from mqserver.controller.live_brokers import LiveBroker
from mqserver.controller.notices import REPEAT_MS
from mqserver.runtime.registry import collect
from mqserver.runtime.request import Request, RequestRefused
from remoting.codes import LaterResponseCode
from tests.simulation.network import Conn, Network
from tests.simulation.world import Parked, Process, Resume, World

HANDLERS: Final = collect(handlers).ordinary
STORE_TIMEOUT_MS: Final = 1_000


class RecordWatcher:
    """Who is called after each change of the records."""

    def swapped(self, before: GroupRecord | None, after: GroupRecord | None) -> None:
        """Note a change."""


class SharedRecords:
    """The store of all controllers.

    Args:
        watcher: hears of each change.
    """

    def __init__(self, watcher: RecordWatcher) -> None:
        self.records: dict[str, Versioned] = {}
        self.unreachable: set[str] = set()
        """Names of the controllers that cannot reach it."""
        self.lost_answer_rate = 0.0
        self.slow_ms = 0.0
        self.lease_holder = ""
        self._lease_end_ms = 0.0
        self._revision = 0
        self._watcher = watcher

    def read(self, broker_name: str) -> Versioned:
        """Return the newest record of a group."""
        return self.records.get(broker_name, Versioned(None, 0))

    def swap(self, broker_name: str, record: GroupRecord | None, revision: int) -> bool:
        """Replace a record if it still has this revision."""
        before = self.read(broker_name)
        if before.revision != revision:
            return False
        self._revision += 1
        self.records[broker_name] = Versioned(record, self._revision)
        self._watcher.swapped(before.record, record)
        return True

    def renew(self, name: str, now_ms: float) -> bool:
        """Give the lease to a controller if no other one has it."""
        if self.lease_holder != name and now_ms < self._lease_end_ms:
            return False
        self.lease_holder, self._lease_end_ms = name, now_ms + LEASE_S * 1_000
        return True

    def end_lease(self) -> None:
        """Let another controller lead at once, as if time had jumped at the store."""
        self._lease_end_ms = 0.0


class SimStore:
    """The way of one controller to the store; a ``GroupStore``."""

    def __init__(self, process: Process, shared: SharedRecords) -> None:
        self._process = process
        self._shared = shared

    async def open(self) -> None:
        """Do nothing."""

    async def close(self) -> None:
        """Do nothing."""

    async def read(self, broker_name: str) -> Versioned:
        """Return the newest record of a group."""
        return await self._call(lambda: self._shared.read(broker_name))

    async def read_all(self) -> list[GroupRecord]:
        """Return all records."""
        return await self._call(
            lambda: [kept.record for kept in self._shared.records.values() if kept.record]
        )

    async def swap(self, broker_name: str, record: GroupRecord | None, *, revision: int) -> bool:
        """Replace a record."""
        return await self._call(lambda: self._shared.swap(broker_name, record, revision))

    async def renew(self) -> bool:
        """Take or renew the lease of the leader."""
        world = self._process.world
        return await self._call(lambda: self._shared.renew(self._process.name, world.now_ms))

    async def _call(self, call: Any) -> Any:
        return await Parked(lambda resume: self._start(call, resume))

    def _start(self, call: Any, resume: Resume) -> None:
        process, shared, random = self._process, self._shared, self._process.world.random
        there_ms = random.uniform(0.3, 2.0) + random.random() * shared.slow_ms
        process.later(STORE_TIMEOUT_MS, resume, None, StoreUnavailable("no answer in time"))
        if process.name in shared.unreachable:
            return
        # Once it is on its way it is carried out, even if this controller ends.
        process.world.at(there_ms, self._arrived, call, resume)

    def _arrived(self, call: Any, resume: Resume) -> None:
        world, shared = self._process.world, self._shared
        result = call()
        if self._process.name not in shared.unreachable and not world.chance(
            shared.lost_answer_rate
        ):
            back_ms = world.random.uniform(0.3, 2.0) + world.random.random() * shared.slow_ms
            world.at(back_ms, resume, result)


class SimLeadership:
    """The lease of one controller, counted on its own clock."""

    def __init__(self, process: Process, store: SimStore, shared: SharedRecords) -> None:
        self._process = process
        self._store = store
        self._shared = shared
        self._until_ms = 0

    @property
    def is_leader(self) -> bool:
        """Return whether this controller believes that it leads."""
        return self._process.steady_ms() < self._until_ms

    @property
    def leader_address(self) -> str | None:
        """Return the name of the leader."""
        return self._process.name if self.is_leader else self._shared.lease_holder or None

    async def renew(self) -> None:
        """Renew the lease once."""
        sent_ms = self._process.steady_ms()
        with contextlib.suppress(StoreUnavailable):
            if await self._store.renew():
                self._until_ms = sent_ms + LEASE_S * 1_000

    async def resign(self) -> None:
        """Do nothing."""


class SimState(ControllerState):
    """The real state; what has to wait is driven by hand."""

    process: Process

    def answer_as_leader(self, request: Request, answer: Any) -> None:
        """Answer a request that only the leading controller answers."""
        if not self.leadership.is_leader:
            raise RequestRefused(
                LaterResponseCode.CONTROLLER_NOT_LEADER, "The controller is not in leader state"
            )
        self.process.drive(self._answer(request, answer))


class SimDetection(Detection):
    """The real detection; a port is tried in the world."""

    controller: "SimController"

    def connection_closed(self, conn_id: int) -> None:
        """Try the ports of the brokers that used a connection."""
        for suspect in self._groups.live.connection_closed(conn_id):
            for wait_ms in PROBE_AFTER_MS:
                self.controller.later(wait_ms, self._try, suspect)

    async def refuses(self, address: str) -> bool:
        """Tell whether nothing listens at an address."""
        return self.controller.refuses(address)

    def _try(self, suspect: LiveBroker) -> None:
        if self.controller.refuses(suspect.address) and self._groups.live.refused(suspect):
            self.controller.search()


class RequestConn:
    """The connection of a request, as handlers use it."""

    def __init__(self, controller: Process, conn: Conn, opaque: int) -> None:
        self.id = conn.id
        self.address = conn.client.name
        self._controller, self._conn, self._opaque = controller, conn, opaque

    @property
    def is_closing(self) -> bool:
        """Tell whether the answer cannot be sent any more."""
        return not self._conn.is_open

    def send_command(self, response: Any) -> None:
        """Send the answer."""
        self._conn.send(self._controller, (self._opaque, response))


class SimController(Process):
    """One controller.

    Args:
        world: its time.
        name: also its address.
        rate: of its clock.
        network: with the brokers.
        shared: the store of all controllers.
        brokers: all brokers by address.
    """

    def __init__(
        self,
        world: World,
        name: str,
        *,
        rate: float,
        network: Network,
        shared: SharedRecords,
        brokers: dict[str, Any],
    ) -> None:
        super().__init__(world, name, rate=rate)
        self._network = network
        self._shared = shared
        self._brokers = brokers

    def start(self) -> None:
        """Start a new life."""
        self.begin_life()
        store = SimStore(self, self._shared)
        self._leadership = SimLeadership(self, store, self._shared)
        self.groups = BrokerGroups(
            store,
            self,
            on_new_master=self._notify_all,
            on_old_epoch=self._notify_again,
            first_election_wait_ms=_CONFIG.first_election_wait_ms,
            sleep=self._sleep,
        )
        self._detection = SimDetection(self.groups, self)
        self._detection.controller = self
        self._state = SimState(_CONFIG, self, self.groups, self._leadership, self)  # type: ignore[arg-type]
        self._state.process = self
        self._is_searching = False
        self._notified: dict[tuple[int, int], int] = {}
        self._renew()
        self._scan()

    def stop(self) -> None:
        """Kill it."""
        if self.is_alive:
            self.end_life()
            self._network.process_ended(self)

    def start_if_dead(self) -> None:
        """Start unless something else started it."""
        if not self.is_alive:
            self.start()

    async def _sleep(self, delay_s: float) -> None:
        await Parked(lambda resume: self.later(delay_s * 1_000, resume))

    def _renew(self) -> None:
        self.drive(self._leadership.renew())
        self.later(RENEWAL_MS, self._renew)

    def _scan(self) -> None:
        self._detection.expire()
        self.search()
        self.later(_CONFIG.scan_not_active_broker_interval, self._scan)

    def search(self) -> None:
        """Look for groups without a living master."""
        if not self._is_searching and self._leadership.is_leader:
            self._is_searching = True
            self.drive(self._search())

    async def _search(self) -> None:
        with contextlib.suppress(StoreUnavailable):
            await self.groups.look_for_masters(self._detection.may_be_dead)
        self._is_searching = False

    def refuses(self, address: str) -> bool:
        """Tell whether the machine of an address answers that nothing listens there."""
        broker = self._brokers[address]
        is_blocked = self._network.is_blocked(self.name, address) or self._network.is_blocked(
            address, self.name
        )
        return not is_blocked and not broker.is_alive and not broker.is_off

    # What brokers send.

    def accept(self, conn: Conn) -> "SimController":
        """Return what handles a connection."""
        return self

    def received(self, conn: Conn, payload: Any) -> None:
        """Handle a request."""
        opaque, command = payload
        request = Request(RequestConn(self, conn, opaque), command, self.now_ms())  # type: ignore[arg-type]
        try:
            response = HANDLERS[command.code](self._state, request)
        except RequestRefused as error:
            response = command.response(error.code, remark=error.remark)
        if response is not None:
            request.reply(response)

    def closed(self, conn: Conn) -> None:
        """Suspect the brokers of a connection that has ended."""
        self._detection.connection_closed(conn.id)

    # Notices to brokers (1008): one-way, and only a hint to ask.

    def _notify_all(self, record: GroupRecord) -> None:
        for broker_id in self.groups.alive(record):
            self._notify(record, broker_id)

    def _notify_again(self, record: GroupRecord, broker: LiveBroker) -> None:
        key = (broker.key.broker_id, record.master_epoch)
        if self.steady_ms() - self._notified.get(key, -REPEAT_MS) >= REPEAT_MS:
            self._notify(record, broker.key.broker_id)

    def _notify(self, record: GroupRecord, broker_id: int) -> None:
        self._notified[broker_id, record.master_epoch] = self.steady_ms()
        address = record.address_of(broker_id)
        if address is None or self._network.is_blocked(self.name, address):
            return
        broker = self._brokers[address]
        self.world.at(self._network.latency_ms(), broker.arrive, broker.generation, broker.notified)


_CONFIG: Final = ControllerConfig()
