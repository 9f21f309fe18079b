"""Runs a broker again and again until SIGKILL, and checks it after each start.

    plan ─> start ─> read everything, judge ─> load ─> SIGKILL ─> copy, verify ─> plan …
              └ one in ten is killed while it starts

Every fifth check waits until delayed messages and transactions had their time, and judges them
too. Every eighth life deletes expired log files, with fileReservedTime=0. A broker with that
setting gives up open transactions, so the life before settles them and sends none. Before every
tenth life the broker is started and stopped properly, and its store is verified.

Rule: the plan of each life comes from the seed. The last broker is checked and stopped properly
too.
"""

import asyncio
import contextlib
import math
import random
import shutil
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from mqclient import Admin
from mqclient.client.instance import MQClient
from storefmt.config.tables import TopicConfig
from tests.server.kills import checker
from tests.server.kills.checker import Verdict, judge
from tests.server.kills.ledger import Kind, Ledger, Outcome
from tests.server.kills.load import (
    DECIDED,
    DELAYED,
    NEWCOMER,
    PLAIN,
    QUEUE_COUNT,
    TIMEOUT_S,
    Load,
    Pattern,
    Work,
)
from tests.server.kills.supervisor import Supervisor

SETTLE_EVERY: Final = 5
STOP_EVERY: Final = 10
SETTLE_S_MAX: Final = 30.0
"""A message that is not delivered by then counts as lost."""
START_S: Final = {"ours": 1.0, "java": 6.0}
"""About how long a start takes, within which a kill during a start comes."""
DELETE_EVERY: Final = 8
DELETES_S: Final = {"ours": 3.0, "java": 75.0}
"""Duration of a life that deletes files; the real broker begins a minute after its start."""
NEWCOMERS_KEPT: Final = 3
"""Lives for which a topic of one message is checked."""
SHOWN: Final = 5
"""Faults of one kind that are printed by name."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of one run of the loop."""

    kills: int
    seed: int
    target: str = "ours"
    flush: str = "ASYNC_FLUSH"
    seconds: float = float("inf")
    """No further kill after so many seconds."""
    uptime_s_max: float = 2.0
    """Longest life; nine lives in ten are shorter than a second."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One life of the broker."""

    number: int
    uptime_s: float
    work: Work
    in_start: bool
    is_settled: bool
    """The check before the load waits for delayed messages and transactions."""
    thorough_ms: int
    """flushConsumeQueueThoroughInterval: how often queues are synced."""


def plans(settings: Settings) -> list[Plan]:
    """Return the plan of each life; the same for the same seed."""
    chance = random.Random(settings.seed)
    return [_plan(number, settings, chance) for number in range(1, settings.kills + 1)]


def _plan(number: int, settings: Settings, chance: random.Random) -> Plan:
    # One life sends no transactions, and the next one finds none open when it deletes.
    deletes = number % DELETE_EVERY == 0
    precedes = (number + 1) % DELETE_EVERY == 0
    in_start = not (deletes or precedes) and number > 1 and chance.random() < 0.1
    # As many lives of 1 to 3 s as of 30 to 90 s.
    is_long = chance.random() < 0.1
    long_s = math.exp(chance.uniform(0, math.log(settings.uptime_s_max)))
    uptime_s = long_s if is_long else chance.uniform(0.2, 1)
    if in_start:
        uptime_s = chance.uniform(0, START_S[settings.target])
    elif deletes:
        uptime_s = DELETES_S[settings.target]
    pattern = chance.choice((Pattern.BUSY, Pattern.BUSY, Pattern.TRICKLE, Pattern.BURST))
    return Plan(
        number=number,
        uptime_s=uptime_s,
        work=Work(pattern=pattern, decides=not (deletes or precedes), deletes=deletes),
        in_start=in_start,
        is_settled=precedes or number % SETTLE_EVERY == 0,
        thorough_ms=chance.choice((300, 1_000) if deletes else (300, 1_000, 60_000)),
    )


class Killed(NamedTuple):
    """A kill whose store is not checked yet."""

    plan: Plan
    copy: Path
    unclean: list[str]

    @property
    def title(self) -> str:
        """The beginning of the line of this kill."""
        plan = self.plan
        kind = "in its start" if plan.in_start else plan.work.pattern.name
        kind += ", deleting" if plan.work.deletes else ""
        kind += ", settled" if plan.is_settled else ""
        return f"kill {plan.number}: {plan.uptime_s:.2f} s {kind}"


@dataclass
class Totals:
    """The totals of a whole run.

    Attributes:
        faults: how many of each kind of a ``Verdict``.
        kills_with_faults: number of kills after which there was a fault.
    """

    seed: int
    target: str
    flush: str
    kills: int = 0
    acknowledged: int = 0
    transactions: int = 0
    delayed: int = 0
    repeated: int = 0
    recovered: int = 0
    kills_with_faults: int = 0
    faults: dict[str, int] = field(default_factory=dict)

    def count(self, ledger: Ledger) -> None:
        """Take over the counts of the ledger."""
        counts = Counter(one.kind for one in ledger.sent.values() if one.outcome is Outcome.OK)
        counts += ledger.expired
        self.acknowledged, self.transactions = counts.total(), counts[Kind.COMMITTED]
        self.delayed = counts[Kind.DELAYED]
        self.repeated, self.recovered = len(ledger.repeated), len(ledger.recovered)


class Loop:
    """One run.

    Args:
        directory: where all files are; the copy of a store is kept if its kill caused a fault.
        say: called with one line for each kill.
    """

    def __init__(
        self, settings: Settings, directory: Path, *, say: Callable[[str], None] = print
    ) -> None:
        self._settings = settings
        self._directory = directory
        self._say = say
        self._chance = random.Random(settings.seed + 1)
        self._ledger = Ledger()
        self._killed: list[Killed] = []
        self._killed_s = 0.0
        """When a broker was killed that had served (monotonic)."""
        self._read_count = 0
        self.totals = Totals(settings.seed, settings.target, settings.flush)

    def run(self) -> Totals:
        """Go through all lives."""
        settings = self._settings
        self._say(f"seed {settings.seed}: {settings}")
        end_s = time.monotonic() + settings.seconds
        made = Supervisor(self._directory, target=settings.target, flush=settings.flush)
        with contextlib.closing(made) as supervisor:
            for plan in plans(settings):
                if time.monotonic() > end_s:
                    break
                self._live(supervisor, plan)
            supervisor.start()
            asyncio.run(self._serve(supervisor, None))
            self._told("stop in order", Verdict(unclean=supervisor.stop()))
        self.totals.count(self._ledger)
        return self.totals

    def _live(self, supervisor: Supervisor, plan: Plan) -> None:
        if plan.number % STOP_EVERY == 0:
            # The next kill comes after a start that trusts what a stop wrote.
            supervisor.start()
            self._told("stop in order", Verdict(unclean=supervisor.stop()))
        supervisor.launch(
            {
                "flushConsumeQueueThoroughInterval": str(plan.thorough_ms),
                "fileReservedTime": "0" if plan.work.deletes else "72",
            }
        )
        if plan.in_start:
            time.sleep(plan.uptime_s)
            supervisor.kill()
        else:
            supervisor.await_ready()
            asyncio.run(self._serve(supervisor, plan))
        copy, unclean = supervisor.dead(f"killed-{plan.number}")
        self._killed.append(Killed(plan, copy, unclean))
        self.totals.kills += 1

    async def _serve(self, supervisor: Supervisor, plan: Plan | None) -> None:
        """Check the broker, and put load on it until it is killed.

        Args:
            plan: None for a check only.
        """
        async with MQClient(supervisor.namesrv, timeout_s=TIMEOUT_S) as client:
            load = Load(
                self._ledger,
                client,
                address=supervisor.address,
                life=plan.number if plan else 0,
                chance=self._chance,
            )
            if plan is not None and plan.number == 1:
                await self._make_topics(client, supervisor.address)
            await self._check(client, load, supervisor, plan is None or plan.is_settled)
            if plan is None:
                return
            uptime_s = plan.uptime_s

            async def until_killed() -> None:
                await asyncio.sleep(uptime_s)
                self._killed_s = time.monotonic()
                await asyncio.to_thread(supervisor.kill)

            await load.run(plan.work, until_killed())

    async def _make_topics(self, client: MQClient, address: str) -> None:
        for topic in (*PLAIN, DELAYED, DECIDED):
            config = TopicConfig(topic, QUEUE_COUNT, QUEUE_COUNT)
            await Admin(client).create_topic(address, config)
            self._ledger.created(topic)

    async def _check(
        self, client: MQClient, load: Load, supervisor: Supervisor, is_settled: bool
    ) -> None:
        """Read and judge everything, and print the result of the kills before."""
        reading = await checker.read(client, supervisor.address, self._ledger)
        if is_settled:
            await load.answer_checks()
            await self._settle(client, reading.log_min)
            reading = await checker.read(client, supervisor.address, self._ledger)
        verdict = judge(self._ledger, reading, killed_s=self._killed_s, settled=is_settled)
        self._read_count = len(reading.found)
        self._ledger.forget_expired(reading.log_min, {found.name for found in reading.found})
        newcomers = [topic for topic in self._ledger.topics if topic.startswith(NEWCOMER)]
        for topic in newcomers[:-NEWCOMERS_KEPT]:
            self._ledger.forget(topic)
        for killed in self._killed[:-1]:
            self._told(killed.title, Verdict(unclean=killed.unclean), killed.copy)
        if self._killed:
            killed = self._killed[-1]
            verdict.unclean = killed.unclean
            self._told(killed.title, verdict, killed.copy)
        self._killed.clear()

    async def _settle(self, client: MQClient, log_min: int) -> None:
        """Wait until all delayed and committed messages can be read, or the time is over."""
        wanted = self._ledger.awaited(log_min)
        end_s = time.monotonic() + SETTLE_S_MAX
        while wanted and time.monotonic() < end_s:
            found = await checker.read_topics(client, (DELAYED, DECIDED))
            wanted -= {one.name for one in found}
            await asyncio.sleep(0.1)

    def _told(self, title: str, verdict: Verdict, copy: Path | None = None) -> None:
        """Print one line; the copy of a store without a fault is removed."""
        faults = verdict.faults()
        self.totals.kills_with_faults += bool(faults)
        for kind, names in faults.items():
            self.totals.faults[kind] = self.totals.faults.get(kind, 0) + len(names)
        text = "; ".join(
            f"{kind} {len(names)}: {', '.join(names[:SHOWN])}" for kind, names in faults.items()
        )
        if copy is not None and faults:
            text += f"; the store is kept in {copy}"
        elif copy is not None:
            shutil.rmtree(copy)
        self._say(f"{title}: {self._read_count} read, {text or 'clean'}")
