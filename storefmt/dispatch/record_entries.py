"""Which queue entries and index entries one record of the commit log gives.

    sys_flag ──> is it in its queue, is it in the index
    properties ─> tag ──> tags code   (delay topic: the time at which it is due, in ms)
               ─> unique key, then the user's keys ──> index entries
               ─> INNER_MULTI_DISPATCH ──> further entries in queues of other topics

Rule: tag and keys are cut out of the raw properties without parsing all of them, since a scan of
the log does this for every record. Most records have the same property names as the record
before, so one match of a pattern gives all values. The result equals that of
``storefmt.formats.properties.parse_properties``, which parses properties that are not ASCII.

Source: store/CommitLog.java#checkMessageAndReturnSize, store/ConsumeQueue.java
#multiDispatchLmqQueue, store/index/IndexService.java#buildIndex,
common/message/MessageDecoder.java#string2messageProperties (4.9.7).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from storefmt.formats.javahash import tags_code
from storefmt.formats.properties import (
    DELAY,
    INNER_MULTI_DISPATCH,
    INNER_MULTI_QUEUE_OFFSET,
    KEYS,
    TAGS,
    UNIQUE_KEY,
    index_keys,
    parse_properties,
    split_keys,
)
from storefmt.formats.sysflag import TRANSACTION_COMMIT, TRANSACTION_MASK, TRANSACTION_ROLLBACK
from storefmt.names import SCHEDULE_TOPIC, is_light

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
            return tag, split_keys(single, named)
        return found[tags] if tags else None, split_keys(
            found[unique] if unique else "", found[keys] if keys else ""
        )

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
    return parsed.get(TAGS), index_keys(parsed)


def _is_plain(names: tuple[str, ...]) -> bool:
    # A separator at the end leaves an empty last name.
    return len(set(names)) == len(names) and all(names[:-1])


def _layout_of(names: tuple[str, ...]) -> _Layout:
    parts = [name and re.escape(name) + (_VALUE if name in _WANTED else _OTHER) for name in names]
    wanted = [name for name in names if name in _WANTED]
    groups = [wanted.index(name) + 1 if name in wanted else 0 for name in _WANTED]
    return _Layout(re.compile("\x02".join(parts)).fullmatch, *groups)


_READER: Final = _Reader()
texts_of: Final = _READER.read

_LEVEL_SIZE_MAX: Final = 20
_LEVEL_MAX: Final = 0x7FFFFFFF
_OFFSET_DIGITS_MAX: Final = 18
_COPIES: Final = f"{INNER_MULTI_DISPATCH}\x01".encode()
_COPY_SEPARATOR: Final = ","


def is_queued(sys_flag: int) -> bool:
    """Tell whether a record gets an entry in its queue: all except half and rollback do."""
    return sys_flag & TRANSACTION_MASK in (0, TRANSACTION_COMMIT)


def is_indexed(sys_flag: int) -> bool:
    """Tell whether the keys of a record are added to the index: all except rollback are."""
    return sys_flag & TRANSACTION_MASK != TRANSACTION_ROLLBACK


class DueTimes:
    """The tags codes of the delay topic, in a store with these delays (ms) of level 1, 2, …."""

    def __init__(self, delays_ms: Sequence[int]) -> None:
        self._delays_ms = delays_ms

    def tags_code(self, properties: bytes, store_ms: int) -> int:
        """Return when a delayed record is due (ms), or the hash of its tag if it has no level."""
        named = parse_properties(properties)
        text = named.get(DELAY, "")
        digits = text.removeprefix("+")
        is_level = len(text) <= _LEVEL_SIZE_MAX and digits.isascii() and digits.isdigit()
        level = int(digits) if is_level else 0
        level = min(level, len(self._delays_ms)) if level <= _LEVEL_MAX else 0
        return store_ms + self._delays_ms[level - 1] if level else tags_code(named.get(TAGS))


def tags_code_of(topic: str, properties: bytes, store_ms: int, *, due: DueTimes) -> int:
    """Return the tags code of a record's queue entry."""
    if topic == SCHEDULE_TOPIC:
        return due.tags_code(properties, store_ms)
    return tags_code(texts_of(properties)[0])


def may_have_copies(properties: bytes) -> bool:
    """Tell by a quick search of a record's properties whether to call ``copy_offsets``."""
    # ``in`` would first try the mark as a number, and raise and drop an error for each record.
    return properties.find(_COPIES) >= 0


def copy_offsets(properties: bytes) -> dict[str, int]:
    """Return the queue offset of each further entry by topic, as a record's properties say."""
    if not may_have_copies(properties):
        return {}
    named = parse_properties(properties)
    names = copy_topics(named)
    offsets = named.get(INNER_MULTI_QUEUE_OFFSET, "").split(_COPY_SEPARATOR)
    if len(names) != len(offsets):
        return {}
    pairs = zip(names, offsets, strict=True)
    return {name: int(text) for name, text in pairs if name and _is_offset(text)}


def _is_offset(text: str) -> bool:
    # Longer numbers are no Java long, and Python refuses those of thousands of digits.
    return len(text) <= _OFFSET_DIGITS_MAX and text.isascii() and text.isdigit()


def copy_topics(named: Mapping[str, str]) -> list[str]:
    """Return the topics that INNER_MULTI_DISPATCH names; as in Java, not empty ones at its end."""
    return named.get(INNER_MULTI_DISPATCH, "").rstrip(_COPY_SEPARATOR).split(_COPY_SEPARATOR)


def copy_queue_id(name: str, queue_id: int, *, enable_lmq: bool) -> int:
    """Return the queue of a further entry: 0 of a light queue, else the record's own number."""
    return 0 if enable_lmq and is_light(name) else queue_id
