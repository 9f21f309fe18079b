"""Decides which addresses may send what to a name server.

    connect                 allowedAddresses   default: everybody
    register, unregister    brokerAddresses    default: everybody
    change anything else    adminAddresses     default: this machine only

Rule: this machine may always do everything. A name server has no accounts, as in 4.9: whoever may
register can announce any address as a broker, so list the addresses of your brokers if possible.

Source: our own; Java's name server takes every request from everybody (CVE-2023-37582).
"""

from collections.abc import Callable
from typing import Final

from remoting.codes import RequestCode
from server.namesrv.config import NamesrvConfig
from server.runtime.access.admin_gate import LocalGate, address_list, warn_if_open
from server.runtime.access.hostaddress import is_loopback
from server.runtime.request import Request

ADMIN_CODES: Final = frozenset({
    RequestCode.PUT_KV_CONFIG,
    RequestCode.DELETE_KV_CONFIG,
    RequestCode.WIPE_WRITE_PERM_OF_BROKER,
    RequestCode.ADD_WRITE_PERM_OF_BROKER,
    RequestCode.DELETE_TOPIC_IN_NAMESRV,
    RequestCode.UPDATE_NAMESRV_CONFIG,
})  # fmt: skip

BROKER_CODES: Final = frozenset({
    RequestCode.REGISTER_BROKER,
    RequestCode.UNREGISTER_BROKER,
    RequestCode.QUERY_DATA_VERSION,
})  # fmt: skip


def make_gate(config: NamesrvConfig) -> Callable[[Request], None]:
    """Return a function that lets a request pass or raises RequestRefused.

    Raises:
        SettingsError: a list of addresses cannot be read.
    """
    key = "adminAddresses"
    allowed = address_list(config.admin_addresses, key=key)
    warn_if_open(allowed, key=key)
    admins = LocalGate(ADMIN_CODES, allowed=allowed, setting=key)
    key = "brokerAddresses"
    brokers = LocalGate(
        BROKER_CODES, allowed=address_list(config.broker_addresses, key=key), setting=key
    )

    def check(request: Request) -> None:
        admins(request)
        brokers(request)

    return check


def make_connection_check(config: NamesrvConfig) -> Callable[[str], bool]:
    """Return a function that tells whether an address may connect.

    Raises:
        SettingsError: the list of addresses cannot be read.
    """
    allowed = address_list(config.allowed_addresses, key="allowedAddresses")
    return lambda ip: is_loopback(ip) or allowed.matches(ip)
