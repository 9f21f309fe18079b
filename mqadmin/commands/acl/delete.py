"""``acl delete``: remove an account.

Requests on each broker: GET_BROKER_CONFIG, GET_BROKER_CLUSTER_ACL_CONFIG, DELETE_ACL_CONFIG,
and the first two again to read it back.
"""

from mqadmin.changes.accounts import AccountChange, acl_places, change_row
from mqadmin.changes.targets.account import HIDDEN, AccountTarget
from mqadmin.changes.write import carry_out, if_there, plan
from mqadmin.cli.declare import command
from mqadmin.cli.decorators import Where, account_argument, on_brokers
from mqadmin.output.rows import Outcome, exit_code_of
from mqadmin.session.call import Call


@command(
    "acl delete",
    examples=(("mqadmin acl delete billing -y", "from every broker"),),
    details="`undo` brings it back where the broker told its secret (4.9.7 does, ours does not).",
    rows=AccountChange,
    columns=("broker", "access_key", "result", "remark"),
    writes=True,
)
@account_argument
@on_brokers
async def delete_account(call: Call, *, account: str, where: Where) -> Outcome:
    """Return one row a broker; exit code 3 where none has the account."""
    admin = await call.admin()
    places = await acl_places(call, where)
    steps = await plan([AccountTarget(admin, place, (account,)) for place in places], if_there)
    hidden = any(step.old is not None and step.old.secret_key == HIDDEN for step in steps)
    done = await carry_out(
        call,
        steps,
        title=f"acl delete {account}",
        question=f"delete account {account}"
        + (", for good, as its secret is hidden?" if hidden else "?"),
    )
    rows = [change_row(one) for one in done]
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))
