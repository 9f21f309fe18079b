"""``context use``: make a context the current one. No request is sent."""

from dataclasses import dataclass, replace
from typing import Annotated

from mqadmin.call import Call
from mqadmin.contexts import ContextFile
from mqadmin.parameters import Kind, argument
from mqadmin.registry import Needs, command
from mqadmin.rows import CHANGED, UNCHANGED, WOULD_CHANGE, Outcome, Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which context."""

    name: Annotated[str, argument("the name", kind=Kind.CONTEXT)]


@dataclass(frozen=True, slots=True)
class ContextUse(Row):
    """What became of the choice."""

    context: str
    was: str | None
    result: str


@command(
    "context use",
    "make a context the current one",
    examples=(("mqadmin context use dev", "later commands talk to dev"),),
    rows=ContextUse,
    needs=Needs.NONE,
)
def use_context(call: Call, args: Arguments) -> Outcome:
    """Write the choice down and return it.

    Raises:
        NotFound: there is no such context.
    """
    file = ContextFile.of(call.console.env)
    known = file.load()
    known.get(args.name)
    if known.current == args.name:
        return Outcome((ContextUse(args.name, known.current, UNCHANGED),))
    if call.dry_run:
        return Outcome((ContextUse(args.name, known.current, WOULD_CHANGE),))
    file.save(replace(known, current=args.name))
    return Outcome((ContextUse(args.name, known.current, CHANGED),))
