"""Bodies with the accounts of a broker with ACL, and with the versions of its files.

Source: common/AclConfig.java, common/PlainAccessConfig.java, common/protocol/body (4.9.7).
"""

from dataclasses import dataclass

from remoting.bodies.base import Body
from storefmt.config.tables import DataVersion


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


@dataclass(slots=True, kw_only=True)
class ClusterAclVersionInfo(Body):
    """The versions of the ACL files of one broker."""

    broker_name: str | None = None
    broker_addr: str | None = None
    acl_config_data_version: DataVersion | None = None
    all_acl_config_data_version: dict[str, DataVersion] | None = None
    """The version of each file, by file name."""
    cluster_name: str | None = None
