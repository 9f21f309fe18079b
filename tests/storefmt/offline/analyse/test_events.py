"""What happened to a store, told by its files."""

from pathlib import Path

import pytest

from storefmt.formats.checkpoint import Checkpoint
from storefmt.offline.analyse.events import EventKind, store_events
from storefmt.offline.views.storedir import StoreDir
from tests.golden import Golden
from tests.records import record_bytes
from tests.storefmt.offline.stores import HEALTHY, store_of
from tests.storefmt.offline.tiny import BROKER, LOG_FILE_SIZE, PRODUCER, tiny_store

HOUR_MS = 3_600_000
START_MS = 1_763_700_000_000
BOTH = pytest.mark.parametrize("columns", [False, True], ids=["records", "columns"])


@pytest.fixture(autouse=True)
def installed(request: pytest.FixtureRequest) -> None:
    if "columns" in request.node.name:
        pytest.importorskip("pyarrow")


def store_with(root: Path, times_ms: list[int]) -> list[int]:
    """Write a log with a record at each time and return their offsets."""
    data, offsets = b"", []
    for number, store_ms in enumerate(times_ms):
        offsets.append(len(data))
        data += record_bytes(
            topic=b"orders",
            queue_offset=number,
            log_offset=len(data),
            body=b"x",
            born_ms=START_MS,
            born_host=PRODUCER,
            store_ms=store_ms,
            store_host=BROKER,
        )
    (root / "commitlog").mkdir()
    (root / "commitlog" / f"{0:020d}").write_bytes(data.ljust(4 * LOG_FILE_SIZE, b"\0"))
    return offsets


def told(root: Path, *, columns: bool, pause_ms: int = HOUR_MS) -> list[tuple[str, int, int]]:
    """Return (kind, log offset, ms since the first message) of each event."""
    with StoreDir.open(root) as store:
        found = store_events(store, pause_ms=pause_ms, columns=columns)
    return [(one.kind.value, one.log_offset, one.at_ms - START_MS) for one in found]


@BOTH
def test_a_pause_and_a_clock_set_back_are_told(tmp_path: Path, columns: bool) -> None:
    times = [START_MS, START_MS + 5, START_MS + 5 + HOUR_MS, START_MS + HOUR_MS, START_MS + HOUR_MS]
    at = store_with(tmp_path, times)

    assert told(tmp_path, columns=columns) == [
        ("first", at[0], 0),
        ("pause", at[1], 5),
        ("last", at[4], HOUR_MS),
        ("clock-back", at[2], HOUR_MS + 5),
    ]
    with StoreDir.open(tmp_path) as store:
        spans = {one.kind: one.span_ms for one in store_events(store, columns=columns)}
    assert spans[EventKind.PAUSE] == HOUR_MS
    assert spans[EventKind.CLOCK_BACK] == 5


@BOTH
def test_a_time_that_no_calendar_has_is_no_event(tmp_path: Path, columns: bool) -> None:
    at = store_with(tmp_path, [START_MS, 1 << 62, START_MS + 1, -(1 << 62), START_MS + 2])

    assert told(tmp_path, columns=columns) == [("first", at[0], 0), ("last", at[4], 2)]


@BOTH
def test_an_empty_log_has_no_events(tmp_path: Path, columns: bool) -> None:
    store_with(tmp_path, [])
    (tmp_path / "abort").touch()

    assert told(tmp_path, columns=columns) == []


def test_files_that_are_gone_are_told_with_the_message_behind_them(tmp_path: Path) -> None:
    store = tiny_store(tmp_path)
    (store / "commitlog" / f"{LOG_FILE_SIZE:020d}").unlink()
    with StoreDir.open(store) as opened:
        missing = [one for one in store_events(opened) if one.kind is EventKind.MISSING]
    (store / "commitlog" / f"{0:020d}").unlink()
    with StoreDir.open(store) as opened:
        deleted = [one for one in store_events(opened) if one.kind is EventKind.DELETED]

    assert [one.log_offset for one in missing] == [2 * LOG_FILE_SIZE]
    assert missing[0].detail.startswith(f"{LOG_FILE_SIZE} bytes of log before this are gone")
    assert [one.log_offset for one in deleted] == [2 * LOG_FILE_SIZE]
    assert deleted[0].detail.startswith(f"{2 * LOG_FILE_SIZE} bytes of log before this are gone")


def test_checkpoint_and_abort_are_told(tmp_path: Path) -> None:
    at = store_with(tmp_path, [START_MS, START_MS + 9])
    (tmp_path / "checkpoint").write_bytes(Checkpoint(START_MS + 5, START_MS + 4, 0).encode())
    (tmp_path / "abort").touch()

    assert told(tmp_path, columns=False) == [
        ("first", at[0], 0),
        ("flushed", -1, 4),
        ("flushed", -1, 5),
        ("last", at[1], 9),
        ("not-stopped", at[1], 9),
    ]
    (tmp_path / "checkpoint").write_bytes(b"short")
    kinds = [kind for kind, _, _ in told(tmp_path, columns=False)]
    assert kinds == ["first", "last", "not-stopped"]


@pytest.mark.parametrize("name", HEALTHY)
def test_both_ways_agree(golden: Golden, name: str) -> None:
    pytest.importorskip("pyarrow")
    with StoreDir.open(store_of(golden, name)) as store:
        slow = store_events(store, pause_ms=1_000, columns=False)
        fast = store_events(store, pause_ms=1_000, columns=True)

    assert slow == fast
    assert [one.at_ms for one in slow] == sorted(one.at_ms for one in slow)
