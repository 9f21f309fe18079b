"""``context show``: one context, the secret masked. No request is sent."""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.contexts import ContextFile
from mqadmin.errors import NotFound
from mqadmin.parameters import Kind, argument, option
from mqadmin.registry import Needs, command
from mqadmin.rows import Outcome, Row, one

MASK = "********"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which context."""

    name: Annotated[str | None, argument("the current one where left out", kind=Kind.CONTEXT)] = (
        None
    )
    show_secrets: Annotated[bool, option("print the secret key instead of stars")] = False


@dataclass(frozen=True, slots=True)
class ContextDetail(Row):
    """One context with where it is kept."""

    context: str
    current: bool
    namesrv: str
    access_key: str | None
    secret_key: str | None
    protected: bool
    map: dict[str, str]
    tls: dict[str, str] | None
    output: str | None
    timeout_s: float | None
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
            secret_key=_shown(found.secret_key, args),
            protected=found.protected,
            map=dict(found.address_map),
            tls=found.tls.given() if found.tls is not None else None,
            output=found.output,
            timeout_s=found.timeout_s,
            file=str(file.path),
        )
    )


def _shown(secret: str | None, args: Arguments) -> str | None:
    """Return a secret as it may be seen: where it is kept is no secret."""
    if secret is None or args.show_secrets or secret.startswith(("env:", "file:")):
        return secret
    return MASK
