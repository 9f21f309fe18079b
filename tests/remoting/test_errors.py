"""Errors carry their data in attributes and their policy on the class."""

import pytest

from remoting.errors import BadFrame, ConnectFailed, ConnectionLost, RemotingError, RequestTimedOut


@pytest.mark.parametrize(
    ("error", "retriable", "exit_code"),
    [
        (ConnectFailed("x", address="a:1"), True, 4),
        (ConnectionLost("x", address="a:1"), True, 4),
        (RequestTimedOut("x", address="a:1", timeout_ms=5), True, 4),
        (BadFrame("x"), False, 1),
    ],
)
def test_policy_sits_on_the_class(error: RemotingError, retriable: bool, exit_code: int) -> None:
    assert error.retriable == retriable
    assert error.exit_code == exit_code
