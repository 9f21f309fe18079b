"""The check of a request that both kinds of accounts share: the signature, then the rights.

    BrokerAccess     the signature of a request; what was decided once, until something changes
      AccessControl  accounts and permissions of 4.9 (``control``)
      UserAccess     users and rules of ACL 2.0 (``user_access``)

Rule: a broker has one of them, or none. Signatures are compared in constant time. The checks
without a decoded command, for sends and pulls, allow nothing that ``check`` refuses.
"""

import base64
import hashlib
import hmac
from abc import ABC, abstractmethod
from typing import Final

from mqserver.broker.acl.accounts import AclError
from mqserver.broker.acl.rules import OPEN_CODES, Resource
from mqserver.broker.acl.scope import Scopes
from remoting.acl import ACCESS_KEY, Proof, content_of, is_signed
from remoting.command import Command
from remoting.signing import key_for
from storefmt.formats.properties import INNER_MULTI_DISPATCH

SIGNERS_MAX: Final = 4_096
_Asker = tuple[str, int, str, str | None, str | None]
_COPIED: Final = INNER_MULTI_DISPATCH.encode()


class BrokerAccess(ABC):
    """Checks every request of one broker.

    Args:
        scopes: checks what a signature is for.
    """

    def __init__(self, scopes: Scopes) -> None:
        self._scopes = scopes
        self._signers: dict[_Asker, hmac.HMAC | None] = {}

    def check(self, ip: str, command: Command, *, at: str = "") -> None:
        """Return if a request is allowed.

        Args:
            ip: the address of the sender.
            command: the request.
            at: the local address at which it arrived, ``host:port``.

        Raises:
            AclError: the peer at ``ip`` may not send this request.
        """
        if at:
            self._scopes.arrived_at(at)
        if command.code in OPEN_CODES:
            return
        access_key = command.ext.get(ACCESS_KEY)
        secret_key = self._secret_key(ip, access_key, command.code)
        if secret_key is not None:
            scope = self._scopes.check(command.code, content_of(command.ext, b""))
            if not is_signed(command, key_for(scope, secret_key)):
                raise self._bad_signature(access_key)
        self._check_rights(ip, access_key, command)

    def allows_send(self, ip: str, code: int, topic: str, proof: Proof) -> bool:
        """Return whether ``check`` allows a send, at less cost; False if only ``check`` can tell.

        Args:
            ip: address of the producer.
            code: request code of the send.
            topic: topic of the message, which is not a retry topic.
            proof: what proves the producer.
        """
        # With this property the message may be copied to other topics.
        return _COPIED not in proof.content and self._allows(ip, code, topic, None, proof)

    def allows_pull(self, ip: str, code: int, topic: str, group: str, proof: Proof) -> bool:
        """Return whether ``check`` allows a pull, at less cost; False if only ``check`` can tell.

        Args:
            ip: address of the consumer.
            code: request code of the pull.
            topic: topic of the queue.
            group: group of the consumer.
            proof: what proves the consumer.
        """
        return self._allows(ip, code, topic, group, proof)

    def _allows(self, ip: str, code: int, topic: str, group: str | None, proof: Proof) -> bool:
        """Return whether a request is allowed whose rights depend on these names alone.

        What does not depend on the content is decided once until the accounts change.
        """
        asker = (ip, code, topic, group, proof.access_key)
        try:
            signer = self._signers[asker]
        except KeyError:
            try:
                signer = self._new_signer(*asker)
            except AclError:
                return False
            if len(self._signers) >= SIGNERS_MAX:
                # Somebody comes with ever new keys or from ever new addresses: bound the memory.
                self._signers.clear()
            self._signers[asker] = signer
        if signer is None:
            return True
        try:
            scope = self._scopes.check(code, proof.content)
        except AclError:
            return False
        if scope is not None and scope.is_ours_only:
            return False
        signer = signer.copy()
        signer.update(proof.content)
        return hmac.compare_digest(base64.b64encode(signer.digest()), proof.signature)

    def _new_signer(
        self, ip: str, code: int, topic: str, group: str | None, access_key: str | None
    ) -> hmac.HMAC | None:
        """Return the signer of an account's requests; None if they need no signature.

        Raises:
            AclError: the request is not allowed, whatever is signed.
        """
        secret_key = self._secret_key(ip, access_key, code)
        ext = {"topic": topic, "b": topic}
        if group is not None:
            ext["consumerGroup"] = group
        self._check_rights(ip, access_key, Command(code, ext=ext))
        if secret_key is None:
            return None
        return hmac.new(secret_key.encode(), digestmod=hashlib.sha1)

    def _changed(self) -> None:
        """Forget what was decided, since the accounts have changed."""
        self._signers.clear()

    @abstractmethod
    def _secret_key(self, ip: str, access_key: str | None, code: int) -> str | None:
        """Return the secret key that has to sign a request; None if it needs no signature.

        Raises:
            AclError: the request has no access key, or one that may not sign.
        """

    @abstractmethod
    def _bad_signature(self, access_key: str | None) -> AclError:
        """Return the error for a signature that is wrong."""

    @abstractmethod
    def _check_rights(self, ip: str, access_key: str | None, command: Command) -> None:
        """Check what a request does; its signature was checked before.

        Raises:
            AclError: the account may not do this.
        """

    @abstractmethod
    def require(self, ip: str, access_key: str | None, resource: Resource) -> None:
        """Check an additional permission of a peer whose signature was checked before.

        Without strict rules there are no such permissions, so this always passes.

        Raises:
            AclError: the account lacks the permission or does not exist any more.
        """

    @abstractmethod
    def secret_of(self, access_key: str) -> str | None:
        """Return the secret key of an account, to check what it signed; None without account."""

    @abstractmethod
    def admin_secret_of(self, access_key: str) -> str | None:
        """Return the secret key of an administrator's account; None without such an account."""

    def reload(self, now_ms: int) -> None:  # noqa: B027 - nothing to do where no file is edited
        """Read again what may have changed on the disk."""
