"""``acl delete``: remove an account.

Requests on each broker: GET_BROKER_CONFIG, GET_BROKER_CLUSTER_ACL_CONFIG, DELETE_ACL_CONFIG,
and the first two again to read it back.
"""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.accounts import WHERE, AccountChange, acl_places, change_row
from mqadmin.call import Call
from mqadmin.parameters import Kind, argument, option
from mqadmin.registry import Java, JavaOption, command
from mqadmin.rows import NOT_FOUND, Outcome, exit_code_of
from mqadmin.things.account import HIDDEN, AccountThing
from mqadmin.writes import Declined, carry_out, plan
from remoting.bodies import PlainAccessConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which account."""

    account: Annotated[str, argument("its access key", metavar="KEY")]
    broker: Annotated[
        str | None, option("on this broker: a name or HOST:PORT", short="b", kind=Kind.BROKER)
    ] = None
    cluster: Annotated[str | None, option("on the brokers of a cluster", kind=Kind.CLUSTER)] = None


@command(
    "acl delete",
    "delete an account of brokers with access control",
    examples=(("mqadmin acl delete billing -y", "from every broker"),),
    details="`undo` brings it back where the broker told its secret (4.9.7 does, ours does not).",
    rows=AccountChange,
    columns=("broker", "access_key", "result", "remark"),
    writes=True,
    java=(
        Java(
            "deleteAclConfig",
            (*WHERE, JavaOption("a", "accessKey", "account", required=True)),
            aliases=("deleteAccessConfig",),
            any_of=("broker", "cluster"),
        ),
    ),
)
async def delete_account(call: Call, args: Arguments) -> Outcome:
    """Return one row a broker; exit code 3 where none has the account."""
    admin = await call.admin()
    places = await acl_places(call, args.broker, args.cluster)
    steps = await plan([AccountThing(admin, place, (args.account,)) for place in places], _gone)
    hidden = any(step.old is not None and step.old.secret_key == HIDDEN for step in steps)
    done = await carry_out(
        call,
        steps,
        title=f"acl delete {args.account}",
        question=f"delete account {args.account}"
        + (", for good, as its secret is hidden?" if hidden else "?"),
    )
    rows = [change_row(one) for one in done]
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))


def _gone(old: PlainAccessConfig | None) -> None:
    if old is None:
        raise Declined(NOT_FOUND)
