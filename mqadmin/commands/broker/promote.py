"""``broker promote``: make a slave the master.

Requests: GET_BROKER_CLUSTER_INFO; GET_BROKER_RUNTIME_INFO on the slaves of the broker name, and
PROMOTE_SLAVE on the chosen slave.
"""

from typing import Literal, get_args

import click

from mqadmin.cli.declare import Call, Outcome, argument, command
from mqadmin.cli.types import BROKER, Choice
from mqadmin.cluster.brokers import MASTER, ServerNode, all_brokers
from mqadmin.commands.broker._shared import RoleChange, change_role
from mqadmin.errors import CommandError, ItemNotFound, Usage
from mqclient.admin.admin import Admin
from mqclient.errors import ClientError

Role = Literal["ASYNC_MASTER", "SYNC_MASTER"]


@command(
    "broker promote",
    examples=(
        ("mqadmin broker promote 10.0.0.2:10911 -y", "clients continue with the log of this slave"),
        ("mqadmin broker promote broker-a --force", "even though it lacks messages"),
    ),
    details="The promotion is refused while the slave is still connected to its master, if it is "
    "behind the last position that the master reported, if its log diverges from its master's, "
    "and if another slave has more. --force promotes it anyway, and the messages that it lacks "
    "are lost. A promotion raises the epoch of the broker name: an old master of ours that "
    "learns of it accepts no more messages, and `broker demote` makes it a slave. Stop a Java "
    "master first, and start it as a slave. To return to an old master and keep its log, promote "
    "it with --force.",
    rows=RoleChange,
    writes=True,
)
@argument(
    "slave", type=BROKER, help="the slave: HOST:PORT, or the broker name if it has only one slave"
)
@click.option(
    "--role",
    type=Choice(get_args(Role)),
    help="its role as a master; by default that of its master",
)
@click.option("--force", is_flag=True, help="promote it even if it lacks messages")
async def promote(call: Call, *, slave: str, role: Role | None, force: bool) -> Outcome:
    """Return one row.

    Raises:
        ItemNotFound: the slave does not exist.
        Usage: the name has several.
        CommandError: another slave has more, or it was not confirmed.
    """
    admin = await call.admin()
    node, others = await _choose(admin, slave)
    end = await _log_end(admin, node)
    for other in others:
        try:
            theirs = await _log_end(admin, other)
        except ClientError as error:
            call.warn(f"note: slave {other.address} does not report where its log ends: {error}")
            continue
        if theirs > end and not force:
            raise CommandError(
                f"slave {other.address} has {theirs - end} bytes more than {node.address}",
                hint=f"promote {other.address}, or pass --force",
            )
    becomes = role or "master"
    await call.confirm(f"make {node.address} the {becomes} of {node.broker}?")
    return await change_role(
        call, node, lambda: admin.promote_slave(node.address, role=role, force=force), log_end=end
    )


async def _choose(admin: Admin, name: str) -> tuple[ServerNode, list[ServerNode]]:
    """Return the slave that is meant, and the other slaves of its name."""
    slaves = [node for node in await all_brokers(admin) if node.broker_id != MASTER]
    here = [node for node in slaves if name in (node.broker, node.address)]
    if not here and ":" in name:
        return ServerNode("", name, 1, name), []
    if not here:
        raise ItemNotFound(f"slave {name!r} not found", hint="`mqadmin ha status` lists the slaves")
    if len(here) > 1:
        addresses = "|".join(node.address for node in here)
        raise Usage(
            f"broker {name} has several slaves", hint=f"give the address of one: {addresses}"
        )
    broker = here[0]
    same = [
        node for node in slaves if (node.cluster, node.broker) == (broker.cluster, broker.broker)
    ]
    return broker, [node for node in same if node != broker]


async def _log_end(admin: Admin, node: ServerNode) -> int:
    return int((await admin.broker_runtime(node.address))["commitLogMaxOffset"])
