"""Requests and responses: from a server's answer to a typed value, or to a ``ClientError``.

Rule: every answer goes through here, so that an error code, a missing field and a body that is
not JSON each become one error that names the server.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, Self, TypeVar

from mqclient.errors import BadAnswer, BadRequest, ClientError, TimedOut, Unreachable, refusal
from remoting.codes import ResponseCode
from remoting.command import Command
from remoting.errors import (
    BadBody,
    BadCall,
    BadHeader,
    ConnectFailed,
    ConnectionLost,
    RemotingError,
    RequestTimedOut,
)
from remoting.header import Header
from storefmt.errors import StoreError

_H = TypeVar("_H", bound=Header)


class Decodable(Protocol):
    """A class whose values are made of the body of an answer."""

    @classmethod
    def decode(cls, data: bytes) -> Self: ...


_B = TypeVar("_B", bound=Decodable)


def request(code: int, header: Header | None = None, *, body: bytes = b"") -> Command:
    """Return a request.

    Raises:
        BadRequest: a field does not fit the protocol, such as an offset over 64 bits.
    """
    try:
        return Command.request(code, header, body=body)
    except BadCall as error:
        raise BadRequest(str(error)) from error


def check(answer: Command, *, address: str, what: str) -> Command:
    """Return the answer when its code is success.

    Args:
        answer: the answer.
        address: the server that answered, ``host:port``.
        what: what was asked for, as the start of the error text: "topic T".

    Raises:
        NotFound, BrokerRefused: the server answered with an error code.
    """
    if answer.code != ResponseCode.SUCCESS:
        raise refusal(answer.code, answer.remark, address=address, what=what)
    return answer


def header(answer: Command, header_class: type[_H], *, address: str) -> _H:
    """Return the typed header of an answer; raises BadAnswer."""
    try:
        return answer.header(header_class)
    except BadHeader as error:
        raise BadAnswer(f"{address} answered without a usable header: {error}") from error


def body(answer: Command, body_class: type[_B], *, address: str) -> _B:
    """Return the typed body of an answer; raises BadAnswer."""
    try:
        return body_class.decode(answer.body)
    except (BadBody, StoreError) as error:
        raise BadAnswer(
            f"{address} answered with a body that cannot be decoded: {error}"
        ) from error


def properties(answer: Command) -> dict[str, str]:
    """Return the ``key=value`` lines of an answer's body, sorted by key."""
    lines = str(answer.body, "utf-8", "replace").splitlines()
    pairs = (line.partition("=") for line in lines if "=" in line)
    return {key.strip(): value.strip() for key, _, value in sorted(pairs)}


def settings_body(settings: Mapping[str, str]) -> bytes:
    """Return the body that changes settings: lines that ``properties`` reads."""
    return "".join(f"{key}={value}\n" for key, value in settings.items()).encode()


def report_silent(
    silent: Sequence[ClientError], on_silent: Callable[[ClientError], None] | None, *, of: int
) -> None:
    """Report each server that did not answer a read to ``on_silent``.

    Args:
        silent: the error of each server that did not answer.
        on_silent: gets each of these errors; None means that a single one is an error.
        of: how many servers were asked.

    Raises:
        ClientError: a server did not answer and ``on_silent`` is None, or no server answered.
    """
    for error in silent:
        if on_silent is None or len(silent) == of:
            raise error
        on_silent(error)


def client_error(error: RemotingError, *, address: str, what: str = "") -> ClientError:
    """Return the ``ClientError`` for an error of ``remoting``.

    Args:
        what: what was asked for, as the start of the text: "topic T"; "" where it is not known.
    """
    text = f"{what}: {error}" if what else str(error)
    if isinstance(error, RequestTimedOut):
        return TimedOut(
            text,
            address=address,
            hint="it may have been done: check before you try again, or allow more time",
            retriable=True,
        )
    if isinstance(error, ConnectFailed | ConnectionLost):
        return Unreachable(
            text,
            address=address,
            hint="is it the right address, is it running?",
            retriable=True,
        )
    if isinstance(error, BadCall):
        return BadRequest(str(error), address=address)
    return BadAnswer(str(error), address=address)
