"""The settings of a client, with RocketMQ's names and defaults.

The producers and consumers of a client share its settings, as they share its connections.

Rule: a value that is not allowed raises an error when the settings are made, where the mistake is.

Source: client/ClientConfig.java, client/impl/factory/MQClientInstance.java#startScheduledTask,
common/MixAll.java#brokerVIPChannel (4.9.7).
"""

import re
from dataclasses import dataclass
from typing import Final

from mqclient.argument_checks import check_range
from mqclient.errors import BadRequest

_INTERVALS: Final = ("poll_name_server_interval_ms", "heartbeat_broker_interval_ms")
_NAMESPACE: Final = r"[|a-zA-Z0-9_-]+"
_TEXTS: Final = ("namespace", "instance_name", "unit_name", "client_ip")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """How a client works; every attribute is one of Java's ``ClientConfig``.

    Attributes:
        namespace: prefix of every topic and group, as ``namespace%name``.
        instance_name: makes the client id ``ip@instance_name``; without it a number is used.
        unit_name: is appended to the client id, ``ip@instance_name@unit_name``.
        client_ip: the ``ip`` of the client id; None means the address that this machine sends from.
        vip_channel_enabled: True connects to the brokers' second port (listenPort - 2) for every
            request except pulls, heartbeats, unregistrations, ends of transactions and filters
            (sendMessageWithVIPChannel).
        poll_name_server_interval_ms: age at which a route is asked for again.
        heartbeat_broker_interval_ms: pause between two heartbeats; a broker forgets a client after
            120 s without one.
    """

    namespace: str | None = None
    instance_name: str | None = None
    unit_name: str | None = None
    client_ip: str | None = None
    vip_channel_enabled: bool = False
    poll_name_server_interval_ms: int = 30_000
    heartbeat_broker_interval_ms: int = 30_000

    def __post_init__(self) -> None:
        """Check every setting.

        Raises:
            BadRequest: a number is out of its range, a name is not a text, or the namespace has
                characters that are not allowed.
        """
        for name in _INTERVALS:
            check_range(name, getattr(self, name), low=1, high=2**31 - 1)
        for name in _TEXTS:
            text = getattr(self, name)
            if not isinstance(text, str | None):
                raise BadRequest(f"{name} is {text!r}, expected a text")
        if self.namespace and not re.fullmatch(_NAMESPACE, self.namespace):
            raise BadRequest(
                f"namespace is {self.namespace!r}, allowed are letters, digits, _, - and |"
            )
