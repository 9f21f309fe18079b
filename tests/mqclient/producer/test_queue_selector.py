"""Queue selection: in turn, but not at a broker that failed or is slow."""

import pytest

from mqclient.errors import BadRequest
from mqclient.message import Message
from mqclient.producer.queue_selector import LatencyFaults, RoundRobin, by_function, by_hash
from remoting.bodies import MessageQueue

QUEUES = [MessageQueue("T", name, number) for name in ("a", "b") for number in (0, 1)]


def test_queues_come_in_turn() -> None:
    turns = RoundRobin(start=3)

    assert [turns.pick(QUEUES) for _ in range(5)] == [QUEUES[n] for n in (3, 0, 1, 2, 3)]


def test_failed_broker_is_avoided_while_there_is_another() -> None:
    turns = RoundRobin()

    assert {turns.pick(QUEUES, avoid="a").broker_name for _ in range(6)} == {"b"}
    assert turns.pick(QUEUES[:2], avoid="a") in QUEUES[:2]


def test_no_queues_is_an_error() -> None:
    with pytest.raises(BadRequest):
        RoundRobin().pick([])


@pytest.mark.parametrize("chosen", [None, 1])
def test_a_function_that_chooses_no_queue_is_told_so(chosen: object) -> None:
    with pytest.raises(BadRequest, match="not a queue of topic T"):
        by_function(QUEUES, Message("T", b"x"), select=lambda queues, message: chosen)  # type: ignore[arg-type, return-value]


def test_a_key_that_is_no_text_is_refused_because_java_hashes_it_otherwise() -> None:
    with pytest.raises(BadRequest, match="17 is not a text"):
        by_hash(QUEUES, 17)  # type: ignore[arg-type]


def picked(faults: LatencyFaults, *, now_ms: int) -> set[str]:
    turns = RoundRobin()
    return {faults.pick(turns, QUEUES, now_ms=now_ms).broker_name for _ in range(8)}


def test_quick_brokers_are_all_taken() -> None:
    faults = LatencyFaults()
    faults.sent("a", elapsed_ms=549, failed=False, now_ms=0)

    assert picked(faults, now_ms=0) == {"a", "b"}


def test_a_late_broker_is_left_out_for_as_long_as_java_does() -> None:
    faults = LatencyFaults()
    faults.sent("a", elapsed_ms=550, failed=False, now_ms=0)

    assert picked(faults, now_ms=29_999) == {"b"}
    assert picked(faults, now_ms=30_000) == {"a", "b"}


def test_a_failed_broker_is_left_out_for_ten_minutes() -> None:
    faults = LatencyFaults()
    faults.sent("b", elapsed_ms=3, failed=True, now_ms=0)

    assert picked(faults, now_ms=599_999) == {"a"}
    assert picked(faults, now_ms=600_000) == {"a", "b"}


def test_the_best_is_taken_when_all_are_left_out() -> None:
    faults = LatencyFaults()
    faults.sent("a", elapsed_ms=3000, failed=False, now_ms=0)
    faults.sent("b", elapsed_ms=2000, failed=False, now_ms=0)

    assert picked(faults, now_ms=1) == {"b"}


def test_a_key_goes_where_java_sends_it() -> None:
    # "polygenelubricants".hashCode() is Integer.MIN_VALUE, whose Math.abs is negative in Java;
    # Java takes the remainder first.
    assert by_hash(QUEUES, "polygenelubricants") == QUEUES[2**31 % 4]
    assert by_hash(QUEUES, "order-17") == by_hash(QUEUES, "order-17")
    assert {by_hash(QUEUES, f"order-{number}") for number in range(40)} == set(QUEUES)
