"""``context remove``: forget a name; the cluster is not touched. No request is sent."""

from dataclasses import dataclass

import click

from mqadmin.cli.declare import Needs, command
from mqadmin.cli.types import CONTEXT
from mqadmin.output.rows import CHANGED, WOULD_CHANGE, Outcome, Row
from mqadmin.session.call import Call
from mqadmin.session.contexts import ContextFile, Contexts


@dataclass(frozen=True, slots=True)
class ContextRemoval(Row):
    """What became of the context."""

    context: str
    namesrv: str
    result: str


@command(
    "context remove",
    examples=(("mqadmin context remove dev", "forget the name dev"),),
    rows=ContextRemoval,
    needs=Needs.NONE,
)
@click.argument("name", type=CONTEXT, help="the name")
def remove_context(call: Call, *, name: str) -> Outcome:
    """Write the file without the context and return what it was.

    Raises:
        NotFound: there is no such context.
    """
    file = ContextFile.of(call.console.env)
    known = file.load()
    found = known.get(name)
    namesrv = found.namesrv if found is not None else ""
    if call.dry_run:
        return Outcome((ContextRemoval(name, namesrv, WOULD_CHANGE),))
    left = {other: one for other, one in known.contexts.items() if other != name}
    file.save(Contexts(None if known.current == name else known.current, left))
    return Outcome((ContextRemoval(name, namesrv, CHANGED),))
