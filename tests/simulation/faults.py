"""What goes wrong in a run: a plan of faults, each with a begin, an end and a target.

Rule: a plan is made from the seed before the run begins, so that it can be printed and cut down.
Each run has only some kinds of faults, with a rate of their own ("swarm"), since kinds that are
always on hide each other. Targets are roles (the master, some slave) as often as names.
"""

import random
from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import TYPE_CHECKING, Final, NamedTuple

from tests.simulation.tables import NAMESRV

if TYPE_CHECKING:
    from tests.simulation.replica import SimReplica
    from tests.simulation.simulation import Simulation


class Kind(Enum):
    """A kind of fault."""

    KILL = auto()
    """A broker is killed, and started again."""
    POWER_CUT = auto()
    """The same, and the end of its log that was not synced is gone, maybe in a record."""
    PAUSE = auto()
    """A broker stands still while time goes on."""
    PAUSE_CONTROLLER = auto()
    ISOLATE = auto()
    """A broker reaches nothing and is not reached."""
    PART_BROKERS = auto()
    """Two brokers do not reach each other."""
    ONE_WAY = auto()
    """Nothing arrives from one broker at another one, or at a controller."""
    PART_CONTROLLERS = auto()
    """A broker and the controllers do not reach each other."""
    RESET = auto()
    """All connections of a broker end."""
    SLOW_DISK = auto()
    FULL_DISK = auto()
    """Writes of small files fail."""
    CRASHES = auto()
    """Brokers die just before or after they save or ask something, or in the middle of a cut."""
    SLOW_NETWORK = auto()
    KILL_CONTROLLER = auto()
    STORE_UNREACHABLE = auto()
    """A controller does not reach the store."""
    STORE_FORGETS = auto()
    """Changes are made, and their answers are lost."""
    STORE_SLOW = auto()
    LEASE_JUMPS = auto()
    """Another controller leads while the former one still believes to."""


class Fault(NamedTuple):
    """One fault of a plan."""

    kind: Kind
    start_ms: int
    length_ms: int
    target: int
    """-1 for the master, otherwise any number: the brokers or controllers are counted through."""
    other: int

    def __str__(self) -> str:
        who = "the master" if self.target < 0 else str(self.target)
        return f"{self.start_ms:6} ms for {self.length_ms:5}: {self.kind.name} {who}, {self.other}"


LONGEST_MS: Final = 9_000
DEPOSING: Final = (
    Kind.KILL, Kind.POWER_CUT, Kind.PAUSE, Kind.ISOLATE, Kind.ONE_WAY, Kind.PART_CONTROLLERS,
    Kind.CRASHES,
)  # fmt: skip
"""Kinds after which another broker may be elected; each run has one of them."""


def make_plan(
    randomness: random.Random, *, start_ms: int, end_ms: int, kinds: Sequence[Kind]
) -> list[Fault]:
    """Return the faults of a run.

    Args:
        randomness: of the plan alone.
        start_ms: no fault begins earlier.
        end_ms: no fault lasts longer than that.
        kinds: from which some are chosen.
    """
    chosen = randomness.sample(kinds, k=min(len(kinds), randomness.randint(2, 5)))
    chosen += randomness.sample([kind for kind in kinds if kind in DEPOSING] or chosen, k=1)
    mean_ms = randomness.choice([150, 400, 1_000])
    plan = []
    at_ms = randomness.uniform(start_ms, start_ms + 3_000)
    while at_ms < end_ms:
        # Some are over before anybody has noticed them, others outlast every timeout.
        length_ms = randomness.expovariate(1 / randomness.choice([100, 1_500, 3_000]))
        length_ms += randomness.choice([0, 0, 2_500])
        plan.append(
            Fault(
                randomness.choice(chosen),
                int(at_ms),
                int(min(length_ms, LONGEST_MS, end_ms - at_ms)),
                randomness.choice([-1, -1, -1, 0, 1, 2]),
                randomness.randrange(6),
            )
        )
        # Some come together, others after the group has settled.
        at_ms += randomness.choice([0, 20, 0, 0, 2_500])
        at_ms += randomness.expovariate(1 / mean_ms)
    return plan


class Faults:
    """Lets the faults of a plan happen."""

    def __init__(self, simulation: "Simulation") -> None:
        self._sim = simulation

    def begin(self, fault: Fault) -> None:
        """Let a fault begin, and end later."""
        end = _BEGIN[fault.kind](self, fault)
        self._sim.world.note("", "fault", fault.kind.name, fault.length_ms, fault.target)
        self._sim.world.at(fault.length_ms, end)

    def _broker(self, fault: Fault) -> "SimReplica":
        brokers = list(self._sim.brokers.values())
        if fault.target >= 0:
            return brokers[fault.target % len(brokers)]
        leading = [broker for broker in brokers if broker.is_alive and broker.accepts]
        return leading[-1] if leading else brokers[fault.other % len(brokers)]

    def _other(self, broker: "SimReplica", fault: Fault) -> "SimReplica":
        others = [other for other in self._sim.brokers.values() if other is not broker]
        return others[fault.other % len(others)]

    def _controller(self, fault: Fault) -> str:
        """Return the leading controller, or any."""
        names = list(self._sim.controllers)
        leader = self._sim.records.lease_holder
        return leader if fault.target < 0 and leader else names[fault.other % len(names)]

    # Each begins and returns what ends it.

    def kill(self, fault: Fault) -> Callable[[], None]:
        """Kill a broker, or take its power."""
        broker = self._broker(fault)
        is_off = fault.kind is Kind.POWER_CUT and not broker.is_java_like
        broker.stop(is_off=is_off)
        return broker.start_if_dead

    def pause(self, fault: Fault) -> Callable[[], None]:
        """Let a broker or a controller stand still."""
        process = (
            self._broker(fault)
            if fault.kind is Kind.PAUSE
            else self._sim.controllers[self._controller(fault)]
        )
        process.pause()
        return process.resume

    def cut_off(self, fault: Fault) -> Callable[[], None]:
        """Block some ways of a broker."""
        broker = self._broker(fault)
        brokers = [name for name in self._sim.brokers if name != broker.name]
        controllers = list(self._sim.controllers)
        match fault.kind:
            case Kind.ISOLATE:
                peers, is_one_way = [*brokers, *controllers, NAMESRV], False
            case Kind.PART_BROKERS:
                peers, is_one_way = [self._other(broker, fault).name], False
            case Kind.PART_CONTROLLERS:
                peers, is_one_way = controllers, False
            case _:
                peers, is_one_way = [(brokers + controllers)[fault.other % len(brokers)]], True
        ways = [(broker.name, peer) for peer in peers]
        if not is_one_way:
            ways += [(peer, broker.name) for peer in peers]
        elif fault.length_ms % 2:
            ways = [(peer, name) for name, peer in ways]
        for way in ways:
            self._sim.network.block(*way)

        def end() -> None:
            for way in ways:
                self._sim.network.unblock(*way)

        return end

    def reset(self, fault: Fault) -> Callable[[], None]:
        """End all connections of a broker."""
        broker = self._broker(fault)
        for conn in list(self._sim.network.conns):
            if broker in (conn.client, conn.server):
                conn.reset()
        return lambda: None

    def disk(self, fault: Fault) -> Callable[[], None]:
        """Make the disk of a broker slow, or full."""
        broker = self._broker(fault)
        if fault.kind is Kind.SLOW_DISK:
            broker.sync_ms = (50.0, 1_500.0)
        else:
            broker.files.fail_rate = 0.7
        return broker.mend_disk

    def crashes(self, fault: Fault) -> Callable[[], None]:
        """Make all brokers brittle."""
        brokers = list(self._sim.brokers.values())
        for broker in brokers:
            broker.crash_rate = 0.2

        def end() -> None:
            for broker in brokers:
                broker.crash_rate = 0.0

        return end

    def slow_network(self, fault: Fault) -> Callable[[], None]:
        """Make all ways slow."""
        network = self._sim.network
        network.delay_ms = (1.0, 300.0)

        def end() -> None:
            network.delay_ms = (0.2, 2.0)

        return end

    def kill_controller(self, fault: Fault) -> Callable[[], None]:
        """Kill a controller."""
        controller = self._sim.controllers[self._controller(fault)]
        controller.stop()
        return controller.start_if_dead

    def store(self, fault: Fault) -> Callable[[], None]:
        """Make the way to the store bad."""
        records, name = self._sim.records, self._controller(fault)
        if fault.kind is Kind.STORE_UNREACHABLE:
            records.unreachable.add(name)
            return lambda: records.unreachable.discard(name)
        if fault.kind is Kind.LEASE_JUMPS:
            records.end_lease()
        elif fault.kind is Kind.STORE_FORGETS:
            records.lost_answer_rate = 0.6
        else:
            records.slow_ms = 1_200.0
        return self._sim.mend_store


_BEGIN: Final[dict[Kind, Callable[[Faults, Fault], Callable[[], None]]]] = {
    Kind.KILL: Faults.kill,
    Kind.POWER_CUT: Faults.kill,
    Kind.PAUSE: Faults.pause,
    Kind.PAUSE_CONTROLLER: Faults.pause,
    Kind.ISOLATE: Faults.cut_off,
    Kind.PART_BROKERS: Faults.cut_off,
    Kind.ONE_WAY: Faults.cut_off,
    Kind.PART_CONTROLLERS: Faults.cut_off,
    Kind.RESET: Faults.reset,
    Kind.SLOW_DISK: Faults.disk,
    Kind.FULL_DISK: Faults.disk,
    Kind.CRASHES: Faults.crashes,
    Kind.SLOW_NETWORK: Faults.slow_network,
    Kind.KILL_CONTROLLER: Faults.kill_controller,
    Kind.STORE_UNREACHABLE: Faults.store,
    Kind.STORE_FORGETS: Faults.store,
    Kind.STORE_SLOW: Faults.store,
    Kind.LEASE_JUMPS: Faults.store,
}
