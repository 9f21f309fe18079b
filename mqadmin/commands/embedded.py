"""``embedded``: run a name server and a broker, or a group of brokers, until Ctrl-C."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import click

from mqadmin.cli.declare import Call, Needs, Outcome, Row, command
from mqadmin.cli.types import DIR, PORT, Integer
from mqadmin.errors import CommandError
from mqadmin.output.rows import OMIT, omitted
from mqadmin.shell.server import EmbeddedReplicas, EmbeddedServer


@dataclass(frozen=True, slots=True)
class EmbeddedRow(Row):
    """Where the servers are; of a group a row for each broker, with its process."""

    namesrv: str
    broker: str
    store: str
    grpc: str
    controller: str | None = omitted()
    pid: int | None = field(default=None, metadata={OMIT: True})


BROKER_PORT: Final = 10911
GRPC_PORT: Final = 8081


@command(
    "embedded",
    examples=(
        (
            "mqadmin embedded",
            "on ports 9876, 10911 and 8081 of this machine, with a temporary store",
        ),
        ("mqadmin embedded --store ./data --port 0 -o json", "keep the data, use a free port"),
        ("mqadmin embedded --replicas 3", "three brokers: kill -9 one, and another one leads"),
    ),
    details="With --replicas the brokers are a group that a controller leads: each is a process of "
    "its own, on free ports, and the rows come when all of them are in the in-sync set. They end "
    "with this command.",
    rows=EmbeddedRow,
    needs=Needs.NONE,
)
@click.option("--store", type=DIR, metavar="DIR", help="directory that keeps the data")
@click.option(
    "--port", type=PORT, default=9876, help="port of the name server; 0 chooses a free one"
)
@click.option(
    "--broker-port", type=PORT, default=BROKER_PORT, help="port of the broker; 0 chooses a free one"
)
@click.option(
    "--grpc-port",
    type=PORT,
    default=GRPC_PORT,
    help="port for gRPC clients of RocketMQ 5; 0 chooses a free one",
)
@click.option("--replicas", type=Integer(min=1, max=7), help="brokers of a group with a controller")
def embedded(
    call: Call,
    *,
    store: str | None,
    port: int,
    broker_port: int,
    grpc_port: int,
    replicas: int | None,
) -> Outcome:
    """Return one row for each broker when they are ready, and end when they end."""
    if replicas is not None:
        group = EmbeddedReplicas(replicas=replicas, store=store, namesrv_port=port)
        return Outcome(_run_group(group), follow=True)
    if port == 0:
        broker_port = 0 if broker_port == BROKER_PORT else broker_port
        grpc_port = 0 if grpc_port == GRPC_PORT else grpc_port
    server = EmbeddedServer(
        store=store, namesrv_port=port, broker_port=broker_port, grpc_port=grpc_port
    )
    return Outcome(_run_server(server), follow=True)


def _run_server(starting: EmbeddedServer) -> Iterator[EmbeddedRow]:
    with starting as server:
        addresses = server.addresses
        yield EmbeddedRow(addresses.namesrv, addresses.broker, addresses.store, addresses.grpc)
        exit_code = server.wait()
    if exit_code:
        raise CommandError(f"the servers ended with exit code {exit_code}")


def _run_group(starting: EmbeddedReplicas) -> Iterator[EmbeddedRow]:
    with starting as group:
        addresses = group.addresses
        for broker in addresses.brokers:
            yield EmbeddedRow(
                addresses.namesrv,
                broker.address,
                broker.store,
                "",
                addresses.controller,
                broker.pid,
            )
        exit_code = group.wait()
    if exit_code:
        raise CommandError(f"the servers ended with exit code {exit_code}")
