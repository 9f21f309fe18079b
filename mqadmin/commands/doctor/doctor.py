"""``doctor``: everything that can be found wrong from outside, in one go.

Requests: see ``mqadmin.health.checkup_facts``; the checks are in ``mqadmin.health.checkup``.
"""

from typing import Literal, get_args

import click

from mqadmin.cli.declare import command
from mqadmin.cli.types import INTEGER, NUMBER, Choice
from mqadmin.cluster.assignment import current
from mqadmin.cluster.partial_answers import Answers
from mqadmin.errors import NotFound
from mqadmin.health import checkup
from mqadmin.health import checkup_facts as checkupfacts
from mqadmin.health.checkup import Check, Finding, Limits, Severity
from mqadmin.health.checkup_namesrv import of_namesrvs
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call
from mqclient.errors import NoRoute

FailOn = Literal["error", "warning", "info", "never"]
SEVERITIES = tuple(Severity)


@command(
    "doctor",
    examples=(
        ("mqadmin doctor", "one row a finding, the worst first"),
        ("mqadmin doctor --fail-on warning -o json", "as a health probe: exit code 0 or 1"),
        ("mqadmin doctor --check disk --check slave", "two checks alone"),
    ),
    details="""\
Checks: addresses that do not answer, masters that are missing, disks, clocks, slaves, routes
against the brokers' own settings, subscriptions that differ within a group, queues that nobody
in an online group reads, messages that wait for one, name servers that differ. Exit code 1 where
a finding is as bad as --fail-on, else 0.""",
    rows=Finding,
    # Java's looks once a minute, for ever.
)
@click.option(
    "--check",
    "-c",
    type=Choice([one.value for one in Check], Check),
    multiple=True,
    help="only this one",
)
@click.option(
    "--fail-on", type=Choice(get_args(FailOn)), default="error", help="exit 1 from this severity on"
)
@click.option(
    "--slave-lag", type=INTEGER, default=16 * 1024 * 1024, help="bytes a slave may be behind"
)
@click.option(
    "--backlog", type=INTEGER, default=10_000, help="messages that may wait for an online group"
)
@click.option("--skew", type=NUMBER, default=5.0, help="seconds that clocks may differ")
async def doctor(
    call: Call,
    *,
    check: tuple[Check, ...],
    fail_on: FailOn,
    slave_lag: int,
    backlog: int,
    skew: float,
) -> Outcome:
    """Return one row a finding, the worst first.

    Raises:
        NotFound: no broker is registered.
    """
    chosen = set(check or Check)
    admin = await call.admin()
    brokers = await checkupfacts.brokers(admin, call.now_ms)
    if not brokers:
        raise NotFound("no broker is registered", hint="is the broker running, with this -n?")
    answers = Answers(call)
    limits = Limits(slave_lag, round(skew * 1000))
    found = list(checkup.of_brokers(brokers, limits))
    masters = checkupfacts.masters_of(brokers)
    if Check.ROUTE in chosen:
        asked = [place.broker for place in masters]
        for topic in await checkupfacts.topics(admin, masters):
            found += checkup.of_route(topic.topic, topic.configs, route=topic.route, asked=asked)
    addresses = (await call.client()).namesrv_addresses
    if Check.NAMESRV in chosen and len(addresses) > 1:
        found += of_namesrvs(await checkupfacts.namesrvs(admin, addresses))
    if chosen & {Check.SUBSCRIPTION, Check.QUEUE, Check.BACKLOG}:
        for group in await checkupfacts.groups(admin, masters):
            found += checkup.of_subscriptions(group.group, group.wanted)
            if Check.BACKLOG in chosen:
                waiting = await checkupfacts.waiting(admin, masters, group.group)
                found += checkup.of_backlog(group.group, waiting, limit=backlog)
            # A member that broadcasts reads every queue; nothing is shared out.
            for topic_name in () if group.broadcasting else group.topics:
                try:
                    now = await current(
                        admin, group.group, topic_name, known=False, answers=answers
                    )
                except NoRoute:
                    continue
                read = now.owners.keys()
                found += checkup.of_queues(group.group, topic_name, now.queues, read=read)
    rows = sorted(
        (one for one in found if one.check in chosen),
        key=lambda one: (SEVERITIES.index(one.severity), one.check, one.subject),
    )
    bad = [
        one
        for one in rows
        if fail_on != "never"
        and SEVERITIES.index(one.severity) <= SEVERITIES.index(Severity(fail_on))
    ]
    notes = () if rows else (f"brokers looked at: {len(brokers)}; nothing found",)
    return Outcome(rows, exit_code=1 if bad else 0, notes=notes)
