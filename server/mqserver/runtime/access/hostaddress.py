"""The address at which other machines reach this one.

Rule: nothing is sent; the kernel is only asked which source address it would use.

Source: remoting/common/RemotingUtil.java#getLocalAddress, which goes through the interfaces
and avoids 192.168.*. On a machine with one default route its address is the same.
"""

import socket

# Documentation addresses (RFC 5737, RFC 3849) are routed like others but never assigned.
_FAR_V4 = ("192.0.2.1", 9)
_FAR_V6 = ("2001:db8::1", 9)


def local_ip() -> str:
    """Return this machine's address on its default route, or 127.0.0.1 without a route."""
    for family, far in ((socket.AF_INET, _FAR_V4), (socket.AF_INET6, _FAR_V6)):
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.connect(far)
                return str(probe.getsockname()[0])
        except OSError:
            continue  # There is no route in this family.
    return "127.0.0.1"


def is_loopback(ip: str) -> bool:
    """Return whether a peer address is this machine itself."""
    return ip.startswith(("127.", "::ffff:127.")) or ip == "::1"


def is_any_address(ip: str) -> bool:
    """Return whether a bind address stands for all interfaces."""
    return ip in ("", "0.0.0.0", "::")


def join_address(ip: str, port: int) -> str:
    """Return ``ip:port``, an IPv6 address in brackets."""
    return f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"
