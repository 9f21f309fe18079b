"""Bodies with the accounts of a broker with ACL, and with the versions of its files.

Source: common/AclConfig.java, common/PlainAccessConfig.java, common/protocol/body (4.9.7).
"""

from dataclasses import dataclass

from remoting.bodies.base import Body


@dataclass(slots=True, kw_only=True)
class PlainAccessConfig(Body):
    """One account; a list of permissions is None when it was not configured."""

    access_key: str | None = None
    secret_key: str | None = None
    white_remote_address: str | None = None
    admin: bool = False
    default_topic_perm: str | None = None
    """DENY, PUB, SUB or PUB|SUB, for topics that ``topic_perms`` does not name."""
    default_group_perm: str | None = None
    """DENY, PUB, SUB or PUB|SUB, for groups that ``group_perms`` does not name."""
    topic_perms: list[str] | None = None
    """Each item is ``topic=PERM``."""
    group_perms: list[str] | None = None
    """Each item is ``group=PERM``."""


@dataclass(slots=True, kw_only=True)
class AclConfig(Body):
    """The content of plain_acl.yml."""

    global_white_addrs: list[str] | None = None
    plain_access_configs: list[PlainAccessConfig] | None = None


@dataclass(slots=True, kw_only=True)
class GetBrokerClusterAclConfigResponseBody(AclConfig):
    """The broker returns its whole ACL configuration with all secrets (request code 54)."""
