"""The request for a route, which every client sends first.

It has a module of its own so that a client need not load the requests that only brokers send.

Source: common/protocol/header/namesrv/GetRouteInfoRequestHeader.java (4.9.7).
"""

from dataclasses import dataclass

from remoting.header import Header


@dataclass(frozen=True, slots=True, kw_only=True)
class GetRouteInfo(Header):
    """Ask for the brokers and queues of a topic (request code 105)."""

    topic: str
    accept_standard_json_only: bool | None = None
    """True asks for strict JSON, with quoted integer keys, whatever the client's version is."""
