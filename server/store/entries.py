"""Dispatch entries: what those who follow the log are told of a record that was read from it.

    Found ── properties ──> tag ──> tags code ─┐
                       └──> keys ──────────────┴──> DispatchEntry

Rule: the tags code is the hash of the tag, as Java's ``String.hashCode``; of a message that
waits for its time, when it is due.

Source: store/CommitLog.java#checkMessageAndReturnSize.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from server.store.append import new_entry
from server.store.calls import DispatchEntry
from server.store.rawproperties import texts_of
from server.store.walk import Found
from storefmt.formats.javahash import tags_code
from storefmt.formats.properties import DELAY, TAGS, parse_properties
from storefmt.names import SCHEDULE_TOPIC

_DELAY_UNKNOWN_MS: Final = 1000


class Entries:
    """Makes entries in a store with these delays (ms) of each delay level."""

    def __init__(self, delays_ms: Mapping[int, int]) -> None:
        self._delays_ms = delays_ms

    def of(self, found: Found) -> DispatchEntry:
        """Return the entry of a record."""
        return self.of_all((found,))[0]

    def of_all(self, records: Iterable[Found]) -> list[DispatchEntry]:
        """Return the entries of records: a recovery makes one of each, some hundreds at a time."""
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
