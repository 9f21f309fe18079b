"""One run: a seed makes the group and the plan; faults, a quiet end, and what must hold then.

    0 ────── faults, sends ──────> quiet: all is mended ── L1 within a bound ──> L2 for a while

    L1  after the last fault there is a master that accepts, and all brokers are in its set
    L2  without a fault the master does not change

Rule: ``simulate(seed)`` is the same run each time it is called. ``shrink`` drops faults from the
plan as long as the run still breaks the same invariant.
"""

import random
from dataclasses import dataclass, field
from typing import Final

from tests.simulation.controllers import SharedRecords, SimController
from tests.simulation.disk import QUEUES, RECORD
from tests.simulation.faults import Fault, Faults, Kind, make_plan
from tests.simulation.network import Network
from tests.simulation.observer import Observer, Violation
from tests.simulation.replica import GROUP, SimReplica
from tests.simulation.tables import COMMIT_MS, SimNamesrv
from tests.simulation.world import Note, World

RECOVERY_MS: Final = 25_000
"""Within so long a group without faults must be whole again (L1). A controller that has started
takes a silent master for dead after 10 s."""
SETTLED_MS: Final = 1_000
"""It is whole when it has been for so long: what was under way during the faults has arrived."""
STEP_MS: Final = 250
CALM_MS: Final = 2_500
"""For so long nothing may change afterwards (L2)."""
SEND_MS: Final = 60.0


@dataclass(frozen=True, slots=True)
class Shape:
    """What a seed decides besides the plan."""

    broker_count: int = 3
    controller_count: int = 2
    fault_ms: int = 9_000
    initial_counts: tuple[int, ...] = (0, 0, 0)
    """How many messages each broker has from before there was a controller."""
    rates: tuple[float, ...] = (1.0,) * 6
    """Of the clocks: brokers, then controllers."""
    java_like: int = -1
    """Which broker is like Java's; -1 for none."""
    cut_crash_rate: float = 0.0
    """How often a broker dies in the middle of a cut."""
    kinds: tuple[Kind, ...] = tuple(Kind)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended."""

    seed: int
    plan: tuple[Fault, ...]
    violation: Violation | None
    trace: tuple[Note, ...] = field(repr=False, default=())
    acked_count: int = 0
    master_changes: int = 0
    event_count: int = 0
    virtual_ms: float = 0.0

    def report(self) -> str:
        """Return what a person needs to find the cause."""
        lines = [f"seed {self.seed}: {self.violation}", "plan:"]
        lines += [f"  {fault}" for fault in self.plan]
        lines += ["trace:", *(f"  {note}" for note in self.trace[-120:])]
        return "\n".join(lines)


def shape_of(randomness: random.Random) -> Shape:
    """Return the shape of a run."""
    brokers = randomness.choice([2, 3, 3, 3, 4])
    controllers = randomness.choice([1, 2, 3])
    initial = [0] * brokers
    if randomness.random() < 0.3:
        initial = randomness.sample(range(20), k=brokers)
    rates = [1.0] * (brokers + controllers)
    if randomness.random() < 0.5:
        rates = [randomness.uniform(0.9, 1.1) for _ in rates]
    return Shape(
        brokers,
        controllers,
        randomness.choice([8_000, 11_000, 14_000]),
        tuple(initial),
        tuple(rates),
        randomness.randrange(brokers) if randomness.random() < 0.15 else -1,
        randomness.choice([0.0, 0.6]),
    )


class Simulation:
    """One group, its controllers and their store.

    Args:
        seed: of everything random during the run.
        shape: of the group.
    """

    def __init__(self, seed: int, shape: Shape) -> None:
        self.world = World(seed)
        self.network = Network(self.world)
        self.observer = Observer()
        self.namesrv = SimNamesrv()
        self.world.after_event = self.observer.after_event
        self.records = SharedRecords(self.observer)
        self.brokers: dict[str, SimReplica] = {}
        self.controllers: dict[str, SimController] = {}
        self.faults = Faults(self)
        self.refused_count = 0
        rates = iter(shape.rates)
        for number in range(shape.broker_count):
            name = f"b{number}:1"
            self.brokers[name] = SimReplica(
                self.world, name, rate=next(rates), network=self.network,
                controllers=self.controllers, peers=self.brokers, observer=self.observer,
                namesrv=self.namesrv, is_java_like=number == shape.java_like,
            )  # fmt: skip
            self.brokers[name].cut_crash_rate = shape.cut_crash_rate
        for number in range(shape.controller_count):
            name = f"c{number}:1"
            self.controllers[name] = SimController(
                self.world, name, rate=next(rates), network=self.network, shared=self.records,
                brokers=self.brokers,
            )  # fmt: skip
        self._fill(shape.initial_counts)

    def _fill(self, counts: tuple[int, ...]) -> None:
        ends = [0] * QUEUES
        data = b""
        for _ in range(max(counts)):
            serial = self.observer.next_serial()
            queue_id = serial % QUEUES
            data += RECORD.pack(serial, queue_id, ends[queue_id])
            ends[queue_id] += 1
        self.observer.begin_with(data)
        for broker, count in zip(self.brokers.values(), counts, strict=False):
            broker.log.append(data[: count * RECORD.size])
            broker.log.synced_end = broker.log.end

    def start(self) -> None:
        """Start all processes at nearly the same time."""
        for controller in self.controllers.values():
            self.world.at(self.world.random.uniform(0, 200), controller.start_if_dead)
        for broker in self.brokers.values():
            self.world.at(self.world.random.uniform(0, 400), broker.start_if_dead)
        self._send()
        self._consume()

    def _consume(self) -> None:
        """Let consumers read at every broker that believes to lead."""
        for broker in self.brokers.values():
            if broker.is_reachable:
                broker.tables.consume()
        self.world.at(COMMIT_MS, self._consume)

    def _send(self) -> None:
        """Let a producer send to whoever accepts, wherever its route is old."""
        random = self.world.random
        brokers = list(self.brokers.values())
        random.shuffle(brokers)
        if not any(broker.send(random.randint(1, 3)) for broker in brokers):
            self.refused_count += 1
        self.world.at(random.expovariate(1 / SEND_MS), self._send)

    def play(self, plan: tuple[Fault, ...], end_ms: int) -> None:
        """Let the faults of a plan happen, and mend everything at the end."""
        for fault in plan:
            self.world.at(fault.start_ms, self.faults.begin, fault)
        self.world.run_until(end_ms)
        self._mend()

    def _mend(self) -> None:
        self.world.note("", "quiet")
        self.mend_store()
        self.records.unreachable.clear()
        self.network.delay_ms = (0.2, 2.0)
        self.network.heal()
        for broker in self.brokers.values():
            broker.mend_disk()
            broker.crash_rate = 0.0
        for process in [*self.brokers.values(), *self.controllers.values()]:
            process.resume()
            process.start_if_dead()

    def mend_store(self) -> None:
        """Let the store answer as it should."""
        self.records.lost_answer_rate, self.records.slow_ms = 0.0, 0.0

    def check_quiet(self) -> None:
        """Check what must hold when nothing goes wrong any more.

        Raises:
            Violation: of L1 or L2.
        """
        world, observer = self.world, self.observer
        end_ms = world.now_ms + RECOVERY_MS
        brokers = self.brokers.values()
        settled_ms = 0
        while settled_ms < SETTLED_MS:
            problem = observer.unhealthy(brokers)
            if problem and world.now_ms >= end_ms:
                raise Violation("L1", f"after {RECOVERY_MS} ms without a fault: {problem}")
            world.run_until(world.now_ms + STEP_MS)
            settled_ms = 0 if problem else settled_ms + STEP_MS
        changes, acked = observer.master_changes, observer.acked_count
        world.run_until(world.now_ms + CALM_MS)
        if observer.master_changes != changes:
            raise Violation("L2", "the master changed without a fault")
        if observer.acked_count == acked:
            raise Violation("L1", "nothing is acknowledged")
        observer.check_route(self.namesrv.master(GROUP))


def simulate(
    seed: int, *, shape: Shape | None = None, plan: tuple[Fault, ...] | None = None
) -> Outcome:
    """Return how the run of a seed ends.

    Args:
        seed: of the group, the plan and the run.
        shape: of the group, instead of the seed's own.
        plan: instead of the seed's own.
    """
    randomness = random.Random(seed)
    own_shape = shape_of(randomness)
    shape = shape or own_shape
    if plan is None:
        # The longest log has to be there at the first election, and nobody can know that it was.
        start_ms = 4_000 if any(shape.initial_counts) else 500
        plan = tuple(
            make_plan(randomness, start_ms=start_ms, end_ms=shape.fault_ms, kinds=shape.kinds)
        )
    simulation = Simulation(seed, shape)
    violation = None
    try:
        simulation.start()
        simulation.play(plan, shape.fault_ms)
        simulation.check_quiet()
    except Violation as broken:
        violation = broken
    world, observer = simulation.world, simulation.observer
    return Outcome(
        seed, plan, violation, tuple(world.trace), observer.acked_count, observer.master_changes,
        world.event_count, world.now_ms,
    )  # fmt: skip


def shrink(outcome: Outcome, *, shape: Shape | None = None) -> Outcome:
    """Return a run with fewer faults that breaks the same invariant."""
    assert outcome.violation is not None
    shortest, size = outcome, max(len(outcome.plan) // 2, 1)
    while size:
        start = 0
        while start < len(shortest.plan):
            plan = shortest.plan[:start] + shortest.plan[start + size :]
            shorter = simulate(outcome.seed, shape=shape, plan=plan)
            if shorter.violation is not None and shorter.violation.name == outcome.violation.name:
                shortest = shorter
            else:
                start += size
        size //= 2
    return shortest
