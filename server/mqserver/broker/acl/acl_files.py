"""Read and write the account files of a broker.

    <home>/conf/acl/**/*.yml, *.yaml   and   <home>/conf/plain_acl.yml

    globalWhiteRemoteAddresses: [10.10.*.*]
    accounts:
    - {accessKey: ..., secretKey: ..., admin: false, topicPerms: [T=PUB|SUB], ...}
    dataVersion:
    - {counter: 3, timestamp: 1700000000000}

Rule: a file is used completely or not at all. It is replaced by a rename, and only its owner can
read it. If several files have the same access key, the first one counts; plain_acl.yml is last.
No error quotes lines of a file.

Source: acl/plain/PlainPermissionManager.java#load, acl/common/AclUtils.java.
"""

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast

from mqserver.broker.acl.accounts import AclAccount, AclError, account_of
from mqserver.runtime.access.addresses import AddressPattern, BadAddress
from mqserver.runtime.jsonfile import Files, write_atomic
from remoting.bodies import PlainAccessConfig
from remoting.errors import BadBody
from storefmt.config.fastjson import Json
from storefmt.config.tables import DataVersion
from storefmt.errors import ConfigDamaged

LOG = logging.getLogger(__name__)

FILE_SIZE_MAX: Final = 16 * 1024 * 1024
WHITE: Final = "globalWhiteRemoteAddresses"
ACCOUNTS: Final = "accounts"
VERSION: Final = "dataVersion"

Content = dict[str, Json]
"""One file as read, with all of its keys, known or not."""


@dataclass(slots=True)
class AclTable:
    """The content of all account files.

    Attributes:
        white: addresses that need no key at all.
        accounts: by access key.
        origins: the file of each access key.
        configs: the accounts as they are written, in the order of the files.
        versions: the data version of each file that is not empty.
    """

    white: list[AddressPattern] = field(default_factory=list)
    accounts: dict[str, AclAccount] = field(default_factory=dict)
    origins: dict[str, Path] = field(default_factory=dict)
    configs: list[PlainAccessConfig] = field(default_factory=list, repr=False)
    versions: dict[Path, DataVersion] = field(default_factory=dict)


class OwnerOnly(Files):
    """File operations that let only the owner of the process read a file."""

    def write_synced(self, path: Path, data: bytes) -> None:
        """Write a whole file that only its owner may read, and wait until it is on the disk."""
        path.unlink(missing_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())


class AclFiles:
    """The account files of one home directory.

    Args:
        home: the directory that contains ``conf``.
        files: the file operations; tests pass failing ones.
    """

    def __init__(self, home: Path, *, files: Files | None = None) -> None:
        self._conf = home.resolve() / "conf"
        self.default = self._conf / "plain_acl.yml"
        self._files = files or OwnerOnly()

    def paths(self) -> list[Path]:
        """Return the files that exist, those of ``conf/acl`` first."""
        extra = (self._conf / "acl").rglob("*.y*ml")
        # Anything but a regular file, such as a pipe, would keep the broker waiting.
        paths = sorted(
            path for path in extra if path.suffix in (".yml", ".yaml") and path.is_file()
        )
        if self.default.is_file() or _backup(self.default).is_file():
            paths.append(self.default)
        return paths

    def stamp(self) -> tuple[tuple[str, int, int, int], ...]:
        """Return a value that changes when a file is changed, added or removed."""
        stamps = []
        for path in self.paths():
            try:
                state = path.stat()
            except FileNotFoundError:
                continue  # between its two renames, or gone since it was listed
            stamps.append((str(path), state.st_mtime_ns, state.st_size, state.st_ino))
        return tuple(stamps)

    def load(self) -> AclTable:
        """Return the content of all files.

        Raises:
            ConfigDamaged: a file cannot be read, or an entry is not valid.
        """
        table = AclTable()
        for path in self.paths():
            content = self.read(path)
            if content:
                try:
                    _add_accounts(content, path, table)
                except (AclError, BadAddress, BadBody, ConfigDamaged) as error:
                    raise ConfigDamaged(f"{path}: {error}") from error
        return table

    def read(self, path: Path) -> Content:
        """Return the content of one file; an empty file gives an empty dict.

        Raises:
            ConfigDamaged: the file cannot be read, or is not a YAML mapping.
        """
        import yaml  # only here: most brokers have no access control

        try:
            source = path if path.is_file() or not _backup(path).is_file() else _backup(path)
            with source.open("rb") as file:
                data = file.read(FILE_SIZE_MAX + 1)
            if len(data) > FILE_SIZE_MAX:
                raise ConfigDamaged(f"{path}: larger than {FILE_SIZE_MAX} bytes")
            content = yaml.safe_load(data)
        except OSError as error:
            raise ConfigDamaged(f"{path}: {(error.strerror or str(error)).lower()}") from error
        except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
            mark = getattr(error, "problem_mark", None)
            where = "" if mark is None else f" at line {mark.line + 1}"
            # The cause is suppressed, because it quotes a line that may contain a secret key.
            raise ConfigDamaged(f"{path}: not readable as YAML{where}") from None
        if content is None:
            return {}
        if not isinstance(content, dict):
            raise ConfigDamaged(f"{path}: a {type(content).__name__}, expected keys and values")
        return cast(Content, content)

    def write(self, path: Path, content: Mapping[str, Json], *, now_ms: int) -> None:
        """Replace one file, with an increased data version.

        Raises:
            OSError: the file cannot be written; the old file is kept.
        """
        import yaml

        counter = _version(content).counter + 1
        version: Json = [{"counter": counter, "timestamp": now_ms}]
        text = yaml.safe_dump(
            {**content, VERSION: version},
            default_flow_style=False,
            sort_keys=False,
            allow_unicode=True,
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, text, files=self._files)


def accounts_in(content: Mapping[str, Json]) -> list[Json]:
    """Return the accounts in a file's content; raise ConfigDamaged if they are not a list."""
    return _list(content, ACCOUNTS)


def _add_accounts(content: Content, path: Path, table: AclTable) -> None:
    table.white += [AddressPattern(str(each)) for each in _list(content, WHITE) if each is not None]
    for each in accounts_in(content):
        config = PlainAccessConfig.from_json(each)
        account = account_of(config)
        if account.access_key in table.accounts:
            LOG.warning("%s: access key %s is in another file too", path, account.access_key)
            continue
        table.accounts[account.access_key] = account
        table.origins[account.access_key] = path
        table.configs.append(config)
    table.versions[path] = _version(content)


def _list(content: Mapping[str, Json], key: str) -> list[Json]:
    entries = content.get(key)
    if entries is None:
        return []
    if not isinstance(entries, list):
        raise ConfigDamaged(f"{key} is a {type(entries).__name__}, expected a list")
    return entries


def _version(content: Mapping[str, Json]) -> DataVersion:
    versions = _list(content, VERSION)
    return DataVersion.from_json(versions[0]) if versions else DataVersion()


def _backup(path: Path) -> Path:
    return path.with_name(path.name + ".bak")
