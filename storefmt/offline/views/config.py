"""The state files of ``config/``, read as a broker would read them.

Rule: if a file cannot be read, its ``.bak`` is read instead, as in Java, and ``notes`` say so: old
offsets are better than none, but people have to know that they are old.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeVar

from storefmt.config.fastjson import loads
from storefmt.config.tables import (
    ConsumerOffsets,
    DelayOffsets,
    GroupTable,
    TopicChanges,
    TopicTable,
)
from storefmt.names import OP_HALF_TOPIC, RETRY_PREFIX, SCHEDULE_TOPIC, group_of
from storefmt.offline.views.rocksdb.settings import TABLES
from storefmt.offline.views.store_view import ConfigRead, StoreView

T = TypeVar("T")

TOPICS: Final = "topics.json"
TOPIC_CHANGES: Final = "topicChanges.json"
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
"""Every state file that 4.9 writes, with its decoder."""

BUILT_IN_GROUPS: Final = frozenset(
    {
        "TOOLS_CONSUMER", "FILTERSRV_CONSUMER", "SELF_TEST_C_GROUP", "CID_ONS-HTTP-PROXY",
        "CID_ONSAPI_PULL", "CID_ONSAPI_PERMISSION", "CID_ONSAPI_OWNER", "CID_SYS_RMQ_TRANS",
    }
)  # fmt: skip
"""Groups that every broker has although subscriptionGroup.json does not list them."""
_SINCE_BACKUP: Final[dict[str, str]] = {
    OFFSETS: "groups return to where they stood when the .bak was written, and read again what "
    "they have read since",
    DELAY_OFFSETS: "delayed messages that were delivered since the .bak was written are "
    "delivered again",
    GROUPS: "groups and settings of groups added since the .bak was written are lost",
    TOPICS: "topics and settings of topics added since the .bak was written are lost",
}
"""The consequence when only the .bak of a file is left."""


@dataclass(slots=True)
class ConfigTables:
    """The content of ``config/``; empty tables if a file is missing.

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


def read_config(store: StoreView) -> ConfigTables:
    """Read every state file of a store; a damaged file gives a note and never an error."""
    tables = ConfigTables()
    topics = store.config(TOPICS, TopicTable.decode)
    changes = store.config(TOPIC_CHANGES, TopicChanges.decode)
    if topics.value is not None:
        tables.topics, tables.topics_known = topics.value, True
        if changes.value is not None:
            tables.topics.apply(changes.value)
    groups = store.config(GROUPS, GroupTable.decode)
    if groups.value is not None:
        tables.groups = groups.value
    delays = store.config(DELAY_OFFSETS, DelayOffsets.decode)
    if delays.value is not None:
        tables.delay_offsets = delays.value.offsets
    tables.notes = [*_notes(topics), *_notes(changes), *_notes(groups), *_notes(delays)]
    tables.notes += [str(what) for what in (store.unread_queues, store.unread_settings) if what]
    for name in (OFFSETS, LMQ_OFFSETS):
        offsets = store.config(name, ConsumerOffsets.decode)
        tables.notes += _notes(offsets)
        if offsets.value is not None:
            for key, queues in offsets.value.by_queue().items():
                tables.offsets.setdefault(key, {}).update(queues)
    return tables


def has_light_queues(store: StoreView) -> bool:
    """Return whether a broker with enableLmq, which needs enableMultiDispatch, used the store."""
    return store.paths.config_file(LMQ_OFFSETS).is_file()


class LostFile(NamedTuple):
    """A state file that is missing, although the store shows that it existed.

    Attributes:
        name: of the file in ``config/``.
        instead: the .bak that is read in its place, relative to the store; empty for none.
        evidence: what in the store shows that there was such a file.
        effect: what is lost, or which work is done a second time.
    """

    name: str
    instead: str
    evidence: str
    effect: str


def lost_files(store: StoreView) -> list[LostFile]:
    """Return the state files that are missing, with or without a .bak in their place.

    A file that exists and cannot be read counts as damage, not as lost; see
    ``ConfigRead.problems``.
    """
    lost: list[LostFile] = []
    nothing_left: set[str] = set()
    for name, decode in DECODERS.items():
        read = store.config(name, decode)
        if store.paths.config_file(name).is_file() or read.file in store.settings_paths:
            continue
        if read.file:
            effect = _SINCE_BACKUP.get(name, "changes since the .bak was written are lost")
            lost.append(LostFile(name, read.file, read.file, effect))
        elif not read.problems:
            nothing_left.add(name)
    if store.unread_settings is not None:
        # RocksDB has what these files would have.
        nothing_left -= set(TABLES)
    return [*lost, *_without_trace(store, nothing_left)]


def _without_trace(store: StoreView, missing: set[str]) -> list[LostFile]:
    """Return the missing files whose former existence the rest of the store shows."""
    lost: list[LostFile] = []
    groups = _groups_online(store)
    reads = f"groups have retry topics: {_some(groups)}" if groups else ""
    # With light queues all offsets are in their file.
    if OFFSETS in missing and not store.config(LMQ_OFFSETS, ConsumerOffsets.decode).file:
        effect = (
            "each group starts as a new one: depending on its consumers, it reads everything "
            "again or skips what was stored before it connects"
        )
        if reads:
            lost.append(LostFile(OFFSETS, "", reads, effect))
        elif _has_entries(store, OP_HALF_TOPIC):
            effect = "the broker reads all half messages again and checks the open ones"
            lost.append(LostFile(OFFSETS, "", f"{OP_HALF_TOPIC} has messages", effect))
    if DELAY_OFFSETS in missing and _has_entries(store, SCHEDULE_TOPIC):
        effect = "every delayed message that the log still has is delivered again"
        lost.append(LostFile(DELAY_OFFSETS, "", f"{SCHEDULE_TOPIC} has messages", effect))
    if GROUPS in missing and groups:
        effect = (
            "settings of the groups (retries, broadcast, permission to consume) are the "
            "defaults, and with autoCreateSubscriptionGroup=false the groups are refused"
        )
        lost.append(LostFile(GROUPS, "", reads, effect))
    return lost


def _groups_online(store: StoreView) -> list[str]:
    """Return the groups that had a consumer, because a broker made their retry topics."""
    read = store.config(TOPICS, TopicTable.decode)
    listed = read.value.topics if read.value is not None else ()
    topics = {topic for topic in (*listed, *store.tree.topics) if topic.startswith(RETRY_PREFIX)}
    groups = {group for group in map(group_of, topics) if group}
    return sorted(groups - BUILT_IN_GROUPS)


def _has_entries(store: StoreView, topic: str) -> bool:
    return any(store.queue(*key).max_offset > 0 for key in store.queues() if key[0] == topic)


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def _notes(read: ConfigRead[T]) -> list[str]:
    instead = f"{read.file} is used instead" if read.file else "nothing replaces it"
    return [
        f"{file}: {problem}" + ("" if file == read.file else f"; {instead}")
        for file, problem in read.problems
    ]
