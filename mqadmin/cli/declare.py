"""How a command is declared: one function, one decorator.

A command stands where its name says: ``topic list`` in ``mqadmin/commands/topic/list.py``. A noun
without a folder is one module (``acl.py``), and commands of three words may share the module of
their first two (``broker/config.py``); what verbs share is in ``_shared.py`` of the noun. Names and
summaries of all commands stand in ``mqadmin.cli.tree``, so that a module is imported only when its
command is called or documented.

    from mqadmin.cli.declare import Call, EpochMs, Needs, Outcome, Row, command

    @dataclass(frozen=True, slots=True)
    class QueueRow(Row):
        topic: str
        queue_id: int
        born_ms: EpochMs

    @command(
        "store queue",
        needs=Needs.STORE,
        examples=(("mqadmin store queue DIR T 0", "the entries of queue 0 of T"),),
        rows=QueueRow,
        columns=("queue_id", "born_time"),
    )
    @topic_argument()
    @argument("queue", type=INTEGER, required=False, help="the queue; all if left out")
    @click.option("--start", type=INTEGER, default=0, help="queue offset to begin at")
    def show_queue(call: Call, *, topic: str, queue: int | None, start: int) -> Outcome:
        store = StoreDir.open(call.store_dir)
        return Outcome(QueueRow(...) for entry in ...)

Options are click's, and ``argument`` is click's with a help text. Options of many commands are in
``mqadmin.cli.decorators``; types are those of ``mqadmin.cli.types``, ``times`` and ``positions``.

What the function may rely on:
    - ``def`` or ``async def``; it returns an ``Outcome`` (``rows.one`` for a single object)
      and never prints; ``rows`` may be a generator, or an async one.
    - ``call.store_dir`` with ``Needs.STORE``: the command line then takes DIR as its first
      argument or ``--store DIR``, or the shell's ``store open``; the command does not declare it.
    - ``call.is_offline`` with ``Needs.EITHER``: ``--store DIR`` is read instead of servers. With
      ``offline="store trace"`` that command runs instead.
    - ``await call.admin()`` with ``Needs.NAMESRV``; ``call.now_ms()``; ``call.dry_run``;
      ``call.confirm(text)`` before a destructive write; ``call.warn(text)``.
    - errors: raise one of ``mqadmin.errors``, or let errors of storefmt and mqclient through.
    - ``call.warn`` and ``Outcome.notes`` go to standard error.
``columns`` are those of a table; every other format has all fields.
An ``EpochMs`` field ``x_ms`` gives a second column ``x_time`` in ISO 8601.

Java's names and flags are in ``mqadmin.cli.java.table``.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from mqadmin.cli.command import Command, Needs, Run
from mqadmin.cli.decorators import argument
from mqadmin.output.rows import EpochMs, Outcome, Row, exit_code_of, one
from mqadmin.session.call import Call

if TYPE_CHECKING:
    from typing import Unpack

    from mqadmin.cli.command import Declared

__all__ = [
    "Call",
    "Command",
    "EpochMs",
    "Needs",
    "Outcome",
    "Row",
    "argument",
    "command",
    "exit_code_of",
    "one",
]
"""Everything that every command needs."""


def command(name: str, **declared: "Unpack[Declared]") -> Callable[[Run], Command]:
    """Make the decorated function the command ``name``.

    Args:
        name: noun and verb as ``mqadmin.cli.tree`` has them, with what the command does.
    """

    def declare(run: Run) -> Command:
        # Only click knows where its decorators store the parameters.
        params = click.command("any")(run).params
        return Command(name, run=run, params=params, **declared)

    return declare
