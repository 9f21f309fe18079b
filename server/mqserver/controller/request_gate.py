"""Decides which addresses may send what to a controller.

    connect, ask who leads, read groups and settings   allowedAddresses   default: all addresses
    heartbeat, id, registration, in-sync set           brokerAddresses    default: this machine only
    choose a master, remove brokers, change settings   adminAddresses     default: this machine only

Rule: this machine may always do everything. A heartbeat of a stranger could keep a dead master in
office, and a change of the in-sync set could lose messages, so brokers of other machines have to be
listed.

Source: our own; Java's controller accepts every request.
"""

from collections.abc import Callable
from typing import Final

from mqserver.controller.controller_config import ControllerConfig
from mqserver.runtime.access.admin_gate import LocalGate, address_list, warn_if_open
from mqserver.runtime.request import Request
from remoting.codes import LaterCode
from remoting.headers.controller import ElectMaster

BROKER_CODES: Final = frozenset({
    LaterCode.BROKER_HEARTBEAT,
    LaterCode.CONTROLLER_ALTER_SYNC_STATE_SET,
    LaterCode.CONTROLLER_ELECT_MASTER,
    LaterCode.CONTROLLER_REGISTER_BROKER,
    LaterCode.CONTROLLER_GET_NEXT_BROKER_ID,
    LaterCode.CONTROLLER_APPLY_BROKER_ID,
})  # fmt: skip

ADMIN_CODES: Final = frozenset({
    LaterCode.UPDATE_CONTROLLER_CONFIG,
    LaterCode.CLEAN_BROKER_DATA,
})  # fmt: skip


def make_gate(config: ControllerConfig) -> Callable[[Request], None]:
    """Return a function that lets a request pass or raises RequestRefused.

    Raises:
        SettingsError: a list of addresses cannot be read.
    """
    listed_admins = address_list(config.admin_addresses, key="adminAddresses")
    listed_brokers = address_list(config.broker_addresses, key="brokerAddresses")
    warn_if_open(listed_admins, key="adminAddresses")
    admins = LocalGate(ADMIN_CODES, allowed=listed_admins, setting="adminAddresses")
    brokers = LocalGate(BROKER_CODES, allowed=listed_brokers, setting="brokerAddresses")
    operators = LocalGate(
        {LaterCode.CONTROLLER_ELECT_MASTER}, allowed=listed_admins, setting="adminAddresses"
    )

    def check(request: Request) -> None:
        admins(request)
        if request.command.code == LaterCode.CONTROLLER_ELECT_MASTER:
            chooses = bool(request.command.header(ElectMaster).designate_elect)
            (operators if chooses else brokers)(request)
        else:
            brokers(request)

    return check
