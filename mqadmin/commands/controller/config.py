"""``controller config``: show and change settings of controllers.

config get    GET_CONTROLLER_CONFIG
config set    GET_CONTROLLER_CONFIG, UPDATE_CONTROLLER_CONFIG, and GET_CONTROLLER_CONFIG again
"""

import click

from mqadmin.changes.setting_change import SettingChange, set_on_each
from mqadmin.changes.targets.setting import ControllerSettingTarget
from mqadmin.cli.declare import Call, Outcome, argument, command
from mqadmin.cluster.brokers import MASTER, ServerNode
from mqadmin.cluster.controllers import controllers
from mqadmin.cluster.server_tables import ServerValue, values_of


def _nodes(addresses: list[str]) -> list[ServerNode]:
    return [ServerNode("", "controller", MASTER, address) for address in addresses]


@command(
    "controller config get",
    examples=(("mqadmin controller config get", "all settings of every controller"),),
    rows=ServerValue,
    columns=("address", "key", "value"),
)
@argument("keys", nargs=-1, metavar="KEY", help="only these settings")
@click.option(
    "-a", "--controller", metavar="ADDRESS", help="HOST:PORT of controllers, separated by ;"
)
async def get_controller_config(
    call: Call, *, keys: tuple[str, ...], controller: str | None
) -> Outcome:
    """Return one row for each setting, sorted by name.

    Raises:
        ItemNotFound: no controller has a setting of this name.
    """
    admin = await call.admin()
    nodes = _nodes(await controllers(call, controller))
    tables = [(node, await admin.controller_config(node.address)) for node in nodes]
    return Outcome(values_of(tables, keys, missing="no controller has a setting"))


@command(
    "controller config set",
    examples=(("mqadmin controller config set notifyBrokerRoleChanged true -y", "on all"),),
    rows=SettingChange,
    columns=("address", "key", "old_value", "value", "result", "remark"),
    writes=True,
)
@argument("key", help="name of the setting")
@argument("value", help="the new value")
@click.option(
    "-a", "--controller", metavar="ADDRESS", help="HOST:PORT of controllers, separated by ;"
)
async def set_controller_config(
    call: Call, *, key: str, value: str, controller: str | None
) -> Outcome:
    """Return one row for each controller.

    Raises:
        Usage: the value is of another kind than the present one.
    """
    admin = await call.admin()
    nodes = _nodes(await controllers(call, controller))
    targets = [ControllerSettingTarget(admin, node, (key,)) for node in nodes]
    return await set_on_each(
        call, targets, key, value, title="controller config set", servers="controller(s)"
    )
