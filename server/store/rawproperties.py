"""Tag and keys out of the raw properties of a record, without parsing all of them.

    KEYS ␁ … ␂ UNIQ_KEY ␁ … ␂ TAGS ␁ …     the names of the record before: one match gives all
    other names                            their pattern is made, a few of them are kept

Rule: the result is that of ``storefmt.formats.properties.parse_properties``: the last of equal
names wins, a property without a value counts for nothing. Text that is not plain ASCII
takes the long way. A walk over the log does this for every record.

Source: common/message/MessageDecoder.java#string2messageProperties.
"""

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from storefmt.formats.properties import KEY_SEPARATOR, KEYS, TAGS, UNIQUE_KEY, parse_properties

_LAYOUTS_MAX: Final = 64
"""Different rows of names that are known; whoever makes up names fills no memory."""
_WANTED: Final = (TAGS, KEYS, UNIQUE_KEY)
_VALUE: Final = r"\x01([^\x02]+)"
_OTHER: Final = r"\x01[^\x02]+"

Texts = tuple[str | None, tuple[str, ...]]
"""Tag, and keys: the unique key, then the user's."""


class _Layout(NamedTuple):
    """Properties of certain names in this order, each of them once and with a value."""

    match: Callable[[str], re.Match[str] | None]
    tags: int
    """Group of the tag, 0 for none; likewise the others."""
    keys: int
    unique: int


class _Reader:
    """Reads tag and keys of one record after the other."""

    def __init__(self) -> None:
        self._layouts: dict[tuple[str, ...], _Layout] = {}
        self._layout = _layout_of(())

    def read(self, properties: bytes) -> Texts:
        """Return the tag of a record, None without one, and the keys the index has for it."""
        if not properties.isascii():
            return _parsed(properties)
        text = properties.decode()
        match, tags, keys, unique = self._layout
        found = match(text)
        if found is None:
            return self._read_others(text, properties)
        if tags and keys and unique:
            tag, named, single = found.group(tags, keys, unique)
            return tag, (single, named) if KEY_SEPARATOR not in named else (single, *_split(named))
        users = _split(found[keys]) if keys else ()
        return found[tags] if tags else None, (found[unique], *users) if unique else users

    def _read_others(self, text: str, properties: bytes) -> Texts:
        names = tuple([part.partition("\x01")[0] for part in text.split("\x02")])
        layout = self._layouts.get(names)
        if layout is None and len(self._layouts) < _LAYOUTS_MAX and _is_plain(names):
            layout = self._layouts[names] = _layout_of(names)
        if layout is not None and layout.match(text) is not None:
            self._layout = layout
            return self.read(properties)
        return _parsed(properties)


def _parsed(properties: bytes) -> Texts:
    parsed = parse_properties(properties)
    users, single = _split(parsed.get(KEYS, "")), parsed.get(UNIQUE_KEY)
    return parsed.get(TAGS), users if single is None else (single, *users)


def _is_plain(names: tuple[str, ...]) -> bool:
    # The last is empty behind a separator at the end.
    return len(set(names)) == len(names) and all(names[:-1])


def _layout_of(names: tuple[str, ...]) -> _Layout:
    parts = [name and re.escape(name) + (_VALUE if name in _WANTED else _OTHER) for name in names]
    wanted = [name for name in names if name in _WANTED]
    groups = [wanted.index(name) + 1 if name in wanted else 0 for name in _WANTED]
    return _Layout(re.compile("\x02".join(parts)).fullmatch, *groups)


def _split(text: str) -> tuple[str, ...]:
    # Nearly always there is one.
    if KEY_SEPARATOR not in text:
        return (text,) if text else ()
    return tuple(key for key in text.split(KEY_SEPARATOR) if key)


_READER: Final = _Reader()
texts_of: Final = _READER.read
