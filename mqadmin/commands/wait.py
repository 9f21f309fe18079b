"""``wait …``: wait until a condition holds, or the time is over.

Requests, repeated until it holds: of ``group``, ``lag`` and ``topic`` those of ``assert``, of
``broker`` GET_BROKER_CLUSTER_INFO, and GET_BROKER_RUNTIME_INFO on each broker.
"""

from collections.abc import Callable

import click

from mqadmin.cli.command import Run
from mqadmin.cli.declare import Call, Command, Outcome, argument, command
from mqadmin.cli.decorators import option_group
from mqadmin.cli.types import BROKER, INTEGER
from mqadmin.health.conditions import (
    LIMIT,
    Condition,
    Verdict,
    brokers_answer,
    group_condition,
    lag_condition,
    topic_condition,
    wait_outcome,
    wait_within,
)

Parameters = Callable[[Run], Run]
"""Declare the arguments of a condition; the command gets it as ``condition``."""
Example = tuple[str, str]


def _wait(name: str, about: Parameters, *examples: Example) -> Command:
    """Declare what gives the verdict once it is good, or the time is over."""

    @command(name, examples=examples, details=LIMIT, rows=Verdict)
    @about
    @wait_within
    async def give_verdict(call: Call, *, condition: Condition, within: int | None) -> Outcome:
        return await wait_outcome(call, condition, limit_ms=within)

    return give_verdict


wait_broker = _wait(
    "wait broker",
    option_group(
        "condition",
        brokers_answer,
        argument(
            "broker",
            type=BROKER,
            required=False,
            help="name or HOST:PORT of the broker; any broker if left out",
        ),
        click.option(
            "--count", type=INTEGER, default=1, help="number of brokers that have to answer"
        ),
    ),
    ("mqadmin wait broker broker-a --within 2m", "after a restart"),
)
wait_group = _wait(
    "wait group",
    group_condition,
    ("mqadmin wait group billing --members 3", "until three are online"),
)
wait_lag = _wait(
    "wait lag",
    lag_condition,
    ("mqadmin wait lag billing --within 5m", "until everything is read"),
)
wait_topic = _wait(
    "wait topic",
    topic_condition,
    ("mqadmin wait topic orders --within 30s", "until the topic has a route"),
)
