"""By which skew a message was stored, whatever somebody sets the wall clock to."""

import random

import pytest

from mqserver.broker.delay.schedule import LATELY_MS, ClockSkew
from mqserver.runtime.clock import Times

HOUR_MS = 3_600_000
JUMPS = [HOUR_MS, -HOUR_MS, 30 * 24 * HOUR_MS, -30 * 24 * HOUR_MS, 2_000, -2_000]


@pytest.mark.parametrize("jump_ms", JUMPS)
@pytest.mark.parametrize("is_dispatched_late", [False, True])
def test_time_of_a_message_is_true_on_both_sides_of_a_jump(
    jump_ms: int, *, is_dispatched_late: bool
) -> None:
    skew = ClockSkew(Times(1_000_000, 0))
    late_ms = 400 if is_dispatched_late else 0

    before = skew.of(1_000_500, steady_ms=500)
    skew.observe(Times(1_000_600 + jump_ms, 600))
    # Stored before the jump, seen after it; then one that was stored after it.
    between = skew.of(1_000_590, steady_ms=700 + late_ms)
    after = skew.of(1_000_700 + jump_ms, steady_ms=700 + late_ms)

    assert (before, between, after) == (1_000_000, 1_000_000, 1_000_000 + jump_ms)


def test_what_is_less_than_a_step_counts_as_none() -> None:
    skew = ClockSkew(Times(1_000, 0))

    for at_ms in range(0, 1_000, 10):
        skew.observe(Times(1_000 + at_ms + at_ms % 70, at_ms))

    assert skew.now_ms == 1_000


def test_skews_of_long_ago_are_forgotten() -> None:
    skew = ClockSkew(Times(0, 0))
    skew.observe(Times(HOUR_MS + 10, 10))
    skew.observe(Times(HOUR_MS + 11 + LATELY_MS, 11 + LATELY_MS))

    # Only the skew of now is left, and by that it was stored an hour ago.
    assert skew.of(20, steady_ms=12 + LATELY_MS) == HOUR_MS


def test_message_of_no_known_skew_was_stored_now() -> None:
    skew = ClockSkew(Times(0, 0))

    assert skew.of(9_000_000, steady_ms=500) == 9_000_000 - 500


def test_no_message_seems_older_than_it_is_by_more_than_a_step() -> None:
    chance = random.Random(5)
    for _ in range(300):
        at_ms, jumped_ms = 0, 0
        skew = ClockSkew(Times(0, 0))
        stored: list[tuple[int, int]] = []
        for _ in range(60):
            at_ms += chance.randrange(50)
            if chance.random() < 0.1:
                jumped_ms += chance.choice(JUMPS)
            skew.observe(Times(at_ms + jumped_ms, at_ms))
            stored.append((at_ms + jumped_ms, at_ms))
            if chance.random() < 0.5:
                for store_ms, true_ms in stored:
                    found_ms = store_ms - skew.of(store_ms, steady_ms=at_ms)
                    assert true_ms <= found_ms <= at_ms + 250
                stored.clear()
