"""``context list``: the named contexts of this user. No request is sent."""

from dataclasses import dataclass

from mqadmin.cli.declare import Needs, command
from mqadmin.output.rows import Outcome, Row
from mqadmin.session.call import Call
from mqadmin.session.contexts import ContextFile


@dataclass(frozen=True, slots=True)
class ContextRow(Row):
    """One context; keys are not shown."""

    context: str
    current: bool
    namesrv: str
    access_key: str | None
    protected: bool
    tls: bool


@command(
    "context list",
    examples=(("mqadmin context list", "which clusters have a name, and which is current"),),
    rows=ContextRow,
    needs=Needs.NONE,
)
def list_contexts(call: Call) -> Outcome:
    """Return one row a context, sorted by name."""
    known = ContextFile.of(call.console.env).load()
    return Outcome(
        ContextRow.of(one, context=name, current=name == known.current, tls=one.tls is not None)
        for name, one in sorted(known.contexts.items())
    )
