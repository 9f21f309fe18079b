"""Where a peer is, as text, and why nobody was reached there.

Rule: what both askers (``remoting.aio.client`` and ``remoting.direct``) say of an address is
said here, so that a command reads the same whichever of them it goes through.
"""

import os

from remoting.errors import BadCall


def split_address(address: str) -> tuple[str, int]:
    """Return host and port of ``host:port``, ``[::1]:port`` or ``::1:port`` (as Java writes it).

    Raises:
        BadCall: there is no port, or it is none.
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port[:6]) < 65_536:
        raise BadCall(f"address {address!r} is not host:port")
    return host.removeprefix("[").removesuffix("]"), int(port)


def failure_text(error: OSError) -> str:
    """Return why a connection could not be made, without the address."""
    # What marks an error of ``ssl``, which is not loaded for its class: its errno is a number
    # of OpenSSL's, not of the system.
    if hasattr(error, "library"):
        detail = getattr(error, "verify_message", "") or getattr(error, "reason", "") or str(error)
        return f"tls: {detail.lower().replace('_', ' ')}"
    # asyncio's own text repeats the address as a tuple.
    number = error.errno or 0
    return os.strerror(number) if number > 0 else error.strerror or str(error)
