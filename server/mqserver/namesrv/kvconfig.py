"""Keys and values that administrators store on a name server, by namespace.

    {"configTable":{"ORDER_TOPIC_CONFIG":{"OrderTopic":"broker-a:4"}}}     kvConfig.json

Rule: a change is on the disk before it is answered, and a change that the disk refused has no
effect. A name server that cannot read its file does not start.

Source: namesrv/kvconfig/KVConfigManager.java, KVConfigSerializeWrapper.java.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from mqserver.runtime.jsonfile import REAL_FILES, Files, load_state_file, write_atomic
from remoting.bodies import KVConfigSerializeWrapper
from storefmt.config import fastjson
from storefmt.errors import ConfigDamaged

ORDER_TOPIC_CONFIG: Final = "ORDER_TOPIC_CONFIG"
"""Namespace of ordered topics: each topic has ``broker:queues`` pairs joined by semicolons."""

NAME_SIZE_MAX: Final = 255
VALUE_SIZE_MAX: Final = 65_535

Table = dict[str, dict[str, str]]


class BadKey(ValueError):
    """A namespace or key is empty or too long, or a value is too long."""


class KvConfig:
    """The key values of one name server and their file.

    Args:
        path: the file; the first change creates its directory.
        table: the content of the file.
        files: the file operations; tests pass failing ones.
    """

    def __init__(self, path: Path, table: Table, *, files: Files = REAL_FILES) -> None:
        self._path = path
        self._table = table
        self._files = files

    @classmethod
    def open(cls, path: Path, *, files: Files = REAL_FILES) -> "KvConfig":
        """Read the file or its ``.bak``; if neither exists, there are no keys yet.

        Raises:
            ConfigDamaged: at least one of them exists and neither can be read.
            OSError: a damaged file cannot be renamed.
        """
        return cls(path, load_state_file(path, decode, files=files) or {}, files=files)

    def get(self, namespace: str, key: str) -> str | None:
        """Return the value of a key, or None if it is not set."""
        return self._table.get(namespace, {}).get(key)

    def namespace(self, namespace: str) -> Mapping[str, str] | None:
        """Return all keys of a namespace, or None if it was never used."""
        return self._table.get(namespace)

    def set_value(self, namespace: str, key: str, value: str) -> None:
        """Set one key durably.

        Raises:
            BadKey: the namespace or key is empty or too long, or the value is too long.
            OSError: the disk refused; the key keeps its old value.
        """
        for what, text in (("namespace", namespace), ("key", key)):
            if not text.strip() or len(text) > NAME_SIZE_MAX:
                raise BadKey(f"{what} is {text[:80]!r}, expected 1 to {NAME_SIZE_MAX} characters")
        if len(value) > VALUE_SIZE_MAX:
            raise BadKey(f"value has {len(value)} characters, the limit is {VALUE_SIZE_MAX}")
        self._save(self._table | {namespace: self._table.get(namespace, {}) | {key: value}})

    def delete(self, namespace: str, key: str) -> None:
        """Remove one key durably; an empty namespace remains, as in Java.

        Raises:
            OSError: the disk refused; the key is still set.
        """
        held = self._table.get(namespace)
        if held is not None and key in held:
            rest = {name: value for name, value in held.items() if name != key}
            self._save(self._table | {namespace: rest})

    def _save(self, table: Table) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(self._path, encode(table), files=self._files)
        self._table = table


def encode(table: Table) -> str:
    """Return the text of the file, as compact as Java writes it."""
    return KVConfigSerializeWrapper(config_table=table).encode().decode()


def decode(text: bytes) -> Table:
    """Return the table in the text of a file.

    Raises:
        ConfigDamaged: the text is not JSON, or not an object of namespaces with keys and values.
    """
    plain = fastjson.loads(text)
    config_table = plain.get("configTable") if isinstance(plain, dict) else None
    if not isinstance(config_table, dict):
        raise ConfigDamaged("configTable is missing, expected an object of namespaces")
    table: Table = {}
    for namespace, keys in config_table.items():
        if not isinstance(keys, dict):
            raise ConfigDamaged(f"namespace {namespace!r} is not an object of keys and values")
        table[str(namespace)] = {str(key): str(value) for key, value in keys.items()}
    return table
