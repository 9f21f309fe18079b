"""``doctor``: run every check of a cluster that is possible from outside.

Requests: see ``mqadmin.health.checkup_facts``; the checks are in ``mqadmin.health.checkup``.
"""

from typing import Literal, get_args

import click

from mqadmin.cli.declare import Call, Outcome, command
from mqadmin.cli.types import INTEGER, NUMBER, Choice
from mqadmin.health.checkup import SEVERITIES, Check, CheckupFinding, CheckupLimits, CheckupSeverity
from mqadmin.health.examination import examine

FailOn = Literal["error", "warning", "info", "never"]


@command(
    "doctor",
    examples=(
        ("mqadmin doctor", "one row for each finding, the worst first"),
        ("mqadmin doctor --fail-on warning -o json", "as a health probe: exit code 0 or 1"),
        ("mqadmin doctor --check disk --check slave", "two checks alone"),
    ),
    details="The checks look at addresses that do not answer, missing masters, disks, clocks, "
    "slaves, routes against the brokers' own settings, subscriptions that differ within a "
    "group, queues that nobody in an online group reads, messages that wait for an online "
    "group, and name servers that differ. The exit code is 1 where a finding is as bad as "
    "--fail-on, else 0.",
    rows=CheckupFinding,
)
@click.option(
    "--check",
    "-c",
    type=Choice([one.value for one in Check], Check),
    multiple=True,
    help="run only this check",
)
@click.option(
    "--fail-on",
    type=Choice(get_args(FailOn)),
    default="error",
    help="exit with 1 for a finding of this severity or worse",
)
@click.option(
    "--slave-lag", type=INTEGER, default=16 * 1024 * 1024, help="bytes that a slave may be behind"
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
    """Return one row for each finding, the worst first.

    Raises:
        ItemNotFound: no broker is registered.
    """
    chosen = set(check or Check)
    limits = CheckupLimits(slave_lag, round(skew * 1000), backlog)
    looked = await examine(call, limits, chosen)
    rows = looked.findings
    bad = [
        one
        for one in rows
        if fail_on != "never"
        and SEVERITIES.index(one.severity) <= SEVERITIES.index(CheckupSeverity(fail_on))
    ]
    notes = () if rows else (f"brokers looked at: {len(looked.brokers)}; nothing found",)
    return Outcome(rows, exit_code=1 if bad else 0, notes=notes)
