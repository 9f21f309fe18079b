"""``namesrv config set``: change a setting of every name server while it runs.

Requests on each name server: GET_NAMESRV_CONFIG, UPDATE_NAMESRV_CONFIG, and
GET_NAMESRV_CONFIG again to read it back.
"""

import click

from mqadmin.changes.setting_change import SettingChange, checked, row_of, unknown_key
from mqadmin.changes.targets.setting import NamesrvSettingTarget
from mqadmin.changes.write import carry_out, plan
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
    rows = [row_of(one) for one in done]
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))
