"""``broker demote``: make a replaced master a slave of the new one.

Requests: GET_BROKER_RUNTIME_INFO and DEMOTE_MASTER on the broker, and GET_BROKER_CLUSTER_INFO.
"""

import click

from mqadmin.cli.declare import Call, Outcome, argument, command
from mqadmin.cli.types import BROKER, Integer
from mqadmin.cluster.brokers import ServerNode, all_brokers
from mqadmin.commands.broker._shared import RoleChange, change_role


@command(
    "broker demote",
    examples=(
        ("mqadmin broker demote 10.0.0.1:10911 -y", "it becomes a slave"),
        (
            "mqadmin broker demote 10.0.0.1:10911 --cut-tail",
            "records that only it has are set aside",
        ),
    ),
    details="The demotion is refused while the broker is the master and has not learned of a "
    "promotion; --force demotes it anyway. A slave whose log diverges from the new master's does "
    "not replicate, and `ha status` says so. With --cut-tail, now or later, it moves the end of "
    "its log to tails/ in its store directory, where `store log` reads it. Only our brokers "
    "support this request.",
    rows=RoleChange,
    writes=True,
)
@argument("address", type=BROKER, help="the old master: HOST:PORT")
@click.option(
    "--broker-id", type=Integer(min=1), help="its id as a slave; by default the smallest free one"
)
@click.option(
    "--cut-tail", is_flag=True, help="move records that the new master does not have out of the log"
)
@click.option("--force", is_flag=True, help="demote it even if it has not learned of a new master")
async def demote(
    call: Call, *, address: str, broker_id: int | None, cut_tail: bool, force: bool
) -> Outcome:
    """Return one row.

    Raises:
        ClientError: the broker does not answer.
        CommandError: it was not confirmed.
    """
    admin = await call.admin()
    numbers = await admin.broker_runtime(address)
    name = numbers.get("haBrokerName", "")
    taken = {node.broker_id for node in await all_brokers(admin) if node.broker == name}
    free = next(candidate for candidate in range(1, len(taken) + 2) if candidate not in taken)
    number = broker_id or free
    cut = ", and cut the records that only it has" if cut_tail else ""
    await call.confirm(f"make {address} slave {number} of {name or 'its name'}{cut}?")
    return await change_role(
        call,
        ServerNode("", name, number, address),
        lambda: admin.demote_master(address, broker_id=number, cut_tail=cut_tail, force=force),
        log_end=int(numbers["commitLogMaxOffset"]),
    )
