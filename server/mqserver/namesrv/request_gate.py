"""Decides which addresses may send what to a name server.

    connect                 allowedAddresses   default: all addresses
    register, unregister    brokerAddresses    default: this machine only
    change anything else    adminAddresses     default: this machine only

Rule: this machine may always do everything. A name server has no accounts, as in 4.9: whoever may
register can announce any address as a broker, so brokers of other machines have to be listed. The
answer and the log name the setting that admits a refused sender.

Source: our own; Java's name server accepts every request (CVE-2023-37582).
"""

import logging
from collections.abc import Callable
from typing import Final

from mqserver.namesrv.namesrv_config import NamesrvConfig
from mqserver.runtime.access.admin_gate import LocalGate, address_list, warn_if_open
from mqserver.runtime.access.hostaddress import is_loopback
from mqserver.runtime.request import Request, RequestRefused
from remoting.codes import RequestCode

LOG = logging.getLogger(__name__)

REFUSED_MAX: Final = 1_024
"""Most addresses whose refusal is logged."""

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
    listed = address_list(config.broker_addresses, key=key)
    if listed.is_everybody:
        LOG.warning("%s is *: every address that can connect may register a broker", key)
    else:
        LOG.info(
            "brokers may register from this machine%s",
            f" and {config.broker_addresses} ({key})" if listed else f"; {key} admits others",
        )
    brokers = LocalGate(BROKER_CODES, allowed=listed, setting=key)
    refused: set[str] = set()

    def check(request: Request) -> None:
        admins(request)
        try:
            brokers(request)
        except RequestRefused as error:
            ip = request.conn.peer[0]
            text = (
                f"the name server does not admit brokers from {ip}: start it with "
                f"{key}={','.join(filter(None, (config.broker_addresses, ip)))}"
            )
            if ip not in refused and len(refused) < REFUSED_MAX:
                refused.add(ip)
                LOG.warning("request code %d refused: %s", request.command.code, text)
            raise RequestRefused(error.code, text) from error

    return check


def make_connection_check(config: NamesrvConfig) -> Callable[[str], bool]:
    """Return a function that decides whether an address may connect.

    Raises:
        SettingsError: the list of addresses cannot be read.
    """
    allowed = address_list(config.allowed_addresses, key="allowedAddresses")
    return lambda ip: is_loopback(ip) or allowed.matches(ip)
