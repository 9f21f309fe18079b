"""``context use``: make a context the current one. No request is sent."""

from dataclasses import replace

import click

from mqadmin.changes.context_change import ContextChange, change_contexts
from mqadmin.cli.declare import Needs, command
from mqadmin.cli.types import CONTEXT
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call
from mqadmin.session.contexts import Contexts


@command(
    "context use",
    examples=(("mqadmin context use dev", "later commands talk to dev"),),
    rows=ContextChange,
    columns=("context", "was", "result"),
    needs=Needs.NONE,
)
@click.argument("name", type=CONTEXT, help="the name")
def use_context(call: Call, *, name: str) -> Outcome:
    """Write the choice down and return it.

    Raises:
        NotFound: there is no such context.
    """

    def choose(known: Contexts) -> Contexts:
        known.get(name)
        return replace(known, current=name)

    return change_contexts(call, name, choose)
