"""``embedded``: a name server and a broker in one process, until Ctrl-C."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.errors import CommandError, Usage
from mqadmin.parameters import Kind, option
from mqadmin.registry import Needs, command
from mqadmin.rows import Outcome, Row
from mqadmin.shell.server import EmbeddedServer


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Where they listen and keep their data."""

    store: Annotated[str | None, option("keep the data here", metavar="DIR", kind=Kind.DIR)] = None
    port: Annotated[int, option("port of the name server; 0 takes a free one")] = 9876
    broker_port: Annotated[int, option("port of the broker; 0 takes a free one")] = 10911


@dataclass(frozen=True, slots=True)
class EmbeddedRow(Row):
    """Where the servers are."""

    namesrv: str
    broker: str
    store: str


@command(
    "embedded",
    "run a name server and a broker, until interrupted",
    examples=(
        ("mqadmin embedded", "on ports 9876 and 10911 of this machine, on a temporary store"),
        ("mqadmin embedded --store ./data --port 0 -o json", "keep the data, take a free port"),
    ),
    rows=EmbeddedRow,
    needs=Needs.NONE,
)
def embedded(call: Call, args: Arguments) -> Outcome:
    """Return one row when they are ready, and end when they end."""
    for port in (args.port, args.broker_port):
        if not 0 <= port <= 65535:
            raise Usage(f"{port} is no port", hint="0 to 65535; 0 takes a free one")
    return Outcome(_run(args), follow=True)


def _run(args: Arguments) -> Iterator[EmbeddedRow]:
    broker_port = 0 if args.port == 0 and args.broker_port == 10911 else args.broker_port
    with EmbeddedServer(
        store=args.store, namesrv_port=args.port, broker_port=broker_port
    ) as server:
        at = server.addresses
        yield EmbeddedRow(at.namesrv, at.broker, at.store)
        exit_code = server.wait()
    if exit_code:
        raise CommandError(f"the servers ended with exit code {exit_code}")
