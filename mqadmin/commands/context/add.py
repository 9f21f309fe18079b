"""``context add``: name a cluster, or change what a name means. No request is sent."""

from dataclasses import dataclass, replace
from typing import Annotated

from mqadmin.call import Call
from mqadmin.contexts import Context, ContextFile, Contexts
from mqadmin.errors import Usage
from mqadmin.parameters import Kind, argument, option
from mqadmin.registry import Needs, command
from mqadmin.rows import CHANGED, UNCHANGED, WOULD_CHANGE, Outcome, Row
from mqadmin.settings import Format, positive_seconds
from mqadmin.tlsfiles import TlsFiles


def parse_pair(text: str) -> tuple[str, str]:
    """Read ``172.17.0.2:10911=127.0.0.1:10911``.

    Raises:
        ValueError: it is no pair of addresses.
    """
    advertised, equals, real = text.partition("=")
    if not equals or ":" not in advertised or ":" not in real:
        raise ValueError(f"{text!r} is no pair, as in 172.17.0.2:10911=127.0.0.1:10911")
    return advertised, real


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The name and its servers; keys come from the global options."""

    name: Annotated[str, argument("the name", kind=Kind.CONTEXT)]
    address: Annotated[
        str | None, argument("its name servers, HOST:PORT[;HOST:PORT]", kind=Kind.ADDRESS)
    ] = None
    protected: Annotated[bool, option("refuse writes unless the context is named")] = False
    unprotected: Annotated[bool, option("take that back")] = False
    map: Annotated[
        tuple[tuple[str, str], ...],
        option(
            "connect to another address than a broker advertises",
            metavar="ADVERTISED=REAL",
            parse=parse_pair,
        ),
    ] = ()
    tls: Annotated[bool, option("connect over TLS, and take any certificate")] = False
    tls_ca: Annotated[
        str | None,
        option("... check it against this PEM file, or `system`", metavar="FILE", kind=Kind.FILE),
    ] = None
    tls_cert: Annotated[
        str | None, option("our own certificate", metavar="FILE", kind=Kind.FILE)
    ] = None
    tls_key: Annotated[str | None, option("... its key", metavar="FILE", kind=Kind.FILE)] = None
    no_tls: Annotated[bool, option("connect without TLS again")] = False
    default_output: Annotated[Format | None, option("the format where -o is not given")] = None
    default_timeout: Annotated[
        float | None,
        option("... and --timeout", metavar="SECONDS", parse=positive_seconds),
    ] = None
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
    details=(
        "What is not given stays as it is. --access-key and --secret-key are kept too; a secret "
        "may be\nnamed instead: env:NAME, file:PATH, or command:LINE for what a key ring or "
        "password manager\nprints. The file is the user's alone (mode 600)."
    ),
    examples=(
        ("mqadmin context add dev 127.0.0.1:9876 --use", "name a cluster and use it"),
        ("mqadmin context add prod mq1:9876;mq2:9876 --protected", "no write there by mistake"),
        (
            "mqadmin context add box 127.0.0.1:9876 --map 172.17.0.2:10911=127.0.0.1:10911",
            "a broker in a container, reached by a forwarded port",
        ),
        (
            "mqadmin context add safe mq:9876 --tls-ca ca.pem --access-key ops "
            "--secret-key env:MQ_SECRET",
            "over TLS, as a user",
        ),
        (
            "mqadmin context add safe --secret-key 'command:secret-tool lookup mq ops'",
            "the key stays in the key ring of the desktop",
        ),
    ),
    rows=ContextChange,
    needs=Needs.NONE,
)
def add_context(call: Call, args: Arguments) -> Outcome:
    """Write the context and return what changed.

    Raises:
        Usage: no address is given for a new name, or options contradict each other.
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
        protected=(args.protected or base.protected) and not args.unprotected,
        address_map=tuple(dict((*base.address_map, *args.map)).items()),
        tls=_tls(args, base.tls),
        output=args.default_output or base.output,
        timeout_s=args.default_timeout or base.timeout_s,
    )
    current = args.name if args.use or not known.contexts else known.current
    if fresh == old and current == known.current:
        return Outcome((ContextChange(args.name, namesrv, UNCHANGED),))
    if call.dry_run:
        return Outcome((ContextChange(args.name, namesrv, WOULD_CHANGE),))
    file.save(Contexts(current, {**known.contexts, args.name: fresh}))
    return Outcome((ContextChange(args.name, namesrv, CHANGED),))


def _tls(args: Arguments, old: TlsFiles | None) -> TlsFiles | None:
    wanted = args.tls or args.tls_ca or args.tls_cert or args.tls_key
    if args.no_tls:
        if wanted:
            raise Usage("--no-tls and another --tls option", hint="give one of them")
        return None
    if not wanted:
        return old
    base = old or TlsFiles()
    if (args.tls_key or base.key) and not (args.tls_cert or base.cert):
        raise Usage("--tls-key without --tls-cert", hint="a key needs its certificate")
    return replace(
        base,
        ca=args.tls_ca or base.ca,
        cert=args.tls_cert or base.cert,
        key=args.tls_key or base.key,
    )
