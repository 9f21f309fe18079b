"""The one request that every client makes first, apart from those that only brokers make.

Source: common/protocol/header/namesrv/GetRouteInfoRequestHeader.java (4.9.7).
"""

from dataclasses import dataclass

from remoting.header import Header


@dataclass(frozen=True, slots=True, kw_only=True)
class GetRouteInfo(Header):
    """Ask for the brokers and queues of a topic (request code 105)."""

    topic: str
    accept_standard_json_only: bool | None = None
    """True asks for quoted integer keys whatever the version."""
