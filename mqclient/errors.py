"""Errors of the client library.

    ClientError
    ├── NotFound           the server has no such message, key or offset
    │   └── NoRoute        no name server knows the topic
    ├── BrokerRefused      a server answered with an error code
    ├── Unreachable        there was no connection, or it broke before the answer; also a
    │                      built-in ConnectionError
    ├── TimedOut           no answer came in time; also a built-in TimeoutError
    ├── BadAnswer          the answer cannot be decoded
    ├── BadRequest         the caller asked for something that cannot be sent
    └── UnexpectedBody     a body, or a value for one, does not have the expected type

Rule: every error carries the same data (``code``, ``remark``, ``address``, ``hint``,
``retriable``), so that a caller can show any error without knowing its class. ``retriable`` means
that the same call may work a little later, or at another server.

The built-in ConnectionError and TimeoutError are ``OSError``s. Code that treats a ClientError and
an ``OSError`` differently must name the ClientError first.
"""

from typing import ClassVar, Final

from remoting.codes import LaterResponseCode, ResponseCode


class ClientError(Exception):
    """Root of every error of this package.

    Args:
        text: what happened, where, and what was expected.
        code, remark, address, hint, retriable: the attributes of the same names.

    Attributes:
        code: response code of the server; None when no answer came.
        remark: the server's own text; "" when there is none.
        address: the server that was asked, ``host:port``; "" when none was.
        hint: what to do next; "" when the text says everything.
        retriable: True when another attempt may work.
    """

    exit_code: ClassVar[int] = 1

    def __init__(
        self,
        text: str,
        *,
        code: int | None = None,
        remark: str = "",
        address: str = "",
        hint: str = "",
        retriable: bool = False,
    ) -> None:
        super().__init__(text)
        self.code = code
        self.remark = remark
        self.address = address
        self.hint = ""
        self.retriable = retriable
        if hint:
            self.advise(hint)

    def advise(self, hint: str) -> None:
        """Set the hint; a caller may know better what to do than the code that raised this."""
        self.hint = hint
        # A traceback shows notes, and a script or a log may contain only the traceback.
        self.add_note(hint)


class NotFound(ClientError):
    """The server has no such message, key or offset."""

    exit_code = 3


class NoRoute(NotFound):
    """No name server knows a broker with this topic."""

    def __init__(self, topic: str, *, address: str = "", remark: str = "") -> None:
        super().__init__(
            f"topic {topic} has no route on {address or 'any name server'}",
            code=ResponseCode.TOPIC_NOT_EXIST,
            remark=remark,
            address=address,
            hint="create the topic, or wait for its broker to register",
        )
        self.topic = topic


class BrokerRefused(ClientError):
    """A server answered with an error code."""


class Unreachable(ClientError, ConnectionError):
    """There was no connection to the server, or it broke before the answer came."""

    exit_code = 4


class TimedOut(ClientError, TimeoutError):
    """The server did not answer in time; it may have done what was asked."""

    exit_code = 4


class BadAnswer(ClientError):
    """The server's answer cannot be decoded; it may be another kind of server, or a newer one."""


class BadRequest(ClientError):
    """The caller asked for something that cannot be sent; nothing left this process."""

    exit_code = 2


class UnexpectedBody(ClientError):
    """The body of a message is not of the expected type, or a value cannot become a body."""


RETRIABLE: Final = frozenset(
    {
        ResponseCode.SYSTEM_ERROR,
        ResponseCode.SYSTEM_BUSY,
        ResponseCode.SERVICE_NOT_AVAILABLE,
        ResponseCode.TOPIC_NOT_EXIST,
        ResponseCode.NO_PERMISSION,
        ResponseCode.NO_BUYER_ID,
        ResponseCode.NOT_IN_CURRENT_UNIT,
        ResponseCode.FLOW_CONTROL,
        LaterResponseCode.NOT_LEADER_FOR_QUEUE,
    }
)
"""Java's retryResponseCodes, after which a producer tries another broker, busy codes, and the one
after which a fresh route names another leader of a logical queue."""

_NOT_FOUND: Final = frozenset(
    {
        ResponseCode.TOPIC_NOT_EXIST,
        ResponseCode.QUERY_NOT_FOUND,
        ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST,
        ResponseCode.NO_MESSAGE,
    }
)

_NAMES: Final = {int(code): code.name for code in (*LaterResponseCode, *ResponseCode)}

_HINTS: Final[dict[int, str]] = {
    ResponseCode.SYSTEM_BUSY: "the server is overloaded: try again, or send more slowly",
    ResponseCode.REQUEST_CODE_NOT_SUPPORTED: "this server's version has no such request",
    ResponseCode.MESSAGE_ILLEGAL: "check topic name, body size and properties size",
    ResponseCode.SERVICE_NOT_AVAILABLE: "the store takes no writes: look at the broker's disk",
    ResponseCode.NO_PERMISSION: "check the permission of the topic and of the broker",
    ResponseCode.TOPIC_NOT_EXIST: "create the topic first",
    ResponseCode.QUERY_NOT_FOUND: "nothing is stored under this name",
    ResponseCode.SUBSCRIPTION_PARSE_FAILED: "the filter expression cannot be read",
    ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST: "create the consumer group first",
    ResponseCode.CONSUMER_NOT_ONLINE: "no consumer of the group is connected to this broker",
    ResponseCode.NO_MESSAGE: "check topic, key and time span",
    LaterResponseCode.NOT_LEADER_FOR_QUEUE: "the static topic was remapped: ask again with a fresh "
    "route",
}


def refusal(code: int, remark: str | None, *, address: str, what: str) -> ClientError:
    """Return the error for a response code other than success.

    Args:
        code: the response code, see ``remoting.codes.ResponseCode``.
        remark: the server's text.
        address: the server that answered, ``host:port``.
        what: what was asked for, as the start of the text: "topic T".
    """
    kind = NotFound if code in _NOT_FOUND else BrokerRefused
    name = _NAMES.get(code, "unknown code")
    text = (remark or "").strip()
    return kind(
        f"{what}: {address} answered {code} {name}" + (f", {text}" if text else ""),
        code=code,
        remark=text,
        address=address,
        hint=_HINTS.get(code, ""),
        retriable=code in RETRIABLE,
    )
