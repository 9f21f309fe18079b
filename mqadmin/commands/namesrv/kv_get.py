"""``namesrv kv get``: values of a name server's key-value table.

Requests on each name server: GET_KVLIST_BY_NAMESPACE, or GET_KV_CONFIG for one key.
"""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.errors import NotFound
from mqadmin.parameters import argument
from mqadmin.places import namesrvs
from mqadmin.registry import command
from mqadmin.rows import Outcome, Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which namespace, and which key."""

    namespace: Annotated[str, argument("the namespace, as ORDER_TOPIC_CONFIG")]
    key: Annotated[str | None, argument("only this key")] = None


@dataclass(frozen=True, slots=True)
class KvRow(Row):
    """One value at one name server."""

    address: str
    namespace: str
    key: str
    value: str


@command(
    "namesrv kv get",
    "show values of the name servers' key-value table",
    examples=(
        ("mqadmin namesrv kv get ORDER_TOPIC_CONFIG", "order configurations of all topics"),
        ("mqadmin namesrv kv get app limit", "one key of a namespace of your own"),
    ),
    rows=KvRow,
)
async def get_kv(call: Call, args: Arguments) -> Outcome:
    """Return one row a value and name server.

    Raises:
        NotFound: no name server has it.
    """
    admin = await call.admin()
    rows = []
    for place in await namesrvs(call):
        address = place.address
        if args.key is None:
            found = await admin.kv_list(args.namespace, address=address)
        else:
            value = await admin.kv_get(args.namespace, args.key, address=address)
            found = {} if value is None else {args.key: value}
        rows += [KvRow(address, args.namespace, key, found[key]) for key in sorted(found)]
    if not rows:
        what = "nothing" if args.key is None else f"no key {args.key!r}"
        raise NotFound(f"there is {what} in namespace {args.namespace!r}")
    return Outcome(rows)
