"""What a round does with a half message, by its age and its properties."""

import pytest

from mqserver.broker.transaction.transaction_checks import HOUR_MS, CheckResult, CheckRules, judge
from storefmt.formats.message import Record
from tests.server.broker.transaction.transactions import START_MS, World

RULES = CheckRules(timeout_ms=6_000, count_max=3, reserved_ms=72 * HOUR_MS)
TIMES = "TRANSACTION_CHECK_TIMES"
IMMUNITY = "CHECK_IMMUNITY_TIME_IN_SECONDS"


def record_of(world: World, key: str, **properties: str) -> Record:
    at = world.send(key, **properties)
    world.settle()
    return world.half(at)


@pytest.mark.parametrize(
    ("age_ms", "properties", "event"),
    [
        (0, {}, CheckResult.TOO_YOUNG),
        (5_999, {}, CheckResult.TOO_YOUNG),
        (6_000, {}, CheckResult.ASK),
        (-1, {}, CheckResult.ASK),
        (6_000, {TIMES: "2"}, CheckResult.ASK),
        (6_000, {TIMES: "3"}, CheckResult.GIVE_UP),
        (0, {TIMES: "3"}, CheckResult.GIVE_UP),
        (6_000, {TIMES: "nonsense"}, CheckResult.ASK),
        (72 * HOUR_MS, {}, CheckResult.ASK),
        (72 * HOUR_MS + 1, {}, CheckResult.GIVE_UP),
        (29_999, {IMMUNITY: "30"}, CheckResult.SPARE),
        (30_000, {IMMUNITY: "30"}, CheckResult.ASK),
        (-5, {IMMUNITY: "30"}, CheckResult.SPARE),
        (1, {IMMUNITY: "0"}, CheckResult.ASK),
        (5_999, {IMMUNITY: "nonsense"}, CheckResult.SPARE),
        (5_999, {IMMUNITY: "-1"}, CheckResult.SPARE),
        (6_000, {IMMUNITY: "nonsense"}, CheckResult.ASK),
        (1_000, {IMMUNITY: "30", TIMES: "3"}, CheckResult.GIVE_UP),
    ],
)
def test_what_a_round_does_with_a_half_message(
    age_ms: int, properties: dict[str, str], event: CheckResult
) -> None:
    half = record_of(World(), "k", **properties)

    judged = judge(half, half.properties, rules=RULES, now_ms=START_MS + age_ms)

    assert judged is event


def test_clock_that_was_set_a_month_ahead_gives_no_half_message_up() -> None:
    half = record_of(World(), "k")
    later_ms = START_MS + 30 * 24 * HOUR_MS

    judged = [
        judge(half, {}, rules=RULES._replace(retention_ms=clock_ms), now_ms=later_ms)
        for clock_ms in (START_MS + HOUR_MS, later_ms)
    ]

    assert judged == [CheckResult.ASK, CheckResult.GIVE_UP]
