"""Requests about the accounts and white lists of a broker with ACL.

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
    """Permission on topics that ``topic_perms`` does not name: DENY, PUB, SUB or PUB|SUB."""
    default_group_perm: str | None = None
    """Permission on groups that ``group_perms`` does not name: DENY, PUB, SUB or PUB|SUB."""
    topic_perms: str | None = None
    """Pairs ``topic=PERM`` separated by commas."""
    group_perms: str | None = None
    """Pairs ``group=PERM`` separated by commas."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteAccessConfig(Header):
    """Remove one account (request code 51)."""

    access_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateGlobalWhiteAddrsConfig(Header):
    """Replace the list of addresses that need no signature (request code 53)."""

    global_white_addrs: str
    """Address patterns separated by commas."""
    acl_file_full_path: str
    """The file that holds the list; a path on the broker's host."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GetBrokerAclConfigResponse(Header):
    """The broker returns the versions of its ACL files (request code 52)."""

    version: str
    """The DataVersion as JSON text."""
    all_acl_file_version: str | None = None
    """A map from file name to DataVersion, as JSON text."""
    broker_name: str
    broker_addr: str
    cluster_name: str
