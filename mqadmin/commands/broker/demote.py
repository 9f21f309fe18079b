"""``broker demote``: make a master that was replaced a slave of the new one.

Requests: GET_BROKER_RUNTIME_INFO and DEMOTE_MASTER on the one, GET_BROKER_CLUSTER_INFO.
"""

from dataclasses import dataclass

import click

from mqadmin.changes.write import result_of
from mqadmin.cli.declare import command
from mqadmin.cli.types import BROKER, Integer
from mqadmin.cluster.brokers import all_brokers
from mqadmin.output.rows import CHANGED, WOULD_CHANGE, Outcome, Row, exit_code_of
from mqadmin.session.call import Call
from mqclient.errors import ClientError


@dataclass(frozen=True, slots=True)
class Demoted(Row):
    """One master; ``log_end`` is where its log ended before."""

    broker: str
    broker_id: int
    address: str
    log_end: int
    result: str
    remark: str | None


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
    rows=Demoted,
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
    free = next(number for number in range(1, len(taken) + 2) if number not in taken)
    broker_id = broker_id or free
    cut = ", and cut what it alone has" if cut_tail else ""
    await call.confirm(f"make {address} slave {broker_id} of {name or 'its name'}{cut}?")
    result, remark = WOULD_CHANGE, None
    if not call.dry_run:
        try:
            remark = await admin.demote_master(
                address, broker_id=broker_id, cut_tail=cut_tail, force=force
            )
            result = CHANGED
        except ClientError as error:
            result, remark = result_of(error)
    end = int(numbers["commitLogMaxOffset"])
    row = Demoted(name, broker_id, address, end, result, remark)
    return Outcome([row], exit_code=exit_code_of([result]))
