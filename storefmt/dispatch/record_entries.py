"""Which queue entries and index entries one record of the commit log gives.

    sys_flag ──> is it in its queue, is it in the index
    properties ─> tag ──> tags code   (delay topic: the time at which it is due, in ms)
               ─> unique key, then the user's keys ──> index entries
               ─> INNER_MULTI_DISPATCH ──> further entries in queues of other topics

Rule: a scan of the log reads tag and keys of every record, so ``tag_and_keys_of`` makes no
dictionary. Its result equals that of ``storefmt.formats.properties.parse_properties``.

Source: store/CommitLog.java#checkMessageAndReturnSize, store/ConsumeQueue.java
#multiDispatchLmqQueue, store/index/IndexService.java#buildIndex,
common/message/MessageDecoder.java#string2messageProperties (4.9.7).
"""

from collections.abc import Mapping, Sequence
from typing import Final

from storefmt.formats.javahash import tags_code
from storefmt.formats.properties import (
    DELAY,
    INNER_MULTI_DISPATCH,
    INNER_MULTI_QUEUE_OFFSET,
    KEYS,
    NAME_VALUE_SEPARATOR,
    PROPERTY_SEPARATOR,
    TAGS,
    UNIQUE_KEY,
    parse_properties,
    split_keys,
)
from storefmt.formats.sysflag import TRANSACTION_COMMIT, TRANSACTION_MASK, TRANSACTION_ROLLBACK
from storefmt.names import SCHEDULE_TOPIC, is_light

TagAndKeys = tuple[str | None, tuple[str, ...]]
"""Tag and keys: the unique key first, then the user's keys."""


def tag_and_keys_of(properties: bytes) -> TagAndKeys:
    """Return the tag of a record (or None) and the keys that the index stores for it."""
    tag: str | None = None
    unique = keys = ""
    for part in str(properties, "utf-8", "replace").split(PROPERTY_SEPARATOR):
        name, _, value = part.partition(NAME_VALUE_SEPARATOR)
        if value:
            if name == TAGS:
                tag = value
            elif name == UNIQUE_KEY:
                unique = value
            elif name == KEYS:
                keys = value
    return tag, split_keys(unique, keys)


_LEVEL_SIZE_MAX: Final = 20
_LEVEL_MAX: Final = 0x7FFFFFFF
_OFFSET_DIGITS_MAX: Final = 18
_COPIES: Final = f"{INNER_MULTI_DISPATCH}\x01".encode()
_COPY_SEPARATOR: Final = ","


def is_queued(sys_flag: int) -> bool:
    """Return whether a record gets an entry in its queue: all except half and rollback do."""
    return sys_flag & TRANSACTION_MASK in (0, TRANSACTION_COMMIT)


def is_indexed(sys_flag: int) -> bool:
    """Return whether the keys of a record are added to the index: all except rollback are."""
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
    return tags_code(tag_and_keys_of(properties)[0])


def may_have_copies(properties: bytes) -> bool:
    """Return whether to call ``copy_offsets``, by a quick search of a record's properties."""
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
    # Longer numbers do not fit a Java long, and Python refuses those of thousands of digits.
    return len(text) <= _OFFSET_DIGITS_MAX and text.isascii() and text.isdigit()


def copy_topics(named: Mapping[str, str]) -> list[str]:
    """Return the topics that INNER_MULTI_DISPATCH names; as in Java, not empty ones at its end."""
    return named.get(INNER_MULTI_DISPATCH, "").rstrip(_COPY_SEPARATOR).split(_COPY_SEPARATOR)


def copy_queue_id(name: str, queue_id: int, *, enable_lmq: bool) -> int:
    """Return the queue of a further entry: 0 of a light queue, else the record's own number."""
    return 0 if enable_lmq and is_light(name) else queue_id
