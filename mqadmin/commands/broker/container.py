"""``broker container …``: start and stop brokers in a BrokerContainer of RocketMQ 5.

Requests to the container: ADD_BROKER or REMOVE_BROKER.
"""

from dataclasses import dataclass
from typing import Final

from mqadmin.changes.write import attempt
from mqadmin.cli.declare import Call, Outcome, Row, argument, command, exit_code_of
from mqadmin.cli.types import BROKER
from mqadmin.errors import Usage

WHAT: Final = (
    "A BrokerContainer of RocketMQ 5 is one process with several brokers; ours is one process for "
    "each broker, and refuses this."
)


@dataclass(frozen=True, slots=True)
class ContainerChange(Row):
    """A container, and the broker that was started or stopped in it."""

    container: str
    broker: str
    result: str
    remark: str | None


@command(
    "broker container add",
    examples=(
        ("mqadmin broker container add 10.0.0.1:10811 /etc/rmq/b.conf -y", "its file is there"),
    ),
    details=WHAT,
    rows=ContainerChange,
    writes=True,
)
@argument("container", type=BROKER, help="the container: HOST:PORT")
@argument("path", metavar="PATH", help="settings of the broker, a file on that machine")
async def add(call: Call, *, container: str, path: str) -> Outcome:
    """Return one row."""
    admin = await call.admin()
    await call.confirm(f"start the broker of {path} in the container {container}?")
    result, remark = await attempt(call, lambda: admin.add_broker(container, path))
    row = ContainerChange(container, path, result, remark)
    return Outcome([row], exit_code=exit_code_of([result]))


@command(
    "broker container remove",
    examples=(
        ("mqadmin broker container remove 10.0.0.1:10811 cluster-a:broker-b:0 -y", "its master"),
    ),
    details=f"The broker is stopped; its store and its settings stay. {WHAT}",
    rows=ContainerChange,
    writes=True,
)
@argument("container", type=BROKER, help="the container: HOST:PORT")
@argument("broker", metavar="CLUSTER:NAME:ID", help="the broker")
async def remove(call: Call, *, container: str, broker: str) -> Outcome:
    """Return one row.

    Raises:
        Usage: this is not a cluster, a name and an id.
    """
    parts = [part.strip() for part in broker.split(":")]
    if len(parts) != 3 or not all(parts) or not parts[2].isdecimal():
        raise Usage(f"{broker!r} is not CLUSTER:NAME:ID", hint="such as cluster-a:broker-b:0")
    cluster, name, broker_id = parts
    admin = await call.admin()
    await call.confirm(f"stop broker {broker_id} of {name} in the container {container}?")
    result, remark = await attempt(
        call,
        lambda: admin.remove_broker(
            container, cluster=cluster, broker_name=name, broker_id=int(broker_id)
        ),
    )
    row = ContainerChange(container, broker, result, remark)
    return Outcome([row], exit_code=exit_code_of([result]))
