"""Errors carry their data in attributes and their policy on the class."""

import pytest

from remoting.errors import (
    BadFrame,
    ConnectFailed,
    ConnectionLost,
    RemotingError,
    RequestTimedOut,
    ResponseError,
)


@pytest.mark.parametrize(
    ("error", "retriable", "exit_code"),
    [
        (ConnectFailed("x", address="a:1"), True, 4),
        (ConnectionLost("x", address="a:1"), True, 4),
        (RequestTimedOut("x", address="a:1", timeout_ms=5), True, 4),
        (ResponseError(17, "no topic", address="a:1"), False, 2),
        (BadFrame("x"), False, 1),
    ],
)
def test_policy_sits_on_the_class(error: RemotingError, retriable: bool, exit_code: int) -> None:
    assert (error.retriable, error.exit_code) == (retriable, exit_code)


def test_response_error_says_who_and_what() -> None:
    error = ResponseError(17, None, address="a:1")

    assert (error.code, error.remark, str(error)) == (
        17,
        "",
        "a:1 answered code 17: no remark",
    )
