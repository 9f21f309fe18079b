"""Who registers brokers at a name server, and how much each of them may register.

    listed     in brokerAddresses; it may replace and unregister what others have registered
    local      on this machine; it may register names that no other address has registered
    others     refused by ``mqserver.namesrv.request_gate``

Rule: a registrar is one IP address. With ``brokerAddresses=*``, as in Java, every address is
listed, but the epochs that strangers report are not kept, since one could shut out the real master.

Source: our own; Java's name server accepts every registration.
"""

from collections.abc import Callable
from typing import NamedTuple

from mqserver.namesrv.namesrv_config import NamesrvConfig
from mqserver.runtime.access.admin_gate import address_list, is_local
from remoting.aio.server import ServerConn


class Registrar(NamedTuple):
    """Who registers.

    Attributes:
        ip: the address that it comes from.
        is_listed: whether it may change what others have registered.
        may_tell_epoch: whether an epoch that it reports is kept.
    """

    ip: str
    is_listed: bool
    may_tell_epoch: bool


THIS_MACHINE = Registrar("127.0.0.1", is_listed=True, may_tell_epoch=True)


class RegistrarLimits(NamedTuple):
    """The limits of one registrar."""

    broker_count: int = 256
    topic_count: int = 500_000
    """Sum over its brokers."""
    size: int = 128 << 20
    """Bytes that its brokers and topics take, estimated."""


def make_registrar_of(config: NamesrvConfig) -> Callable[[ServerConn], Registrar]:
    """Return a function that returns the registrar of a connection.

    Raises:
        SettingsError: the list of addresses cannot be read.
    """
    listed = address_list(config.broker_addresses, key="brokerAddresses")

    def registrar_of(conn: ServerConn) -> Registrar:
        ip = conn.peer[0]
        may_tell_epoch = is_local(conn) or not listed.is_everybody
        return Registrar(ip, listed.matches(ip), may_tell_epoch)

    return registrar_of
