"""``namesrv config``, ``namesrv kv``: show and change settings and the KV table of name servers.

    config get    GET_NAMESRV_CONFIG
    config set    GET_NAMESRV_CONFIG, UPDATE_NAMESRV_CONFIG, and GET_NAMESRV_CONFIG again
    kv get        GET_KVLIST_BY_NAMESPACE, or GET_KV_CONFIG for one key
    kv set        GET_KV_CONFIG, PUT_KV_CONFIG, and GET_KV_CONFIG again
    kv delete     GET_KV_CONFIG, DELETE_KV_CONFIG, and GET_KV_CONFIG again

These requests go to each name server; the last request of a change reads it back.
"""

from dataclasses import dataclass

from mqadmin.changes.setting_change import SettingChange, outcome_of, set_on_each
from mqadmin.changes.targets.setting import KvEntry, NamesrvSettingTarget
from mqadmin.changes.write import carry_out, delete_existing, plan
from mqadmin.cli.declare import Call, Outcome, Row, argument, command
from mqadmin.cluster.brokers import namesrvs
from mqadmin.cluster.server_tables import ServerValue, values_of
from mqadmin.errors import ItemNotFound


@command(
    "namesrv config get",
    examples=(
        ("mqadmin namesrv config get", "all settings of every name server"),
        ("mqadmin namesrv config get orderMessageEnable", "one setting"),
    ),
    rows=ServerValue,
    columns=("address", "key", "value"),
)
@argument("keys", nargs=-1, metavar="KEY", help="only these settings")
async def get_namesrv_config(call: Call, *, keys: tuple[str, ...]) -> Outcome:
    """Return one row for each setting, sorted by name.

    Raises:
        ItemNotFound: no name server has a setting of this name.
    """
    admin = await call.admin()
    tables = [
        (server, await admin.namesrv_config(server.address)) for server in await namesrvs(call)
    ]
    return Outcome(values_of(tables, keys, missing="no name server has a setting"))


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
        ("mqadmin namesrv kv get app limit", "one key of another namespace"),
    ),
    rows=KvRow,
)
@argument("namespace", help="the namespace, such as ORDER_TOPIC_CONFIG")
@argument("key", required=False, help="only this key")
async def get_kv(call: Call, *, namespace: str, key: str | None) -> Outcome:
    """Return one row for each value and name server.

    Raises:
        ItemNotFound: no name server has it.
    """
    admin = await call.admin()
    rows = []
    for node in await namesrvs(call):
        address = node.address
        if key is None:
            entries = await admin.kv_list(namespace, address=address)
        else:
            value = await admin.kv_get(namespace, key, address=address)
            entries = {} if value is None else {key: value}
        rows += [KvRow(address, namespace, name, entries[name]) for name in sorted(entries)]
    if not rows:
        what = "nothing" if key is None else f"key {key!r} not found"
        raise ItemNotFound(f"there is {what} in namespace {namespace!r}")
    return Outcome(rows)


@command(
    "namesrv config set",
    examples=(("mqadmin namesrv config set orderMessageEnable true -y", "on all name servers"),),
    rows=SettingChange,
    columns=("address", "key", "old_value", "value", "result", "remark"),
    writes=True,
)
@argument("key", help="name of the setting")
@argument("value", help="the new value")
async def set_namesrv_config(call: Call, *, key: str, value: str) -> Outcome:
    """Return one row for each name server.

    Raises:
        Usage: the value is of another kind than the present one.
    """
    admin = await call.admin()
    targets = [NamesrvSettingTarget(admin, node, (key,)) for node in await namesrvs(call)]
    return await set_on_each(
        call, targets, key, value, title="namesrv config set", servers="name server(s)"
    )


@command(
    "namesrv kv set",
    examples=(("mqadmin namesrv kv set app limit 7", "on every name server"),),
    details="An existing value is overwritten without confirmation; `undo` restores it.",
    rows=SettingChange,
    columns=("address", "key", "old_value", "value", "result", "remark"),
    writes=True,
)
@argument("namespace", help="the namespace")
@argument("key", help="the key")
@argument("value", help="its value")
async def set_kv(call: Call, *, namespace: str, key: str, value: str) -> Outcome:
    """Return one row for each name server."""
    admin = await call.admin()
    entries = [KvEntry(admin, node, (namespace, key)) for node in await namesrvs(call)]
    results = await carry_out(
        call, await plan(entries, lambda _: value), title=f"namesrv kv set {namespace} {key}"
    )
    return outcome_of(results)


@command(
    "namesrv kv delete",
    examples=(("mqadmin namesrv kv delete app limit -y", "from every name server"),),
    rows=SettingChange,
    columns=("address", "key", "old_value", "result", "remark"),
    writes=True,
)
@argument("namespace", help="the namespace")
@argument("key", help="the key")
async def delete_kv(call: Call, *, namespace: str, key: str) -> Outcome:
    """Return one row for each name server; exit code 3 where none has the key."""
    admin = await call.admin()
    entries = [KvEntry(admin, node, (namespace, key)) for node in await namesrvs(call)]
    results = await carry_out(
        call,
        await plan(entries, delete_existing),
        title=f"namesrv kv delete {namespace} {key}",
        question=f"delete key {key} of namespace {namespace}?",
    )
    return outcome_of(results)
