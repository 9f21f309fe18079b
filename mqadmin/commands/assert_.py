"""``assert …``: check that a condition holds now, or within ``--within``; exit code 1 if not.

Requests, repeated until it holds: of ``group`` those of ``group show``, of ``lag``
GET_CONSUME_STATS and of ``message-count`` GET_TOPIC_STATS_INFO on each master, of ``topic``
GET_ROUTEINFO_BY_TOPIC.
"""

from collections.abc import Callable

import click

from mqadmin.cli.command import Run
from mqadmin.cli.declare import Call, Command, Outcome, argument, command
from mqadmin.cli.decorators import option_group, topic_argument
from mqadmin.cli.types import INTEGER
from mqadmin.errors import Usage
from mqadmin.health.conditions import (
    Condition,
    Verdict,
    assert_outcome,
    assert_within,
    group_condition,
    lag_condition,
    messages_between,
    topic_condition,
)

Parameters = Callable[[Run], Run]
"""Declare the arguments of a condition; the command gets it as ``condition``."""
Example = tuple[str, str]


def _assert(name: str, about: Parameters, *examples: Example, details: str = "") -> Command:
    """Declare a command that returns the verdict at once, or within ``--within``."""

    @command(name, examples=examples, details=details, rows=Verdict)
    @about
    @assert_within
    async def give_verdict(call: Call, *, condition: Condition, within: int) -> Outcome:
        return await assert_outcome(call, condition, within_ms=within)

    return give_verdict


def _message_count(
    *, topic: str, count: int | None, min_: int | None, max_: int | None
) -> Condition:
    """Return the condition that a line of ``assert message-count`` means.

    Raises:
        Usage: no number is given, or both kinds of them.
    """
    if (count is None) == (min_ is None and max_ is None):
        raise Usage(
            "no number of messages given, or both kinds",
            hint="give COUNT, or --min and --max, as in `assert message-count orders 5`",
        )
    least = count if count is not None else min_ or 0
    return messages_between(topic, least=least, most=count if count is not None else max_)


assert_group = _assert(
    "assert group",
    group_condition,
    ("mqadmin assert group billing --members 2 --within 1m", "both members are online"),
)
assert_lag = _assert(
    "assert lag",
    lag_condition,
    ("mqadmin assert lag billing --within 30s", "everything is read within half a minute"),
    ("mqadmin assert lag billing orders --max 100", "at most 100 are left in orders"),
)
assert_message_count = _assert(
    "assert message-count",
    option_group(
        "condition",
        _message_count,
        topic_argument(),
        argument("count", type=INTEGER, required=False, help="exact number of messages"),
        click.option("--min", "min_", type=INTEGER, help="least number of messages"),
        click.option("--max", "max_", type=INTEGER, help="largest number of messages"),
    ),
    ("mqadmin assert message-count orders 100 --within 5s", "exactly a hundred messages"),
    ("mqadmin assert message-count %DLQ%billing --max 0", "no dead letters"),
    details="Messages that can still be read are counted: the end offset minus the first offset "
    "of each queue.",
)
assert_topic = _assert(
    "assert topic",
    topic_condition,
    ("mqadmin assert topic orders --queues 8", "the topic has eight queues"),
    ("mqadmin assert topic old --absent", "the topic was deleted"),
)
