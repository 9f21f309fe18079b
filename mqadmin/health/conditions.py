"""Conditions on a cluster that `assert` checks and `wait` waits for.

    condition --look--> Verdict(holds, found, expected)
       ^   not yet         | holds, or the time is over
       `---- step ---------'

Rule: a condition looks once and changes nothing; only this module waits. It keeps waiting while
something does not exist yet or a server does not answer, until the time is over.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

import click

from mqadmin.cli.decorators import group_argument, option_group, topic_argument
from mqadmin.cli.times import DURATION
from mqadmin.cli.types import INTEGER
from mqadmin.cluster.brokers import all_brokers, masters
from mqadmin.cluster.group_positions import GroupReader
from mqadmin.cluster.groups import find_group
from mqadmin.cluster.members import MemberSurvey
from mqadmin.cluster.partial_answers import Answers, Unsaid
from mqadmin.cluster.standing import GroupStanding, StandingTotal
from mqadmin.errors import CheckFailed, CommandError, Incomplete, ItemNotFound, ServerUnreachable
from mqadmin.output.rows import PARTLY, Outcome, Row
from mqadmin.session.call import Call
from mqclient.errors import ClientError, NoRoute

STEP_S: Final = 0.2
WAIT_MS_DEFAULT: Final = 60_000
LIMIT: Final = (
    "The exit code is 4 if the time is over: --within, otherwise --timeout if given, otherwise "
    "60 s."
)
ABSENT, PRESENT = "not there", "there"


@dataclass(frozen=True, slots=True)
class Verdict(Row):
    """A condition at the end of the time it was given.

    Attributes:
        found, expected: phrases about ``subject``.
        waited_ms: 0 for every look but the last.
        missing: which brokers did not answer, and why.
    """

    subject: str
    holds: bool
    found: str
    expected: str
    waited_ms: int = 0
    missing: tuple[str, ...] = ()


Condition = Callable[[Call], Awaitable[Verdict]]


async def assert_outcome(call: Call, condition: Condition, *, within_ms: int) -> Outcome:
    """Return the verdict, followed by an error where the condition does not hold.

    Raises:
        CommandError: what the condition is about cannot be found or asked.
    """
    verdict = await _last_look(call, condition, limit_ms=within_ms)
    text = f"{verdict.subject} is {verdict.found}, expected {verdict.expected}"
    return _outcome(call, verdict, CheckFailed(text))


async def wait_outcome(call: Call, condition: Condition, *, limit_ms: int | None) -> Outcome:
    """Return the verdict once the condition holds, followed by an error where it does not.

    Args:
        limit_ms: None if the line does not set it; see ``LIMIT``.

    Raises:
        CommandError: what the condition is about cannot be found or asked until the end.
    """
    if limit_ms is None:
        timeout_s = call.settings.timeout
        limit_ms = WAIT_MS_DEFAULT if timeout_s is None else round(timeout_s * 1000)
    verdict = await _last_look(call, condition, limit_ms=limit_ms)
    text = f"{verdict.subject} is {verdict.found} after {limit_ms / 1000:g} s"
    late = ServerUnreachable(text, hint=f"expected: {verdict.expected}")
    return _outcome(call, verdict, late)


def _outcome(call: Call, verdict: Verdict, otherwise: CommandError) -> Outcome:
    """Return the verdict, with exit code 5 if it holds only by the answers of some brokers."""
    for text in verdict.missing:
        call.warn(text)
    exit_code = PARTLY if verdict.missing else 0
    return Outcome(_told(verdict, otherwise), single=True, exit_code=exit_code)


def _told(verdict: Verdict, otherwise: CommandError) -> Iterator[Row]:
    yield verdict
    if not verdict.holds:
        raise otherwise


async def _last_look(call: Call, condition: Condition, *, limit_ms: int) -> Verdict:
    """Look until the condition holds or the time is over; the last look is the verdict."""
    started_ms = call.now_ms()
    while True:
        verdict = None
        try:
            verdict = await condition(call)
        except (ClientError, CommandError):
            if call.now_ms() - started_ms >= limit_ms:
                raise
        waited_ms = call.now_ms() - started_ms
        if verdict is not None and (verdict.holds or waited_ms >= limit_ms):
            return replace(verdict, waited_ms=waited_ms)
        await asyncio.sleep(min(STEP_S, max(limit_ms - waited_ms, 0) / 1000))


def lag_at_most(group: str, topic: str | None, *, most: int) -> Condition:
    """Return the condition that a group is at most so many entries behind.

    Looking raises ``ItemNotFound`` where no broker knows the group.
    """

    async def look(call: Call) -> Verdict:
        admin = await call.admin()
        unsaid = Unsaid()
        answers = Answers(unsaid)
        nodes = await masters(admin, every=True)
        members = MemberSurvey(admin, call.now_ms)
        reader = GroupReader(admin, nodes, answers=answers, members=members)
        positions = await reader.positions(group, topic)
        if not positions:
            if answers.failed:
                raise _incomplete(f"lag of group {group}", answers)
            await find_group(admin, group)
            raise ItemNotFound(f"group {group} has no offset", hint=f"see `offset show {group}`")
        total = StandingTotal.of(positions)
        subject = f"lag of {group}" + (f" in {topic}" if topic else "")
        silent = total.standings[GroupStanding.UNKNOWN]
        if silent and total.waiting_count <= most:
            # A broker that the group reads from did not answer, so the sum is incomplete.
            raise _incomplete(subject, answers)
        holds = total.is_sure and total.waiting_count <= most
        return Verdict(subject, holds, total.text, f"at most {most}", missing=tuple(unsaid.texts))

    return look


def _incomplete(subject: str, answers: Answers) -> Incomplete:
    """Return the error for a condition that a silent broker could have decided."""
    reasons = "; ".join(str(error) for error in answers.failed.values())
    return Incomplete(f"{subject} is unknown: {reasons}", hint="`doctor --check address`")


def topic_exists(topic: str, *, queues: int | None, absent: bool) -> Condition:
    """Return the condition that a topic has a route (with a number of queues), or has no route."""

    async def look(call: Call) -> Verdict:
        admin = await call.admin()
        expected = ABSENT if absent else PRESENT
        if queues is not None:
            expected += f" with {queues} queues"
        try:
            route = await admin.topic_route(topic)
        except NoRoute:
            return Verdict(f"topic {topic}", absent, ABSENT, expected)
        count = sum(data.read_queue_nums for data in route.queue_datas)
        holds = not absent and queues in (None, count)
        return Verdict(f"topic {topic}", holds, f"{PRESENT} with {count} queues", expected)

    return look


def group_exists(group: str, *, members: int | None) -> Condition:
    """Return the condition that a group is known, with at least so many members online."""

    async def look(call: Call) -> Verdict:
        admin = await call.admin()
        expected = PRESENT if members is None else f"{PRESENT} with {members} members or more"
        unsaid = Unsaid()
        answers = Answers(unsaid)
        try:
            places = await find_group(admin, group, answers=answers)
        except ItemNotFound:
            return Verdict(f"group {group}", False, ABSENT, expected)
        count = len({member for place in places for member in place.members})
        holds = any(place.is_known for place in places) and (members is None or count >= members)
        observed = f"{PRESENT} with {count} members"
        missing = tuple(unsaid.texts)
        if not any(place.is_known for place in places):
            raise _incomplete(f"group {group}", answers)
        return Verdict(f"group {group}", holds, observed, expected, missing=missing)

    return look


def messages_between(topic: str, *, least: int, most: int | None) -> Condition:
    """Return the condition on the number of messages in all queues of a topic."""

    async def look(call: Call) -> Verdict:
        admin = await call.admin()
        stats = await admin.topic_stats(topic)
        count = sum(ends.max_offset - ends.min_offset for ends in stats.values())
        if most is None:
            expected = f"{least} or more"
        else:
            expected = str(least) if least == most else f"{least} to {most}"
        holds = count >= least and (most is None or count <= most)
        return Verdict(f"message count of {topic}", holds, str(count), expected)

    return look


def brokers_answer(broker: str | None, *, count: int) -> Condition:
    """Return the condition that so many brokers (of a name) are registered and answer."""

    async def look(call: Call) -> Verdict:
        admin = await call.admin()
        places = [
            place
            for place in await all_brokers(admin)
            if broker in (None, place.broker, place.address)
        ]
        answers = await asyncio.gather(
            *(admin.broker_runtime(place.address) for place in places), return_exceptions=True
        )
        answered = sum(isinstance(answer, dict) for answer in answers)
        subject = "any broker" if broker is None else f"broker {broker}"
        observed = f"registered {len(places)} times, with {answered} answers"
        return Verdict(subject, answered >= count, observed, f"at least {count} answers")

    return look


group_condition = option_group(
    "condition",
    group_exists,
    group_argument(),
    click.option("--members", type=INTEGER, help="at least this many members online"),
)
lag_condition = option_group(
    "condition",
    lag_at_most,
    group_argument(),
    topic_argument(required=False, help="only in this topic"),
    click.option("--max", "most", type=INTEGER, default=0, help="allowed lag, in messages"),
)
topic_condition = option_group(
    "condition",
    topic_exists,
    topic_argument(),
    click.option("--queues", type=INTEGER, help="readable queues, over all brokers"),
    click.option("--absent", is_flag=True, help="the topic must not exist"),
)
"""What ``assert`` and ``wait`` take, each as ``condition``."""
assert_within = click.option(
    "--within", type=DURATION, default=0, help="keep checking for this long"
)
wait_within = click.option("--within", type=DURATION, help="give up after this time")
