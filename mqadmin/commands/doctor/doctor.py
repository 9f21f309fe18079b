"""``doctor``: everything that can be found wrong from outside, in one go.

Requests: see ``mqadmin.checkupfacts``; the checks are in ``mqadmin.checkup``.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

from mqadmin import checkup, checkupfacts
from mqadmin.assignment import current
from mqadmin.call import Call
from mqadmin.checkup import Check, Finding, Limits, Severity
from mqadmin.checkupnamesrv import of_namesrvs
from mqadmin.errors import NotFound
from mqadmin.parameters import option
from mqadmin.registry import Java, command
from mqadmin.rows import Outcome
from mqclient.errors import NoRoute

FailOn = Literal["error", "warning", "info", "never"]
SEVERITIES = tuple(Severity)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which checks, and from where on something is a finding."""

    check: Annotated[tuple[Check, ...], option("only this one", short="c")] = ()
    fail_on: Annotated[FailOn, option("exit 1 from this severity on")] = "error"
    slave_lag: Annotated[int, option("bytes a slave may be behind")] = 16 * 1024 * 1024
    backlog: Annotated[int, option("messages that may wait for an online group")] = 10_000
    skew: Annotated[float, option("seconds that clocks may differ", parse=float)] = 5.0


@command(
    "doctor",
    "look for everything that is wrong with a cluster",
    examples=(
        ("mqadmin doctor", "one row a finding, the worst first"),
        ("mqadmin doctor --fail-on warning -o json", "as a health probe: exit code 0 or 1"),
        ("mqadmin doctor --check disk --check slave", "two checks alone"),
    ),
    details="""\\
Checks: addresses that do not answer, masters that are missing, disks, clocks, slaves, routes
against the brokers' own settings, subscriptions that differ within a group, queues that nobody
in an online group reads, messages that wait for one, name servers that differ. Exit code 1 where
a finding is as bad as --fail-on, else 0.""",
    rows=Finding,
    # Java's looks once a minute, for ever.
    java=(Java("startMonitoring", preset=(("watch", "60"), ("backlog", "0"))),),
)
async def doctor(call: Call, args: Arguments) -> Outcome:
    """Return one row a finding, the worst first.

    Raises:
        NotFound: no broker is registered.
    """
    chosen = set(args.check or Check)
    admin = await call.admin()
    brokers = await checkupfacts.brokers(admin, call.now_ms)
    if not brokers:
        raise NotFound("no broker is registered", hint="is the broker running, with this -n?")
    limits = Limits(args.slave_lag, round(args.skew * 1000))
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
                found += checkup.of_backlog(group.group, waiting, limit=args.backlog)
            # A member that broadcasts reads every queue; nothing is shared out.
            for topic_name in () if group.broadcasting else group.topics:
                try:
                    now = await current(admin, group.group, topic_name, known=False)
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
        if args.fail_on != "never"
        and SEVERITIES.index(one.severity) <= SEVERITIES.index(Severity(args.fail_on))
    ]
    notes = () if rows else (f"{len(brokers)} brokers looked at, nothing found",)
    return Outcome(rows, exit_code=1 if bad else 0, notes=notes)
