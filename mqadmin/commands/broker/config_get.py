"""``broker config get``: the settings a broker runs with.

Requests: GET_BROKER_CLUSTER_INFO, GET_BROKER_CONFIG on each broker.
"""

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Annotated

from mqadmin.call import Call
from mqadmin.errors import NotFound
from mqadmin.parameters import Kind, argument, option
from mqadmin.places import masters
from mqadmin.registry import Java, JavaOption, command
from mqadmin.rows import Outcome, Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Whose settings, and which."""

    keys: Annotated[tuple[str, ...], argument("only these settings", metavar="KEY")] = ()
    broker: Annotated[
        str | None, option("of this broker: a name or HOST:PORT", short="b", kind=Kind.BROKER)
    ] = None
    cluster: Annotated[str | None, option("of the masters of a cluster", kind=Kind.CLUSTER)] = None


@dataclass(frozen=True, slots=True)
class BrokerSetting(Row):
    """One setting, as the broker says it."""

    broker: str
    address: str
    key: str
    value: str


@command(
    "broker config get",
    "show the settings of a broker",
    examples=(
        ("mqadmin broker config get flushDiskType", "one setting on every master"),
        ("mqadmin broker config get -b broker-a", "all of one broker"),
    ),
    rows=BrokerSetting,
    columns=("broker", "key", "value"),
    java=(
        Java(
            "getBrokerConfig",
            (JavaOption("b", "brokerAddr", "broker"), JavaOption("c", "clusterName", "cluster")),
            any_of=("broker", "cluster"),
        ),
    ),
)
async def get_broker_config(call: Call, args: Arguments) -> Outcome:
    """Return one row a setting, sorted by name.

    Raises:
        NotFound: no broker has a setting of this name.
    """
    admin = await call.admin()
    places = await masters(admin, broker=args.broker, cluster=args.cluster, every=True)
    rows: list[BrokerSetting] = []
    known: set[str] = set()
    for place in places:
        settings = await admin.broker_config(place.address)
        known.update(settings)
        wanted = args.keys or sorted(settings)
        rows += [
            BrokerSetting(place.broker, place.address, key, settings[key])
            for key in wanted
            if key in settings
        ]
    for key in args.keys:
        if key not in known:
            near = get_close_matches(key, list(known), n=1)
            hint = f"did you mean {near[0]}?" if near else "leave the key out to see all"
            raise NotFound(f"no broker has a setting {key!r}", hint=hint)
    return Outcome(rows)
