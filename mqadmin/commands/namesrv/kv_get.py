"""``namesrv kv get``: values of a name server's key-value table.

Requests on each name server: GET_KVLIST_BY_NAMESPACE, or GET_KV_CONFIG for one key.
"""

from dataclasses import dataclass

import click

from mqadmin.cli.declare import command
from mqadmin.cluster.brokers import namesrvs
from mqadmin.errors import NotFound
from mqadmin.output.rows import Outcome, Row
from mqadmin.session.call import Call


@dataclass(frozen=True, slots=True)
class KvRow(Row):
    """One value at one name server."""

    address: str
    namespace: str
    key: str
    value: str


@command(
    "namesrv kv get",
    examples=(
        ("mqadmin namesrv kv get ORDER_TOPIC_CONFIG", "order configurations of all topics"),
        ("mqadmin namesrv kv get app limit", "one key of a namespace of your own"),
    ),
    rows=KvRow,
)
@click.argument("namespace", help="the namespace, as ORDER_TOPIC_CONFIG")
@click.argument("key", required=False, help="only this key")
async def get_kv(call: Call, *, namespace: str, key: str | None) -> Outcome:
    """Return one row a value and name server.

    Raises:
        NotFound: no name server has it.
    """
    admin = await call.admin()
    rows = []
    for place in await namesrvs(call):
        address = place.address
        if key is None:
            found = await admin.kv_list(namespace, address=address)
        else:
            value = await admin.kv_get(namespace, key, address=address)
            found = {} if value is None else {key: value}
        rows += [KvRow(address, namespace, name, found[name]) for name in sorted(found)]
    if not rows:
        what = "nothing" if key is None else f"no key {key!r}"
        raise NotFound(f"there is {what} in namespace {namespace!r}")
    return Outcome(rows)
