"""The state files of ``config/``: read as a broker would, with what had to be passed over.

Rule: a file that cannot be read is replaced by its ``.bak``, as Java does, and the caller
is told: stale offsets are better than none, but somebody has to know.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeVar

from storefmt.configs import ConsumerOffsets, DelayOffsets, GroupTable, TopicTable
from storefmt.fastjson import loads
from storefmt.offline.opened import ConfigRead, Opened

T = TypeVar("T")

TOPICS: Final = "topics.json"
GROUPS: Final = "subscriptionGroup.json"
OFFSETS: Final = "consumerOffset.json"
LMQ_OFFSETS: Final = "lmqConsumerOffset.json"
DELAY_OFFSETS: Final = "delayOffset.json"
FILTERS: Final = "consumerFilter.json"

DECODERS: Final[dict[str, Callable[[str], object]]] = {
    TOPICS: TopicTable.decode,
    GROUPS: GroupTable.decode,
    OFFSETS: ConsumerOffsets.decode,
    LMQ_OFFSETS: ConsumerOffsets.decode,
    DELAY_OFFSETS: DelayOffsets.decode,
    FILTERS: loads,
}
"""Every state file that 4.9 writes, with what reads it."""


@dataclass(slots=True)
class StoreConfig:
    """What ``config/`` holds; empty tables where a file is missing.

    Attributes:
        offsets: (topic, group) -> queue id -> next queue offset, light queues included.
        notes: a sentence for each file that could not be used.
    """

    topics: TopicTable = field(default_factory=TopicTable)
    groups: GroupTable = field(default_factory=GroupTable)
    offsets: dict[tuple[str, str], dict[int, int]] = field(default_factory=dict)
    delay_offsets: dict[int, int] = field(default_factory=dict)
    topics_known: bool = False
    notes: list[str] = field(default_factory=list)


def read_config(store: Opened) -> StoreConfig:
    """Read every state file of a store; damage becomes a note, never an error."""
    found = StoreConfig()
    topics = store.config(TOPICS, TopicTable.decode)
    if topics.value is not None:
        found.topics, found.topics_known = topics.value, True
    groups = store.config(GROUPS, GroupTable.decode)
    if groups.value is not None:
        found.groups = groups.value
    delays = store.config(DELAY_OFFSETS, DelayOffsets.decode)
    if delays.value is not None:
        found.delay_offsets = delays.value.offsets
    found.notes = [*_notes(topics), *_notes(groups), *_notes(delays)]
    for name in (OFFSETS, LMQ_OFFSETS):
        offsets = store.config(name, ConsumerOffsets.decode)
        found.notes += _notes(offsets)
        if offsets.value is not None:
            for key, queues in offsets.value.offsets.items():
                found.offsets.setdefault(key, {}).update(queues)
            for key, offset in (offsets.value.lmq_offsets or {}).items():
                # A light queue is queue 0 of its own topic.
                found.offsets.setdefault(key, {})[0] = offset
    return found


def _notes(read: ConfigRead[T]) -> list[str]:
    instead = f"{read.file} is used instead" if read.file else "nothing replaces it"
    return [f"{file}: {problem}; {instead}" for file, problem in read.problems]
