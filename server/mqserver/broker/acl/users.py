"""The users of ACL 2.0 and their rules, as one broker stores them.

    authUsers.json   {"users": [UserInfo, …], "acls": [AclInfo, …]}

Rule: the names of types, actions and decisions are stored in RocketMQ's spelling, whatever the
case in the request, so that ``remoting.policies`` decides by the same words that tools show. The
file contains passwords, so only its owner can read it, and errors and log lines never quote it.

RocketMQ 5.4.0 keeps the same objects in RocksDB (``config/auth``), whose order by key is the order
of the lists here.

Source: auth/authentication/manager/AuthenticationMetadataManagerImpl.java,
auth/authorization/manager/AuthorizationMetadataManagerImpl.java, auth/authorization/model/Acl.java,
broker/auth/converter/AclConverter.java (5.4.0).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from ipaddress import ip_network
from typing import Final, TypeVar

from mqserver.broker.acl.accounts import UserRefused
from remoting.bodies import AclInfo, PolicyEntryInfo, PolicyInfo, UserInfo
from remoting.bodies.base import Body
from remoting.errors import BadBody
from remoting.policies import (
    ACTIONS,
    ALLOW,
    ANY,
    CUSTOM,
    DEFAULT,
    DENY,
    DISABLED,
    ENABLED,
    NORMAL,
    SUPER,
    USER,
    parse_resource,
)
from storefmt.config import fastjson
from storefmt.errors import ConfigDamaged

FILE_NAME: Final = "authUsers.json"
_B = TypeVar("_B", bound=Body)


@dataclass(slots=True)
class Users:
    """The users by name, and the rules by subject (``User:alice``)."""

    users: dict[str, UserInfo] = field(default_factory=dict)
    acls: dict[str, AclInfo] = field(default_factory=dict)

    @classmethod
    def decode(cls, data: bytes) -> "Users":
        """Read authUsers.json.

        Raises:
            ConfigDamaged: the text is not the content of such a file.
        """
        content = fastjson.loads(data)
        if not isinstance(content, dict):
            raise ConfigDamaged(f"a {type(content).__name__}, expected users and acls")
        users, acls = content.get("users", []), content.get("acls", [])
        try:
            return cls(
                {user.username or "": user for user in _each(UserInfo, users)},
                {acl.subject or "": acl for acl in _each(AclInfo, acls)},
            )
        except BadBody as error:
            raise ConfigDamaged(f"a user or a rule cannot be read: {error}") from None

    def encode(self) -> str:
        """Return the content of authUsers.json."""
        users: list[fastjson.Json] = [user.to_json() for user in self.users.values()]
        acls: list[fastjson.Json] = [acl.to_json() for acl in self.acls.values()]
        return fastjson.dumps({"users": users, "acls": acls})

    def snapshot(self) -> "Users":
        """Return a copy that later changes do not affect; the objects in it are never modified."""
        return Users(dict(self.users), dict(self.acls))

    # Users.

    def is_super(self, username: str | None) -> bool:
        """Return whether a user exists and may do everything."""
        user = self.users.get(username or "")
        return user is not None and user.user_type == SUPER

    def create_user(self, info: UserInfo) -> None:
        """Add a user.

        Raises:
            UserRefused: name or password are missing, or the name is taken.
        """
        name = _username(info)
        if not (info.password or "").strip():
            raise UserRefused("password can not be blank")
        if name in self.users:
            raise UserRefused("The user is existed")
        kind = _known(info.user_type, (SUPER, NORMAL)) or NORMAL
        status = _known(info.user_status, (ENABLED, DISABLED)) or ENABLED
        self.users[name] = replace(info, user_type=kind, user_status=status)

    def update_user(self, info: UserInfo) -> None:
        """Change those fields of a user that ``info`` has.

        Raises:
            UserRefused: there is no such user.
        """
        name = _username(info)
        old = self.users.get(name)
        if old is None:
            raise UserRefused("The user is not exist")
        self.users[name] = UserInfo(
            username=name,
            password=info.password if (info.password or "").strip() else old.password,
            user_type=_known(info.user_type, (SUPER, NORMAL)) or old.user_type,
            user_status=_known(info.user_status, (ENABLED, DISABLED)) or old.user_status,
        )

    def delete_user(self, username: str) -> None:
        """Remove a user and its rules, if the user exists."""
        self.users.pop(username, None)
        self.acls.pop(f"{USER}:{username}", None)

    def list_users(self, part: str | None) -> list[UserInfo]:
        """Return the users whose names contain a text, sorted by name."""
        return [self.users[name] for name in _sorted(self.users) if _contains(name, part)]

    # Rules.

    def acl_of(self, subject: str | None) -> AclInfo | None:
        """Return the rules of a subject, or None if it has no rules.

        Raises:
            UserRefused: there is no such user.
        """
        key = _subject(subject)
        if key.partition(":")[2] not in self.users:
            raise UserRefused("The subject is not exist.")
        return self.acls.get(key)

    def create_acl(self, subject: str | None, acl: AclInfo) -> None:
        """Check rules and add them to those of a subject.

        Raises:
            UserRefused: there is no such user, or a rule is incomplete.
        """
        self.put_acl(checked_acl(subject, acl))

    def put_acl(self, acl: AclInfo) -> None:
        """Add rules that ``checked_acl`` returned to those of their subject.

        Existing rules for the same resources are replaced.

        Raises:
            UserRefused: there is no such user.
        """
        key = acl.subject or ""
        if key.partition(":")[2] not in self.users:
            raise UserRefused(f"The subject of {key} is not exist.")
        policies = acl.policies or []
        old = self.acls.get(key)
        # As in Java, rules are merged only if the subject already has some.
        merged = policies if old is None else _merged(old.policies or (), policies)
        self.acls[key] = AclInfo(subject=key, policies=merged)

    def delete_acl(
        self, subject: str | None, *, policy_type: str | None, resource: str | None
    ) -> None:
        """Remove the rule of a subject for one resource, or all its rules.

        Raises:
            UserRefused: there is no such user, or it has no rules.
        """
        old = self.acl_of(subject)
        if old is None:
            raise UserRefused("The acl is not exist.")
        kind = _known(policy_type, (CUSTOM, DEFAULT)) or CUSTOM
        key = _resource(resource)
        kept = _without(old.policies or (), kind, key) if key is not None else []
        if kept:
            self.acls[_subject(subject)] = AclInfo(subject=old.subject, policies=kept)
        else:
            del self.acls[_subject(subject)]

    def list_acls(self, subject: str | None, resource: str | None) -> Iterator[AclInfo]:
        """Yield the rules of subjects that contain one text, for resources that contain another."""
        for key in _sorted(self.acls):
            if not _contains(key, subject):
                continue
            policies = []
            for policy in self.acls[key].policies or ():
                entries = [
                    entry
                    for entry in policy.entries or ()
                    if _contains(entry.resource or "", resource)
                ]
                if entries:
                    policies.append(replace(policy, entries=entries))
            if policies:
                yield AclInfo(subject=key, policies=policies)


def _each(kind: type[_B], items: fastjson.Json) -> Iterator[_B]:
    if not isinstance(items, list):
        raise ConfigDamaged(f"a {type(items).__name__}, expected a list")
    return (kind.from_json(item) for item in items)


def _username(info: UserInfo) -> str:
    name = info.username or ""
    if not name.strip():
        raise UserRefused("username can not be blank")
    return name


def _subject(text: str | None) -> str:
    kind, _, name = (text or "").partition(":")
    if kind.lower() != USER.lower():
        raise UserRefused("The subject is null.")
    return f"{USER}:{name}"


def checked_acl(subject: str | None, acl: AclInfo) -> AclInfo:
    """Return rules as they are stored: in the spelling of ``remoting.policies``.

    Args:
        subject: the subject of the rules if ``acl`` does not name one.

    Raises:
        UserRefused: a rule is incomplete.
    """
    key = _subject(acl.subject or subject)
    policies = [_checked_policy(policy) for policy in acl.policies or () if policy.entries]
    if not policies:
        raise UserRefused("The policies is empty.")
    return AclInfo(subject=key, policies=policies)


def _sorted(names: Iterable[str]) -> list[str]:
    return sorted(names, key=lambda name: name.encode("utf-8", "surrogatepass"))


def _contains(text: str, part: str | None) -> bool:
    return not (part or "").strip() or (part or "") in text


def _known(text: str | None, names: Iterable[str]) -> str | None:
    """Return the name that equals a text regardless of case, or None."""
    return next((name for name in names if name.lower() == (text or "").lower()), None)


def _resource(text: str | None) -> str | None:
    """Return the key of a resource, or None if the text does not name one."""
    try:
        return parse_resource(text or "").key
    except ValueError:
        return None


def _checked_policy(policy: PolicyInfo) -> PolicyInfo:
    kind = _known(policy.policy_type, (CUSTOM, DEFAULT)) or CUSTOM
    return PolicyInfo(
        policy_type=kind, entries=[_checked_entry(entry) for entry in policy.entries or ()]
    )


def _checked_entry(entry: PolicyEntryInfo) -> PolicyEntryInfo:
    resource, decision = _resource(entry.resource), _known(entry.decision, (ALLOW, DENY))
    names = [_known(action, (*ACTIONS, ANY)) for action in entry.actions or ()]
    actions = [name for name in names if name is not None]
    if resource is None:
        raise UserRefused("The resource is null.")
    if not actions:
        raise UserRefused("The actions is empty.")
    if ANY in actions:
        raise UserRefused("The actions can not be Any.")
    for address in entry.source_ips or ():
        if not address.strip():
            raise UserRefused("The source ip is empty.")
        if not _is_address_or_network(address):
            raise UserRefused("The source ip is invalid.")
    if decision is None:
        raise UserRefused("The decision is null or illegal.")
    return PolicyEntryInfo(
        resource=resource,
        actions=actions,
        source_ips=list(entry.source_ips) if entry.source_ips else None,
        decision=decision,
    )


def _is_address_or_network(text: str) -> bool:
    try:
        ip_network(text, strict=False)
    except ValueError:
        return False
    # Python also reads a mask, 10.0.0.0/255.0.0.0, and a zone, fe80::1%eth0; Java reads neither.
    return "%" not in text and "." not in text.partition("/")[2]


def _merged(old: Iterable[PolicyInfo], new: Iterable[PolicyInfo]) -> list[PolicyInfo]:
    """Return old policies with the rules of new ones, resource by resource."""
    merged = list(old)
    for policy in new:
        place = _place_of(policy.policy_type, merged)
        if place is None:
            merged.append(policy)
            continue
        entries = list(merged[place].entries or ())
        # Saved rules may name a resource twice; the first one is replaced.
        indexes = {entry.resource: index for index, entry in reversed(list(enumerate(entries)))}
        for entry in policy.entries or ():
            index = indexes.setdefault(entry.resource, len(entries))
            entries[index : index + 1] = [entry]
        merged[place] = replace(merged[place], entries=entries)
    return merged


def _without(old: Iterable[PolicyInfo], kind: str, resource: str) -> list[PolicyInfo]:
    """Return policies without the first rule for a resource in the policy of one type."""
    kept = list(old)
    place = _place_of(kind, kept)
    if place is None:
        return kept
    entries = list(kept[place].entries or ())
    doomed = next((entry for entry in entries if entry.resource == resource), None)
    if doomed is not None:
        entries.remove(doomed)
    kept[place : place + 1] = [replace(kept[place], entries=entries)] if entries else []
    return kept


def _place_of(kind: str | None, policies: list[PolicyInfo]) -> int | None:
    """Return the index of the first policy of a type."""
    return next((index for index, each in enumerate(policies) if each.policy_type == kind), None)
