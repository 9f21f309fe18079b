"""``context remove``: forget a name; the cluster is not touched. No request is sent."""

import click

from mqadmin.changes.context_change import ContextChange, change_contexts
from mqadmin.cli.declare import Needs, command
from mqadmin.cli.types import CONTEXT
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call
from mqadmin.session.contexts import Contexts


@command(
    "context remove",
    examples=(("mqadmin context remove dev", "forget the name dev"),),
    rows=ContextChange,
    columns=("context", "namesrv", "result"),
    needs=Needs.NONE,
)
@click.argument("name", type=CONTEXT, help="the name")
def remove_context(call: Call, *, name: str) -> Outcome:
    """Write the file without the context and return what it was.

    Raises:
        NotFound: there is no such context.
    """

    def choose(known: Contexts) -> Contexts:
        known.get(name)
        left = {other: one for other, one in known.contexts.items() if other != name}
        return Contexts(None if known.current == name else known.current, left)

    return change_contexts(call, name, choose)
