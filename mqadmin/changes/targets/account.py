"""Accounts and the white list of a broker with access control, as targets of a change.

Rule: a broker accepts a change of an account only with its secret. A Java broker reveals the
secret, ours hides it; then the one from the command line is sent, and without one the change is
refused. A list can only be emptied by deleting and creating the account.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Final

from mqadmin.changes.targets.base import ChangeTarget, ListedTarget
from mqadmin.errors import ServerRefused
from mqadmin.session.journal import SavedState
from remoting.bodies import GetBrokerClusterAclConfigResponseBody, PlainAccessConfig
from storefmt.config.fastjson import Json

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin

HIDDEN: Final = "******"
"""Stands for a secret that a server hides."""
NO_ACL: Final = "the broker has no accounts: aclEnable is false"


class NoAccessControl(ServerRefused):
    """A broker has no access control, and so no accounts."""


async def check_acl(admin: "Admin", address: str) -> None:
    """Check that a broker has accounts before asking for them.

    Raises:
        NoAccessControl: it has no access control; a Java broker would not answer the request.
    """
    settings = await admin.broker_config(address)
    # A broker before 4.4 has no such setting.
    if settings.get("aclEnable", "false") == "false":
        hint = "set aclEnable=true and restart the broker"
        if "authorizationEnabled" in settings:
            hint = "it has ACL 2.0: see `user list` and `acl2 list`"
        raise NoAccessControl(f"{address}: {NO_ACL}", hint=hint)


async def read_acl(admin: "Admin", address: str) -> GetBrokerClusterAclConfigResponseBody:
    """Return accounts and white list of a broker; raises as ``check_acl``."""
    await check_acl(admin, address)
    return await admin.acl_config(address)


@dataclass(frozen=True, slots=True)
class AccountTarget(ListedTarget[PlainAccessConfig, Mapping[str | None, PlainAccessConfig]]):
    """An account of one broker; ``names`` has its access key.

    Attributes:
        secret: the account's secret as the line gave it, where the broker hides it.
    """

    kind: ClassVar[str] = "account"

    secret: str | None = None

    async def listing(self) -> Mapping[str | None, PlainAccessConfig]:
        """Return the accounts of the broker by access key."""
        accounts = (await read_acl(self.admin, self.node.address)).plain_access_configs
        return {account.access_key: account for account in accounts or ()}

    async def write(self, value: PlainAccessConfig | None) -> None:
        """Create, change or delete it."""
        address = self.node.address
        if value is None:
            await self.admin.delete_account(address, self.names[0])
            return
        now = await self.read()
        secrets = (value.secret_key, self.secret, now.secret_key if now else None)
        secret = next(
            (secret_key for secret_key in secrets if secret_key and secret_key != HIDDEN), None
        )
        if secret is None:
            raise ServerRefused(
                f"account {self.names[0]}: its secret is unknown, and a broker accepts no change "
                "without it",
                hint=f"pass it with `acl set {self.names[0]} --secret -`",
            )
        if now is not None and _loses(now, value):
            await self.admin.delete_account(address, self.names[0])
        await self.admin.update_account(address, replace(value, secret_key=secret))

    def encode(self, value: PlainAccessConfig) -> Json:
        """Return Java's json, with the secret if it is known."""
        secret_key = self.secret if value.secret_key in (None, HIDDEN) else value.secret_key
        return replace(value, secret_key=secret_key).to_json()

    def decode(self, value: Json) -> PlainAccessConfig:
        """Read Java's json."""
        return PlainAccessConfig.from_json(value)

    def same(self, left: PlainAccessConfig | None, right: PlainAccessConfig | None) -> bool:
        """Compare everything but hidden secrets; a missing field means the default."""
        if left is None or right is None:
            return left is right
        secrets = {left.secret_key, right.secret_key} - {None, HIDDEN}
        return plain(left) == plain(right) and len(secrets) <= 1


@dataclass(frozen=True, slots=True)
class WhiteList(ChangeTarget[tuple[str, ...]]):
    """The addresses that need no signature; ``names`` has the account file, or is empty."""

    kind: ClassVar[str] = "white list"

    async def read(self) -> tuple[str, ...] | None:
        """Return the patterns; a list that was emptied over the wire has an empty one."""
        patterns = (await read_acl(self.admin, self.node.address)).global_white_addrs
        return tuple(pattern for pattern in patterns or () if pattern)

    async def write(self, value: tuple[str, ...] | None) -> None:
        """Replace the patterns."""
        file = self.names[0] if self.names else None
        await self.admin.update_white_addresses(self.node.address, value or (), file=file)

    def encode(self, value: tuple[str, ...]) -> Json:
        """Return a list."""
        return list(value)

    def decode(self, value: Json) -> tuple[str, ...]:
        """Read a list."""
        return tuple(str(pattern) for pattern in value) if isinstance(value, list) else ()

    def same(self, left: tuple[str, ...] | None, right: tuple[str, ...] | None) -> bool:
        """Compare without regard to order."""
        return {*(left or ())} == {*(right or ())}

    def saved(self, value: tuple[str, ...] | None) -> SavedState:
        """Keep an empty list as a list, because it exists."""
        return ChangeTarget.saved(self, value or ())


def plain(account: PlainAccessConfig) -> tuple[object, ...]:
    """Return the permissions of an account, in one form for missing fields and defaults."""
    return (
        account.admin,
        account.white_remote_address or "",
        account.default_topic_perm or "DENY",
        account.default_group_perm or "DENY",
        sorted(account.topic_perms or ()),
        sorted(account.group_perms or ()),
    )


def _loses(now: PlainAccessConfig, new: PlainAccessConfig) -> bool:
    """Return whether something is to be emptied, which an update cannot do."""
    return any(
        getattr(now, name) and not getattr(new, name)
        for name in (
            *("white_remote_address", "topic_perms", "group_perms"),
            *("default_topic_perm", "default_group_perm"),
        )
    )
