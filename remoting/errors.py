"""Errors of the wire.

    RemotingError
    ├── BadFrame          the peer sent bytes that are not a frame: close the connection
    ├── BadHeader         the frame is fine, but a typed field in it is missing or wrong
    ├── BadBody           the frame is fine, but its JSON body is not what the code promises
    ├── BadCall           our own caller asked for something that cannot be encoded
    ├── ConnectFailed     there was no answer from that address
    ├── ConnectionLost    the connection went away before the answer came
    └── RequestTimedOut   the answer did not come in time

Rule: each class states its policy (``retriable``: another try, perhaps with another server, may
work; ``exit_code``: the exit code of a command). Data is in attributes, never in the text.
"""

from typing import Any, ClassVar, Self

from remoting.codes import request_name


class RemotingError(Exception):
    """Root of every error of this package."""

    retriable: ClassVar[bool] = False
    exit_code: ClassVar[int] = 1


class BadFrame(RemotingError):
    """The bytes of the peer are not a frame; the connection cannot be used any more.

    Attributes:
        frames: the frames that came before these bytes in the same read, as ``RawFrame``.
    """

    frames: tuple[Any, ...] = ()


class BadHeader(RemotingError):
    """A header field is missing or has no legal value.

    Attributes:
        header: name of the header class.
        field: key on the wire.
    """

    def __init__(self, text: str, *, header: str, field: str) -> None:
        super().__init__(text)
        self.header = header
        self.field = field


class BadBody(RemotingError):
    """The body is not the JSON document that the code promises.

    Attributes:
        body: name of the body class.
        field: JSON key, or "" when the document as a whole is wrong.
    """

    def __init__(self, text: str, *, body: str, field: str = "") -> None:
        super().__init__(text)
        self.body = body
        self.field = field


class BadCall(RemotingError):
    """The caller asks for something that the protocol cannot express; this is our own fault."""


class ConnectFailed(RemotingError):
    """No connection to ``address`` could be made in time."""

    retriable = True
    exit_code = 4

    def __init__(self, text: str, *, address: str) -> None:
        super().__init__(text)
        self.address = address


class ConnectionLost(RemotingError):
    """The connection to ``address`` ended; whether the request was executed is not known."""

    retriable = True
    exit_code = 4

    def __init__(self, text: str, *, address: str) -> None:
        super().__init__(text)
        self.address = address


class RequestTimedOut(RemotingError):
    """No answer from ``address`` in ``timeout_ms``; the request may have been executed."""

    retriable = True
    exit_code = 4

    def __init__(self, text: str, *, address: str, timeout_ms: int) -> None:
        super().__init__(text)
        self.address = address
        self.timeout_ms = timeout_ms

    @classmethod
    def of(cls, address: str, request_code: int, *, timeout_s: float) -> Self:
        """Return the error of a request to ``address`` that was not answered."""
        return cls(
            f"{address} did not answer {request_name(request_code)} in {timeout_s:g} s",
            address=address,
            timeout_ms=int(timeout_s * 1000),
        )
