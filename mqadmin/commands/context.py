"""``context …``: keep the names of clusters in a file of the user. No request is sent.

Removing a context does not change its cluster; a secret is shown as asterisks.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import get_args

import click

from mqadmin.cli.declare import Call, Needs, Outcome, Row, argument, command, one
from mqadmin.cli.types import ADDRESS, CONTEXT, FILE, SECONDS, Choice, TextType
from mqadmin.errors import ItemNotFound, Usage
from mqadmin.output.rows import CHANGED, UNCHANGED, WOULD_CHANGE
from mqadmin.session.contexts import Context, ContextFile, Contexts
from mqadmin.session.global_options import Format
from mqadmin.session.tls_files import TlsFiles


@dataclass(frozen=True, slots=True)
class ContextChange(Row):
    """The result for a context; ``was`` is the context that was current before."""

    context: str
    namesrv: str
    was: str | None
    result: str


def change_contexts(call: Call, name: str, choose: Callable[[Contexts], Contexts]) -> Outcome:
    """Write the chosen content, and return the result for the context ``name``.

    Args:
        choose: gets the content of the file and returns the new content, or raises.
    """
    file = ContextFile.of(call.console.env)
    contexts = file.load()
    fresh = choose(contexts)
    result = WOULD_CHANGE if call.dry_run else CHANGED
    if fresh == contexts:
        result = UNCHANGED
    elif not call.dry_run:
        file.save(fresh)
    context = {**contexts.contexts, **fresh.contexts}[name]
    return Outcome((ContextChange(name, context.namesrv, contexts.current, result),))


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
    examples=(("mqadmin context list", "every named cluster; one is current"),),
    rows=ContextRow,
    needs=Needs.NONE,
)
def list_contexts(call: Call) -> Outcome:
    """Return one row for each context, sorted by name."""
    contexts = ContextFile.of(call.console.env).load()
    return Outcome(
        ContextRow.of(
            context, context=name, current=name == contexts.current, tls=context.tls is not None
        )
        for name, context in sorted(contexts.contexts.items())
    )


MASK = "********"


@dataclass(frozen=True, slots=True)
class ContextDetail(Row):
    """One context and the file that contains it."""

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
    examples=(("mqadmin context show", "the current context"),),
    rows=ContextDetail,
    needs=Needs.NONE,
)
@argument(
    "name",
    type=CONTEXT,
    required=False,
    help="name of the context; the current context if left out",
)
@click.option("--show-secrets", is_flag=True, help="print the secret key instead of asterisks")
def show_context(call: Call, *, name: str | None, show_secrets: bool) -> Outcome:
    """Return the context.

    Raises:
        ItemNotFound: the context does not exist, or there is no current context.
    """
    file = ContextFile.of(call.console.env)
    contexts = file.load()
    context = contexts.context_named(name)
    if context is None:
        raise ItemNotFound("no current context", hint="`context use NAME` sets it")
    return one(
        ContextDetail.of(
            context,
            context=context.name,
            current=context.name == contexts.current,
            secret_key=context.secret_key if show_secrets else _hidden(context.secret_key),
            map=dict(context.address_map),
            tls=context.tls.given() if context.tls is not None else None,
            file=str(file.path),
        )
    )


def _hidden(secret: str | None) -> str | None:
    """Return a secret as it may be shown: a reference is not secret."""
    if secret is None or secret.startswith(("env:", "file:")):
        return secret
    return MASK


def parse_pair(text: str) -> tuple[str, str]:
    """Read ``172.17.0.2:10911=127.0.0.1:10911``.

    Raises:
        ValueError: it is not a pair of addresses.
    """
    advertised, equals, real = text.partition("=")
    if not equals or ":" not in advertised or ":" not in real:
        raise ValueError(f"{text!r} is not a pair, such as 172.17.0.2:10911=127.0.0.1:10911")
    return advertised, real


@command(
    "context add",
    details="Options that are not given stay as they are. --access-key and --secret-key are "
    "stored as well. A secret may be a reference: env:NAME, file:PATH, or command:LINE for the "
    "output of a key ring or password manager. Only the user can read the file (mode 600).",
    examples=(
        ("mqadmin context add dev 127.0.0.1:9876 --use", "name a cluster and use it"),
        ("mqadmin context add prod mq1:9876,mq2:9876 --protected", "no accidental writes"),
        (
            "mqadmin context add box 127.0.0.1:9876 --map 172.17.0.2:10911=127.0.0.1:10911",
            "a broker in a container, through a forwarded port",
        ),
        (
            "mqadmin context add safe mq:9876 --tls-ca ca.pem --access-key ops "
            "--secret-key env:MQ_SECRET",
            "over TLS, with an account",
        ),
        (
            "mqadmin context add safe --secret-key 'command:secret-tool lookup mq ops'",
            "the key stays in the key ring of the desktop",
        ),
    ),
    rows=ContextChange,
    columns=("context", "namesrv", "result"),
    needs=Needs.NONE,
)
@argument("name", type=CONTEXT, help="name of the context")
@argument("address", type=ADDRESS, required=False, help="its name servers, HOST:PORT[,HOST:PORT]")
@click.option("--protected", is_flag=True, help="refuse writes unless the context is named")
@click.option("--unprotected", is_flag=True, help="allow writes again without naming the context")
@click.option(
    "--map",
    "addresses",
    type=TextType(read=parse_pair),
    multiple=True,
    metavar="ADVERTISED=REAL",
    help="connect to another address than a broker advertises",
)
@click.option("--tls", is_flag=True, help="connect over TLS and accept any certificate")
@click.option(
    "--tls-ca",
    type=FILE,
    metavar="FILE",
    help="connect over TLS and check certificates against this PEM file, or `system`",
)
@click.option("--tls-cert", type=FILE, metavar="FILE", help="certificate of this client")
@click.option("--tls-key", type=FILE, metavar="FILE", help="key of the client's certificate")
@click.option("--no-tls", is_flag=True, help="connect without TLS again")
@click.option(
    "--default-output", type=Choice(get_args(Format)), help="output format when -o is not given"
)
@click.option(
    "--default-timeout", type=SECONDS, help="timeout in seconds when --timeout is not given"
)
@click.option("--use", is_flag=True, help="make it the current context")
def add_context(
    call: Call,
    *,
    name: str,
    address: str | None,
    protected: bool,
    unprotected: bool,
    addresses: tuple[tuple[str, str], ...],
    tls: bool,
    tls_ca: str | None,
    tls_cert: str | None,
    tls_key: str | None,
    no_tls: bool,
    default_output: Format | None,
    default_timeout: float | None,
    use: bool,
) -> Outcome:
    """Write the context and return what changed.

    Raises:
        Usage: no address is given for a new name, or options contradict each other.
    """
    settings = call.settings
    files = TlsFiles(ca=tls_ca, cert=tls_cert, key=tls_key)

    def choose(contexts: Contexts) -> Contexts:
        old = contexts.contexts.get(name)
        namesrv = address or settings.namesrv or (old.namesrv if old else None)
        if not namesrv:
            raise Usage(
                "no address of a name server given", hint="as in `context add dev 127.0.0.1:9876`"
            )
        base = old or Context(name, namesrv)
        fresh = replace(
            base,
            namesrv=namesrv,
            access_key=settings.access_key or base.access_key,
            secret_key=settings.secret_key or base.secret_key,
            protected=(protected or base.protected) and not unprotected,
            address_map=tuple(dict((*base.address_map, *addresses)).items()),
            tls=_tls(base.tls, files if tls or files != TlsFiles() else None, off=no_tls),
            output=default_output or base.output,
            timeout_s=default_timeout or base.timeout_s,
        )
        current = name if use or not contexts.contexts else contexts.current
        return Contexts(current, {**contexts.contexts, name: fresh})

    return change_contexts(call, name, choose)


def _tls(old: TlsFiles | None, given: TlsFiles | None, *, off: bool) -> TlsFiles | None:
    if off:
        if given is not None:
            raise Usage("--no-tls excludes the other --tls options", hint="give one of them")
        return None
    if given is None:
        return old
    base = old or TlsFiles()
    made = replace(
        base, ca=given.ca or base.ca, cert=given.cert or base.cert, key=given.key or base.key
    )
    if made.key and not made.cert:
        raise Usage("--tls-key without --tls-cert", hint="a key needs its certificate")
    return made


@command(
    "context use",
    examples=(("mqadmin context use dev", "later commands talk to dev"),),
    rows=ContextChange,
    columns=("context", "was", "result"),
    needs=Needs.NONE,
)
@argument("name", type=CONTEXT, help="name of the context")
def use_context(call: Call, *, name: str) -> Outcome:
    """Write the choice down and return it.

    Raises:
        ItemNotFound: the context does not exist.
    """

    def choose(contexts: Contexts) -> Contexts:
        contexts.context_named(name)
        return replace(contexts, current=name)

    return change_contexts(call, name, choose)


@command(
    "context remove",
    examples=(("mqadmin context remove dev", "forget the name dev"),),
    rows=ContextChange,
    columns=("context", "namesrv", "result"),
    needs=Needs.NONE,
)
@argument("name", type=CONTEXT, help="name of the context")
def remove_context(call: Call, *, name: str) -> Outcome:
    """Write the file without the context and return what it was.

    Raises:
        ItemNotFound: the context does not exist.
    """

    def choose(contexts: Contexts) -> Contexts:
        contexts.context_named(name)
        left = {other: context for other, context in contexts.contexts.items() if other != name}
        return Contexts(None if contexts.current == name else contexts.current, left)

    return change_contexts(call, name, choose)
