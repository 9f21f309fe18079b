"""``top``: show brokers, groups and topics on the whole screen.

Requests: see ``mqadmin.top.sample``.
"""

import time
from functools import partial

import click

from mqadmin.cli.declare import Call, Outcome, command
from mqadmin.cli.types import SECONDS
from mqadmin.errors import Usage
from mqadmin.top.sample import ClusterSnapshot, TopRow, look, rows_between
from mqadmin.top.view import View, select_rows


@command(
    "top",
    examples=(
        (
            "mqadmin top",
            "press ? for help; q quits, s sorts, / filters, tab shows one kind only",
        ),
        ("mqadmin top --once --interval 1 -o json", "the rates of one second, for a script"),
    ),
    details="Groups that are behind come first, and groups come before topics. The rates of "
    "brokers are their own ten-second averages; those of topics and groups are measured between "
    "two samples. The lag of a slave is in bytes of commit log. Of the topics that no group "
    "reads, the first hundred are shown.",
    rows=TopRow,
)
@click.option("--interval", type=SECONDS, default=2.0, help="time between two samples")
@click.option("--once", is_flag=True, help="take two samples, print the rows and exit")
def top(call: Call, *, interval: float, once: bool) -> Outcome:
    """Return the rows with ``--once``, else nothing once the person has quit.

    Raises:
        Usage: standard output is not a terminal.
    """
    link = call.workplace.link
    if once:
        before = link.run_coroutine(partial(_look, call))
        time.sleep(interval)
        return Outcome(
            select_rows(View(), rows_between(before, link.run_coroutine(partial(_look, call))))
        )
    if not (call.console.out_is_tty and call.console.can_ask) or call.is_watched:
        raise Usage("top needs a terminal", hint="`top --once` prints rows")
    # Only the live view needs a terminal library.
    from mqadmin.top.screen import Screen

    screen = Screen(
        look=lambda: link.submit(_look(call)),
        first=link.run_coroutine(partial(_look, call)),
        title=f"mqadmin top   {call.target().namesrv}   every {interval:g} s",
        seconds=interval,
    )
    exit_code = screen.show_until_quit()
    return Outcome((), exit_code=exit_code, format="name")


async def _look(call: Call) -> ClusterSnapshot:
    return await look(await call.admin(), call.now_ms)
