"""``namesrv config set``, ``kv set``, ``kv delete``: texts of every name server, while it runs.

    config set    GET_NAMESRV_CONFIG, UPDATE_NAMESRV_CONFIG, and GET_NAMESRV_CONFIG again
    kv set        GET_KV_CONFIG, PUT_KV_CONFIG, and GET_KV_CONFIG again
    kv delete     GET_KV_CONFIG, DELETE_KV_CONFIG, and GET_KV_CONFIG again

These are the requests on each name server; the last one reads the change back.
"""

from collections.abc import Sequence

import click

from mqadmin.changes.setting_change import SettingChange, checked, row_of, unknown_key
from mqadmin.changes.targets.setting import KvEntry, NamesrvSettingTarget
from mqadmin.changes.write import Done, carry_out, if_there, plan
from mqadmin.cli.declare import command
from mqadmin.cluster.brokers import namesrvs
from mqadmin.output.rows import Outcome, exit_code_of
from mqadmin.session.call import Call


@command(
    "namesrv config set",
    examples=(("mqadmin namesrv config set orderMessageEnable true -y", "on all of them"),),
    rows=SettingChange,
    columns=("address", "key", "old_value", "value", "result", "remark"),
    writes=True,
)
@click.argument("key", help="the setting")
@click.argument("value", help="its new value")
async def set_namesrv_config(call: Call, *, key: str, value: str) -> Outcome:
    """Return one row a name server.

    Raises:
        Usage: the value does not look like the one that is there.
    """
    admin = await call.admin()
    places = await namesrvs(call)
    known: set[str] = set()
    for place in places:
        known.update(await admin.namesrv_config(place.address))

    def choose(old: str | None) -> str:
        if old is None:
            raise unknown_key(key, known)
        return checked(key, old, value)

    done = await carry_out(
        call,
        await plan([NamesrvSettingTarget(admin, place, (key,)) for place in places], choose),
        title=f"namesrv config set {key}",
        question=f"set {key} to {value!r} on {len(places)} name server(s)?",
    )
    return _outcome(done)


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
    return _outcome(done)


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
    return _outcome(done)


def _outcome(done: Sequence[Done[str]]) -> Outcome:
    rows = [row_of(one) for one in done]
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))
