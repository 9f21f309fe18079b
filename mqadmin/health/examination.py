"""One examination of a cluster: gathers the facts and runs the checks over them.

    facts (mqadmin.health.checkup_facts)  -->  checks (mqadmin.health.checkup)  -->  findings

Rule: only what the chosen checks need is asked.
"""

from collections.abc import Collection
from dataclasses import dataclass

from mqadmin.cluster.assignment import find_assignment
from mqadmin.cluster.partial_answers import Answers
from mqadmin.errors import ItemNotFound
from mqadmin.health import checkup, checkup_facts
from mqadmin.health.checkup import SEVERITIES, BrokerFacts, Check, CheckupFinding, CheckupLimits
from mqadmin.health.checkup_namesrv import namesrv_findings
from mqadmin.session.call import Call
from mqclient.errors import NoRoute


@dataclass(frozen=True, slots=True)
class Examination:
    """The brokers that were looked at, and what was found, the worst first."""

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
        raise ItemNotFound("no broker is registered", hint="is the broker running, with this -n?")
    found = list(checkup.broker_findings(brokers, limits))
    masters = checkup_facts.masters_of(brokers)
    if Check.ROUTE in checks:
        asked = [place.broker for place in masters]
        for topic in await checkup_facts.topics(admin, masters):
            found += checkup.route_findings(
                topic.topic, topic.configs, route=topic.route, asked=asked
            )
    addresses = (await call.client()).namesrv_addresses
    if Check.NAMESRV in checks and len(addresses) > 1:
        found += namesrv_findings(await checkup_facts.namesrvs(admin, addresses))
    if {Check.SUBSCRIPTION, Check.QUEUE, Check.BACKLOG} & set(checks):
        answers = Answers(call)
        for group in await checkup_facts.groups(admin, masters):
            found += checkup.subscription_findings(group.group, group.wanted)
            if Check.BACKLOG in checks:
                waiting = await checkup_facts.waiting(admin, masters, group.group)
                found += checkup.backlog_findings(group.group, waiting, limit=limits.backlog_count)
            # A member that broadcasts reads every queue; nothing is shared out.
            for topic_name in () if group.broadcasting else group.topics:
                try:
                    now = await find_assignment(
                        admin, group.group, topic_name, known=False, answers=answers
                    )
                except NoRoute:
                    continue
                read = now.owners.keys()
                found += checkup.queue_findings(group.group, topic_name, now.queues, read=read)
    findings = sorted(
        (one for one in found if one.check in checks),
        key=lambda one: (SEVERITIES.index(one.severity), one.check, one.subject),
    )
    return Examination(brokers, findings)
