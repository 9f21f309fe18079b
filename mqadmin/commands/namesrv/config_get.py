"""``namesrv config get``: the settings a name server runs with.

Request on each name server: GET_NAMESRV_CONFIG.
"""

from dataclasses import dataclass
from difflib import get_close_matches

import click

from mqadmin.cli.declare import command
from mqadmin.cluster.brokers import namesrvs
from mqadmin.errors import NotFound
from mqadmin.output.rows import Outcome, Row
from mqadmin.session.call import Call


@dataclass(frozen=True, slots=True)
class NamesrvValue(Row):
    """One setting, as the name server says it."""

    address: str
    key: str
    value: str


@command(
    "namesrv config get",
    examples=(
        ("mqadmin namesrv config get", "all settings of every name server"),
        ("mqadmin namesrv config get orderMessageEnable", "one of them"),
    ),
    rows=NamesrvValue,
)
@click.argument("keys", nargs=-1, metavar="KEY", help="only these settings")
async def get_namesrv_config(call: Call, *, keys: tuple[str, ...]) -> Outcome:
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
            for key in keys or sorted(settings)
            if key in settings
        ]
    for key in keys:
        if key not in known:
            near = get_close_matches(key, list(known), n=1)
            hint = f"did you mean {near[0]}?" if near else "leave the key out to see all"
            raise NotFound(f"no name server has a setting {key!r}", hint=hint)
    return Outcome(rows)
