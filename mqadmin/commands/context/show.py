"""``context show``: one context, the secret masked. No request is sent."""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.contexts import ContextFile
from mqadmin.errors import NotFound
from mqadmin.parameters import Kind, argument
from mqadmin.registry import Needs, command
from mqadmin.rows import Outcome, Row, one

MASK = "********"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which context."""

    name: Annotated[str | None, argument("the current one where left out", kind=Kind.CONTEXT)] = (
        None
    )


@dataclass(frozen=True, slots=True)
class ContextDetail(Row):
    """One context with where it is kept."""

    context: str
    current: bool
    namesrv: str
    access_key: str | None
    secret_key: str | None
    protected: bool
    file: str


@command(
    "context show",
    "show one context",
    examples=(("mqadmin context show", "the current one"),),
    rows=ContextDetail,
    needs=Needs.NONE,
)
def show_context(call: Call, args: Arguments) -> Outcome:
    """Return the context.

    Raises:
        NotFound: there is none of this name, or no current one.
    """
    file = ContextFile.of(call.console.env)
    known = file.load()
    found = known.get(args.name)
    if found is None:
        raise NotFound("no current context", hint="`context use NAME` sets it")
    return one(
        ContextDetail(
            context=found.name,
            current=found.name == known.current,
            namesrv=found.namesrv,
            access_key=found.access_key,
            secret_key=MASK if found.secret_key else None,
            protected=found.protected,
            file=str(file.path),
        )
    )
