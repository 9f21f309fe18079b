"""``namesrv kv delete``: remove a key from the key-value table of every name server.

Requests on each name server: GET_KV_CONFIG, DELETE_KV_CONFIG, GET_KV_CONFIG.
"""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.parameters import argument
from mqadmin.places import namesrvs
from mqadmin.registry import Java, JavaOption, command
from mqadmin.rows import NOT_FOUND, Outcome, exit_code_of
from mqadmin.settingchange import SettingChange, row_of
from mqadmin.things.setting import KvEntry
from mqadmin.writes import Declined, carry_out, plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which key."""

    namespace: Annotated[str, argument("the namespace")]
    key: Annotated[str, argument("the key")]


@command(
    "namesrv kv delete",
    "delete a key from the name servers' key-value table",
    examples=(("mqadmin namesrv kv delete app limit -y", "from every name server"),),
    rows=SettingChange,
    columns=("address", "key", "old_value", "result", "remark"),
    writes=True,
    java=(
        Java(
            "deleteKvConfig",
            (
                JavaOption("s", "namespace", "namespace", required=True),
                JavaOption("k", "key", "key", required=True),
            ),
        ),
    ),
)
async def delete_kv(call: Call, args: Arguments) -> Outcome:
    """Return one row a name server; exit code 3 where none has the key."""
    admin = await call.admin()
    entries = [KvEntry(admin, place, (args.namespace, args.key)) for place in await namesrvs(call)]
    done = await carry_out(
        call,
        await plan(entries, _gone),
        title=f"namesrv kv delete {args.namespace} {args.key}",
        question=f"delete key {args.key} of namespace {args.namespace}?",
    )
    rows = [row_of(one) for one in done]
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))


def _gone(old: str | None) -> None:
    if old is None:
        raise Declined(NOT_FOUND)
