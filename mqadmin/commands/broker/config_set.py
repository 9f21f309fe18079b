"""``broker config set``: change a setting of running brokers.

Requests on each broker: GET_BROKER_CONFIG, UPDATE_BROKER_CONFIG, and GET_BROKER_CONFIG again
to read it back.
"""

import asyncio
from dataclasses import dataclass
from typing import Annotated, Final

from mqadmin.call import Call
from mqadmin.parameters import Kind, argument, option
from mqadmin.places import masters, with_slaves
from mqadmin.registry import Java, JavaOption, command
from mqadmin.rows import CHANGED, Outcome, exit_code_of
from mqadmin.settingchange import SettingChange, checked, row_of, unknown_key
from mqadmin.things.setting import BrokerSetting
from mqadmin.writes import carry_out, plan

AT_START: Final = frozenset({
    "brokerClusterName", "brokerId", "brokerIP1", "brokerIP2", "brokerName", "brokerRole",
    "duplicationEnable", "enableDLegerCommitLog", "flushDiskType", "haListenPort", "listenPort",
    "maxHashSlotNum", "maxIndexNum", "messageDelayLevel", "namesrvAddr", "rocketmqHome",
    "transientStorePoolEnable", "transientStorePoolSize", "useEpollNativeSelector",
})  # fmt: skip
AT_START_ENDS: Final = ("ThreadPoolNums", "ThreadPoolQueueCapacity", "ThreadNums", "Threads")
"""Settings that a broker reads when it starts and never again."""
RESTART: Final = "takes effect when the broker starts again"
REWRITES: Final = (
    "a Java broker writes all its settings into its configuration file with this change"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The setting, its new value, and where."""

    key: Annotated[str, argument("the setting")]
    value: Annotated[str, argument("its new value")]
    broker: Annotated[
        str | None, option("on this broker: a name or HOST:PORT", short="b", kind=Kind.BROKER)
    ] = None
    cluster: Annotated[
        str | None, option("on masters and slaves of a cluster", kind=Kind.CLUSTER)
    ] = None


@command(
    "broker config set",
    "change a setting of running brokers",
    examples=(
        ("mqadmin broker config set brokerPermission 4 -b broker-a -y", "make one read-only"),
        ("mqadmin broker config set slaveReadEnable true --dry-run", "what would change"),
    ),
    details="A key that the broker does not have is not found, and a value that looks unlike the\n"
    "one that is there is refused: a Java broker would take both and say nothing.",
    rows=SettingChange,
    columns=("server", "address", "key", "old_value", "value", "result", "remark"),
    writes=True,
    java=(
        Java(
            "updateBrokerConfig",
            (
                JavaOption("b", "brokerAddr", "broker"),
                JavaOption("c", "clusterName", "cluster"),
                # Slaves are always meant with a cluster.
                JavaOption("a", "updateAllBroker", since_5=True),
                JavaOption("k", "key", "key", required=True),
                JavaOption("v", "value", "value", required=True),
            ),
            any_of=("broker", "cluster"),
        ),
    ),
)
async def set_broker_config(call: Call, args: Arguments) -> Outcome:
    """Return one row a broker.

    Raises:
        NotFound: there is no such cluster or broker.
        Usage: the value does not look like the one that is there.
    """
    admin = await call.admin()
    places = await masters(admin, broker=args.broker, cluster=args.cluster)
    if args.broker is None:
        places = await with_slaves(admin, places)
    tables = await asyncio.gather(
        *(admin.broker_config(place.address) for place in places), return_exceptions=True
    )
    known = {key for table in tables if not isinstance(table, BaseException) for key in table}

    def choose(old: str | None) -> str:
        if old is None:
            raise unknown_key(args.key, known)
        return checked(args.key, old, args.value)

    steps = await plan([BrokerSetting(admin, place, (args.key,)) for place in places], choose)
    if "rocketmqHome" in known and any(step.is_write for step in steps) and not call.dry_run:
        call.warn(f"note: {REWRITES}")
    done = await carry_out(
        call,
        steps,
        title=f"broker config set {args.key}",
        question=f"set {args.key} to {args.value!r} on {len(places)} broker(s)?",
    )
    restart = RESTART if args.key in AT_START or args.key.endswith(AT_START_ENDS) else None
    rows = [row_of(one, restart if one.result == CHANGED else None) for one in done]
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))
