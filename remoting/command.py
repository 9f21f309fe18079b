"""One request or response, whatever its serialisation.

Rule: this is the value; how it becomes bytes is ``remoting.serialize`` (header) and
``remoting.frame`` (lengths). ``opaque`` ties a response to its request on one connection.

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
"""What a Java server begins an answer with, and forgets to take out of some good ones."""


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
        """Return a request; the connection gives it its ``opaque`` when it is sent."""
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
        """Return the answer to this request: same opaque, same serialisation."""
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
        """Return the typed view of ``ext``; raises BadHeader when a field is missing or wrong."""
        return header_class.from_ext(self.ext)
