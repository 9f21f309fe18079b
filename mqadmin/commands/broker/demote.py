"""``broker demote``: make a master that was replaced a slave of the new one.

Requests: GET_BROKER_RUNTIME_INFO and DEMOTE_MASTER on the one, GET_BROKER_CLUSTER_INFO.
"""

import click

from mqadmin.changes.role_change import RoleChange, change_role
from mqadmin.cli.declare import command
from mqadmin.cli.types import BROKER, Integer
from mqadmin.cluster.brokers import Place, all_brokers
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call


@command(
    "broker demote",
    examples=(
        ("mqadmin broker demote 10.0.0.1:10911 -y", "it starts anew, as a slave"),
        ("mqadmin broker demote 10.0.0.1:10911 --cut-tail", "what it alone has is set aside"),
    ),
    details="It is refused while the broker leads and has heard of no promotion; --force insists. "
    "A slave whose log parts from the new master's takes nothing and says so in `ha status`; "
    "--cut-tail, now or then, copies the end of its log into tails/ of its store directory, where "
    "`store log` reads it, and cuts it. Only brokers of ours can do this.",
    rows=RoleChange,
    writes=True,
)
@click.argument("address", type=BROKER, help="the old master: HOST:PORT")
@click.option(
    "--broker-id", type=Integer(min=1), help="its id as a slave; else the smallest that is free"
)
@click.option(
    "--cut-tail", is_flag=True, help="copy out, then cut, what the new master's log does not have"
)
@click.option("--force", is_flag=True, help="also where it has not heard of a new master")
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
    taken = {place.broker_id for place in await all_brokers(admin) if place.broker == name}
    free = next(one for one in range(1, len(taken) + 2) if one not in taken)
    number = broker_id or free
    cut = ", and cut what it alone has" if cut_tail else ""
    await call.confirm(f"make {address} slave {number} of {name or 'its name'}{cut}?")
    return await change_role(
        call,
        Place("", name, number, address),
        lambda: admin.demote_master(address, broker_id=number, cut_tail=cut_tail, force=force),
        log_end=int(numbers["commitLogMaxOffset"]),
    )
