"""Tags codes: the third field of a queue entry, out of the record that it points at.

Rule: the hash of the tag, as Java's ``String.hashCode``; of a message that waits for its
time, when it is due.

Source: store/CommitLog.java#checkMessageAndReturnSize.
"""

from collections.abc import Mapping
from typing import Final

from server.store.rawproperties import tags_of
from server.store.walk import Found
from storefmt.javahash import tags_code
from storefmt.properties import DELAY, TAGS, parse_properties
from storefmt.vocabulary import SCHEDULE_TOPIC

_DELAY_UNKNOWN_MS: Final = 1000


class TagsCodes:
    """Tags codes in a store with these delays (ms) of each delay level."""

    def __init__(self, delays_ms: Mapping[int, int]) -> None:
        self._delays_ms = delays_ms

    def of(self, found: Found) -> int:
        """Return the tags code of the entry of a record."""
        if found.topic == SCHEDULE_TOPIC:
            return self._due_ms(found)
        return tags_code(tags_of(found.properties))

    def _due_ms(self, found: Found) -> int:
        properties = parse_properties(found.properties)
        text = properties.get(DELAY, "")
        level = int(text) if text.lstrip("-").isdecimal() else 0
        level = min(level, max(self._delays_ms))
        if level <= 0:
            return tags_code(properties.get(TAGS))
        return found.store_ms + self._delays_ms.get(level, _DELAY_UNKNOWN_MS)
