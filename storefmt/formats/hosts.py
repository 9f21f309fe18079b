"""A packed host: the address and port of a record, as they lie in the bytes.

    0       4      8          0            16     20
    | IPv4  | port |          | IPv6       | port |        int32 port, big endian

Rule: everywhere in this project "packed host" means these 8 or 20 bytes. Text is only for
people; IPv6 text has brackets: ``[::1]:10911``.

Source: common/message/MessageDecoder.java, common/message/MessageExt.java#socketAddress2ByteBuffer.
"""

import ipaddress
import struct
from functools import lru_cache
from typing import Final

from storefmt.errors import BadCall
from storefmt.formats.layout import HOST_V4_SIZE, HOST_V6_SIZE

_PORT: Final = struct.Struct(">i")


def pack_host(ip: str, port: int) -> bytes:
    """Return the packed host (8 bytes for IPv4, 20 for IPv6) of an address in text.

    Raises:
        BadCall: ``ip`` is not an address (names are not looked up), or the port is out of range.
    """
    if not 0 <= port <= 65535:
        raise BadCall(f"port {port} of host {ip!r} is outside 0..65535")
    return pack_address(ip) + _PORT.pack(port)


def pack_address(ip: str) -> bytes:
    """Return the 4 or 16 bytes of an address in text; a zone (``%eth0``) is dropped.

    Raises:
        BadCall: ``ip`` is not an address.
    """
    try:
        return ipaddress.ip_address(ip.partition("%")[0]).packed
    except ValueError:
        raise BadCall(
            f"{ip!r} is not an IPv4 or IPv6 address; give an address, not a name"
        ) from None


@lru_cache(maxsize=4096)
def host_text(packed: bytes) -> str:
    """Return ``1.2.3.4:5`` or ``[::1]:5`` for a packed host.

    Raises:
        BadCall: ``packed`` is neither 8 nor 20 bytes long.
    """
    if len(packed) == HOST_V4_SIZE:
        return f"{address_text(packed)}:{port_of(packed)}"
    return f"[{address_text(packed)}]:{port_of(packed)}"


def address_text(packed: bytes) -> str:
    """Return the address of a packed host without its port and without brackets."""
    _check(packed)
    if len(packed) == HOST_V4_SIZE:
        return f"{packed[0]}.{packed[1]}.{packed[2]}.{packed[3]}"
    return str(ipaddress.IPv6Address(packed[:-4]))


def port_of(packed: bytes) -> int:
    """Return the port of a packed host; stored records may hold any int32."""
    _check(packed)
    return int.from_bytes(packed[-4:], "big", signed=True)


def parse_host(text: str) -> bytes:
    """Return the packed host of ``1.2.3.4:5`` or ``[::1]:5`` (also ``::1:5``, as Java prints it).

    Raises:
        BadCall: the port is missing, or the rest is not an address.
    """
    ip, colon, port = text.rpartition(":")
    # isascii, because isdigit alone accepts superscripts, which int() refuses.
    if not colon or not (port.isascii() and port.isdigit()):
        raise BadCall(f"{text!r} is not a host; expected address:port, for example 127.0.0.1:10911")
    if ip.startswith("[") and ip.endswith("]"):
        ip = ip[1:-1]
    return pack_host(ip, int(port))


def _check(packed: bytes) -> None:
    if len(packed) not in (HOST_V4_SIZE, HOST_V6_SIZE):
        raise BadCall(f"packed host of {len(packed)} bytes; expected 8 (IPv4) or 20 (IPv6)")
