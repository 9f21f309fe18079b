"""One examination of a cluster: gather the facts and run the checks over them.

    facts (mqadmin.health.checkup_facts)  -->  checks (mqadmin.health.checkup, checkup_consumers)
                                          -->  findings, and the checks that could not be run

Rule: only what the chosen checks need is asked, and a missing answer never counts as healthy.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from mqadmin.cluster.assignment import find_assignment
from mqadmin.cluster.bounded_gather import each
from mqadmin.cluster.brokers import ServerNode
from mqadmin.cluster.controlled_groups import controlled_groups
from mqadmin.cluster.group_positions import GroupReader
from mqadmin.cluster.groups import is_system
from mqadmin.cluster.members import MemberSurvey, subscriptions_of
from mqadmin.cluster.partial_answers import PASSED_OVER, Answers, Unsaid
from mqadmin.errors import ItemNotFound
from mqadmin.health import checkup, checkup_consumers, checkup_facts, checkup_groups
from mqadmin.health.checkup import (
    ASKS_MEMBERS,
    GROUP_CHECKS,
    REPLICA_CHECKS,
    SEVERITIES,
    BrokerFacts,
    Check,
    CheckupFinding,
    CheckupLimits,
)
from mqadmin.health.checkup_consumers import GroupFacts
from mqadmin.health.checkup_namesrv import namesrv_findings
from mqadmin.session.call import Call
from mqclient.consumer.pull_consumer import PullConsumer
from mqclient.errors import ClientError, NoRoute
from remoting.bodies import MessageQueue
from storefmt.names import TOOLS_GROUP

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin

SECOND_LOOK_S: Final = 6.0
"""A consumer commits every 5 s, so offsets that do not move for longer are not consumed."""
STACKED: Final = frozenset({Check.STUCK, Check.ORDERLY})
"""Checks whose findings include the stack of the listener."""


@dataclass(frozen=True, slots=True)
class Examination:
    """The brokers that were checked, and the findings, the worst first."""

    brokers: list[BrokerFacts]
    findings: list[CheckupFinding]


async def examine(call: Call, limits: CheckupLimits, checks: Collection[Check]) -> Examination:
    """Run the checks.

    Raises:
        ItemNotFound: no broker is registered.
    """
    admin = await call.admin()
    brokers = await checkup_facts.brokers(admin, call.now_ms)
    if not brokers:
        raise ItemNotFound(
            "no broker is registered",
            hint="check that the broker is running and registers with this name server",
        )
    observed = list(checkup.broker_findings(brokers, limits))
    masters = checkup_facts.masters_of(brokers)
    if REPLICA_CHECKS & set(checks):
        observed += await _look_at_replicas(admin, brokers, limits)
    examiner = _Examiner(call, limits, set(checks), masters)
    observed += await examiner.run_checks()
    # A silent broker is not asked again, so its groups are unknown.
    if silent := [
        broker for broker in brokers if broker.error is not None and not broker.is_fenced
    ]:
        names = ", ".join(broker.name for broker in silent)
        observed += [
            checkup.not_run(check, names, "the state of this broker is unknown")
            for check in sorted({Check.ROUTE, Check.TRANSACTION, *GROUP_CHECKS} & examiner.checks)
        ]
    findings = sorted(
        (finding for finding in observed if finding.check in checks),
        key=lambda finding: (SEVERITIES.index(finding.severity), finding.check, finding.subject),
    )
    return Examination(brokers, findings)


async def _look_at_replicas(
    admin: "Admin", brokers: Iterable[BrokerFacts], limits: CheckupLimits
) -> list[CheckupFinding]:
    """Return what is wrong with the groups that controllers lead."""
    answering = sorted(broker.place for broker in brokers if broker.error is None)
    looked = await controlled_groups(admin, answering)
    return list(
        checkup_groups.group_findings(looked, limits, compared=[node.address for node in answering])
    )


class _Examiner:
    """The checks beyond those of the brokers themselves."""

    def __init__(
        self, call: Call, limits: CheckupLimits, checks: set[Check], masters: list[ServerNode]
    ) -> None:
        self.checks = checks
        self._call = call
        self._limits = limits
        self._masters = masters
        self._found: list[CheckupFinding] = []

    async def run_checks(self) -> list[CheckupFinding]:
        """Run the chosen checks and return their findings."""
        checks = self.checks
        if Check.NAMESRV in checks:
            addresses = (await self._call.client()).namesrv_addresses
            if len(addresses) > 1:
                admin = await self._call.admin()
                self._found += namesrv_findings(await checkup_facts.namesrvs(admin, addresses))
        # Without a master that answers there is an error already, and no server to ask.
        if self._masters:
            if Check.ROUTE in checks:
                await self._attempt({Check.ROUTE}, self._look_at_routes)
            if Check.TRANSACTION in checks:
                await self._attempt({Check.TRANSACTION}, self._look_at_half_messages)
            if chosen := GROUP_CHECKS & checks:
                await self._attempt(chosen, self._look_at_groups)
        return self._found

    async def _attempt(
        self, checks: Collection[Check], look: Callable[[Answers], Awaitable[None]]
    ) -> None:
        """Run checks; if a broker fails to answer, they are reported as not run."""
        unsaid = Unsaid()
        try:
            await look(Answers(unsaid))
        except ClientError as error:
            unsaid.warn(str(error))
        self._found += [
            checkup.not_run(check, "brokers", text)
            for check in sorted(checks)
            for text in unsaid.texts
        ]

    async def _look_at_routes(self, answers: Answers) -> None:
        admin = await self._call.admin()
        facts = await checkup_facts.topics(admin, self._masters, answers)
        asked = [node.broker for node in self._masters if node.address not in answers.failed]
        for topic in facts:
            self._found += checkup.route_findings(
                topic.topic, topic.configs, route=topic.route, asked=asked
            )

    async def _look_at_half_messages(self, answers: Answers) -> None:
        admin = await self._call.admin()
        reader = PullConsumer(await self._call.client(), TOOLS_GROUP)
        now_ms = self._call.now_ms()
        listed = await answers.each(
            self._masters,
            lambda node: checkup_facts.half_message_ages(admin, reader, node, now_ms=now_ms),
        )
        for node, ages in listed:
            self._found += checkup_consumers.half_findings(node.broker, ages, self._limits)

    async def _look_at_groups(self, answers: Answers) -> None:
        reader = await self._reader(answers)
        names = [name for name in await reader.groups() if not is_system(name)]
        asks = bool((ASKS_MEMBERS | {Check.BACKLOG}) & self.checks)
        started_ms = self._call.now_ms()
        facts = await each(
            names, lambda name: checkup_facts.group_facts(reader, name, asks_members=asks)
        )
        for group in facts:
            self._found += checkup_consumers.offset_findings(group)
            if group.answers:
                self._found += checkup.backlog_findings(
                    group.group, _waiting(group), limit=self._limits.backlog_count
                )
            await self._judge_members(reader, group)
        await self._look_again(
            [group for group in facts if checkup_consumers.needs_second_look(group)],
            answers,
            started_ms,
        )
        self._found += checkup_consumers.member_findings(facts)
        if Check.LOCK in self.checks:
            await self._look_at_locks(reader, {group.group: group.answers for group in facts})
        self._found += self._unanswered(facts)

    async def _judge_members(self, reader: GroupReader, group: GroupFacts) -> None:
        """Run the checks of one group that need the answers of its members."""
        now_ms = self._call.now_ms()
        subscriptions = {who: subscriptions_of(info) for who, info in group.infos.items()}
        self._found += checkup.subscription_findings(group.group, subscriptions)
        self._found += checkup_consumers.unlocked_findings(group)
        for finding in checkup_consumers.progress_findings(group, self._limits, now_ms=now_ms):
            if finding.check in STACKED & self.checks and finding.member is not None:
                finding = replace(finding, stack=await _stack(reader, group, finding.member))
            self._found.append(finding)
        if Check.QUEUE in self.checks and _shares_queues(group):
            topics = sorted({topic for topics in subscriptions.values() for topic in topics})
            for topic in topics:
                await self._look_at_queues(reader, group, topic)

    async def _look_at_queues(self, reader: GroupReader, group: GroupFacts, topic: str) -> None:
        try:
            now = await find_assignment(
                reader.admin,
                group.group,
                topic,
                asked=reader.members,
                is_known=False,
                answers=reader.answers,
            )
        except NoRoute:
            return
        waiting = {
            MessageQueue(position.topic, position.broker, position.queue_id): position.waiting_count
            for position in group.positions
        }
        self._found += checkup.queue_findings(
            group.group, topic, now.queues, read=now.owners.keys(), waiting=waiting
        )

    async def _look_again(
        self, groups: list[GroupFacts], answers: Answers, started_ms: int
    ) -> None:
        """Look a second time at groups that only moving offsets can prove to consume."""
        if Check.STUCK not in self.checks or not groups:
            return
        await asyncio.sleep(SECOND_LOOK_S - min(SECOND_LOOK_S, self._elapsed_ms(started_ms) / 1000))
        again = await self._reader(answers)
        for group in groups:
            self._found += checkup_consumers.stalled_findings(
                group,
                await again.positions(group.group),
                elapsed_ms=self._elapsed_ms(started_ms),
            )

    async def _look_at_locks(
        self, reader: GroupReader, members: Mapping[str, Collection[str]]
    ) -> None:
        """Look for locks of clients that are gone, at brokers whose lock table can be read."""
        for node in self._masters:
            if node.address in reader.answers.failed:
                continue
            try:
                locks = await reader.admin.lock_table(node.address)
            except PASSED_OVER:
                # A Java broker does not support this request; its members report their locks.
                continue
            now_ms = self._call.now_ms()
            self._found += checkup_consumers.lock_findings(
                (
                    (lock.group, lock.queue, lock.client_id, lock.expires_ms - now_ms)
                    for lock in locks
                ),
                members,
            )

    def _unanswered(self, facts: Iterable[GroupFacts]) -> list[CheckupFinding]:
        """Return a finding for each check that lacks answers of members."""
        silent = {
            group.group: sum(answer.is_silent for answer in group.answers.values())
            for group in facts
            if any(answer.is_silent for answer in group.answers.values())
        }
        if not silent:
            return []
        names = ", ".join(sorted(silent)[:3])
        more = f" and {len(silent) - 3} more" if len(silent) > 3 else ""
        reason = f"{sum(silent.values())} member(s) did not answer"
        return [
            checkup.not_run(check, f"group {names}{more}", reason)
            for check in sorted((ASKS_MEMBERS - {Check.MEMBER}) & self.checks)
        ]

    async def _reader(self, answers: Answers) -> GroupReader:
        admin = await self._call.admin()
        members = MemberSurvey(admin, self._call.now_ms)
        return GroupReader(admin, self._masters, answers=answers, members=members)

    def _elapsed_ms(self, started_ms: int) -> int:
        return self._call.now_ms() - started_ms


def _waiting(group: GroupFacts) -> dict[str, int]:
    """Return how many messages of each topic wait for a group."""
    waiting: dict[str, int] = {}
    for position in group.positions:
        waiting[position.topic] = waiting.get(position.topic, 0) + position.waiting_count
    return waiting


def _shares_queues(group: GroupFacts) -> bool:
    """Return whether members read queues that they share out, and say which.

    A member that broadcasts reads every queue. A pull consumer does not report its queues.
    """
    infos = group.infos.values()
    broadcasts = any(info.properties.get("messageModel") == "BROADCASTING" for info in infos)
    pulls = any(info.properties.get("PROP_CONSUME_TYPE") == "CONSUME_ACTIVELY" for info in infos)
    return bool(infos) and not broadcasts and not pulls


async def _stack(reader: GroupReader, group: GroupFacts, member: str) -> str | None:
    """Return the stack of a member's listener, if the member reports it."""
    for node in reader.nodes:
        if member in await reader.admin.consumer_ids(node.address, group.group):
            answers = await reader.members.survey(group.group, {member: node.address}, jstack=True)
            info = answers[member].info
            return checkup_consumers.listener_stack(info.jstack if info else None)
    return None
