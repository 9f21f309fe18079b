"""Checks that a signature was made for the request that it came with (``remoting.signing``).

    content begins with a scope? ─ no ── of a Java client; enough but for our own request codes
                             └ yes ─ this code? this server? this time? ── passes

Rule: this server is known by the addresses that it registers, those of its filter servers, which
pass requests on, and every local address on which a request arrived. An address is never taken
from a request.

Source: none; 4.9.7 checks neither the request code nor the time nor the receiver.
"""

from collections.abc import Callable, Collection
from typing import Final

from mqserver.broker.acl.accounts import AclError
from remoting.codes import ExtensionCode
from remoting.signing import SKEW_MS_MAX, BadScope, Scope, scope_of

LOCAL_MAX: Final = 1_024
"""Most local addresses that are remembered."""


class Scopes:
    """The scopes that one server accepts.

    Args:
        addresses: returns the addresses by which others know this server, each ``host:port``.
        now_ms: returns the wall clock.
    """

    def __init__(self, addresses: Callable[[], Collection[str]], now_ms: Callable[[], int]) -> None:
        self._addresses = addresses
        self._now_ms = now_ms
        self._local: set[str] = set()

    def arrived_at(self, address: str) -> None:
        """Note a local address, ``host:port``, at which a request arrived."""
        if len(self._local) < LOCAL_MAX:
            self._local.add(address)

    def check(self, code: int, content: bytes) -> Scope | None:
        """Return the scope of a signature; None for that of a Java client.

        Args:
            code: the request code of the request.
            content: the bytes that were signed.

        Raises:
            AclError: the signature is for something else, or it has no scope and needs one.
        """
        try:
            scope = scope_of(content)
        except BadScope as error:
            raise AclError(str(error)) from error
        if scope is None:
            if code in _OURS:
                raise AclError(
                    f"request code={code} needs a signature that names it (AccessFor); "
                    "use the mqadmin of this version"
                )
            return None
        if scope.code != code:
            raise AclError(f"The signature is for request code={scope.code}, not for {code}")
        skew_ms = scope.time_ms - self._now_ms()
        if abs(skew_ms) > SKEW_MS_MAX:
            raise AclError(
                f"The signature was made {abs(skew_ms) // 1000} s "
                f"{'after' if skew_ms > 0 else 'before'} this broker's time; set both clocks"
            )
        if scope.receiver not in self._local and scope.receiver not in self._addresses():
            raise AclError(
                f"The signature is for {scope.receiver[:80]}, and this is "
                f"{' '.join(sorted(self._addresses()))}; ask this broker by that address, "
                "or map it with --map"
            )
        return scope


_OURS: Final = frozenset(ExtensionCode)
