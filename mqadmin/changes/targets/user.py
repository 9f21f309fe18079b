"""Users and rules of ACL 2.0 on one broker, as targets of a change.

    UserTarget     a user with type, status and password     names: its name
    RulesTarget    every rule of a user                       names: its subject, User:alice

Rule: a broker deletes the rules of a user with the user, so who deletes one keeps both. Rules are
written resource by resource: a broker replaces those that are sent and keeps the others, and those
that are to go are deleted one by one.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

from mqadmin.changes.targets.base import ListedTarget
from remoting.bodies import AclInfo, PolicyEntryInfo, PolicyInfo, UserInfo
from remoting.policies import CUSTOM, DEFAULT, entries_of
from storefmt.config.fastjson import Json


@dataclass(frozen=True, slots=True)
class UserTarget(ListedTarget[UserInfo, Mapping[str, UserInfo]]):
    """A user of one broker; ``names`` has the user name."""

    kind: ClassVar[str] = "user"

    async def listing(self) -> Mapping[str, UserInfo]:
        """Return the users of the broker by name."""
        users = await self.admin.list_users(self.node.address)
        return {user.username: user for user in users if user.username}

    async def read(self) -> UserInfo | None:
        """Return the user, without the others."""
        return await self.admin.get_user(self.node.address, self.names[0])

    async def write(self, value: UserInfo | None) -> None:
        """Create, change or delete the user."""
        if value is None:
            await self.admin.delete_user(self.node.address, self.names[0])
        elif await self.read() is None:
            await self.admin.create_user(self.node.address, value)
        else:
            await self.admin.update_user(self.node.address, value)

    def encode(self, value: UserInfo) -> Json:
        """Return Java's json, with the password."""
        return value.to_json()

    def decode(self, value: Json) -> UserInfo:
        """Read Java's json."""
        return UserInfo.from_json(value)


class RuleKey(NamedTuple):
    """What names a rule among those of a subject."""

    policy_type: str
    resource: str


Rules = Mapping[RuleKey, PolicyEntryInfo]
"""The rules of a subject, in the order of the broker."""


@dataclass(frozen=True, slots=True)
class RulesTarget(ListedTarget[Rules, Mapping[str, Rules]]):
    """The rules of a subject on one broker; ``names`` has the subject."""

    kind: ClassVar[str] = "rules"

    async def listing(self) -> Mapping[str, Rules]:
        """Return the rules of every subject that has any."""
        acls = await self.admin.list_acls(self.node.address)
        return {acl.subject or "": rules_of(acl) for acl in acls}

    async def write(self, value: Rules | None) -> None:
        """Replace or delete the rules."""
        address, subject = self.node.address, self.names[0]
        if not value:
            await self.admin.delete_acl(address, subject)
            return
        old = await self.read() or {}
        changed = {key: rule for key, rule in value.items() if old.get(key) != rule}
        if changed:
            await self.admin.update_acl(address, acl_of(subject, changed))
        for key in old.keys() - value.keys():
            await self.admin.delete_acl(
                address, subject, resource=key.resource, policy_type=key.policy_type
            )

    def encode(self, value: Rules) -> Json:
        """Return Java's json."""
        return acl_of(self.names[0], value).to_json()

    def decode(self, value: Json) -> Rules:
        """Read Java's json."""
        return rules_of(AclInfo.from_json(value))

    def same(self, left: Rules | None, right: Rules | None) -> bool:
        """Compare without regard to the order; no rules are the same as none."""
        return (left or {}) == (right or {})


def rules_of(acl: AclInfo) -> Rules:
    """Return the rules of a subject by type and resource."""
    return {
        RuleKey(policy_type, entry.resource or ""): replace(
            entry, actions=list(entry.actions or ()), source_ips=list(entry.source_ips or ())
        )
        for policy_type in (CUSTOM, DEFAULT)
        for entry in entries_of(acl, policy_type)
    }


def acl_of(subject: str, rules: Rules) -> AclInfo:
    """Return rules as a broker takes them."""
    return AclInfo(subject=subject, policies=list(_policies(rules)))


def _policies(rules: Rules) -> Iterator[PolicyInfo]:
    for policy_type in (CUSTOM, DEFAULT):
        entries = [rule for key, rule in rules.items() if key.policy_type == policy_type]
        if entries:
            yield PolicyInfo(policy_type=policy_type, entries=entries)
