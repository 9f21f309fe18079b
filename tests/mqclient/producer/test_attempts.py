"""Attempts: which failures are tried again, after which pauses, and until when."""

import pytest

from mqclient.errors import ClientError, NoRoute, TimedOut, Unreachable, refusal
from mqclient.producer.attempts import Attempts
from mqclient.producer.producer_settings import ProducerSettings

SPREAD = ProducerSettings()
AS_JAVA = ProducerSettings(retry_backoff_ms=0)
LOST = Unreachable("lost", retriable=True)


def refused(code: int) -> ClientError:
    return refusal(code, "no", address="b:1", what="message")


def pauses_of(attempts: Attempts, error: ClientError, *, broker_count: int = 1) -> list[float]:
    """Return the pauses of a send whose attempts all fail at once with the same error."""
    now_s = 0.0
    pauses: list[float] = []
    while True:
        pause_s = attempts.pause_s(error, broker_count=broker_count, now_s=now_s)
        if pause_s is None:
            return pauses
        pauses.append(pause_s)
        now_s += pause_s
        attempts.failed("b")


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(
    "error", [LOST, refused(1), refused(2), refused(14), refused(17), refused(215), NoRoute("T")]
)
def test_attempts_are_spread_over_the_time_limit(error: ClientError, is_async: bool) -> None:
    attempts = Attempts(SPREAD, 5.0, 5.0, is_async, is_bound=False)

    assert pauses_of(attempts, error) == [0.1, 0.2, 0.4, 0.8, 1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("broker_count", "is_bound", "pauses"),
    [
        (1, False, [0.1, 0.2, 0.4]),
        (3, False, [0.0, 0.0, 0.1, 0.2, 0.4]),
        (3, True, [0.1, 0.2, 0.4]),
        (0, False, [0.2, 0.4]),
    ],
)
def test_each_other_broker_is_tried_without_a_pause(
    broker_count: int, is_bound: bool, pauses: list[float]
) -> None:
    attempts = Attempts(SPREAD, 1.0, 1.0, False, is_bound)

    assert pauses_of(attempts, LOST, broker_count=broker_count) == pauses


@pytest.mark.parametrize(
    ("settings", "is_async", "is_bound", "error", "count"),
    [
        (AS_JAVA, False, False, LOST, 2),
        (AS_JAVA, False, False, refused(14), 2),
        (AS_JAVA, False, False, refused(13), 0),
        (AS_JAVA, False, True, LOST, 0),
        (AS_JAVA, True, False, LOST, 2),
        (AS_JAVA, True, False, refused(14), 0),
        (AS_JAVA, True, True, LOST, 2),
        (SPREAD, False, False, refused(13), 0),
        (SPREAD, True, False, refused(13), 0),
        (SPREAD, False, False, refused(16), 2),
        (SPREAD, False, False, refused(204), 2),
        (SPREAD, False, False, refused(205), 2),
        (SPREAD, False, False, ClientError("final"), 0),
        (ProducerSettings(retry_times_when_send_failed=0), False, False, LOST, 0),
        (ProducerSettings(retry_times_when_send_failed=1), False, True, LOST, 1),
        (ProducerSettings(retry_times_when_send_async_failed=1), True, False, LOST, 1),
        (ProducerSettings(retry_times_when_send_async_failed=1), False, True, LOST, 13),
    ],
)
def test_how_many_attempts_follow(
    settings: ProducerSettings, is_async: bool, is_bound: bool, error: ClientError, count: int
) -> None:
    attempts = Attempts(settings, 11.0, 11.0, is_async, is_bound)

    assert len(pauses_of(attempts, error)) == count


def test_no_attempt_begins_after_the_time_limit() -> None:
    late = TimedOut("late", retriable=True)

    assert (
        Attempts(AS_JAVA, 5.0, 5.0, False, False).pause_s(late, broker_count=2, now_s=5.0) is None
    )
    assert (
        Attempts(SPREAD, 5.0, 5.0, False, False).pause_s(late, broker_count=1, now_s=4.95) is None
    )


@pytest.mark.parametrize(
    ("settings", "is_async", "is_bound", "expected"),
    [
        ({}, False, False, [False] * 3),
        ({"retry_another_broker_when_not_store_ok": True}, False, False, [True, True, False]),
        ({"retry_another_broker_when_not_store_ok": True}, True, False, [False] * 3),
        ({"retry_another_broker_when_not_store_ok": True}, False, True, [False] * 3),
    ],
)
def test_stored_but_not_safe_is_tried_again_as_often_as_in_java(
    settings: dict[str, bool], is_async: bool, is_bound: bool, expected: list[bool]
) -> None:
    attempts = Attempts(ProducerSettings(**settings), 5.0, 5.0, is_async, is_bound)  # type: ignore[arg-type]
    seen = []
    for _ in range(3):
        seen.append(attempts.not_safe_is_tried_again)
        attempts.failed("b")

    assert seen == expected
