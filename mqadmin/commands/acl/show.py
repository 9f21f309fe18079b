"""``acl show``: one account at every broker.

Requests on each broker: GET_BROKER_CONFIG, GET_BROKER_CLUSTER_ACL_CONFIG.
"""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.accounts import AccountRow, account_row, acl_places
from mqadmin.call import Call
from mqadmin.errors import NotFound
from mqadmin.parameters import Kind, argument, option
from mqadmin.registry import command
from mqadmin.rows import Outcome
from mqadmin.things.account import read_acl


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which account."""

    account: Annotated[str, argument("its access key", metavar="KEY")]
    broker: Annotated[
        str | None, option("of this broker: a name or HOST:PORT", short="b", kind=Kind.BROKER)
    ] = None
    cluster: Annotated[str | None, option("of the brokers of a cluster", kind=Kind.CLUSTER)] = None


@command(
    "acl show",
    "show one account of brokers with access control",
    examples=(("mqadmin acl show billing -o yaml", "what it may do, broker by broker"),),
    details="Its secret is not shown.",
    rows=AccountRow,
    columns=("broker", "access_key", "admin", "topic_perms", "group_perms", "default_topic_perm"),
)
async def show_account(call: Call, args: Arguments) -> Outcome:
    """Return one row a broker.

    Raises:
        Refused: a broker has no access control.
        NotFound: no broker has the account.
    """
    admin = await call.admin()
    rows = []
    for place in await acl_places(call, args.broker, args.cluster):
        found = await read_acl(admin, place.address)
        rows += [
            account_row(place, one)
            for one in found.plain_access_configs or ()
            if one.access_key == args.account
        ]
    if not rows:
        raise NotFound(f"no broker has account {args.account}", hint="`acl list` shows them")
    return Outcome(rows)
