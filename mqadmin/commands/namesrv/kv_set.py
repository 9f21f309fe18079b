"""``namesrv kv set``: set a value in the key-value table of every name server.

Requests on each name server: GET_KV_CONFIG, PUT_KV_CONFIG, GET_KV_CONFIG.
"""

import click

from mqadmin.changes.setting_change import SettingChange, row_of
from mqadmin.changes.targets.setting import KvEntry
from mqadmin.changes.write import carry_out, plan
from mqadmin.cli.declare import command
from mqadmin.cluster.brokers import namesrvs
from mqadmin.output.rows import Outcome, exit_code_of
from mqadmin.session.call import Call


@command(
    "namesrv kv set",
    examples=(("mqadmin namesrv kv set app limit 7", "on every name server"),),
    details="A value that is there is overwritten without a question; `undo` brings it back.",
    rows=SettingChange,
    columns=("address", "key", "old_value", "value", "result", "remark"),
    writes=True,
)
@click.argument("namespace", help="the namespace")
@click.argument("key", help="the key")
@click.argument("value", help="its value")
async def set_kv(call: Call, *, namespace: str, key: str, value: str) -> Outcome:
    """Return one row a name server."""
    admin = await call.admin()
    entries = [KvEntry(admin, place, (namespace, key)) for place in await namesrvs(call)]
    done = await carry_out(
        call, await plan(entries, lambda _: value), title=f"namesrv kv set {namespace} {key}"
    )
    rows = [row_of(one) for one in done]
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))
