"""``namesrv kv delete``: remove a key from the key-value table of every name server.

Requests on each name server: GET_KV_CONFIG, DELETE_KV_CONFIG, GET_KV_CONFIG.
"""

import click

from mqadmin.changes.setting_change import SettingChange, row_of
from mqadmin.changes.targets.setting import KvEntry
from mqadmin.changes.write import carry_out, if_there, plan
from mqadmin.cli.declare import command
from mqadmin.cluster.brokers import namesrvs
from mqadmin.output.rows import Outcome, exit_code_of
from mqadmin.session.call import Call


@command(
    "namesrv kv delete",
    examples=(("mqadmin namesrv kv delete app limit -y", "from every name server"),),
    rows=SettingChange,
    columns=("address", "key", "old_value", "result", "remark"),
    writes=True,
)
@click.argument("namespace", help="the namespace")
@click.argument("key", help="the key")
async def delete_kv(call: Call, *, namespace: str, key: str) -> Outcome:
    """Return one row a name server; exit code 3 where none has the key."""
    admin = await call.admin()
    entries = [KvEntry(admin, place, (namespace, key)) for place in await namesrvs(call)]
    done = await carry_out(
        call,
        await plan(entries, if_there),
        title=f"namesrv kv delete {namespace} {key}",
        question=f"delete key {key} of namespace {namespace}?",
    )
    rows = [row_of(one) for one in done]
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))
