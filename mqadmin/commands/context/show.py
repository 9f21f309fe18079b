"""``context show``: one context, the secret masked. No request is sent."""

from dataclasses import dataclass

import click

from mqadmin.cli.declare import Needs, command
from mqadmin.cli.types import CONTEXT
from mqadmin.errors import NotFound
from mqadmin.output.rows import Outcome, Row, one
from mqadmin.session.call import Call
from mqadmin.session.contexts import ContextFile

MASK = "********"


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
    examples=(("mqadmin context show", "the current one"),),
    rows=ContextDetail,
    needs=Needs.NONE,
)
@click.argument("name", type=CONTEXT, required=False, help="the current one where left out")
@click.option("--show-secrets", is_flag=True, help="print the secret key instead of stars")
def show_context(call: Call, *, name: str | None, show_secrets: bool) -> Outcome:
    """Return the context.

    Raises:
        NotFound: there is none of this name, or no current one.
    """
    file = ContextFile.of(call.console.env)
    known = file.load()
    found = known.get(name)
    if found is None:
        raise NotFound("no current context", hint="`context use NAME` sets it")
    return one(
        ContextDetail.of(
            found,
            context=found.name,
            current=found.name == known.current,
            secret_key=found.secret_key if show_secrets else _hidden(found.secret_key),
            map=dict(found.address_map),
            tls=found.tls.given() if found.tls is not None else None,
            file=str(file.path),
        )
    )


def _hidden(secret: str | None) -> str | None:
    """Return a secret as it may be seen: where it is kept is no secret."""
    if secret is None or secret.startswith(("env:", "file:")):
        return secret
    return MASK
