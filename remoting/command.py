"""One request or response, whatever its serialisation.

Rule: this module holds the value; ``remoting.serialize`` (header) and ``remoting.frame`` (lengths)
turn it into bytes. On one connection ``opaque`` connects a response with its request.

Source: remoting/protocol/RemotingCommand.java.
"""

from dataclasses import dataclass, field
from typing import Final, TypeVar

from remoting.codes import (
    FLAG_ONEWAY,
    FLAG_RESPONSE,
    VERSION,
    LanguageCode,
    ResponseCode,
    SerializeType,
)
from remoting.header import Header

_H = TypeVar("_H", bound=Header)

UNSET_REMARK: Final = "not set any response code"
"""The remark with which a Java server begins an answer; it stays in some successful ones."""


@dataclass(slots=True)
class Command:
    """One frame's meaning.

    ``code`` is a request code or, with the response flag, a response code. ``ext`` holds the
    header fields as text; an empty map is written only when ``ext_written`` says so, because
    Java tells "no header" from "a header without values".
    """

    code: int
    opaque: int = 0
    flag: int = 0
    language: int = LanguageCode.PYTHON
    version: int = VERSION
    remark: str | None = None
    ext: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    serialize: SerializeType = SerializeType.JSON
    ext_written: bool = False

    @property
    def is_response(self) -> bool:
        """True for an answer."""
        return bool(self.flag & FLAG_RESPONSE)

    @property
    def is_oneway(self) -> bool:
        """True for a request that must not be answered."""
        return bool(self.flag & FLAG_ONEWAY)

    @classmethod
    def request(
        cls, code: int, header: Header | None = None, *, body: bytes = b"", oneway: bool = False
    ) -> "Command":
        """Return a request; the connection sets its ``opaque`` when it is sent.

        Args:
            code: the request code.
            header: the typed header, None for a request without one.
            body: the body, as it is sent.
            oneway: True for a request that must not be answered.

        Raises:
            BadCall: a value of the header does not fit its Java type.
        """
        return cls(
            code=code,
            flag=FLAG_ONEWAY if oneway else 0,
            ext={} if header is None else header.to_ext(),
            body=body,
            ext_written=header is not None,
        )

    def response(
        self,
        code: int = ResponseCode.SUCCESS,
        *,
        remark: str | None = None,
        header: Header | None = None,
        body: bytes = b"",
    ) -> "Command":
        """Return the answer to this request, with the same opaque and the same serialisation.

        Args:
            code: the response code.
            remark: a text for the client, None without one.
            header: the typed header, None for an answer without one.
            body: the body, as it is sent.

        Raises:
            BadCall: a value of the header does not fit its Java type.
        """
        return Command(
            code=code,
            opaque=self.opaque,
            flag=FLAG_RESPONSE,
            remark=remark,
            ext={} if header is None else header.to_ext(),
            body=body,
            serialize=self.serialize,
            ext_written=header is not None,
        )

    def header(self, header_class: type[_H]) -> _H:
        """Return the typed view of ``ext``.

        Raises:
            BadHeader: a required field is missing, or a value is wrong.
        """
        return header_class.from_ext(self.ext)
