"""Admits administrators to a server without accounts: this machine, and listed addresses.

    request ─ code of an administrator? ─ no ──────────────── passes
                       └ yes ─ loopback, own address ──────── passes
                             └ adminAddresses ─────────────── passes
                             └ any other ───── code 16, and how to allow it

Rule: a server that cannot identify the sender of a request refuses administration from the network.
If a setting lets every address administer, a warning at the start says so.

Source: our own; Java accepts every request (CVE-2023-33246, CVE-2023-37582).
"""

import logging
from collections.abc import Collection
from dataclasses import dataclass

from mqserver.runtime.access.addresses import AddressList, BadAddress
from mqserver.runtime.access.hostaddress import is_loopback
from mqserver.runtime.request import Request, RequestRefused
from mqserver.runtime.typed_config import SettingsError
from remoting.aio.server import ServerConn
from remoting.codes import ResponseCode

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LocalGate:
    """Admits administrators' requests only from this machine and from listed addresses."""

    codes: Collection[int]
    """Request codes that need an administrator."""
    allowed: AddressList
    """Further addresses that may send them."""
    setting: str
    """The key of the setting that ``allowed`` comes from."""

    def __call__(self, request: Request) -> None:
        """Let a request pass or refuse it.

        Raises:
            RequestRefused: the address may not send this request code.
        """
        if request.command.code not in self.codes:
            return
        conn = request.conn
        if not is_local(conn) and not self.allowed.matches(conn.peer[0]):
            raise RequestRefused(
                ResponseCode.NO_PERMISSION,
                f"request code {request.command.code} is accepted only from the server's own "
                f"machine, not from {conn.peer[0]}; allow it with {self.setting}",
            )


def is_local(conn: ServerConn) -> bool:
    """Return whether a peer uses loopback or the same address that it connected to."""
    return is_loopback(conn.peer[0]) or conn.peer[0] == conn.local_ip


def warn_if_open(allowed: AddressList, *, key: str) -> None:
    """Log one warning if a setting allows every address to administer."""
    if allowed.is_everybody:
        LOG.warning("%s is *: every address that can connect may administer this server", key)


def address_list(text: str, *, key: str) -> AddressList:
    """Return the patterns in the text of a setting; ``key`` names it in errors.

    Raises:
        SettingsError: one of the patterns cannot be read.
    """
    try:
        return AddressList.read(text)
    except BadAddress as error:
        raise SettingsError(f"{key} is {text!r}: {error}") from error
