"""``context remove``: forget a name; the cluster is not touched. No request is sent."""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.contexts import ContextFile, Contexts
from mqadmin.parameters import Kind, argument
from mqadmin.registry import Needs, command
from mqadmin.rows import CHANGED, WOULD_CHANGE, Outcome, Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which context."""

    name: Annotated[str, argument("the name", kind=Kind.CONTEXT)]


@dataclass(frozen=True, slots=True)
class ContextRemoval(Row):
    """What became of the context."""

    context: str
    namesrv: str
    result: str


@command(
    "context remove",
    "forget a named context",
    examples=(("mqadmin context remove dev", "forget the name dev"),),
    rows=ContextRemoval,
    needs=Needs.NONE,
)
def remove_context(call: Call, args: Arguments) -> Outcome:
    """Write the file without the context and return what it was.

    Raises:
        NotFound: there is no such context.
    """
    file = ContextFile.of(call.console.env)
    known = file.load()
    found = known.get(args.name)
    namesrv = found.namesrv if found is not None else ""
    if call.dry_run:
        return Outcome((ContextRemoval(args.name, namesrv, WOULD_CHANGE),))
    left = {name: one for name, one in known.contexts.items() if name != args.name}
    file.save(Contexts(None if known.current == args.name else known.current, left))
    return Outcome((ContextRemoval(args.name, namesrv, CHANGED),))
