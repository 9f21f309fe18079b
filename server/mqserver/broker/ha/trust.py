"""Decide whom a broker believes about epochs, and for whom it signs requests.

    configured   in brokerAddresses, or on the host of haMasterAddress
                     believed, and gets signatures
    proved       answers a fresh challenge with a proof by an administrator's account
                     believed, and gets signatures that only servers of ours accept
    others       whatever a name server or a stranger names
                     neither

The proof of an answer covers the challenge, so it cannot be used again; that of a promotion says
only that this epoch was given, which stays true. Both are made with a key that is derived from the
secret key, so neither is a signature of any request.

Rule: without accounts no peer can prove anything, so only configured peers are believed then, and
name servers, which admit registrations by ``brokerAddresses`` of their own.

Source: none, RocketMQ 4.9 has no epochs.
"""

import hashlib
import hmac
import json
from collections.abc import Callable
from typing import Final

from mqserver.broker.acl.access import BrokerAccess
from mqserver.broker.config import BrokerConfig
from remoting.address import split_address
from remoting.command import Command
from remoting.errors import BadCall
from remoting.signing import derived_key, sign_for

PROVED_MAX: Final = 256
PROOF_SIZE_MAX: Final = 400


class Trust:
    """The peers that one broker trusts.

    Args:
        config: the settings, which may change at any time.
        keys: access key and secret key of this broker, see ``Replication``; None without.
        access: returns the accounts of this broker; None without access control.
        now_ms: returns the wall clock.
    """

    def __init__(
        self,
        config: BrokerConfig,
        *,
        keys: tuple[str, str] | None,
        access: Callable[[], BrokerAccess | None],
        now_ms: Callable[[], int],
    ) -> None:
        self._config = config
        self._keys = keys
        self._access = access
        self._now_ms = now_ms
        self._proved: dict[str, None] = {}

    @property
    def has_accounts(self) -> bool:
        """Return whether this broker can distinguish a proof from a claim."""
        return self._keys is not None or self._access() is not None

    def is_configured(self, address: str) -> bool:
        """Return whether the settings of this broker name a peer."""
        if address in self._config.other_brokers:
            return True
        master = self._config.ha_master_address
        return bool(master) and _host_of(master) == _host_of(address) != ""

    def note_proved(self, address: str) -> None:
        """Note that a peer has answered a challenge with a proof."""
        self._proved.pop(address, None)
        self._proved[address] = None
        if len(self._proved) > PROVED_MAX:
            del self._proved[next(iter(self._proved))]

    def sign(self, command: Command, address: str) -> None:
        """Sign a request to a peer if this broker has keys and trusts the peer."""
        is_configured = self.is_configured(address)
        if self._keys is not None and (is_configured or address in self._proved):
            sign_for(
                command,
                *self._keys,
                receiver=address,
                now_ms=self._now_ms(),
                ours_only=not is_configured,
            )

    @property
    def access_key(self) -> str | None:
        """The account of this broker; None without keys."""
        return None if self._keys is None else self._keys[0]

    def prove(self, *statement: str | int, access_key: str | None = None) -> str | None:
        """Return a proof of a statement; None without a fitting account.

        Args:
            statement: what is proved.
            access_key: the account; None for that of this broker.
        """
        access_key = access_key or self.access_key
        secret_key = None if access_key is None else self._secret_of(access_key)
        return None if secret_key is None else f"{access_key}:{_digest(secret_key, statement)}"

    def is_proved(self, proof: str | None, *statement: str | int) -> bool:
        """Return whether a proof of a statement is by an account that this broker knows."""
        access_key, _, digest = (proof or "")[:PROOF_SIZE_MAX].rpartition(":")
        secret_key = self._secret_of(access_key)
        if secret_key is None:
            return False
        right = _digest(secret_key, statement)
        return hmac.compare_digest(right.encode(), digest.encode("utf-8", "surrogatepass"))

    def _secret_of(self, access_key: str) -> str | None:
        if self._keys is not None and self._keys[0] == access_key:
            return self._keys[1]
        access = self._access()
        return None if access is None else access.admin_secret_of(access_key)


def _digest(secret_key: str, statement: tuple[str | int, ...]) -> str:
    key = derived_key(secret_key, "epoch").encode()
    return hmac.new(key, json.dumps(statement).encode(), hashlib.sha256).hexdigest()


def _host_of(address: str) -> str:
    try:
        return split_address(address)[0]
    except BadCall:
        return ""
