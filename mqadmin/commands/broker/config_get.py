"""``broker config get``: the settings a broker runs with.

Requests: GET_BROKER_CLUSTER_INFO, GET_BROKER_CONFIG on each broker.
"""

from dataclasses import dataclass
from difflib import get_close_matches

import click

from mqadmin.cli.declare import command
from mqadmin.cli.decorators import of_masters
from mqadmin.cluster.brokers import masters
from mqadmin.errors import NotFound
from mqadmin.output.rows import Outcome, Row
from mqadmin.session.call import Call


@dataclass(frozen=True, slots=True)
class BrokerSetting(Row):
    """One setting, as the broker says it."""

    broker: str
    address: str
    key: str
    value: str


@command(
    "broker config get",
    examples=(
        ("mqadmin broker config get flushDiskType", "one setting on every master"),
        ("mqadmin broker config get -b broker-a", "all of one broker"),
    ),
    rows=BrokerSetting,
    columns=("broker", "key", "value"),
)
@click.argument("keys", nargs=-1, metavar="KEY", help="only these settings")
@of_masters
async def get_broker_config(
    call: Call, *, keys: tuple[str, ...], broker: str | None, cluster: str | None
) -> Outcome:
    """Return one row a setting, sorted by name.

    Raises:
        NotFound: no broker has a setting of this name.
    """
    admin = await call.admin()
    places = await masters(admin, broker=broker, cluster=cluster, every=True)
    rows: list[BrokerSetting] = []
    known: set[str] = set()
    for place in places:
        settings = await admin.broker_config(place.address)
        known.update(settings)
        wanted = keys or sorted(settings)
        rows += [
            BrokerSetting(place.broker, place.address, key, settings[key])
            for key in wanted
            if key in settings
        ]
    for key in keys:
        if key not in known:
            near = get_close_matches(key, list(known), n=1)
            hint = f"did you mean {near[0]}?" if near else "leave the key out to see all"
            raise NotFound(f"no broker has a setting {key!r}", hint=hint)
    return Outcome(rows)
