"""Accounts of a broker with ACL, and the versions of its files.

Source: common/AclConfig.java, common/PlainAccessConfig.java, common/protocol/body (4.9.7).
"""

from dataclasses import dataclass

from remoting.bodies.base import Body
from storefmt.config.tables import DataVersion


@dataclass(slots=True, kw_only=True)
class PlainAccessConfig(Body):
    """One account; a permission list that is None was not configured."""

    access_key: str | None = None
    secret_key: str | None = None
    white_remote_address: str | None = None
    admin: bool = False
    default_topic_perm: str | None = None
    """DENY, PUB, SUB or PUB|SUB."""
    default_group_perm: str | None = None
    topic_perms: list[str] | None = None
    """``topic=PERM`` each."""
    group_perms: list[str] | None = None
    """``group=PERM`` each."""


@dataclass(slots=True, kw_only=True)
class AclConfig(Body):
    """The content of plain_acl.yml."""

    global_white_addrs: list[str] | None = None
    plain_access_configs: list[PlainAccessConfig] | None = None


@dataclass(slots=True, kw_only=True)
class GetBrokerClusterAclConfigResponseBody(AclConfig):
    """The whole ACL configuration of a broker, secrets included (request code 54)."""


@dataclass(slots=True, kw_only=True)
class ClusterAclVersionInfo(Body):
    """The ACL versions of one broker."""

    broker_name: str | None = None
    broker_addr: str | None = None
    acl_config_data_version: DataVersion | None = None
    all_acl_config_data_version: dict[str, DataVersion] | None = None
    """File name to version."""
    cluster_name: str | None = None
