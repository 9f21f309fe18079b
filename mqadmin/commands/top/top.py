"""``top``: brokers, topics and groups, busy ones first, on the whole screen.

Requests: see ``mqadmin.top.sample``.
"""

import time
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from mqadmin.call import Call
from mqadmin.errors import Usage
from mqadmin.parameters import option
from mqadmin.registry import command
from mqadmin.rows import Outcome
from mqadmin.settings import positive_seconds
from mqadmin.top.sample import Look, TopRow, look, rows_between
from mqadmin.top.view import View, chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """How often to look."""

    interval: Annotated[
        float, option("between two looks", metavar="SECONDS", parse=positive_seconds)
    ] = 2.0
    once: Annotated[bool, option("look twice, print the rows, and end")] = False


@command(
    "top",
    "show brokers, topics and groups live, the busiest first",
    examples=(
        ("mqadmin top", "q quits, s sorts, / filters, tab shows one kind alone"),
        ("mqadmin top --once --interval 1 -o json", "the rates of one second, for a script"),
    ),
    details="""\\
A broker's rates are its own over ten seconds; those of topics and groups are between two looks.
A slave's lag is in bytes of commit log. Topics that no group reads: the first hundred.""",
    rows=TopRow,
)
def top(call: Call, args: Arguments) -> Outcome:
    """Return the rows with ``--once``, else nothing once the person has quit.

    Raises:
        Usage: there is no terminal to draw on.
    """
    link = call.workplace.link
    if args.once:
        before = link.run(partial(_look, call))
        time.sleep(args.interval)
        return Outcome(chosen(View(), rows_between(before, link.run(partial(_look, call)))))
    if not (call.console.out_is_tty and call.console.can_ask) or call.is_watched:
        raise Usage("top draws on a terminal", hint="`top --once` prints rows")
    # Only the live view needs a terminal library.
    from mqadmin.top.screen import Screen

    screen = Screen(
        look=lambda: link.submit(_look(call)),
        first=link.run(partial(_look, call)),
        title=f"mqadmin top   {call.target().namesrv}   every {args.interval:g} s",
        seconds=args.interval,
    )
    exit_code = screen.run()
    return Outcome((), exit_code=exit_code, format="name")


async def _look(call: Call) -> Look:
    return await look(await call.admin(), call.now_ms)
