"""The access control of one broker with ACL 2.0: users, and rules about what they may do.

    authenticationEnabled   code on authenticationWhitelist ─────────── passes, without a name
                            access key ─ a user, enabled ─ signature ── passes
    authorizationEnabled    code on authorizationWhitelist ──────────── passes
                            Super user ──────────────────────────────── passes
                            each need (``user_rights``) ─ a rule ────── passes
                            any failure: UserRefused, answered with code 16

Rule: every decision comes from ``remoting.policies.decide``, so that ``acl2 test`` predicts it, and
a refusal has the text of 5.4.0. In 5.4.0 an unsigned request with a code on
authenticationWhitelist may name any user; under strict rules a request that names a user must be
signed.

Source: auth/authentication/chain/DefaultAuthenticationHandler.java,
auth/authorization/chain/*.java, auth/*/strategy/Abstract*Strategy.java (5.4.0).
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from mqserver.broker.acl.access import BrokerAccess
from mqserver.broker.acl.accounts import AclError, Perm, UserRefused
from mqserver.broker.acl.rules import Resource as PlainResource
from mqserver.broker.acl.rules import TopicAt
from mqserver.broker.acl.scope import Scopes
from mqserver.broker.acl.user_rights import PUB, SUB, TOPIC, Need, named, needs_of
from mqserver.broker.acl.users import Users
from remoting.command import Command
from remoting.errors import RemotingError
from remoting.policies import DISABLED, USER, AclDecision, decide

FAILED: Final = "Authorization failed. Please verify your access rights and try again."
"""Java's answer to a request that needs authorization and does not name a user."""


@dataclass(frozen=True, slots=True)
class UserSettings:
    """What a broker checks.

    Attributes:
        cluster: the name of this broker's cluster, as rules refer to it.
        checks_rules: authorizationEnabled.
        strict: aclStrict; whether requests are checked that 5.4.0 does not check.
        unsigned_codes: authenticationWhitelist, request codes that need no signature.
        open_codes: authorizationWhitelist, request codes that need no rule.
    """

    cluster: str
    checks_rules: bool
    strict: bool = True
    unsigned_codes: Collection[str] = ()
    open_codes: Collection[str] = ()


class UserChecks:
    """What users may do, for a broker as for a proxy in front of it.

    Args:
        users: the users and rules.
        settings: what is checked.
    """

    def __init__(self, users: Users, settings: UserSettings) -> None:
        self.users = users
        self.settings = settings

    def secret_of(self, access_key: str) -> str | None:
        """Return the password of a user who is not disabled; None for any other name."""
        user = self.users.users.get(access_key)
        return None if user is None or user.user_status == DISABLED else user.password

    def needs_rules(self, access_key: str | None, code: str) -> bool:
        """Return whether rules apply to a request, given its code or the name of its message.

        Raises:
            UserRefused: the user is disabled.
        """
        settings = self.settings
        if not settings.checks_rules or code in settings.open_codes:
            return False
        self._require_enabled(access_key)
        return not self.users.is_super(access_key)

    def check_need(self, ip: str, access_key: str | None, need: Need) -> None:
        """Check one need of a user whose signature has been checked.

        Raises:
            UserRefused: no rule allows it, or there is no such user.
        """
        if not access_key:
            raise UserRefused(FAILED)
        user = self.users.users.get(access_key)
        if user is None:
            raise UserRefused(f"User:{access_key} not found.")
        self._require_enabled(access_key)
        acl = self.users.acls.get(f"{USER}:{access_key}")
        decision = decide(user, acl, actions=need.actions, resource=need.resource, source_ip=ip)
        if not decision.is_allowed:
            raise UserRefused(
                f"{USER}:{access_key} has no permission to access {need.resource.key} from {ip}, "
                f"{_reason(decision)}"
            )

    def _require_enabled(self, access_key: str | None) -> None:
        user = self.users.users.get(access_key or "")
        if user is not None and user.user_status == DISABLED:
            raise UserRefused(f"User:{access_key} is disabled.")


class UserAccess(BrokerAccess):
    """Checks requests with users and rules.

    Args:
        users: the users and rules of this broker.
        settings: what is checked.
        topic_at: returns the topic of a message that a request refers to by its log offset.
        scopes: checks what a signature is for.
    """

    def __init__(
        self, users: Users, settings: UserSettings, *, topic_at: TopicAt, scopes: Scopes
    ) -> None:
        super().__init__(scopes)
        self.users = users
        self.settings = settings
        self.checks = UserChecks(users, settings)
        self._topic_at = topic_at

    def changed(self) -> None:
        """Forget cached decisions; call this after each change of a user or a rule."""
        self._changed()

    def secret_of(self, access_key: str) -> str | None:
        """Return the password of a user who is not disabled; None for any other name."""
        return self.checks.secret_of(access_key)

    def admin_secret_of(self, access_key: str) -> str | None:
        """Return the password of a Super user who is not disabled; None for any other name."""
        return self.secret_of(access_key) if self.users.is_super(access_key) else None

    def _secret_key(self, ip: str, access_key: str | None, code: int) -> str | None:
        settings = self.settings
        if str(code) in settings.unsigned_codes and not (settings.strict and access_key):
            return None
        if not access_key:
            raise UserRefused("username cannot be null.")
        user = self.users.users.get(access_key)
        if user is None:
            raise UserRefused(f"User:{access_key} is not found.")
        if user.user_status == DISABLED:
            raise UserRefused(f"User:{access_key} is disabled.")
        return user.password or ""

    def _bad_signature(self, access_key: str | None) -> AclError:
        return UserRefused("check signature failed.")

    def _check_rights(self, ip: str, access_key: str | None, command: Command) -> None:
        settings = self.settings
        # This comes before the body is decoded, because a Super user may do everything.
        if not self.checks.needs_rules(access_key, str(command.code)):
            return
        needs = needs_of(
            command, cluster=settings.cluster, strict=settings.strict, topic_at=self._topic_at
        )
        try:
            for need in needs:
                self.checks.check_need(ip, access_key, need)
        except RemotingError as error:
            raise UserRefused("parse authorization context error.") from error

    def require(self, ip: str, access_key: str | None, resource: PlainResource) -> None:
        """Check an additional permission of a peer whose signature has been checked.

        5.4.0 has no such permissions, so without strict rules this always passes.

        Raises:
            UserRefused: the user lacks the permission or no longer exists.
        """
        if not self.settings.checks_rules or not self.settings.strict:
            return
        name, perm = resource
        need = named(TOPIC, name, PUB if perm is Perm.PUB else SUB)
        self.checks.check_need(ip, access_key, need)


def _reason(decision: AclDecision) -> str:
    return "no matched policies." if decision.rule is None else "the decision is deny."
