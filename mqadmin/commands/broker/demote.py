"""``broker demote``: make a master that was replaced a slave of the new one.

Requests: GET_BROKER_RUNTIME_INFO and DEMOTE_MASTER on the one, GET_BROKER_CLUSTER_INFO.
"""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.errors import Usage
from mqadmin.parameters import Kind, argument, option
from mqadmin.places import all_brokers
from mqadmin.registry import command
from mqadmin.rows import CHANGED, WOULD_CHANGE, Outcome, Row, exit_code_of
from mqadmin.writes import result_of
from mqclient.errors import ClientError


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which master, and what becomes of it."""

    address: Annotated[str, argument("the old master: HOST:PORT", kind=Kind.BROKER)]
    broker_id: Annotated[
        int | None, option("its id as a slave; else the smallest that is free")
    ] = None
    cut_tail: Annotated[
        bool, option("copy out, then cut, what the new master's log does not have")
    ] = False
    force: Annotated[bool, option("also where it has not heard of a new master")] = False


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
    "make a master that was replaced a slave of the new one",
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
async def demote(call: Call, args: Arguments) -> Outcome:
    """Return one row.

    Raises:
        Usage: the id is that of a master.
        ClientError: the broker does not answer.
        CommandError: it was not confirmed.
    """
    if args.broker_id is not None and args.broker_id < 1:
        raise Usage(f"--broker-id is {args.broker_id}", hint="a slave has 1 or more")
    admin = await call.admin()
    numbers = await admin.broker_runtime(args.address)
    name = numbers.get("haBrokerName", "")
    taken = {place.broker_id for place in await all_brokers(admin) if place.broker == name}
    free = next(number for number in range(1, len(taken) + 2) if number not in taken)
    broker_id = args.broker_id or free
    cut = ", and cut what it alone has" if args.cut_tail else ""
    await call.confirm(f"make {args.address} slave {broker_id} of {name or 'its name'}{cut}?")
    result, remark = WOULD_CHANGE, None
    if not call.dry_run:
        try:
            remark = await admin.demote_master(
                args.address, broker_id=broker_id, cut_tail=args.cut_tail, force=args.force
            )
            result = CHANGED
        except ClientError as error:
            result, remark = result_of(error)
    end = int(numbers["commitLogMaxOffset"])
    row = Demoted(name, broker_id, args.address, end, result, remark)
    return Outcome([row], exit_code=exit_code_of([result]))
