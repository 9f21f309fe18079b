"""``store info``: summarise what a store directory holds."""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Final

import click

from mqadmin.cli.declare import Call, EpochMs, Needs, Outcome, Row, command, one
from storefmt.names import TopicKind, kind_of
from storefmt.offline.views.info import StoreInfo
from storefmt.offline.views.parts import store_parts
from storefmt.offline.views.storedir import StoreDir

SCREEN_ROWS: Final = 8
SECTIONS: Final = (
    ("Store", ("path", "version", "health", "aborted", "size", "used_size", "notes")),
    ("Messages", ("message_count", "first_time", "last_time", "kept_hours", "producers")),
    (
        "Log",
        ("min_log_offset", "end_log_offset", "deleted_size", "log_file_count", "log_file_size"),
    ),
    ("Queues", ("topic_count", "queue_count", "group_count", "queue_file_size", "behind_size")),
    ("Index", ("index_file_count", "index_slot_count", "index_entry_count")),
)
"""The sections of the table, with the columns of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicTotal(Row):
    """A topic: its queues, and the messages that the log may still have.

    ``meaning`` is the purpose of a topic that is RocketMQ's own, and empty for users' topics.
    """

    topic: str
    queue_count: int
    message_count: int
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupTotal(Row):
    """A consumer group: the messages it has not read yet, over all its queues."""

    group: str
    topics: tuple[str, ...]
    lag: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PartTotal(Row):
    """A part that only brokers of 5.x create: its purpose and its content."""

    path: str
    meaning: str
    file_count: int
    size: int
    contents: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InfoRow(Row):
    """A store; offsets and sizes in bytes, the geometry as derived from the files.

    ``kept_hours`` lie between the first and the last message, ``deleted_size`` bytes of log
    are before the first one; ``producers`` are those of the newest messages.
    """

    path: str
    version: str
    health: str
    aborted: bool
    min_log_offset: int
    end_log_offset: int
    first_ms: EpochMs
    last_ms: EpochMs
    kept_hours: float
    deleted_size: int
    topic_count: int
    queue_count: int
    group_count: int
    message_count: int
    size: int
    used_size: int
    log_file_count: int
    log_file_size: int
    queue_file_size: int
    index_file_count: int
    index_slot_count: int
    index_entry_count: int
    behind_size: int
    producers: tuple[str, ...]
    topics: tuple[TopicTotal, ...]
    groups: tuple[GroupTotal, ...]
    parts: tuple[PartTotal, ...]
    notes: tuple[str, ...]


@command(
    "store info",
    details="Only the ends of the files are read, so the command is quick on any store.",
    examples=(("mqadmin store info DIR", "sizes, time span, topics, groups with their lag"),),
    rows=InfoRow,
    needs=Needs.STORE,
)
@click.option(
    "--whole", is_flag=True, help="list every topic and group in the table, not the largest"
)
def show_info(call: Call, *, whole: bool) -> Outcome:
    """Return the store at a glance.

    Raises:
        NotAStore: the directory is not a store.
    """
    with StoreDir.open(call.store_dir) as store:
        info = store.info()
        parts = tuple(map(PartTotal.of, store_parts(store)))
    topics, groups = _topics(info), _groups(info)
    # Only the table is cut, to fit a screen; every other format is complete.
    is_table = (call.settings.output or call.workplace.output or "table") == "table"
    shown = SCREEN_ROWS if is_table and not whole else None
    longest = max(len(topics), len(groups))
    geometry = info.geometry
    outcome = one(
        InfoRow.of(
            info,
            path=str(store.root),
            health=_health(info),
            kept_hours=round(max(0, info.last_ms - info.first_ms) / 3_600_000, 3),
            deleted_size=info.min_log_offset,
            queue_count=len(info.queues),
            group_count=len(groups),
            log_file_size=geometry.log_file_size,
            queue_file_size=geometry.queue_file_size,
            index_slot_count=geometry.index_slot_count,
            index_entry_count=geometry.index_entry_count,
            topics=topics[:shown],
            groups=groups[:shown],
            parts=parts,
        ),
        notes=(f"the largest {shown} of {longest} are listed; --whole lists them all",)
        if shown is not None and longest > shown
        else (),
    )
    return replace(outcome, sections=SECTIONS)


def _topics(info: StoreInfo) -> tuple[TopicTotal, ...]:
    queues: Counter[str] = Counter()
    messages: Counter[str] = Counter()
    for queue in info.queues:
        queues[queue.topic] += 1
        messages[queue.topic] += queue.max_offset - queue.min_offset
    return tuple(
        TopicTotal(
            topic=topic,
            queue_count=queues[topic],
            message_count=messages[topic],
            meaning="" if (kind := kind_of(topic)) is TopicKind.ORDINARY else kind.value,
        )
        for topic in sorted(queues, key=lambda name: (-messages[name], name))
    )


def _groups(info: StoreInfo) -> tuple[GroupTotal, ...]:
    lags: Counter[str] = Counter()
    topics: dict[str, list[str]] = {}
    for group in info.groups:
        lags[group.group] += max(0, group.lag)
        read = topics.setdefault(group.group, [])
        if group.topic not in read:
            read.append(group.topic)
    return tuple(
        GroupTotal(group=name, topics=tuple(topics[name]), lag=lags[name])
        for name in sorted(topics, key=lambda name: (-lags[name], name))
    )


def _health(info: StoreInfo) -> str:
    """Return one phrase about what the ends of the files show."""
    if info.aborted:
        return "a broker is running on it, or was killed"
    if info.behind_size:
        return f"queues are {info.behind_size} bytes behind the log"
    if info.notes:
        return "see the notes"
    return "shut down cleanly; `store verify` checks every byte"
