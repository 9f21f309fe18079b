"""Find what is wrong with a cluster, from facts that were gathered before.

    facts (mqadmin.health.checkup_facts)  -->  one function a check  -->  CheckupFinding, ...

    address       a broker that the name server knows does not answer
    master        a broker name has no master, or two, or one that was replaced
    disk          a store's disk is nearly full
    clock         a broker's clock is not ours
    slave         a slave is far behind its master, or its log diverges
    route         the name server announces other queues than the broker has
    subscription  members of one group have different subscriptions
    queue         a group is online, but no member reads this queue
    backlog       a group is online, and many messages wait for it
    namesrv       name servers differ (mqadmin.health.checkup_namesrv)
    controller    controllers are silent or disagree (mqadmin.health.checkup_groups)
    replica       what is wrong with a group of brokers that a controller leads (the same)
    member …      groups that consume nothing (mqadmin.health.checkup_consumers)

Rule: pure; limits and times are arguments. A check that lacks its facts is reported as not run.
"""

import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from mqadmin.cluster.brokers import MASTER, ServerNode
from mqadmin.output.rows import Row, omitted
from remoting.bodies import MessageQueue, TopicRouteData
from storefmt.config.tables import TopicConfig
from storefmt.names import perm_text

DISK_WARNING: Final = 0.75
"""A 4.9 broker deletes files early above this ratio (diskMaxUsedSpaceRatio)."""
DISK_ERROR: Final = 0.90
"""A broker refuses messages above this ratio (diskSpaceWarningLevelRatio)."""
RUNNING: Final = re.compile(r"(\d+) days, (\d+) hours, (\d+) minutes, (\d+) seconds")
DIVERGED: Final = "DIVERGED"
"""The state of a slave of ours whose log diverges from its master's."""
STEP_MS: Final = 1000
"""A broker reports its uptime in whole seconds."""


class CheckupSeverity(StrEnum):
    """How severe a finding is, the most severe first; an unknown state comes before a warning."""

    ERROR = "error"
    NOT_RUN = "not run"
    """A check lacks an answer, so it cannot report that all is well."""
    WARNING = "warning"
    INFO = "info"


SEVERITIES: Final = tuple(CheckupSeverity)


class Check(StrEnum):
    """The names of the checks."""

    ADDRESS = "address"
    MASTER = "master"
    DISK = "disk"
    CLOCK = "clock"
    SLAVE = "slave"
    ROUTE = "route"
    SUBSCRIPTION = "subscription"
    QUEUE = "queue"
    BACKLOG = "backlog"
    NAMESRV = "namesrv"
    CONTROLLER = "controller"
    REPLICA = "replica"
    MEMBER = "member"
    OFFSET = "offset"
    STUCK = "stuck"
    CACHE = "cache"
    ORDERLY = "orderly"
    LOCK = "lock"
    TRANSACTION = "transaction"


REPLICA_CHECKS: Final = frozenset({Check.CONTROLLER, Check.REPLICA})
"""Checks of groups with a controller."""
BROKER_CHECKS: Final = REPLICA_CHECKS | {
    *(Check.ADDRESS, Check.MASTER, Check.DISK, Check.CLOCK, Check.SLAVE)
}
"""Checks that only ask brokers and controllers about themselves."""
ASKS_MEMBERS: Final = frozenset(
    {
        *(Check.SUBSCRIPTION, Check.QUEUE, Check.MEMBER, Check.STUCK),
        *(Check.CACHE, Check.ORDERLY, Check.LOCK),
    }
)
"""Checks that need the answers of group members."""
GROUP_CHECKS: Final = ASKS_MEMBERS | {Check.BACKLOG, Check.OFFSET}
NOT_RUN_EXIT: Final = 7
"""Exit code if there is no such finding, but a check could not be run."""


@dataclass(frozen=True, slots=True)
class CheckupFinding(Row):
    """One problem: where it is, and what to do about it.

    ``member`` is the client that it is about, ``stack`` the stack of its listener's thread.
    """

    severity: CheckupSeverity
    check: Check
    subject: str
    found: str
    hint: str
    member: str | None = None
    stack: str | None = omitted()


def not_run(check: Check, subject: str, reason: str) -> CheckupFinding:
    """Return a finding which says that a check could not be run."""
    hint = f"run `doctor --check {check}`"
    return CheckupFinding(CheckupSeverity.NOT_RUN, check, subject, reason, hint)


def checkup_exit_code(findings: Iterable[CheckupFinding], fail_on: str) -> int:
    """Return 1 if a finding is at least as severe as ``fail_on``, 7 if a check was not run.

    Args:
        fail_on: a severity, or ``never``: then the code is 0.
    """
    if fail_on == "never":
        return 0
    worst = SEVERITIES.index(CheckupSeverity(fail_on))
    severities = {finding.severity for finding in findings}
    missing = CheckupSeverity.NOT_RUN in severities
    if any(
        SEVERITIES.index(severity) <= worst for severity in severities - {CheckupSeverity.NOT_RUN}
    ):
        return 1
    return NOT_RUN_EXIT if missing else 0


@dataclass(frozen=True, slots=True)
class BrokerFacts:
    """What a broker reported, between two readings of our clock, or why it did not answer."""

    place: ServerNode
    runtime: Mapping[str, str]
    asked_ms: int
    answered_ms: int
    error: str | None = None

    @property
    def name(self) -> str:
        """Return the name and address as people read them."""
        role = "" if self.place.broker_id == MASTER else f" (slave {self.place.broker_id})"
        return f"{self.place.broker}{role} at {self.place.address}"

    @property
    def is_fenced(self) -> bool:
        """Return whether it is a master that refuses messages because a slave was promoted."""
        return bool(self.runtime.get("haFence"))

    def number(self, key: str) -> float | None:
        """Return one of its numbers, None if it does not report it."""
        try:
            value = float(self.runtime[key])
        except (KeyError, ValueError):
            return None
        return value if math.isfinite(value) else None


@dataclass(frozen=True, slots=True)
class CheckupLimits:
    """The limits beyond which something is a finding.

    Attributes:
        slave_lag_size: bytes of commit log that a slave lacks.
        skew_ms: by how much clocks differ.
        backlog_count: messages that wait for a group that is online.
        stuck_ms: for how long a member holds messages and finishes none.
        half_ms: for how long a half message waits for a decision.
    """

    slave_lag_size: int = 16 * 1024 * 1024
    skew_ms: int = 5_000
    backlog_count: int = 10_000
    stuck_ms: int = 30_000
    half_ms: int = 600_000


def broker_findings(
    brokers: Sequence[BrokerFacts], limits: CheckupLimits
) -> Iterator[CheckupFinding]:
    """Yield what is wrong with addresses, disks, clocks, masters and slaves."""
    for facts in brokers:
        yield from _address(facts)
        yield from _disk(facts)
        yield from _clock(facts, limits.skew_ms)
    by_name: dict[tuple[str, str], dict[int, BrokerFacts]] = defaultdict(dict)
    for facts in brokers:
        those = by_name[facts.place.cluster, facts.place.broker]
        if facts.is_fenced:
            yield _fenced(facts)
            # It is shown, but does not count as a second master.
            those.setdefault(facts.place.broker_id, facts)
        elif (
            (other := those.get(MASTER)) and facts.place.broker_id == MASTER and not other.is_fenced
        ):
            yield _second(other, facts)
        else:
            those[facts.place.broker_id] = facts
    for (_, name), those in sorted(by_name.items()):
        master = those.get(MASTER)
        if master is None:
            hint = "producers cannot send to it; check whether it is being restarted"
            yield CheckupFinding(
                CheckupSeverity.ERROR, Check.MASTER, name, "no master is registered", hint
            )
            continue
        for broker_id, slave in sorted(those.items()):
            if broker_id != MASTER:
                yield from _slave(master, slave, limits.slave_lag_size)


def _fenced(facts: BrokerFacts) -> CheckupFinding:
    hint = f"`broker demote {facts.place.address}` makes it a slave of the new master"
    observed = f"does not accept messages: {facts.runtime['haFence']}"
    return CheckupFinding(CheckupSeverity.ERROR, Check.MASTER, facts.name, observed, hint)


def _second(facts: BrokerFacts, other: BrokerFacts) -> CheckupFinding:
    observed = f"is a second master with this name, beside {facts.place.address}"
    hint = f"stop it; `broker demote {other.place.address} --force` makes it a slave"
    return CheckupFinding(CheckupSeverity.ERROR, Check.MASTER, other.name, observed, hint)


def _address(facts: BrokerFacts) -> Iterator[CheckupFinding]:
    if facts.error is not None:
        hint = "check that it is running and that its brokerIP1 is reachable from here"
        yield CheckupFinding(CheckupSeverity.ERROR, Check.ADDRESS, facts.name, facts.error, hint)


def _disk(facts: BrokerFacts) -> Iterator[CheckupFinding]:
    ratio = facts.number("commitLogDiskRatio")
    if ratio is None or ratio < DISK_WARNING:
        return
    bad = ratio >= DISK_ERROR
    hint = "it deletes files before fileReservedTime"
    if bad:
        hint = "it refuses messages until space is free; run `broker clean expired-log`"
    severity = CheckupSeverity.ERROR if bad else CheckupSeverity.WARNING
    yield CheckupFinding(severity, Check.DISK, facts.name, f"the disk is {ratio:.0%} full", hint)


def _clock(facts: BrokerFacts, limit_ms: int) -> Iterator[CheckupFinding]:
    skew_ms = skew_of(facts)
    if skew_ms is None or abs(skew_ms) <= limit_ms:
        return
    way = "ahead of" if skew_ms > 0 else "behind"
    observed = f"its clock is {abs(skew_ms) / 1000:.0f} s {way} ours"
    yield CheckupFinding(
        CheckupSeverity.WARNING,
        Check.CLOCK,
        facts.name,
        observed,
        "check that NTP is running on both machines",
    )


def skew_of(facts: BrokerFacts) -> int | None:
    """Return by how many ms a broker's clock is ahead of ours; 0 within the precision.

    A broker reports when it started, and its uptime in whole seconds.
    """
    boot_ms = facts.number("bootTimestamp")
    match = RUNNING.search(facts.runtime.get("runtime", ""))
    if boot_ms is None or match is None:
        return None
    days, hours, minutes, seconds = map(int, match.groups())
    low_ms = int(boot_ms) + (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000
    high_ms = low_ms + STEP_MS
    if low_ms > facts.answered_ms:
        return low_ms - facts.answered_ms
    return min(0, high_ms - facts.asked_ms)


def _slave(master: BrokerFacts, slave: BrokerFacts, limit_size: int) -> Iterator[CheckupFinding]:
    if slave.runtime.get("haState") == DIVERGED:
        observed = "its commit log diverges from its master's"
        hint = "`store diff` shows where; copy the master's store to it"
        yield CheckupFinding(CheckupSeverity.ERROR, Check.SLAVE, slave.name, observed, hint)
        return
    behind = slave_lag(master, slave)
    if behind is not None and behind > limit_size:
        observed = f"{behind} bytes of commit log behind its master"
        hint = "check haSendHeartbeatInterval, the network, and the slave's disk"
        yield CheckupFinding(CheckupSeverity.WARNING, Check.SLAVE, slave.name, observed, hint)


def slave_lag(master: BrokerFacts, slave: BrokerFacts) -> int | None:
    """Return how many bytes of commit log a slave lacks; None if one of them does not report it."""
    master_end, slave_end = (
        master.number("commitLogMaxOffset"),
        slave.number("commitLogMaxOffset"),
    )
    return None if master_end is None or slave_end is None else max(0, int(master_end - slave_end))


def route_findings(
    topic: str,
    configs: Mapping[str, TopicConfig],
    *,
    route: TopicRouteData | None,
    asked: Collection[str],
) -> Iterator[CheckupFinding]:
    """Yield where the name server and the masters differ about a topic.

    Args:
        configs: what each master has, by broker name.
        asked: the names of the masters that answered.
    """
    queue_data = {data.broker_name: data for data in route.queue_datas} if route is not None else {}
    for broker, config in sorted(configs.items()):
        subject = f"topic {topic} on {broker}"
        data = queue_data.get(broker)
        if data is None:
            hint = "the broker registers every 30 s; see its log"
            observed = "the broker has it, but the name server does not"
            yield CheckupFinding(CheckupSeverity.ERROR, Check.ROUTE, subject, observed, hint)
            continue
        pairs = (
            ("read queues", data.read_queue_nums, config.read_queue_nums),
            ("write queues", data.write_queue_nums, config.write_queue_nums),
            ("permission", perm_text(data.perm), perm_text(config.perm)),
        )
        for what, routed, on_broker in pairs:
            if routed != on_broker:
                observed = f"{what}: {routed} in the route, {on_broker} on the broker"
                hint = "wait for the next registration (30 s); `broker write-perm add` if wiped"
                yield CheckupFinding(CheckupSeverity.WARNING, Check.ROUTE, subject, observed, hint)
    for broker in sorted((set(queue_data) & set(asked)) - set(configs)):
        subject = f"topic {topic} on {broker}"
        observed = "the name server has it, but the broker does not"
        hint = f"`topic delete {topic}` removes it from the name server"
        yield CheckupFinding(CheckupSeverity.WARNING, Check.ROUTE, subject, observed, hint)


def subscription_findings(
    group: str, members: Mapping[str, Mapping[str, str]]
) -> Iterator[CheckupFinding]:
    """Yield the topics to which the members of a group subscribe differently.

    Args:
        members: topic -> expression, by client id; retry topics left out.
    """
    for topic in sorted({topic for topics_read in members.values() for topic in topics_read}):
        by_expression: dict[str | None, list[str]] = defaultdict(list)
        for client_id, topics_read in sorted(members.items()):
            by_expression[topics_read.get(topic)].append(client_id)
        if len(by_expression) > 1:
            observed = "; ".join(
                f"{', '.join(who)} want{'s' if len(who) == 1 else ''} {expression or 'nothing'}"
                for expression, who in by_expression.items()
            )
            hint = "members of a group must have equal subscriptions, or the group misses messages"
            subject = f"group {group}, topic {topic}"
            yield CheckupFinding(CheckupSeverity.ERROR, Check.SUBSCRIPTION, subject, observed, hint)


def queue_findings(
    group: str,
    topic: str,
    queues: Sequence[MessageQueue],
    *,
    read: Collection[MessageQueue],
    waiting: Mapping[MessageQueue, int] | None = None,
) -> Iterator[CheckupFinding]:
    """Yield the queues of a topic that no member of an online group reads.

    Args:
        waiting: how many messages wait in each queue; some make it an error.
    """
    left = [queue for queue in queues if queue not in read]
    if left:
        count = sum((waiting or {}).get(queue, 0) for queue in left)
        names = ", ".join(f"{queue.broker_name}:{queue.queue_id}" for queue in left[:8])
        more = f" and {len(left) - 8} more" if len(left) > 8 else ""
        observed = f"no member reads {names}{more}" + (
            f"; {count} messages are waiting" if count else ""
        )
        hint = f"see `rebalance show {group} {topic}` and `lock list -g {group}`"
        subject = f"group {group}, topic {topic}"
        severity = CheckupSeverity.ERROR if count else CheckupSeverity.WARNING
        yield CheckupFinding(severity, Check.QUEUE, subject, observed, hint)


def backlog_findings(
    group: str, waiting: Mapping[str, int], *, limit: int
) -> Iterator[CheckupFinding]:
    """Yield the topics of which more messages than ``limit`` wait for an online group."""
    for topic, count in sorted(waiting.items()):
        if count > limit:
            hint = f"see `group lag {group} {topic} --watch`"
            subject = f"group {group}, topic {topic}"
            yield CheckupFinding(
                CheckupSeverity.WARNING,
                Check.BACKLOG,
                subject,
                f"{count} messages are waiting",
                hint,
            )
