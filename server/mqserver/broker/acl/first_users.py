"""The users of ACL 2.0 that a broker starts with.

    authUsers.json ── initAuthenticationUser ── innerClientAuthenticationCredentials
                   ── the accounts of plain_acl.yml, with migrateAuthFromV1Enabled

Rule: an existing user is never changed, because an administrator may have changed it after the
settings were written; only missing users are added. Errors and log lines never quote a setting
that contains a password.

Source: auth/authentication/manager/AuthenticationMetadataManagerImpl.java#initUser,
auth/migration/AuthMigrator.java (5.4.0).
"""

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from mqserver.broker.acl.accounts import UserRefused
from mqserver.broker.acl.acl_files import AclFiles
from mqserver.broker.acl.users import FILE_NAME, Users
from mqserver.broker.config import BrokerConfig
from mqserver.runtime.jsonfile import load_state_file
from remoting.bodies import AclInfo, PlainAccessConfig, PolicyEntryInfo, PolicyInfo, UserInfo
from remoting.policies import (
    ALL,
    ALLOW,
    CUSTOM,
    DEFAULT,
    DENY,
    NORMAL,
    SUPER,
    USER,
)
from storefmt.config import fastjson
from storefmt.errors import ConfigDamaged
from storefmt.paths import StorePaths

LOG = logging.getLogger(__name__)

INIT_USER: Final = "initAuthenticationUser"
INNER_CLIENT: Final = "innerClientAuthenticationCredentials"


def first_users(config: BrokerConfig) -> Users:
    """Return the stored users of a broker and those that its settings add.

    Raises:
        ConfigDamaged: the file or a setting cannot be read.
        OSError: a damaged file that has a good ``.bak`` cannot be moved aside.
    """
    paths = StorePaths(Path(config.store.store_path_root_dir))
    users = load_state_file(paths.config_file(FILE_NAME), Users.decode) or Users()
    for key, pair in (
        (INIT_USER, _pair(INIT_USER, config.init_authentication_user, "username", "password")),
        (INNER_CLIENT, inner_keys(config.inner_client_authentication_credentials)),
    ):
        if pair is None:
            continue
        name, password = pair
        stored = users.users.get(name)
        if stored is None:
            users.create_user(UserInfo(username=name, password=password, user_type=SUPER))
        elif key == INNER_CLIENT and (stored.password, stored.user_type) != (password, SUPER):
            LOG.warning(
                "%s names the user %s, who has a different password or is not a Super user; "
                "other brokers will refuse the requests of this one", key, name,
            )  # fmt: skip
    if config.migrate_auth_from_v1_enabled and config.rocketmq_home is not None:
        migrate(AclFiles(config.rocketmq_home).load().configs, users)
    if not any(user.user_type == SUPER for user in users.users.values()):
        LOG.warning("there is no Super user; create one with %s", INIT_USER)
    return users


def inner_keys(text: str) -> tuple[str, str] | None:
    """Return the name and password with which a server signs its own requests, or None.

    Args:
        text: innerClientAuthenticationCredentials.

    Raises:
        ConfigDamaged: the setting cannot be read.
    """
    return _pair(INNER_CLIENT, text, "accessKey", "secretKey")


def codes_in(text: str) -> frozenset[str]:
    """Return the request codes of a comma-separated white list."""
    return frozenset(part.strip() for part in text.split(",") if part.strip())


def migrate(accounts: Iterable[PlainAccessConfig], users: Users) -> None:
    """Add a user and its rules for each account of 4.9 that is not a user yet.

    An admin becomes a Super user. White lists of addresses have no counterpart and are left out.
    """
    for account in accounts:
        name, password = account.access_key or "", account.secret_key
        if name in users.users:
            continue
        kind = SUPER if account.admin else NORMAL
        try:
            users.create_user(UserInfo(username=name, password=password, user_type=kind))
            policies = list(_policies(account))
            if policies:
                users.create_acl(f"{USER}:{name}", AclInfo(policies=policies))
        except UserRefused as error:
            LOG.error("the account %s of plain_acl.yml was not migrated: %s", name, error)


def _policies(account: PlainAccessConfig) -> Iterator[PolicyInfo]:
    custom = [
        _rule(f"{kind}:{name.strip()}", perm)
        for kind, perms in (("Topic", account.topic_perms), ("Group", account.group_perms))
        for name, _, perm in (text.partition("=") for text in perms or ())
        if name.strip() and perm.strip()
    ]
    defaults = [
        _rule(f"{kind}:*", perm)
        for kind, perm in (
            ("Topic", account.default_topic_perm),
            ("Group", account.default_group_perm),
        )
        if perm and perm.strip()
    ]
    for policy_type, entries in ((CUSTOM, custom), (DEFAULT, defaults)):
        if entries:
            yield PolicyInfo(policy_type=policy_type, entries=entries)


def _rule(resource: str, perm: str) -> PolicyEntryInfo:
    words = {"PUB": "Pub", "SUB": "Sub"}
    actions = [words.get(word, ALL) for word in perm.strip().split("|")]
    decision = DENY if perm.strip() == "DENY" else ALLOW
    if decision is ALLOW and ALL in actions:
        # Java grants all rights for a permission that it does not know.
        raise UserRefused(f"the permission of {resource} cannot be read")
    return PolicyEntryInfo(resource=resource, actions=actions, decision=decision)


def _pair(key: str, text: str, name: str, password: str) -> tuple[str, str] | None:
    """Return the two values of a setting; None for an empty one."""
    if not text.strip():
        return None
    try:
        content = fastjson.loads(text)
    except ConfigDamaged:
        content = None
    fields = content if isinstance(content, dict) else {}
    first, second = fields.get(name), fields.get(password)
    if isinstance(first, str) and isinstance(second, str) and first.strip() and second.strip():
        return first, second
    # The cause is left out, because it would quote the password.
    raise ConfigDamaged(f'{key} cannot be read, expected {{"{name}":"…","{password}":"…"}}')
