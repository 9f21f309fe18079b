"""``broker config get``, ``broker config set``: show settings of brokers, or change one.

get    GET_BROKER_CONFIG on each broker
set    on each broker GET_BROKER_CONFIG, UPDATE_BROKER_CONFIG, and GET_BROKER_CONFIG again to
       read it back

Both first send GET_BROKER_CLUSTER_INFO.
"""

import asyncio
from typing import Final

from mqadmin.changes.setting_change import SettingChange, choose_value, row_of
from mqadmin.changes.targets.setting import BrokerSettingTarget
from mqadmin.changes.write import carry_out, plan
from mqadmin.cli.declare import Call, Outcome, argument, command, exit_code_of
from mqadmin.cli.decorators import Where, of_cluster, of_masters, on_broker, option_group
from mqadmin.cluster.brokers import masters, with_slaves
from mqadmin.cluster.server_tables import ServerValue
from mqadmin.commands.broker._shared import show_values
from mqadmin.output.rows import CHANGED


@command(
    "broker config get",
    examples=(
        ("mqadmin broker config get flushDiskType", "one setting on every master"),
        ("mqadmin broker config get -b broker-a", "all settings of one broker"),
    ),
    rows=ServerValue,
    columns=("broker", "key", "value"),
)
@argument("keys", nargs=-1, metavar="KEY", help="only these settings")
@of_masters
async def get_broker_config(call: Call, *, keys: tuple[str, ...], where: Where) -> Outcome:
    """Return one row for each setting, sorted by name.

    Raises:
        ItemNotFound: no broker has a setting of this name.
    """
    admin = await call.admin()
    return await show_values(
        call,
        where,
        lambda node: admin.broker_config(node.address),
        keys=keys,
        missing="no broker has a setting",
    )


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


@command(
    "broker config set",
    examples=(
        ("mqadmin broker config set brokerPermission 4 -b broker-a -y", "make one read-only"),
        ("mqadmin broker config set slaveReadEnable true --dry-run", "what would change"),
    ),
    details="A key that the broker does not have is reported as not found. A value of another "
    "kind than the present one is refused. A Java broker would silently accept both.",
    rows=SettingChange,
    columns=("server", "address", "key", "old_value", "value", "result", "remark"),
    writes=True,
)
@argument("key", help="name of the setting")
@argument("value", help="the new value")
@option_group("where", Where, on_broker, of_cluster(help="masters and slaves of this cluster"))
async def set_broker_config(call: Call, *, key: str, value: str, where: Where) -> Outcome:
    """Return one row for each broker.

    Raises:
        ItemNotFound: the cluster or broker does not exist.
        Usage: the value is of another kind than the present one.
    """
    admin = await call.admin()
    nodes = await masters(admin, where)
    if where.broker is None:
        nodes = await with_slaves(admin, nodes)
    tables = await asyncio.gather(
        *(admin.broker_config(node.address) for node in nodes), return_exceptions=True
    )
    keys = {name for table in tables if not isinstance(table, BaseException) for name in table}

    steps = await plan(
        [BrokerSettingTarget(admin, node, (key,)) for node in nodes],
        choose_value(value, key=key, known_keys=keys),
    )
    if "rocketmqHome" in keys and any(step.is_write for step in steps) and not call.dry_run:
        call.warn(f"note: {REWRITES}")
    results = await carry_out(
        call,
        steps,
        title=f"broker config set {key}",
        question=f"set {key} to {value!r} on {len(nodes)} broker(s)?",
    )
    restart = RESTART if key in AT_START or key.endswith(AT_START_ENDS) else None
    rows = [row_of(result, restart if result.result == CHANGED else None) for result in results]
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))
