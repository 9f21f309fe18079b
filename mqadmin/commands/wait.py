"""``wait …``: until something holds, or the time is over.

Requests, again and again: of ``wait broker`` GET_BROKER_CLUSTER_INFO, and
GET_BROKER_RUNTIME_INFO on each broker; of the others as ``mqadmin.commands.assert_``.
"""

import click

from mqadmin.cli.declare import command
from mqadmin.cli.types import BROKER, INTEGER
from mqadmin.health.conditions import (
    LIMIT,
    Condition,
    Verdict,
    awaited,
    brokers_answer,
    group_condition,
    lag_condition,
    topic_condition,
    wait_within,
)
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call


@command(
    "wait broker",
    examples=(("mqadmin wait broker broker-a --within 2m", "after a restart"),),
    details=LIMIT,
    rows=Verdict,
)
@click.argument(
    "broker", type=BROKER, required=False, help="its name or HOST:PORT; any where left out"
)
@click.option("--count", type=INTEGER, default=1, help="brokers that must answer")
@wait_within
async def wait_broker(call: Call, *, broker: str | None, count: int, within: int | None) -> Outcome:
    """Return the verdict."""
    condition = brokers_answer(broker, count=count)
    return await awaited(call, condition, limit_ms=within)


@command(
    "wait group",
    examples=(("mqadmin wait group billing --members 3", "until three are online"),),
    details=LIMIT,
    rows=Verdict,
)
@group_condition
@wait_within
async def wait_group(call: Call, *, condition: Condition, within: int | None) -> Outcome:
    """Return the verdict."""
    return await awaited(call, condition, limit_ms=within)


@command(
    "wait lag",
    examples=(("mqadmin wait lag billing --within 5m", "until nothing is left"),),
    details=LIMIT,
    rows=Verdict,
)
@lag_condition
@wait_within
async def wait_lag(call: Call, *, condition: Condition, within: int | None) -> Outcome:
    """Return the verdict."""
    return await awaited(call, condition, limit_ms=within)


@command(
    "wait topic",
    examples=(("mqadmin wait topic orders --within 30s", "until it has a route"),),
    details=LIMIT,
    rows=Verdict,
)
@topic_condition
@wait_within
async def wait_topic(call: Call, *, condition: Condition, within: int | None) -> Outcome:
    """Return the verdict."""
    return await awaited(call, condition, limit_ms=within)
