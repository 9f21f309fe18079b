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
        ("mqadmin broker promote 10.0.0.2:10911 -y", "the log of this one goes on"),
        ("mqadmin broker promote broker-a --force", "although it lacks messages"),
    ),
    details="The promotion is refused while the slave still hears its master, when it is behind "
    "what the master last said, when its log is not its master's, and when another slave "
    "has more. With --force it is promoted anyway, and what the slave lacks is lost. A "
    "promotion raises the epoch of the broker name: an old master of ours that hears of "
    "it takes no more messages, and `broker demote` makes it a slave. Stop a Java master "
    "first, and start it as a slave. With --force an old master whose log is to be kept "
    "leads again.",
    rows=RoleChange,
    writes=True,
)
@argument("slave", type=BROKER, help="the slave: HOST:PORT, or the name where it is the only one")
@click.option(
    "--role",
    type=Choice(get_args(Role)),
    help="its role as a master; by default the one that its master had",
)
@click.option("--force", is_flag=True, help="promote it even if it is known to lack messages")
async def promote(call: Call, *, slave: str, role: Role | None, force: bool) -> Outcome:
    """Return one row.

    Raises:
        ItemNotFound: there is no such slave.
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
            call.warn(f"note: slave {other.address} does not say what it has: {error}")
            continue
        if theirs > end and not force:
            raise CommandError(
                f"slave {other.address} has {theirs - end} bytes more than {node.address}",
                hint=f"promote {other.address}, or insist with --force",
            )
    becomes = role or "master"
    await call.confirm(f"make {node.address} the {becomes} of {node.broker}?")
    return await change_role(
        call, node, lambda: admin.promote_slave(node.address, role=role, force=force), log_end=end
    )


async def _choose(admin: Admin, wanted: str) -> tuple[ServerNode, list[ServerNode]]:
    """Return the slave that is meant, and the other slaves of its name."""
    slaves = [node for node in await all_brokers(admin) if node.broker_id != MASTER]
    here = [node for node in slaves if wanted in (node.broker, node.address)]
    if not here and ":" in wanted:
        return ServerNode("", wanted, 1, wanted), []
    if not here:
        raise ItemNotFound(f"no slave {wanted!r}", hint="see `mqadmin ha status`")
    if len(here) > 1:
        addresses = "|".join(node.address for node in here)
        raise Usage(f"{wanted} has several slaves", hint=f"name one of {addresses}")
    one = here[0]
    same = [node for node in slaves if (node.cluster, node.broker) == (one.cluster, one.broker)]
    return one, [node for node in same if node != one]


async def _log_end(admin: Admin, node: ServerNode) -> int:
    return int((await admin.broker_runtime(node.address))["commitLogMaxOffset"])
