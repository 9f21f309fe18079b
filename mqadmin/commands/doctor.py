"""``doctor``: run every check of a cluster that is possible from outside.

Requests: see ``mqadmin.health.checkup_facts``; the checks are in ``mqadmin.health.checkup``.
"""

from typing import Final, Literal, get_args

import click

from mqadmin.cli.declare import Call, Outcome, command
from mqadmin.cli.times import DURATION
from mqadmin.cli.types import INTEGER, NUMBER, Choice
from mqadmin.health.checkup import Check, CheckupFinding, CheckupLimits, checkup_exit_code
from mqadmin.health.examination import examine
from mqadmin.output.screen import is_table, worst_last

FailOn = Literal["error", "warning", "info", "never"]
LINES_EACH: Final = 3
"""Lines of a finding on 80 columns, as most wrap to."""


@command(
    "doctor",
    examples=(
        (
            "mqadmin doctor",
            "one row for each finding; the worst last if they do not fit the screen",
        ),
        ("mqadmin doctor --fail-on warning -o json", "as a health probe: exit code 0 or 1"),
        ("mqadmin doctor --check disk --check slave", "only two checks"),
    ),
    details="Of servers, the checks look for addresses that do not answer, missing masters, full "
    "disks, clock skew, slaves that are behind, routes that differ from the brokers' settings, "
    "and name servers that differ. Of controllers, they look for silence and disagreement, and in "
    "the groups that they lead for missing masters, small in-sync sets, replicas that are dead or "
    "behind, and brokers that name another master. Of consumer groups, they look for members that "
    "do not answer, subscriptions that differ, queues that no member of an online group reads, "
    "offsets past the end of a queue or on queues that cannot be read, members that hold messages "
    "without finishing any, full caches, orderly listeners that suspend their queue, locks of "
    "clients that are gone, and lag. They also look for half messages without a decision. A "
    "check that lacks an answer has a row with the severity `not run`. The exit code is 1 if a "
    "finding is at least as severe as --fail-on, otherwise 7 if a check was not run, otherwise 0.",
    rows=CheckupFinding,
    columns=("severity", "check", "subject", "found", "hint"),
)
@click.option(
    "--check",
    "-c",
    type=Choice([check.value for check in Check], Check),
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
    "--slave-lag", type=INTEGER, default=16 * 1024 * 1024, help="bytes that a slave may lag behind"
)
@click.option(
    "--backlog", type=INTEGER, default=10_000, help="allowed lag of an online group, in messages"
)
@click.option("--skew", type=NUMBER, default=5.0, help="allowed difference of clocks, in seconds")
@click.option(
    "--stuck",
    type=DURATION,
    default=30_000,
    help="how long a member may hold messages without finishing any",
)
@click.option(
    "--half", type=DURATION, default=600_000, help="how long a half message may wait for a decision"
)
async def doctor(
    call: Call,
    *,
    check: tuple[Check, ...],
    fail_on: FailOn,
    slave_lag: int,
    backlog: int,
    skew: float,
    stuck: int,
    half: int,
) -> Outcome:
    """Return one row for each finding, the worst first.

    Raises:
        ItemNotFound: no broker is registered.
    """
    chosen = set(check or Check)
    limits = CheckupLimits(slave_lag, round(skew * 1000), backlog, stuck, half)
    looked = await examine(call, limits, chosen)
    rows = looked.findings
    notes = () if rows else (f"checked {len(looked.brokers)} broker(s); no findings",)
    exit_code = checkup_exit_code(rows, fail_on)
    on_screen = is_table(call) and call.console.out_is_tty and not call.is_watched
    if on_screen and not call.settings.sort:
        rows = worst_last(rows, lines_each=LINES_EACH)
    return Outcome(rows, exit_code=exit_code, notes=notes)
