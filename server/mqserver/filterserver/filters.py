"""The filters of one filter server, by consumer group and topic.

    upload ─ crc of the body? ─ size? ─ already known? ──────── nothing to do
                                      └ compiled ────────────── (group, topic) -> filter
    pull ─── (group, topic) ─────────── its filter, or none

Rule: the last upload of a group for a topic is its filter. If there are already ``count_max``
filters, a new one replaces the least recently used one. The consumer of that filter learns this
from the answer to its next pull and uploads it again with its next heartbeat.

Source: filtersrv/FilterClassManager.java (4.2).
"""

import zlib
from typing import NamedTuple

from mqserver.filterserver.compiling import BadModule
from mqserver.filterserver.module import FilterModule
from remoting.headers import RegisterMessageFilterClass
from storefmt.formats.message import CRC_MASK


class _Entry(NamedTuple):
    source: bytes
    module: FilterModule


class UploadedFilters:
    """The filters that consumers have uploaded.

    Args:
        size_max: most bytes of an upload.
        count_max: most filters at a time.
    """

    def __init__(self, *, size_max: int, count_max: int) -> None:
        self._size_max = size_max
        self._count_max = count_max
        # In order of use, the most recently used filter last.
        self._entries: dict[tuple[str, str], _Entry] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def check(self, header: RegisterMessageFilterClass, source: bytes) -> None:
        """Check the size and the checksum of an upload.

        Raises:
            BadModule: the upload is too large, or its checksum is wrong.
        """
        if len(source) > self._size_max:
            raise BadModule(f"the module has {len(source)} bytes, the limit is {self._size_max}")
        crc = zlib.crc32(source) & CRC_MASK
        if crc != header.class_crc & CRC_MASK:
            raise BadModule(f"classCRC is {header.class_crc}, the body has {crc}")

    def is_known(self, header: RegisterMessageFilterClass, source: bytes) -> bool:
        """Return whether an upload is already the filter of its group and topic."""
        entry = self._entries.get((header.consumer_group, header.topic))
        return entry is not None and entry.source == source

    def add_filter(
        self, header: RegisterMessageFilterClass, source: bytes, module: FilterModule
    ) -> None:
        """Make a compiled upload the filter of its group and topic."""
        key = (header.consumer_group, header.topic)
        self._entries.pop(key, None)
        while len(self._entries) >= self._count_max:
            del self._entries[next(iter(self._entries))]
        self._entries[key] = _Entry(source, module)

    def find(self, group: str, topic: str) -> FilterModule | None:
        """Return the filter of a group for a topic, or None if there is none."""
        entry = self._entries.pop((group, topic), None)
        if entry is None:
            return None
        self._entries[group, topic] = entry
        return entry.module
