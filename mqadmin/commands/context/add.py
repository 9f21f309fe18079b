"""``context add``: name a cluster, or change what a name means. No request is sent."""

from dataclasses import dataclass, replace
from typing import Annotated

from mqadmin.call import Call
from mqadmin.contexts import Context, ContextFile, Contexts
from mqadmin.errors import Usage
from mqadmin.parameters import Kind, argument, option
from mqadmin.registry import Needs, command
from mqadmin.rows import CHANGED, UNCHANGED, WOULD_CHANGE, Outcome, Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The name and its servers; keys come from the global options."""

    name: Annotated[str, argument("the name")]
    address: Annotated[
        str | None, argument("its name servers, HOST:PORT[;HOST:PORT]", kind=Kind.ADDRESS)
    ] = None
    protected: Annotated[bool, option("refuse writes unless the context is named")] = False
    use: Annotated[bool, option("make it the current one")] = False


@dataclass(frozen=True, slots=True)
class ContextChange(Row):
    """What became of the context."""

    context: str
    namesrv: str
    result: str


@command(
    "context add",
    "name a cluster, or change what a name means",
    examples=(("mqadmin context add dev 127.0.0.1:9876 --use", "name a cluster and use it"),),
    rows=ContextChange,
    needs=Needs.NONE,
)
def add_context(call: Call, args: Arguments) -> Outcome:
    """Write the context and return what changed.

    Raises:
        Usage: no address is given for a new name.
    """
    file = ContextFile.of(call.console.env)
    known = file.load()
    settings = call.settings
    old = known.contexts.get(args.name)
    namesrv = args.address or settings.namesrv or (old.namesrv if old else None)
    if not namesrv:
        raise Usage("no address given", hint="as in `context add dev 127.0.0.1:9876`")
    base = old or Context(args.name, namesrv)
    fresh = replace(
        base,
        namesrv=namesrv,
        access_key=settings.access_key or base.access_key,
        secret_key=settings.secret_key or base.secret_key,
        protected=args.protected or base.protected,
    )
    current = args.name if args.use or not known.contexts else known.current
    if fresh == old and current == known.current:
        return Outcome((ContextChange(args.name, namesrv, UNCHANGED),))
    if call.dry_run:
        return Outcome((ContextChange(args.name, namesrv, WOULD_CHANGE),))
    file.save(Contexts(current, {**known.contexts, args.name: fresh}))
    return Outcome((ContextChange(args.name, namesrv, CHANGED),))
