"""Which steps belong to a topic, in which order they stand, and what they say of failures."""

from dataclasses import replace

import pytest

from mqadmin.messages.trace import LifeRow, by_message, failure_texts, of_topic

STEP = LifeRow(
    step="store", step_ms=1, topic="orders", unique_key="A", group=None, cost_ms=None, detail=""
)


def step(name: str, at_ms: int = 1, **more: object) -> LifeRow:
    return replace(STEP, step=name, step_ms=at_ms, **more)  # type: ignore[arg-type]


def test_a_key_that_messages_of_other_topics_have_shows_those_of_one() -> None:
    own = [step("sent"), step("consumed", topic="")]
    others = [
        step("sent", topic="bills", unique_key="B"),
        step("consumed", topic="", unique_key="B"),
    ]

    assert of_topic([*own, *others], "orders", ()) == own


def test_what_a_broker_stores_names_the_messages_without_a_trace_of_the_send() -> None:
    consumed = step("consumed", topic="", unique_key="C")

    assert of_topic([consumed], "orders", {"C"}) == [consumed]
    assert of_topic([consumed], "orders", ()) == []


def test_steps_stand_message_by_message() -> None:
    mixed = [
        step("group", 0),
        step("retry", 3),
        step("store", 2, unique_key="B"),
        step("store", 1),
    ]

    assert [(one.unique_key, one.step) for one in by_message(mixed)] == [
        ("A", "store"),
        ("A", "retry"),
        ("A", "group"),
        ("B", "store"),
    ]


FAILED = step(
    "consumed",
    5,
    group="billing",
    success=False,
    detail="the listener threw an exception; client c",
)
FAILED = replace(FAILED, client_host="10.0.0.7")


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([step("store")], []),
        ([step("consumed", group="billing", success=True)], []),
        ([FAILED, step("consumed", 9, group="billing", success=True)], []),
        (
            [FAILED],
            ["A: group billing failed 1 time; at 10.0.0.7 the listener threw an exception"],
        ),
        (
            [step("retry", group="billing"), step("retry", group="billing")],
            [
                "A: group billing failed 2 times; no client traced the reason; see the members' "
                "logs at the times of these steps"
            ],
        ),
        (
            [step("retry", group="billing"), step("dead_letter", group="billing"), FAILED],
            [
                "A: group billing failed 2 times and gave it up: it is in %DLQ%billing; at "
                "10.0.0.7 the listener threw an exception"
            ],
        ),
    ],
)
def test_a_group_that_failed_has_a_sentence(steps: list[LifeRow], expected: list[str]) -> None:
    assert failure_texts(steps) == expected
