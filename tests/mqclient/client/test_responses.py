"""Each kind of unusable answer becomes one error that names the server."""

import pytest

from mqclient.client import responses
from mqclient.errors import BadAnswer, BadRequest, BrokerRefused, ClientError, TimedOut, Unreachable
from remoting.bodies import TopicList
from remoting.command import Command
from remoting.errors import (
    BadCall,
    BadFrame,
    ConnectFailed,
    ConnectionLost,
    RemotingError,
    RequestTimedOut,
)
from remoting.headers import GetMaxOffsetResponse
from storefmt.config.tables import TopicTable


def test_success_passes_and_refusal_raises() -> None:
    fine = Command(code=0)

    assert responses.check(fine, address="b:1", what="x") is fine
    with pytest.raises(BrokerRefused):
        responses.check(Command(code=1, remark="no"), address="b:1", what="x")


@pytest.mark.parametrize("ext", [{}, {"offset": "many"}])
def test_header_that_cannot_be_read_names_the_server(ext: dict[str, str]) -> None:
    with pytest.raises(BadAnswer, match="b:1 answered without a usable header"):
        responses.header(Command(code=0, ext=ext), GetMaxOffsetResponse, address="b:1")


@pytest.mark.parametrize("kind", [TopicList, TopicTable])
@pytest.mark.parametrize("data", [b"[]", b"{", b"\xff", b"7"])
def test_body_that_cannot_be_read_names_the_server(
    kind: type[TopicList] | type[TopicTable], data: bytes
) -> None:
    with pytest.raises(BadAnswer, match="b:1 answered with a body that cannot be decoded"):
        responses.body(Command(code=0, body=data), kind, address="b:1")


def test_settings_are_lines_of_key_and_value() -> None:
    lines = Command(code=0, body=b"b=2\na = x = y\nnothing\n")

    assert responses.properties(lines) == {"a": "x = y", "b": "2"}


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ConnectFailed("no", address="b:1"), Unreachable),
        (ConnectionLost("no", address="b:1"), Unreachable),
        (RequestTimedOut("no", address="b:1", timeout_ms=5), TimedOut),
        (BadCall("no"), BadRequest),
        (BadFrame("no"), BadAnswer),
    ],
)
def test_error_of_the_wire_becomes_one_of_ours(
    error: RemotingError, kind: type[ClientError]
) -> None:
    translated = responses.client_error(error, address="b:1")

    assert type(translated) is kind
    assert translated.address == "b:1"
    assert translated.retriable is (kind in (Unreachable, TimedOut))
