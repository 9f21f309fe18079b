"""Accounts and white lists of a broker with ACL.

Source: common/protocol/header (4.9.7).
"""

from dataclasses import dataclass

from remoting.header import Header


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateAccessConfig(Header):
    """Create or change one account (request code 50)."""

    access_key: str
    secret_key: str | None = None
    white_remote_address: str | None = None
    admin: bool = False
    default_topic_perm: str | None = None
    """DENY, PUB, SUB or PUB|SUB."""
    default_group_perm: str | None = None
    """DENY, PUB, SUB or PUB|SUB."""
    topic_perms: str | None = None
    """Comma separated ``topic=PERM``."""
    group_perms: str | None = None
    """Comma separated ``group=PERM``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteAccessConfig(Header):
    """Remove one account (request code 51)."""

    access_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateGlobalWhiteAddrsConfig(Header):
    """Replace the list of addresses that need no signature (request code 53)."""

    global_white_addrs: str
    """Comma separated address patterns."""
    acl_file_full_path: str
    """A path on the broker's host."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GetBrokerAclConfigResponse(Header):
    """Versions of the ACL files (request code 52)."""

    version: str
    """DataVersion as JSON text."""
    all_acl_file_version: str | None = None
    """Map of file name to DataVersion, as JSON text."""
    broker_name: str
    broker_addr: str
    cluster_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GetBrokerClusterAclConfigResponse(Header):
    """Answer to request code 54; Java sends the accounts in the body and leaves this unused."""

    plain_access_configs: str
    """The list in Java's text form."""
