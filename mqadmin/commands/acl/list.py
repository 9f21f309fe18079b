"""``acl list``: the accounts of every broker with access control.

Requests on each broker: GET_BROKER_CONFIG, GET_BROKER_CLUSTER_ACL_CONFIG.
"""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.accounts import WHERE, AccountRow, account_row, acl_places
from mqadmin.call import Call
from mqadmin.parameters import Kind, option
from mqadmin.registry import Java, command
from mqadmin.rows import Outcome
from mqadmin.things.account import read_acl


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which brokers."""

    broker: Annotated[
        str | None, option("of this broker: a name or HOST:PORT", short="b", kind=Kind.BROKER)
    ] = None
    cluster: Annotated[str | None, option("of the brokers of a cluster", kind=Kind.CLUSTER)] = None


@command(
    "acl list",
    "list the accounts of brokers with access control",
    examples=(("mqadmin acl list", "who may do what, broker by broker"),),
    details="Secrets are never shown. Who needs no account: `acl white-addr`.",
    rows=AccountRow,
    columns=("broker", "access_key", "admin", "topic_perms", "group_perms", "default_topic_perm"),
    java=(
        Java(
            "getAclConfig",
            WHERE,
            aliases=("getAccessConfigSubCommand",),
            any_of=("broker", "cluster"),
        ),
    ),
)
async def list_accounts(call: Call, args: Arguments) -> Outcome:
    """Return one row an account and broker.

    Raises:
        Refused: a broker has no access control.
    """
    admin = await call.admin()
    rows: list[AccountRow] = []
    for place in await acl_places(call, args.broker, args.cluster):
        found = await read_acl(admin, place.address)
        rows += [account_row(place, one) for one in found.plain_access_configs or ()]
    rows.sort(key=lambda row: (row.broker, row.address, row.access_key))
    return Outcome(rows)
