"""``namesrv config set``: change a setting of every name server while it runs.

Requests on each name server: GET_NAMESRV_CONFIG, UPDATE_NAMESRV_CONFIG, and
GET_NAMESRV_CONFIG again to read it back.
"""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.parameters import argument
from mqadmin.places import namesrvs
from mqadmin.registry import Java, JavaOption, command
from mqadmin.rows import Outcome, exit_code_of
from mqadmin.settingchange import SettingChange, checked, row_of, unknown_key
from mqadmin.things.setting import NamesrvSetting
from mqadmin.writes import carry_out, plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The setting and its new value."""

    key: Annotated[str, argument("the setting")]
    value: Annotated[str, argument("its new value")]


@command(
    "namesrv config set",
    "change a setting of the name servers",
    examples=(("mqadmin namesrv config set orderMessageEnable true -y", "on all of them"),),
    rows=SettingChange,
    columns=("address", "key", "old_value", "value", "result", "remark"),
    writes=True,
    java=(
        Java(
            "updateNamesrvConfig",
            (
                JavaOption("k", "key", "key", required=True),
                JavaOption("v", "value", "value", required=True),
            ),
        ),
    ),
)
async def set_namesrv_config(call: Call, args: Arguments) -> Outcome:
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
            raise unknown_key(args.key, known)
        return checked(args.key, old, args.value)

    done = await carry_out(
        call,
        await plan([NamesrvSetting(admin, place, (args.key,)) for place in places], choose),
        title=f"namesrv config set {args.key}",
        question=f"set {args.key} to {args.value!r} on {len(places)} name server(s)?",
    )
    rows = [row_of(one) for one in done]
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))
