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
        ("mqadmin broker demote 10.0.0.1:10911 -y", "it starts anew, as a slave"),
        ("mqadmin broker demote 10.0.0.1:10911 --cut-tail", "what it alone has is set aside"),
    ),
    details="The demotion is refused while the broker leads and has not heard of a promotion; "
    "with --force it is demoted anyway. A slave whose log parts from the new master's "
    "takes nothing and says so in `ha status`. With --cut-tail, now or then, it copies "
    "the end of its log into tails/ of its store directory, where `store log` reads it, "
    "and cuts it. Only brokers of ours can do this.",
    rows=RoleChange,
    writes=True,
)
@argument("address", type=BROKER, help="the old master: HOST:PORT")
@click.option(
    "--broker-id", type=Integer(min=1), help="its id as a slave; by default the smallest free one"
)
@click.option(
    "--cut-tail", is_flag=True, help="copy out and then cut what the new master's log does not have"
)
@click.option("--force", is_flag=True, help="demote it even if it has not heard of a new master")
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
    free = next(one for one in range(1, len(taken) + 2) if one not in taken)
    number = broker_id or free
    cut = ", and cut what it alone has" if cut_tail else ""
    await call.confirm(f"make {address} slave {number} of {name or 'its name'}{cut}?")
    return await change_role(
        call,
        ServerNode("", name, number, address),
        lambda: admin.demote_master(address, broker_id=number, cut_tail=cut_tail, force=force),
        log_end=int(numbers["commitLogMaxOffset"]),
    )
