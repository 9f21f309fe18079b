"""``acl show``: one account at every broker.

Requests on each broker: GET_BROKER_CONFIG, GET_BROKER_CLUSTER_ACL_CONFIG.
"""

from mqadmin.changes.accounts import AccountRow, account_row, acl_places
from mqadmin.changes.targets.account import read_acl
from mqadmin.cli.declare import command
from mqadmin.cli.decorators import Where, account_argument, of_brokers
from mqadmin.errors import NotFound
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call


@command(
    "acl show",
    examples=(("mqadmin acl show billing -o yaml", "what it may do, broker by broker"),),
    details="Its secret is not shown.",
    rows=AccountRow,
    columns=("broker", "access_key", "admin", "topic_perms", "group_perms", "default_topic_perm"),
)
@account_argument
@of_brokers
async def show_account(call: Call, *, account: str, where: Where) -> Outcome:
    """Return one row a broker.

    Raises:
        Refused: a broker has no access control.
        NotFound: no broker has the account.
    """
    admin = await call.admin()
    rows = []
    for place in await acl_places(call, where):
        found = await read_acl(admin, place.address)
        rows += [
            account_row(place, one)
            for one in found.plain_access_configs or ()
            if one.access_key == account
        ]
    if not rows:
        raise NotFound(f"no broker has account {account}", hint="`acl list` shows them")
    return Outcome(rows)
