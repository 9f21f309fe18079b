"""``namesrv kv set``: set a value in the key-value table of every name server.

Requests on each name server: GET_KV_CONFIG, PUT_KV_CONFIG, GET_KV_CONFIG.
"""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.parameters import argument
from mqadmin.places import namesrvs
from mqadmin.registry import Java, JavaOption, command
from mqadmin.rows import Outcome, exit_code_of
from mqadmin.settingchange import SettingChange, row_of
from mqadmin.things.setting import KvEntry
from mqadmin.writes import carry_out, plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The key and its value."""

    namespace: Annotated[str, argument("the namespace")]
    key: Annotated[str, argument("the key")]
    value: Annotated[str, argument("its value")]


@command(
    "namesrv kv set",
    "set a value in the name servers' key-value table",
    examples=(("mqadmin namesrv kv set app limit 7", "on every name server"),),
    details="A value that is there is overwritten without a question; `undo` brings it back.",
    rows=SettingChange,
    columns=("address", "key", "old_value", "value", "result", "remark"),
    writes=True,
    java=(
        Java(
            "updateKvConfig",
            (
                JavaOption("s", "namespace", "namespace", required=True),
                JavaOption("k", "key", "key", required=True),
                JavaOption("v", "value", "value", required=True),
            ),
        ),
    ),
)
async def set_kv(call: Call, args: Arguments) -> Outcome:
    """Return one row a name server."""
    admin = await call.admin()
    entries = [KvEntry(admin, place, (args.namespace, args.key)) for place in await namesrvs(call)]
    done = await carry_out(
        call,
        await plan(entries, lambda _: args.value),
        title=f"namesrv kv set {args.namespace} {args.key}",
    )
    rows = [row_of(one) for one in done]
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))
