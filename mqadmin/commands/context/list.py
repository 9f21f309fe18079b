"""``context list``: the named contexts of this user. No request is sent."""

from dataclasses import dataclass

from mqadmin.call import Call
from mqadmin.contexts import ContextFile
from mqadmin.registry import Needs, command
from mqadmin.rows import Outcome, Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """It takes none."""


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
    "list the named contexts",
    examples=(("mqadmin context list", "which clusters have a name, and which is current"),),
    rows=ContextRow,
    needs=Needs.NONE,
)
def list_contexts(call: Call, args: Arguments) -> Outcome:
    """Return one row a context, sorted by name."""
    known = ContextFile.of(call.console.env).load()
    return Outcome(
        ContextRow(
            name,
            name == known.current,
            one.namesrv,
            one.access_key,
            one.protected,
            one.tls is not None,
        )
        for name, one in sorted(known.contexts.items())
    )
