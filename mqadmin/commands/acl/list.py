"""``acl list``: the accounts of every broker with access control.

Requests on each broker: GET_BROKER_CONFIG, GET_BROKER_CLUSTER_ACL_CONFIG.
"""

from mqadmin.changes.accounts import AccountRow, WhiteAddresses, account_row, acl_places
from mqadmin.changes.targets.account import read_acl
from mqadmin.cli.declare import command
from mqadmin.cli.decorators import Where, of_brokers
from mqadmin.output.rows import Outcome, Row
from mqadmin.session.call import Call


@command(
    "acl list",
    examples=(("mqadmin acl list", "who may do what, broker by broker"),),
    details="Secrets are never shown. Who needs no account: `acl white-addr`.",
    rows=AccountRow,
    columns=("broker", "access_key", "admin", "topic_perms", "group_perms", "default_topic_perm"),
)
@of_brokers
async def list_accounts(call: Call, *, where: Where) -> Outcome:
    """Return one row an account and broker.

    Raises:
        Refused: a broker has no access control.
    """
    admin = await call.admin()
    rows: list[Row] = []
    places = await acl_places(call, where)
    for place in sorted(places, key=lambda at: (at.broker, at.address)):
        found = await read_acl(admin, place.address)
        accounts = found.plain_access_configs or []
        if call.settings.compat:
            addresses = tuple(found.global_white_addrs or ())
            rows.append(WhiteAddresses(place.broker, place.address, addresses))
        else:
            accounts = sorted(accounts, key=lambda one: one.access_key or "")
        rows += [account_row(place, one) for one in accounts]
    return Outcome(rows)
