"""The address of a peer as text, and the reason why a connection to it failed.

Rule: both clients (``remoting.aio.client`` and ``remoting.direct``) take their texts about an
address from here, so that a command prints the same with either of them.
"""

import os

from remoting.errors import BadCall


def split_address(address: str) -> tuple[str, int]:
    """Return host and port of ``host:port``, ``[::1]:port`` or ``::1:port`` (as Java writes it).

    Raises:
        BadCall: the port is missing, or it is not a port number.
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port[:6]) < 65_536:
        raise BadCall(f"address {address!r} is not host:port")
    return host.removeprefix("[").removesuffix("]"), int(port)


def failure_text(error: OSError) -> str:
    """Return why a connection could not be made, without the address."""
    # Errors of ``ssl`` have this attribute, so ``ssl`` need not be loaded for its class. Their
    # errno is a number of OpenSSL, not of the system.
    if hasattr(error, "library"):
        detail = getattr(error, "verify_message", "") or getattr(error, "reason", "") or str(error)
        return f"tls: {detail.lower().replace('_', ' ')}"
    # asyncio's own text repeats the address as a tuple.
    number = error.errno or 0
    return os.strerror(number) if number > 0 else error.strerror or str(error)
