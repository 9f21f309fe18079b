"""``namesrv config get``: the settings a name server runs with.

Request on each name server: GET_NAMESRV_CONFIG.
"""

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Annotated

from mqadmin.call import Call
from mqadmin.errors import NotFound
from mqadmin.parameters import argument
from mqadmin.places import namesrvs
from mqadmin.registry import Java, command
from mqadmin.rows import Outcome, Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which settings."""

    keys: Annotated[tuple[str, ...], argument("only these settings", metavar="KEY")] = ()


@dataclass(frozen=True, slots=True)
class NamesrvValue(Row):
    """One setting, as the name server says it."""

    address: str
    key: str
    value: str


@command(
    "namesrv config get",
    "show the settings of the name servers",
    examples=(
        ("mqadmin namesrv config get", "all settings of every name server"),
        ("mqadmin namesrv config get orderMessageEnable", "one of them"),
    ),
    rows=NamesrvValue,
    java=(Java("getNamesrvConfig"),),
)
async def get_namesrv_config(call: Call, args: Arguments) -> Outcome:
    """Return one row a setting, sorted by name.

    Raises:
        NotFound: no name server has a setting of this name.
    """
    admin = await call.admin()
    rows: list[NamesrvValue] = []
    known: set[str] = set()
    for place in await namesrvs(call):
        settings = await admin.namesrv_config(place.address)
        known.update(settings)
        rows += [
            NamesrvValue(place.address, key, settings[key])
            for key in args.keys or sorted(settings)
            if key in settings
        ]
    for key in args.keys:
        if key not in known:
            near = get_close_matches(key, list(known), n=1)
            hint = f"did you mean {near[0]}?" if near else "leave the key out to see all"
            raise NotFound(f"no name server has a setting {key!r}", hint=hint)
    return Outcome(rows)
