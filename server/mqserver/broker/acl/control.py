"""The access control of one broker: it checks every request, and requests can change it.

    peer on the global white list ─────────────────────────── passes
    access key ─ known? ─ peer on the account's white list ── passes
                        └ signature ─ admin? ─ permissions ── passes
                          any failure: AclError, answered with code 1

Rule: a refusal reveals only its reason: signatures are compared in constant time, and no secret
key is returned, logged or part of an error. A change is saved before it is answered. If a changed
file cannot be read, the accounts stay as they were.

Source: acl/plain/PlainPermissionManager.java#validate, #updateAccessConfig,
broker/BrokerController.java#initialAcl.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, cast

from mqserver.broker.acl.access import BrokerAccess
from mqserver.broker.acl.accounts import (
    AclAccount,
    AclError,
    Perm,
    account_of,
    check_keys,
    check_perms,
)
from mqserver.broker.acl.acl_files import ACCOUNTS, WHITE, AclFiles, Content, accounts_in
from mqserver.broker.acl.live_accounts import LiveAccounts
from mqserver.broker.acl.rules import Level, Resource, TopicAt, rule_of
from mqserver.broker.acl.scope import Scopes
from mqserver.runtime.access.addresses import AddressPattern, BadAddress
from remoting.bodies import PlainAccessConfig
from remoting.command import Command
from remoting.errors import RemotingError
from storefmt.config.fastjson import Json, Key
from storefmt.config.tables import DataVersion
from storefmt.names import (
    CHECK_MAX_TIME_TOPIC,
    HALF_TOPIC,
    OP_HALF_TOPIC,
    RETRY_PREFIX,
    SCHEDULE_TOPIC,
    TIMER_TOPIC,
    TRACE_TOPIC,
)

HOLDING_TOPICS: Final = frozenset({
    SCHEDULE_TOPIC, HALF_TOPIC, OP_HALF_TOPIC, CHECK_MAX_TIME_TOPIC, TIMER_TOPIC,
})  # fmt: skip
"""Topics in which messages of all topics wait; default permissions do not apply to them."""

HIDDEN: Final = "******"
"""The text that replaces every secret key in answers."""


class AccessControl(BrokerAccess):
    """Checks requests with the accounts of one home directory.

    Args:
        files: the account files.
        strict: True for the strict rules of this project, False for those of Java 4.9.7.
        topic_at: returns the topic of a message that a request refers to by its log offset.
        scopes: checks what a signature is for.

    Raises:
        ConfigDamaged: a file cannot be read.
    """

    def __init__(self, files: AclFiles, *, strict: bool, topic_at: TopicAt, scopes: Scopes) -> None:
        super().__init__(scopes)
        self._files = files
        self._strict = strict
        self._topic_at = topic_at
        self._live = LiveAccounts(files)

    # Requests.

    def secret_of(self, access_key: str) -> str | None:
        """Return the secret key of an account, to check what it signed; None without account."""
        return self._live.secret_of(access_key)

    def admin_secret_of(self, access_key: str) -> str | None:
        """Return the secret key of an administrator's account; None without such an account."""
        account = self._live.table.accounts.get(access_key)
        is_admin = account is not None and account.is_admin
        return account.secret_key if account is not None and is_admin else None

    def _secret_key(self, ip: str, access_key: str | None, code: int) -> str | None:
        account = self._signer(ip, access_key)
        return None if account is None else account.secret_key

    def _bad_signature(self, access_key: str | None) -> AclError:
        return AclError(f"Check signature failed for accessKey={access_key}")

    def _check_rights(self, ip: str, access_key: str | None, command: Command) -> None:
        account = self._signer(ip, access_key)
        if account is not None:
            self._check_perms(account, command)

    def _signer(self, ip: str, access_key: str | None) -> AclAccount | None:
        """Return the account that has to sign a request; None if ``ip`` needs no signature.

        Raises:
            AclError: the request has no access key, or an unknown one.
        """
        table = self._live.table
        if any(pattern.matches(ip) for pattern in table.white):
            return None
        if access_key is None:
            raise AclError("No accessKey is configured")
        account = table.accounts.get(access_key)
        if account is None:
            raise AclError(f"No acl config for {access_key}")
        return None if account.white.matches(ip) else account

    def _check_perms(self, account: AclAccount, command: Command) -> None:
        rule = rule_of(command.code, strict=self._strict)
        if rule.level is Level.ADMIN and not account.is_admin:
            raise AclError(
                f"Need admin permission for request code={command.code}, "
                f"but accessKey={account.access_key} is not"
            )
        if account.is_admin and account.perms is None:
            return
        try:
            needed = list(rule.needs(command, self._topic_at))
        except RemotingError as error:
            raise AclError(str(error)) from error
        for resource in needed:
            # Every client may send message traces.
            if resource != (TRACE_TOPIC, Perm.PUB):
                self._check_resource(account, resource)

    def require(self, ip: str, access_key: str | None, resource: Resource) -> None:
        """Check an additional permission of a peer whose signature was checked before.

        The rules of 4.9.7 have no such permissions, so without strict rules this always passes.

        Raises:
            AclError: the account lacks the permission or does not exist any more.
        """
        if not self._strict or any(pattern.matches(ip) for pattern in self._live.table.white):
            return
        account = self._live.table.accounts.get(access_key or "")
        if account is None:
            raise AclError(f"No acl config for {access_key}")
        if not account.white.matches(ip) and not (account.is_admin and account.perms is None):
            self._check_resource(account, resource)

    def _check_resource(self, account: AclAccount, resource: Resource) -> None:
        name, needed = resource
        by_default = name not in (account.perms or ())
        if account.lacks(name, needed) or (self._strict and by_default and name in HOLDING_TOPICS):
            is_group = name.startswith(RETRY_PREFIX)
            text = f"group:{name.removeprefix(RETRY_PREFIX)}" if is_group else f"topic:{name}"
            raise AclError(f"No default permission for {text}")

    # Files.

    def reload(self, now_ms: int) -> None:
        """Read the files again if they changed, see ``LiveAccounts``."""
        table = self._live.table
        self._live.reload(now_ms)
        if self._live.table is not table:
            self._changed()

    @property
    def version(self) -> DataVersion:
        """The data version of plain_acl.yml."""
        return self._live.table.versions.get(self._files.default, DataVersion())

    @property
    def versions(self) -> Mapping[str, DataVersion]:
        """The data version of each file, by its path."""
        return {str(path): version for path, version in self._live.table.versions.items()}

    @property
    def white(self) -> list[str]:
        """The patterns of the global white list."""
        return [pattern.text for pattern in self._live.table.white]

    @property
    def accounts(self) -> list[PlainAccessConfig]:
        """The accounts as written in the files, with their secret keys hidden."""
        return [
            dataclasses.replace(account, secret_key=HIDDEN) for account in self._live.table.configs
        ]

    def update(self, config: PlainAccessConfig, now_ms: int) -> None:
        """Create an account, or change the fields of one that ``config`` contains.

        Raises:
            AclError: a key, address or permission is not valid.
            ConfigDamaged: the file of the account cannot be read.
            OSError: the file cannot be written.
        """
        check_keys(config)
        check_perms(config.topic_perms)
        check_perms(config.group_perms)
        access_key = cast(str, config.access_key)
        path = self._live.table.origins.get(access_key, self._files.default)
        content = self._read(path)
        accounts = accounts_in(content)
        old = next((other for other in accounts if _key_of(other) == access_key), None)
        new = _merged(old, config)
        account_of(PlainAccessConfig.from_json(new))
        # As in Java, the changed account moves to the end of the list.
        kept = [other for other in accounts if other is not old]
        self._write(path, {**content, ACCOUNTS: [*kept, new]}, now_ms)

    def delete(self, access_key: str, now_ms: int) -> bool:
        """Remove an account; return False if there is none.

        Raises:
            ConfigDamaged: the file of the account cannot be read.
            OSError: the file cannot be written.
        """
        path = self._live.table.origins.get(access_key)
        if path is None:
            return False
        content = self._read(path)
        kept = [account for account in accounts_in(content) if _key_of(account) != access_key]
        self._write(path, {**content, ACCOUNTS: kept}, now_ms)
        return True

    def set_white(self, patterns: Sequence[str], file: str, now_ms: int) -> bool:
        """Replace the global white list of one file; return False if there is no such file.

        Args:
            patterns: addresses that need no key from now on.
            file: the full path of an existing account file; empty for plain_acl.yml.

        Raises:
            AclError: a pattern cannot be parsed.
            ConfigDamaged: the file cannot be read.
            OSError: the file cannot be written.
        """
        path = Path(file) if file else self._files.default
        if file and path not in self._files.paths():
            return False
        try:
            for pattern in patterns:
                AddressPattern(pattern)
        except BadAddress as error:
            raise AclError(str(error)) from error
        self._write(path, {**self._read(path), WHITE: list(patterns)}, now_ms)
        return True

    def _read(self, path: Path) -> Content:
        return self._files.read(path) if path in self._files.paths() else {}

    def _write(self, path: Path, content: Mapping[str, Json], now_ms: int) -> None:
        self._files.write(path, content, now_ms=now_ms)
        self._live.load()
        self._changed()


def _key_of(account: Json) -> str | None:
    return PlainAccessConfig.from_json(account).access_key


def _merged(old: Json, config: PlainAccessConfig) -> Json:
    """Return an account with the fields of ``config``; fields that it leaves out are kept."""
    merged: dict[Key, Json] = dict(old) if isinstance(old, dict) else {}
    said: dict[Key, Json] = {
        "accessKey": config.access_key,
        "secretKey": config.secret_key,
        "whiteRemoteAddress": config.white_remote_address,
        "admin": config.admin,
        "defaultTopicPerm": config.default_topic_perm or None,
        "defaultGroupPerm": config.default_group_perm or None,
        "topicPerms": None if config.topic_perms is None else list(config.topic_perms),
        "groupPerms": None if config.group_perms is None else list(config.group_perms),
    }
    return merged | {key: value for key, value in said.items() if value is not None}
