"""Errors: the class and the attributes that follow from a response code."""

import pytest

from mqclient.errors import (
    BadAnswer,
    BadRequest,
    BrokerRefused,
    ClientError,
    NoRoute,
    NotFound,
    TimedOut,
    Unreachable,
    refusal,
)


@pytest.mark.parametrize(
    ("code", "kind", "retriable"),
    [
        (1, BrokerRefused, True),
        (2, BrokerRefused, True),
        (3, BrokerRefused, False),
        (13, BrokerRefused, False),
        (16, BrokerRefused, True),
        (17, NotFound, True),
        (22, NotFound, False),
        (26, NotFound, False),
        (206, BrokerRefused, False),
        (208, NotFound, False),
        (4711, BrokerRefused, False),
    ],
)
def test_code_decides_class_and_retry(code: int, kind: type[ClientError], retriable: bool) -> None:
    error = refusal(code, " why ", address="b:1", what="topic T")

    assert type(error) is kind
    assert (error.code, error.remark, error.address) == (code, "why", "b:1")
    assert error.retriable is retriable
    assert str(error).startswith(f"topic T: b:1 answered {code} ")


def test_exit_codes_are_those_of_the_command_line() -> None:
    assert {
        kind: kind.exit_code
        for kind in (BrokerRefused, BadAnswer, BadRequest, NotFound, NoRoute, Unreachable, TimedOut)
    } == {
        BrokerRefused: 1,
        BadAnswer: 1,
        BadRequest: 2,
        NotFound: 3,
        NoRoute: 3,
        Unreachable: 4,
        TimedOut: 4,
    }


def test_missing_route_names_the_topic_and_what_to_do() -> None:
    error = NoRoute("T", address="ns:9876")

    assert (error.topic, error.code) == ("T", 17)
    assert str(error) == "topic T has no route on ns:9876"
    assert "create the topic" in error.hint


def test_built_in_classes_catch_them_and_their_data_stays() -> None:
    late = TimedOut("no answer in 5 s", address="b:1", hint="wait", retriable=True)
    away = Unreachable("refused", address="b:1", code=None)

    assert isinstance(late, TimeoutError)
    assert isinstance(away, ConnectionError)
    assert (str(late), late.hint, late.address, late.retriable) == (
        "no answer in 5 s",
        "wait",
        "b:1",
        True,
    )
    assert (str(away), away.errno, away.args) == ("refused", None, ("refused",))
