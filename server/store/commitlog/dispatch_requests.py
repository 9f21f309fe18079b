"""Dispatch entries, made from records that were read from the log.

    Found ── properties ──> tag ──> tags code ─┐
                       └──> keys ──────────────┴──> DispatchEntry

Rule: the tags code is the hash of the tag, as in Java's ``String.hashCode``; for a delayed
message it is the time at which it is due, in ms.

Tag and keys are cut out of the raw properties without parsing all of them, since a scan of the
log does this for every record. Most records have the same property names as the record before,
so one match of a pattern gives all values. The result equals that of
``storefmt.formats.properties.parse_properties``, which parses properties that are not ASCII.

Source: store/CommitLog.java#checkMessageAndReturnSize,
common/message/MessageDecoder.java#string2messageProperties.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from server.store.commitlog.append import new_entry
from server.store.commitlog.log_scan import Found
from server.store.results import DispatchEntry
from storefmt.formats.javahash import tags_code
from storefmt.formats.properties import (
    DELAY,
    KEY_SEPARATOR,
    KEYS,
    TAGS,
    UNIQUE_KEY,
    parse_properties,
)
from storefmt.names import SCHEDULE_TOPIC

_LAYOUTS_MAX: Final = 64
"""Most rows of property names that are remembered, so that made-up names fill no memory."""
_WANTED: Final = (TAGS, KEYS, UNIQUE_KEY)
_VALUE: Final = r"\x01([^\x02]+)"
_OTHER: Final = r"\x01[^\x02]+"

Texts = tuple[str | None, tuple[str, ...]]
"""Tag and keys: the unique key first, then the user's keys."""


class _Layout(NamedTuple):
    """A pattern for properties with certain names in order, each once and with a value."""

    match: Callable[[str], re.Match[str] | None]
    tags: int
    """Group number of the tag, 0 for none; ``keys`` and ``unique`` likewise."""
    keys: int
    unique: int


class _Reader:
    """Reads tag and keys of one record after another."""

    def __init__(self) -> None:
        self._layouts: dict[tuple[str, ...], _Layout] = {}
        self._layout = _layout_of(())

    def read(self, properties: bytes) -> Texts:
        """Return the tag of a record (or None) and the keys that the index stores for it."""
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
    # A separator at the end leaves an empty last name.
    return len(set(names)) == len(names) and all(names[:-1])


def _layout_of(names: tuple[str, ...]) -> _Layout:
    parts = [name and re.escape(name) + (_VALUE if name in _WANTED else _OTHER) for name in names]
    wanted = [name for name in names if name in _WANTED]
    groups = [wanted.index(name) + 1 if name in wanted else 0 for name in _WANTED]
    return _Layout(re.compile("\x02".join(parts)).fullmatch, *groups)


def _split(text: str) -> tuple[str, ...]:
    # There is nearly always exactly one key.
    if KEY_SEPARATOR not in text:
        return (text,) if text else ()
    return tuple(key for key in text.split(KEY_SEPARATOR) if key)


_READER: Final = _Reader()
texts_of: Final = _READER.read


_DELAY_UNKNOWN_MS: Final = 1000


class Entries:
    """Makes entries in a store that has the given delay (ms) for each delay level."""

    def __init__(self, delays_ms: Mapping[int, int]) -> None:
        self._delays_ms = delays_ms

    def of(self, found: Found) -> DispatchEntry:
        """Return the entry of a record."""
        return self.of_all((found,))[0]

    def of_all(self, records: Iterable[Found]) -> list[DispatchEntry]:
        """Return the entries of records; recovery makes some hundreds at a time."""
        entries: list[DispatchEntry] = []
        codes: dict[str | None, int] = {}
        for (
            log_offset, size, topic, queue_id, queue_offset, sys_flag, store_ms, properties,
        ) in records:  # fmt: skip
            tag, keys = texts_of(properties)
            if topic == SCHEDULE_TOPIC:
                code: int | None = self._due_ms(properties, store_ms)
            elif (code := codes.get(tag)) is None:
                code = codes[tag] = tags_code(tag)
            fields = topic, queue_id, queue_offset, log_offset, size, code, store_ms, sys_flag, keys
            entries.append(new_entry(DispatchEntry, fields))
        return entries

    def _due_ms(self, properties: bytes, store_ms: int) -> int:
        named = parse_properties(properties)
        text = named.get(DELAY, "")
        level = int(text) if text.lstrip("-").isdecimal() else 0
        level = min(level, max(self._delays_ms))
        if level <= 0:
            return tags_code(named.get(TAGS))
        return store_ms + self._delays_ms.get(level, _DELAY_UNKNOWN_MS)
