"""``context use``: make a context the current one. No request is sent."""

from dataclasses import dataclass, replace

import click

from mqadmin.cli.declare import Needs, command
from mqadmin.cli.types import CONTEXT
from mqadmin.output.rows import CHANGED, UNCHANGED, WOULD_CHANGE, Outcome, Row
from mqadmin.session.call import Call
from mqadmin.session.contexts import ContextFile


@dataclass(frozen=True, slots=True)
class ContextUse(Row):
    """What became of the choice."""

    context: str
    was: str | None
    result: str


@command(
    "context use",
    examples=(("mqadmin context use dev", "later commands talk to dev"),),
    rows=ContextUse,
    needs=Needs.NONE,
)
@click.argument("name", type=CONTEXT, help="the name")
def use_context(call: Call, *, name: str) -> Outcome:
    """Write the choice down and return it.

    Raises:
        NotFound: there is no such context.
    """
    file = ContextFile.of(call.console.env)
    known = file.load()
    known.get(name)
    if known.current == name:
        return Outcome((ContextUse(name, known.current, UNCHANGED),))
    if call.dry_run:
        return Outcome((ContextUse(name, known.current, WOULD_CHANGE),))
    file.save(replace(known, current=name))
    return Outcome((ContextUse(name, known.current, CHANGED),))
