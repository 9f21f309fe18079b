"""Every rule of retention on a whole store: which files it deletes, and when it refuses messages.

10:00 filled ── a look a minute ──> so old; then the disk, the hour or somebody asks
"""

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import pytest

from mqserver.store.disk.disk import DiskUsage
from mqserver.store.results import PutStatus
from mqserver.store.store import MessageStore
from tests.server.store.cleanup.test_clean import clean, settings, sync
from tests.server.store.simdisk import SimDisk
from tests.server.store.stores import LOG_FILE_SIZE, bodies, message, records_of_key

COUNT = 120
TEN_MS = int(datetime(2026, 3, 2, 10).timestamp() * 1000)
MINUTE_MS = 60_000
ROOT = Path("/store")
STRAYS = ("notes.txt", "config/topics.json", "index/notes", "consumequeue/topic-a/notes")
THIS_HOUR, ANOTHER_HOUR = "10;11", "04"


@dataclass(frozen=True)
class Case:
    """What is so, and what has to come of it.

    Attributes:
        age_min: minutes since the store was filled; an hour is reserved.
        used: percent of the disk in use.
    """

    name: str
    age_min: int
    goes: bool
    used: int = 20
    by_hand: bool = False
    refuses: bool = False
    changes: dict[str, object] = field(default_factory=dict)


HOUR = {"delete_when": THIS_HOUR}
FORCED = {"clean_file_forcibly_enable": True}
CASES = [
    Case("fresh, in the hour", 30, goes=False, changes=HOUR),
    Case("expired, in the hour", 90, goes=True, changes=HOUR),
    Case("expired, in another hour", 90, goes=False),
    Case("expired, one of several hours", 90, goes=True, changes={"delete_when": "04; 11;23"}),
    Case("expired, no hour", 90, goes=False, changes={"delete_when": ""}),
    Case("expired, asked by hand", 90, goes=True, by_hand=True),
    Case("fresh, asked by hand", 30, goes=False, by_hand=True),
    Case("nothing reserved, asked by hand", 1, True, by_hand=True, changes={
        "file_reserved_time_h": 0}),
    Case("expired, disk at its ratio", 90, goes=False, used=75),
    Case("expired, disk over its ratio", 90, goes=True, used=76),
    Case("expired, disk over a ratio of its own", 90, True, 60, changes={
        "disk_max_used_space_ratio": 50}),
    Case("fresh, disk over its ratio", 30, goes=False, used=76),
    Case("fresh, disk at the forcible ratio", 30, goes=False, used=85, changes=FORCED),
    Case("fresh, disk over the forcible ratio", 30, goes=True, used=86, changes=FORCED),
    Case("fresh, over the forcible ratio, not allowed", 30, goes=False, used=86),
    Case("fresh, disk at the warning level", 30, goes=False, used=90),
    Case("fresh, disk over the warning level", 30, goes=False, used=91, refuses=True),
    Case("expired, disk over the warning level", 90, goes=True, used=91, refuses=True),
    Case("fresh, over the warning level, by force", 30, True, 91, refuses=True, changes=FORCED),
    Case("fresh, over a warning level of its own", 30, False, 60, refuses=True, changes={
        "disk_space_warning_level_ratio": 55, "disk_space_clean_forcibly_ratio": 50}),
]  # fmt: skip


def filled(case: Case, disk: SimDisk) -> MessageStore:
    config = settings(
        ROOT, **{"file_reserved_time_h": 1, "delete_when": ANOTHER_HOUR, **case.changes}
    )
    store = MessageStore.open(config, now_ms=TEN_MS, disk=disk)
    for number in range(COUNT):
        store.put(message(number), TEN_MS)
        store.write(TEN_MS)
    sync(store, TEN_MS)
    for name in STRAYS:
        disk.mkdir((ROOT / name).parent)
        disk.open(ROOT / name, create=True).close()
    return store


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_the_rules_name_goes_and_nothing_else(disk: SimDisk, case: Case) -> None:
    store = filled(case, disk)
    before = {queue_id: bodies(store, "topic-a", queue_id) for queue_id in (0, 1)}
    for minute in range(case.age_min + 1):
        clean(store, TEN_MS + minute * MINUTE_MS)
    now_ms = TEN_MS + (case.age_min + 1) * MINUTE_MS
    disk.usage_now = DiskUsage(case.used, 100 - case.used)
    if case.by_hand:
        store.cleaner.delete_by_hand()
    # Some rounds: one deletes ten files at most.
    for seconds in range(0, 50, 10):
        clean(store, now_ms + seconds * 1_000)

    last = store.written_offset - store.written_offset % LOG_FILE_SIZE
    assert store.min_log_offset == (last if case.goes else 0)
    logs = [int(name) for name in disk.list(ROOT / "commitlog")]
    assert logs[0] == store.min_log_offset
    for queue_id, all_of_it in before.items():
        low = store.min_offset("topic-a", queue_id)
        assert bool(low) == case.goes
        assert bodies(store, "topic-a", queue_id) == all_of_it[low:] != []
        (first,) = store.reader.entries("topic-a", queue_id, start=low, count=1)
        assert first[0] >= store.min_log_offset
        if low:
            assert store.reader.entries("topic-a", queue_id, start=low - 1, count=1) == []
    for number in (0, COUNT - 1):
        found = records_of_key(store, "topic-a", f"k{number}", count_max=1)
        assert bool(found) == (number > 0 or not case.goes)
    for name in STRAYS:
        assert disk.stat(ROOT / name) is not None
    refused = store.put(message(COUNT), now_ms).status is PutStatus.SERVICE_NOT_AVAILABLE
    assert refused == case.refuses
    # Once there is space again it goes on, wherever it stood.
    disk.usage_now = DiskUsage(20, 80)
    clean(store, now_ms + 3 * MINUTE_MS)
    assert store.put(message(COUNT), now_ms).status is PutStatus.PUT_OK


def test_removal_by_hand_takes_queues_without_messages_alone_full_files_too(disk: SimDisk) -> None:
    config = settings(ROOT)
    store = MessageStore.open(config, now_ms=TEN_MS, disk=disk)
    counts = {"gone-full": 40, "gone": 25, "partly": 3}
    for topic, count in counts.items():
        for number in range(count):
            store.put(message(number, topic=topic, queue_id=0), TEN_MS)
            store.write(TEN_MS)
    for number in range(COUNT):
        store.put(message(number), TEN_MS)
        store.write(TEN_MS)
    store.put(message(1, topic="partly", queue_id=0), TEN_MS)
    store.put(message(1, topic="SCHEDULE_TOPIC_XXXX", queue_id=2), TEN_MS)
    store.write(TEN_MS)
    sync(store, TEN_MS)
    store.cleaner.delete_by_hand()
    for seconds in range(0, 50, 10):
        clean(store, TEN_MS + seconds * 1_000)
    known = {topic: store.min_offset(topic, 0) for topic in counts}

    store.cleaner.remove_expired_queues(lambda: None)
    clean(store, TEN_MS + MINUTE_MS)

    assert known == counts
    assert {topic for topic, _ in store.queues()} == {"partly", "SCHEDULE_TOPIC_XXXX", "topic-a"}
    assert (store.min_offset("partly", 0), store.max_offset("partly", 0)) == (3, 4)
    assert disk.list(ROOT / "consumequeue" / "gone-full") == []
