"""Who may ask a name server what: everybody, brokers, administrators.

    connect                 allowedAddresses   everybody unless set
    register, unregister    brokerAddresses    everybody unless set
    change anything else    adminAddresses     this machine unless set

Rule: this machine may always. There are no accounts on a name server, as in 4.9: whoever may
register can say of any address that it is a broker, so list your brokers where you can.

Source: ours; Java's name server takes everything from everybody (CVE-2023-37582).
"""

from collections.abc import Callable
from typing import Final

from remoting.codes import RequestCode
from server.namesrv.config import NamesrvConfig
from server.runtime.admin_gate import LocalGate, address_list, warn_if_open
from server.runtime.hostaddress import is_loopback
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
    """Return what lets a request pass, or raises RequestRefused.

    Raises:
        SettingsError: a list of addresses that cannot be read.
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


def make_door(config: NamesrvConfig) -> Callable[[str], bool]:
    """Return what says whether an address may connect at all."""
    allowed = address_list(config.allowed_addresses, key="allowedAddresses")
    return lambda ip: is_loopback(ip) or allowed.matches(ip)
