"""Signatures that hold for one request code, one server and some minutes.

    AccessFor = mqfor1;<request code>;<ms since 1970>;<host:port of the server>;
    content   = AccessFor AccessKey … body           in the order of the field names

``AccessFor`` is the first field in that order, so the signed content begins with what the
signature is for, however somebody distributes the same values over other fields. A server of ours
looks at the beginning of the content and refuses a signature that was made for another code,
another server or another time. A Java server treats it as one more field: it verifies the
signature, and ignores what it is for.

A content that begins with ``mqfor2`` is signed with a key derived from the secret key. No Java
server accepts that, so it goes to servers that have proved to be ours.

Rule: programs of ours sign with ``sign_for`` or ``Signer`` only; ``remoting.acl.sign`` makes the
signature of a Java client, which anybody who receives it can use again for anything.

Source: none; 4.9.7 signs neither the request code nor the time nor the receiver.
"""

import hashlib
import hmac
import ipaddress
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from remoting.acl import sign
from remoting.address import split_address
from remoting.command import Command
from remoting.errors import BadCall

ACCESS_FOR: Final = "AccessFor"
"""The field; its name sorts before all others that our programs send."""
SKEW_MS_MAX: Final = 15 * 60_000
"""How far the clocks of the two sides may be apart."""

_BEGIN: Final = b"mqfor"
_JAVA, _OURS = "mqfor1", "mqfor2"
_PART_COUNT: Final = 4
_SIZE_MAX: Final = 320
_DIGITS_MAX: Final = 15


class Scope(NamedTuple):
    """What a signature is for.

    Attributes:
        code: the request code.
        time_ms: when it was made.
        receiver: ``host:port`` of the server, as it knows itself.
        is_ours_only: whether it was made with the derived key.
    """

    code: int
    time_ms: int
    receiver: str
    is_ours_only: bool


class BadScope(ValueError):
    """A signed content begins like a scope and is not one."""


def scope_of(content: bytes) -> Scope | None:
    """Return what the signature of ``content`` is for; None for that of a Java client.

    Raises:
        BadScope: the scope cannot be read.
    """
    if not content.startswith(_BEGIN):
        return None
    parts = content[:_SIZE_MAX].split(b";", _PART_COUNT)
    if len(parts) <= _PART_COUNT:
        raise BadScope("AccessFor has no end")
    try:
        kind, code, time_ms, receiver = (part.decode("ascii") for part in parts[:_PART_COUNT])
    except UnicodeDecodeError:
        raise BadScope("AccessFor is not ASCII text") from None
    for number in (code, time_ms):
        if not number.isdecimal() or len(number) > _DIGITS_MAX:
            raise BadScope(f"AccessFor has {number[:40]!r}, expected a number")
    if kind not in (_JAVA, _OURS):
        raise BadScope(f"AccessFor begins with {kind[:40]!r}, expected {_JAVA} or {_OURS}")
    return Scope(int(code), int(time_ms), receiver, kind == _OURS)


def derived_key(secret_key: str, purpose: str) -> str:
    """Return a key for one purpose; nothing that it signs is a signature of the secret key."""
    return hmac.new(secret_key.encode(), f"mq {purpose}".encode(), hashlib.sha256).hexdigest()


def key_for(scope: Scope | None, secret_key: str) -> str:
    """Return the key with which the content of this scope is signed."""
    is_derived = scope is not None and scope.is_ours_only
    return derived_key(secret_key, "signature") if is_derived else secret_key


def sign_for(
    command: Command,
    access_key: str,
    secret_key: str,
    *,
    receiver: str,
    now_ms: int,
    ours_only: bool = False,
) -> None:
    """Sign a request for one server.

    Args:
        command: the request, complete except for the fields of the signature.
        access_key: the name of the account.
        secret_key: its key, which is not sent.
        receiver: ``host:port`` of the server.
        now_ms: the wall clock.
        ours_only: make a signature that only servers of ours accept.

    Raises:
        BadCall: the receiver is not an address in ASCII.
    """
    split_address(receiver)
    if not receiver.isascii() or ";" in receiver:
        raise BadCall(f"address {receiver!r} is not ASCII text without a semicolon")
    scope = Scope(int(command.code), now_ms, receiver, ours_only)
    kind = _OURS if ours_only else _JAVA
    command.ext[ACCESS_FOR] = f"{kind};{scope.code};{now_ms};{receiver};"
    sign(command, access_key, key_for(scope, secret_key))


class Signer:
    """Signs every request of a client for the server that it goes to.

    Args:
        access_key: the name of the account.
        secret_key: its key.
        now_ms: returns the wall clock.
        own_names: the address to which the client connects -> the address by which that server
            knows itself, where the two differ.
    """

    def __init__(
        self,
        access_key: str,
        secret_key: str,
        *,
        now_ms: Callable[[], int],
        own_names: Mapping[str, str] | None = None,
    ) -> None:
        self._keys = access_key, secret_key
        self._now_ms = now_ms
        self._own_names = own_names or {}

    def __call__(self, command: Command, address: str, peer_ip: str) -> None:
        """Sign a request.

        Args:
            command: the request.
            address: ``host:port`` that the client connected to.
            peer_ip: the IP address that this turned out to be.
        """
        receiver = self._own_names.get(address) or _by_number(address, peer_ip)
        sign_for(command, *self._keys, receiver=receiver, now_ms=self._now_ms())


def _by_number(address: str, peer_ip: str) -> str:
    """Return the address with an IP address in place of a name, which a server cannot check."""
    host, port = split_address(address)
    try:
        ipaddress.ip_address(host)
    except ValueError:
        host = peer_ip or host
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
