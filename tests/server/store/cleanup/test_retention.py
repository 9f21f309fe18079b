"""Retention depends on age, hour, disk usage and orders, and not on a clock that jumps."""

import logging
from datetime import datetime
from pathlib import Path

import pytest

from mqserver.store.cleanup.retention import FILES_A_ROUND, Retention, RetentionClock
from mqserver.store.disk.disk import DiskUsage
from mqserver.store.store_config import StoreConfig

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
NOON_MS = int(datetime(2026, 3, 2, 12).timestamp() * 1000)
FOUR_MS = NOON_MS + 16 * HOUR_MS
EMPTY, FULL = DiskUsage(20, 80), DiskUsage(95, 5)


def policy(*, known_ms: int = 0, now_ms: int = FOUR_MS, **settings: object) -> Retention:
    config = StoreConfig(store_path_root_dir=Path("/store"))
    for name, value in settings.items():
        setattr(config, name, value)
    clock = RetentionClock(known_ms=known_ms, newest_ms=0, now_ms=now_ms)
    return Retention(config, clock, {})


def expired(
    retention: Retention, ages_h: list[int], *, now_ms: int = FOUR_MS, usage: DiskUsage = EMPTY
) -> list[int]:
    """Ask about files 0, 1, … that ended so many hours ago by their messages."""
    return retention.expired(
        now_ms,
        bases=range(len(ages_h)),
        usage=usage,
        store_ms_at=lambda base: now_ms - ages_h[base] * HOUR_MS,
    )


@pytest.mark.parametrize(
    ("now_ms", "hours", "usage", "gone"),
    [
        pytest.param(FOUR_MS, "04", EMPTY, [0, 1], id="in the hour of deleteWhen"),
        pytest.param(NOON_MS, "04", EMPTY, [], id="in another hour"),
        pytest.param(NOON_MS, "04;12", EMPTY, [0, 1], id="in one of several hours"),
        pytest.param(NOON_MS, "04", DiskUsage(76, 24), [0, 1], id="disk over its ratio"),
    ],
)
def test_expired_files_go_in_their_hour_or_when_the_disk_is_over_its_ratio(
    now_ms: int, hours: str, usage: DiskUsage, gone: list[int]
) -> None:
    retention = policy(now_ms=now_ms, delete_when=hours)

    assert expired(retention, [100, 73, 71, 1], now_ms=now_ms, usage=usage) == gone


@pytest.mark.parametrize(
    ("ratio", "used", "goes"),
    [(0, 10, False), (0, 11, True), (9, 10, False), (100, 95, False), (100, 96, True)],
)
def test_ratio_is_kept_between_10_and_95_as_in_java(ratio: int, used: int, goes: bool) -> None:
    retention = policy(now_ms=NOON_MS, disk_max_used_space_ratio=ratio)

    found = expired(retention, [100], now_ms=NOON_MS, usage=DiskUsage(used, 100 - used))

    assert found == ([0] if goes else [])


def test_expired_files_go_by_hand_at_any_hour_for_twenty_rounds() -> None:
    retention = policy(now_ms=NOON_MS)
    retention.delete_by_hand()

    rounds = [expired(retention, [100, 1], now_ms=NOON_MS) for _ in range(22)]

    assert rounds == [[0]] * 20 + [[]] * 2


def test_a_round_deletes_ten_files() -> None:
    assert expired(policy(), [100] * 30) == list(range(FILES_A_ROUND))


def test_full_disk_deletes_no_unexpired_file_and_refuses_messages() -> None:
    retention = policy(now_ms=NOON_MS)

    retention.look(NOON_MS, bases=[0, 1], active=1, usage=FULL)

    assert expired(retention, [71, 1], now_ms=NOON_MS, usage=FULL) == []
    assert "95 % full" in retention.disk_full


def test_full_disk_deletes_the_oldest_first_where_that_is_allowed() -> None:
    retention = policy(now_ms=NOON_MS, clean_file_forcibly_enable=True)

    assert expired(retention, [71, 1], now_ms=NOON_MS, usage=DiskUsage(86, 14)) == [0, 1]
    assert expired(retention, [71, 1], now_ms=NOON_MS, usage=DiskUsage(85, 15)) == []


@pytest.mark.parametrize(("percent", "is_full"), [(90, True), (86, True), (85, False)])
def test_messages_are_taken_again_below_the_forcible_ratio(percent: int, is_full: bool) -> None:
    retention = policy(now_ms=NOON_MS)
    retention.look(NOON_MS, bases=[0], active=0, usage=DiskUsage(91, 9))

    usage = DiskUsage(percent, 100 - percent)
    retention.look(NOON_MS, bases=[0], active=0, usage=usage)

    assert bool(retention.disk_full) == is_full


def test_log_says_once_that_a_full_disk_refuses_messages_and_once_that_it_has_space(
    caplog: pytest.LogCaptureFixture,
) -> None:
    retention = policy()
    caplog.set_level(logging.WARNING)

    for percent in (50, 91, 95, 88, 91, 85, 50):
        usage = DiskUsage(percent, 100 - percent)
        retention.look(NOON_MS, bases=[0], active=0, usage=usage)

    assert [record.getMessage() for record in caplog.records] == [
        "messages are refused: the disk is 91 % full, over diskSpaceWarningLevelRatio=90; free "
        "space or add some",
        "messages are accepted again, the disk is 85 % full",
    ]


def test_usage_is_rounded_up_as_in_java() -> None:
    assert DiskUsage(75, 25).percent == 75
    assert DiskUsage(7501, 2499).percent == 76
    assert DiskUsage(0, 0).percent == 0


@pytest.mark.parametrize("jump_ms", [HOUR_MS, 30 * DAY_MS, -HOUR_MS, -30 * DAY_MS])
def test_a_live_jump_of_the_clock_makes_nothing_older(jump_ms: int) -> None:
    retention = policy()
    retention.look(FOUR_MS, bases=[0, 1], active=0, usage=EMPTY)
    retention.look(FOUR_MS + 1_000, bases=[0, 1], active=1, usage=EMPTY)

    later_ms = FOUR_MS + jump_ms
    retention.look(later_ms, bases=[0, 1], active=1, usage=EMPTY)

    retention.delete_by_hand()
    assert expired(retention, [0, 0], now_ms=later_ms) == []
    assert retention.clock_ms <= FOUR_MS + 61_000


@pytest.mark.parametrize("jump_ms", [30 * DAY_MS, -30 * DAY_MS])
def test_a_jump_between_two_runs_counts_an_hour_at_most(jump_ms: int) -> None:
    before = policy()
    before.look(FOUR_MS, bases=[0, 1], active=0, usage=EMPTY)
    before.look(FOUR_MS, bases=[0, 1], active=1, usage=EMPTY)

    after = policy(known_ms=before.clock_ms, now_ms=FOUR_MS + jump_ms)
    after.sealed_ms = before.sealed_ms
    after.delete_by_hand()

    assert expired(after, [0, 0], now_ms=FOUR_MS + jump_ms) == []
    assert FOUR_MS <= after.clock_ms <= FOUR_MS + HOUR_MS


def test_messages_of_a_time_that_was_wrong_do_not_keep_files_for_ever() -> None:
    # Stored while the clock was 30 days ahead: as old as when they were first seen full.
    retention = policy()

    assert expired(retention, [-30 * 24, 1]) == []
    for minute in range(72 * 60):
        retention.look(FOUR_MS + minute * 60_000, bases=[0, 1, 2], active=2, usage=EMPTY)
    later_ms = FOUR_MS + 72 * HOUR_MS
    retention.look(later_ms, bases=[0, 1, 2], active=2, usage=EMPTY)

    assert expired(retention, [-30 * 24, 1], now_ms=later_ms)[:1] == [0]


def test_messages_of_a_clock_that_was_behind_do_not_go_early() -> None:
    # The second file was written while the clock was 30 days behind.
    assert expired(policy(), [10, 30 * 24]) == []


def test_file_that_a_power_cut_took_ages_from_when_it_is_full_again() -> None:
    clock = RetentionClock(known_ms=FOUR_MS, newest_ms=0, now_ms=FOUR_MS)
    retention = Retention(StoreConfig(store_path_root_dir=Path("/store")), clock, {0: 1, 100: 2})

    retention.look(FOUR_MS, bases=[0, 100], active=100, usage=EMPTY)
    retention.look(FOUR_MS + 1_000, bases=[0, 100, 200], active=200, usage=EMPTY)

    assert retention.sealed_ms == {0: 1, 100: retention.clock_ms}
    assert retention.clock_ms > FOUR_MS


def test_store_of_another_broker_ages_from_its_newest_message() -> None:
    clock = RetentionClock(known_ms=0, newest_ms=NOON_MS, now_ms=NOON_MS + 40 * DAY_MS)

    assert clock.clock_ms == NOON_MS + HOUR_MS
    assert RetentionClock(known_ms=0, newest_ms=0, now_ms=NOON_MS).clock_ms == NOON_MS


@pytest.mark.parametrize("text", ["24", "x", "04;-1", "4:30"])
def test_hour_that_is_none_is_refused(text: str) -> None:
    config = StoreConfig(store_path_root_dir=Path("/store"), delete_when=text)

    with pytest.raises(ValueError, match="deleteWhen"):
        config.delete_hours()
