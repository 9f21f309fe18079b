"""The parameters of a client, with RocketMQ's names and defaults.

Rule: its producers and consumers share them, as they share its connections.

Source: client/ClientConfig.java, client/impl/factory/MQClientInstance.java#startScheduledTask,
common/MixAll.java#brokerVIPChannel (4.9.7).
"""

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final

from mqclient.errors import BadRequest


def check_range(name: str, value: object, *, low: int, high: int) -> None:
    """Refuse what is no whole number between two, both allowed.

    Raises:
        BadRequest: it is none.
    """
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise BadRequest(f"{name} is {value!r}, allowed are {low} to {high}")


def check_kind(name: str, value: object, kind: type[Enum]) -> None:
    """Refuse what is no member of an enumeration, its name as a text as well.

    Raises:
        BadRequest: it is none.
    """
    if not isinstance(value, kind):
        members = ", ".join(kind.__members__)
        raise BadRequest(
            f"{name} is {value!r}, not of {kind.__name__}", hint=f"{kind.__name__} has {members}"
        )


_INTERVALS: Final = ("poll_name_server_interval_ms", "heartbeat_broker_interval_ms")
_NAMESPACE: Final = r"[|a-zA-Z0-9_-]+"
_TEXTS: Final = ("namespace", "instance_name", "unit_name", "client_ip")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """How a client works; every attribute is one of Java's ``ClientConfig``.

    Attributes:
        namespace: stands before every topic and group, as ``namespace%name``.
        instance_name: makes the client id ``ip@instance_name``; else a number names it.
        unit_name: is appended to it, ``ip@instance_name@unit_name``.
        client_ip: the ``ip`` of it; the address this machine sends from when None.
        vip_channel_enabled: connect to the brokers' second port (listenPort - 2) for all but
            pulls, heartbeats, farewells, ends of transactions and filters
            (sendMessageWithVIPChannel).
        poll_name_server_interval_ms: age at which a route is asked for again.
        heartbeat_broker_interval_ms: pause between two heartbeats; a broker forgets who is
            silent for 120 s.
    """

    namespace: str | None = None
    instance_name: str | None = None
    unit_name: str | None = None
    client_ip: str | None = None
    vip_channel_enabled: bool = False
    poll_name_server_interval_ms: int = 30_000
    heartbeat_broker_interval_ms: int = 30_000

    def __post_init__(self) -> None:
        """Check every number and every text.

        Raises:
            BadRequest: a number is out of its range, a name is no text, or no namespace.
        """
        for name in _INTERVALS:
            check_range(name, getattr(self, name), low=1, high=2**31 - 1)
        for name in _TEXTS:
            text = getattr(self, name)
            if not isinstance(text, str | None):
                raise BadRequest(f"{name} is {text!r}, which is no text")
        if self.namespace and not re.fullmatch(_NAMESPACE, self.namespace):
            raise BadRequest(
                f"namespace is {self.namespace!r}, allowed are letters, digits, _, - and |"
            )
