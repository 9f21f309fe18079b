"""Typed configuration from files, the environment and flags.

    defaults < NAMESRV_ADDR < the -c file < ROCKETMQ_<key> < flags

A config is a plain dataclass with one attribute per key. The key has RocketMQ's own name: the
camelCase of the attribute, or the ``key`` in its metadata. Values are converted according to
the annotation: str, int, bool, Path, or an Enum by name, each also ``| None``.

Rule: no mistake is ignored. A malformed value and an unknown key are errors that name the
file, the line and what is expected. A key that Java's RocketMQ knows and we do not use only
causes a warning. (Java keeps the default for a malformed number and ignores unknown keys.)

Source: common/MixAll.java#properties2Object, broker/BrokerStartup.java.
"""

import dataclasses
import difflib
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping
from enum import Enum
from pathlib import Path
from typing import NamedTuple, TypeVar

from mqserver.runtime.properties import BadProperties, parse_properties
from storefmt.names import camel_case

ConfigT = TypeVar("ConfigT")
DefaultT = TypeVar("DefaultT")

ENVIRONMENT_PREFIX = "ROCKETMQ_"
HIDDEN = "******"
"""What is shown of a secret."""


class Value(NamedTuple):
    """One raw setting and its source, such as ``broker.conf line 3``."""

    key: str
    text: str
    source: str


class SettingsError(ValueError):
    """The configuration cannot be used; the text has one line for each fault."""


class Key(NamedTuple):
    """One supported key: the attribute that holds it, its type and its limits."""

    name: str
    attribute: str
    kind: type
    optional: bool
    low: int | None
    high: int | None
    important: bool
    secret: bool = False


def setting(
    default: DefaultT,
    *,
    key: str | None = None,
    low: int | None = None,
    high: int | None = None,
    important: bool = False,
    secret: bool = False,
) -> DefaultT:
    """Declare one attribute of a config dataclass.

    Args:
        default: the value if the setting is not given.
        key: RocketMQ's name if it is not the camelCase of the attribute.
        low: smallest number allowed.
        high: largest number allowed.
        important: whether ``-m`` prints it.
        secret: whether the value is hidden wherever settings are printed.
    """
    metadata = {"key": key, "low": low, "high": high, "important": important, "secret": secret}
    return dataclasses.field(default=default, metadata=metadata, repr=not secret)


def computed(
    factory: Callable[[], DefaultT],
    *,
    key: str | None = None,
    low: int | None = None,
    important: bool = False,
) -> DefaultT:
    """Declare an attribute whose default depends on this machine.

    Args:
        factory: computes the default.
        key: RocketMQ's name if it is not the camelCase of the attribute.
        low: smallest number allowed.
        important: whether ``-m`` prints it.
    """
    metadata = {"key": key, "low": low, "important": important}
    return dataclasses.field(default_factory=factory, metadata=metadata)


def keys_of(config_type: type) -> dict[str, Key]:
    """Return the supported keys of a config dataclass, in the order of its attributes."""
    hints = typing.get_type_hints(config_type)
    keys = {}
    for field in dataclasses.fields(config_type):
        kind, optional = _kind(hints[field.name])
        if kind is None:
            continue
        name = field.metadata.get("key") or camel_case(field.name)
        low, high = field.metadata.get("low"), field.metadata.get("high")
        important = bool(field.metadata.get("important"))
        secret = bool(field.metadata.get("secret"))
        keys[name] = Key(name, field.name, kind, optional, low, high, important, secret)
    return keys


def read_file(path: Path) -> list[Value]:
    """Return the settings of a .properties file, or of YAML if its suffix is .yml or .yaml.

    Raises:
        SettingsError: the file cannot be read or is malformed.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: {_reason(error)}; give a readable file with -c") from error
    if path.suffix in (".yml", ".yaml"):
        return _read_yaml(path, text)
    try:
        return [
            Value(entry.key, entry.value.strip(), f"{path} line {entry.line}")
            for entry in parse_properties(text)
        ]
    except BadProperties as error:
        raise SettingsError(f"{path} {error}") from error


def read_environment(environment: Mapping[str, str]) -> list[Value]:
    """Return ``ROCKETMQ_<key>`` settings; names such as ROCKETMQ_HOME are not keys."""
    return [
        Value(name.removeprefix(ENVIRONMENT_PREFIX), text, f"environment variable {name}")
        for name, text in sorted(environment.items())
        if name.startswith(ENVIRONMENT_PREFIX)
        and name.removeprefix(ENVIRONMENT_PREFIX)[:1].islower()
    ]


class RawSettings:
    """Raw values from all sources before they are converted; later values override earlier ones.

    Args:
        values: settings in order of rising priority.
        known: the supported keys of every config that is built from these values.
        java_keys: keys that RocketMQ has and we do not use.
    """

    def __init__(
        self,
        values: Iterable[Value],
        *,
        known: Collection[str],
        java_keys: Collection[str] = (),
    ) -> None:
        self._values: dict[str, Value] = {}
        self._errors: list[str] = []
        self.not_used: list[Value] = []
        """Settings that RocketMQ knows and that have no effect here."""
        for value in values:
            if value.key in known:
                self._values[value.key] = value
            elif value.key in java_keys:
                self.not_used.append(value)
            else:
                self._errors.append(unknown_key(value, [*known, *java_keys]))

    def build(self, config_type: type[ConfigT], **defaults: object) -> ConfigT:
        """Return a config that has every value given for its keys.

        Args:
            config_type: the dataclass.
            defaults: values of attributes without a default, or to replace a default.

        Raises:
            SettingsError: a given value or key cannot be used, in this config or another.
        """
        arguments = dict(defaults)
        errors = list(self._errors)
        for name, key in keys_of(config_type).items():
            if name in self._values:
                try:
                    arguments[key.attribute] = convert(self._values[name], key)
                except SettingsError as error:
                    errors.append(str(error))
        if errors:
            raise SettingsError("\n".join(errors))
        return config_type(**arguments)

    def text(self, key: str) -> str | None:
        """Return the raw text that was given for ``key``, or None if it was not given."""
        return self._values[key].text if key in self._values else None


def unknown_key(value: Value, candidates: Iterable[str]) -> str:
    """Return an error text for an unknown key, with the most similar existing key."""
    lowered = {name.lower(): name for name in candidates}
    near = difflib.get_close_matches(value.key.lower(), lowered, n=1, cutoff=0.6)
    hint = f"did you mean {lowered[near[0]]}?" if near else "`-p` lists the keys"
    return f"{value.source}: unknown key {value.key}; {hint}"


def convert(value: Value, key: Key) -> object:
    """Return the typed value of one setting.

    Raises:
        SettingsError: the value cannot be used; the text names its source and what is expected.
    """
    text = value.text
    if key.optional and not text:
        return None
    if key.kind is bool:
        return boolean(value)
    if key.kind is int:
        return _integer(value, key)
    if issubclass(key.kind, Enum):
        if text not in key.kind.__members__:
            raise refused(value, "one of " + ", ".join(key.kind.__members__))
        return key.kind[text]
    if key.kind is Path:
        if not text:
            raise refused(value, "a path")
        return Path(text)
    return text


def boolean(value: Value) -> bool:
    """Return a setting as a boolean.

    Raises:
        SettingsError: the text is not ``true`` or ``false``, in any case.
    """
    text = value.text.lower()
    if text not in ("true", "false"):
        raise refused(value, "true or false")
    return text == "true"


def format_settings(config: object, *, important_only: bool = False) -> list[tuple[str, str]]:
    """Return key and text of every setting of a config, formatted as Java prints them.

    The text of a secret that is set is ``******``.
    """
    return [
        (name, _shown(key, getattr(config, key.attribute)))
        for name, key in keys_of(type(config)).items()
        if key.important or not important_only
    ]


def _kind(hint: object) -> tuple[type | None, bool]:
    optional = False
    if isinstance(hint, types.UnionType):
        members = [member for member in typing.get_args(hint) if member is not type(None)]
        optional = len(members) < len(typing.get_args(hint))
        hint = members[0]
    if isinstance(hint, type) and (hint in (str, int, bool, Path) or issubclass(hint, Enum)):
        return hint, optional
    return None, optional


def _integer(value: Value, key: Key) -> int:
    limits = ""
    if key.low is not None and key.high is not None:
        limits = f" from {key.low} to {key.high}"
    elif key.low is not None:
        limits = f", at least {key.low}"
    try:
        number = int(value.text) if value.text.isascii() else None
    except ValueError:
        number = None
    if number is None or "_" in value.text:
        raise refused(value, "an integer" + limits)
    if (key.low is not None and number < key.low) or (key.high is not None and number > key.high):
        raise refused(value, "an integer" + limits)
    return number


def refused(value: Value, expected: str) -> SettingsError:
    """Return the error for a value that is not what is expected."""
    return SettingsError(f"{value.source}: {value.key} is {value.text!r}, expected {expected}")


def _shown(key: Key, value: object) -> str:
    return HIDDEN if key.secret and value else _text(value)


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.name if isinstance(value, Enum) else str(value)


def _read_yaml(path: Path, text: str) -> list[Value]:
    import yaml  # Imported here, since the usual broker.conf does not need it.

    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise SettingsError(f"{path}: {' '.join(str(error).split())}") from error
    except RecursionError:
        text = "its values are nested too deeply, expected a mapping of keys to values"
        raise SettingsError(f"{path}: {text}") from None
    if content is None:
        return []
    if not isinstance(content, dict):
        raise SettingsError(f"{path}: expected a mapping of keys to values at the top")
    values = []
    for key, value in content.items():
        if isinstance(value, dict | list):
            raise SettingsError(f"{path}: {key} is a {type(value).__name__}, expected one value")
        values.append(Value(str(key), _text(value), str(path)))
    return values


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error)
