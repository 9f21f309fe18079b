"""The accounts of one broker and their permissions, as immutable values.

    PUB    send to a topic            SUB    pull from a topic, consume as a group
    DENY   neither; it overrides the others

Rule: permissions of topics and groups are in one table; a group is listed by its retry topic. An
entry that cannot be parsed raises an error that quotes it, but no error contains a secret key.

Source: acl/common/Permission.java, acl/plain/PlainAccessResource.java,
acl/plain/PlainPermissionManager.java#buildPlainAccessResource.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntFlag
from typing import ClassVar, Final

from mqserver.broker.names import retry_topic
from mqserver.runtime.access.addresses import AddressPattern, BadAddress
from remoting.bodies import PlainAccessConfig
from remoting.codes import ResponseCode
from storefmt.names import RETRY_PREFIX

KEY_SIZE_MIN: Final = 7
"""Fewest characters of an access key and of a secret key."""


class AclError(Exception):
    """The access control refuses a request or an account; the text is Java's."""

    response_code: ClassVar[ResponseCode] = ResponseCode.SYSTEM_ERROR
    prefix: ClassVar[str] = "org.apache.rocketmq.acl.common.AclException: "
    """The beginning of the remark, which clients and people look for."""

    @property
    def remark(self) -> str:
        """The remark of the answer."""
        return f"{self.prefix}{self}"


class UserRefused(AclError):
    """ACL 2.0 refuses a request, a user or a rule; the text is that of 5.4.0."""

    response_code = ResponseCode.NO_PERMISSION
    prefix = ""


class Perm(IntFlag):
    """What an account may do with one topic or group."""

    DENY = 1
    ANY = 2
    PUB = 4
    SUB = 8


_WORDS: Final = {
    "DENY": Perm.DENY,
    "PUB": Perm.PUB,
    "SUB": Perm.SUB,
    "PUB|SUB": Perm.PUB | Perm.SUB,
    "SUB|PUB": Perm.PUB | Perm.SUB,
}


@dataclass(frozen=True, slots=True)
class AclAccount:
    """One account.

    Attributes:
        white: addresses from which this account needs no signature.
        perms: permissions by topic, or by retry topic for a group; None if the account lists
            none at all.
    """

    access_key: str
    secret_key: str = field(repr=False)
    white: AddressPattern
    is_admin: bool = False
    default_topic: Perm = Perm.DENY
    default_group: Perm = Perm.DENY
    perms: Mapping[str, Perm] | None = None

    def lacks(self, resource: str, needed: Perm) -> bool:
        """Return whether the permission for a topic, or for a group's retry topic, is missing."""
        default = self.default_group if resource.startswith(RETRY_PREFIX) else self.default_topic
        owned = default if self.perms is None else self.perms.get(resource, default)
        if owned & Perm.DENY:
            return True
        if needed & Perm.ANY:
            return not owned & (Perm.PUB | Perm.SUB)
        return not owned & needed


def perm_of(text: str | None) -> Perm:
    """Return the permission that a text stands for; DENY if it is not valid."""
    return _WORDS.get((text or "").strip(), Perm.DENY)


def account_of(config: PlainAccessConfig) -> AclAccount:
    """Return the account that a file or a request describes.

    Raises:
        AclError: a key is too short, or an address or permission cannot be parsed.
    """
    access_key, secret_key = check_keys(config)
    perms: dict[str, Perm] = {}
    for group in config.group_perms or ():
        name, perm = _resource(group, kind="group")
        perms[retry_topic(name)] = perm
    for topic in config.topic_perms or ():
        name, perm = _resource(topic, kind="topic")
        perms[name] = perm
    try:
        white = AddressPattern(config.white_remote_address or "")
    except BadAddress as error:
        raise AclError(str(error)) from error
    return AclAccount(
        access_key,
        secret_key,
        white=white,
        is_admin=config.admin,
        default_topic=perm_of(config.default_topic_perm),
        default_group=perm_of(config.default_group_perm),
        perms=perms or None,
    )


def check_keys(config: PlainAccessConfig) -> tuple[str, str]:
    """Return access key and secret key; raise AclError if one is missing or too short."""
    access_key, secret_key = config.access_key, config.secret_key
    if (
        access_key is None
        or secret_key is None
        or min(len(access_key), len(secret_key)) < KEY_SIZE_MIN
    ):
        # Java's text contains the secret key.
        raise AclError(
            f"The accessKey={access_key} and secretKey=****** cannot be null and length should "
            "longer than 6"
        )
    return access_key, secret_key


def check_perms(resources: Iterable[str] | None) -> None:
    """Raise AclError if a text is not ``name=PERM`` with a known permission."""
    for resource in resources or ():
        items = [item for item in resource.split("=") if item]
        if len(items) != 2:
            raise AclError(
                f"Parse Resource format error for {resource}.\n"
                "The expected resource format is 'Res=Perm'. For example: topicA=SUB"
            )
        if items[1].strip() not in _WORDS:
            raise AclError(
                f"Parse resource permission error for {resource}.\n"
                "The expected permissions are 'SUB' or 'PUB' or 'SUB|PUB' or 'PUB|SUB'."
            )


def _resource(text: str, *, kind: str) -> tuple[str, Perm]:
    items = [item for item in text.split("=") if item]
    if len(items) != 2:
        raise AclError(f"Parse resource permission failed for {kind}:{text}")
    return items[0].strip(), perm_of(items[1])
