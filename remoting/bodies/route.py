"""The routes and clusters that a name server returns.

Rule: the keys of ``broker_addrs`` are broker ids, and 0 is the master. Java clients of 4.9.4 and
later get the route as strict JSON (``encode_strict``). Older clients, and all readers of
``ClusterInfo``, get integer keys without quotes.

Source: common/protocol/route (4.9.7), namesrv/processor/ClientRequestProcessor.java.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Final

from remoting.bodies.base import Body
from remoting.bodies.static_topic import TopicQueueMappingInfo

MASTER_ID: Final = 0
STRICT_JSON_VERSION: Final = 401
"""The MQVersion of 4.9.4: clients from this version on get a route in strict JSON."""

_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-f]{4})|.)")


@dataclass(slots=True, kw_only=True)
class QueueData(Body):
    """The queues of a topic on one broker, and the permission to use them."""

    broker_name: str
    read_queue_nums: int = 0
    write_queue_nums: int = 0
    perm: int = 0
    """A sum of permission bits: 4 to read, 2 to write, 1 to inherit."""
    topic_sys_flag: int = 0


@dataclass(slots=True, kw_only=True)
class BrokerData(Body):
    """The addresses of one broker name: a master and its slaves."""

    cluster: str | None = None
    broker_name: str
    broker_addrs: dict[int, str] = field(default_factory=dict)
    """The address of each broker, ``ip:port``, by broker id."""

    def master(self) -> str | None:
        """Return the address of the master; None when there are only slaves."""
        return self.broker_addrs.get(MASTER_ID)

    def any_address(self) -> str | None:
        """Return the address of the master, or else of the first slave; None without either."""
        lowest = min(self.broker_addrs, default=None)
        return None if lowest is None else self.broker_addrs[lowest]


@dataclass(slots=True, kw_only=True)
class TopicRouteData(Body):
    """The name server returns the brokers and queues of one topic (request code 105)."""

    order_topic_conf: str | None = None
    """Pairs ``broker:queue count`` joined by semicolons; only ordered topics have them."""
    queue_datas: list[QueueData] = field(default_factory=list)
    broker_datas: list[BrokerData] = field(default_factory=list)
    filter_server_table: dict[str, list[str]] = field(default_factory=dict)
    topic_queue_mapping_by_broker: dict[str, TopicQueueMappingInfo] | None = None
    """The logical queues that each broker leads; only static topics of RocketMQ 5 have them."""

    def encode_for(self, version: int, *, strict_only: bool = False) -> bytes:
        """Return the text of the answer to a client.

        Args:
            version: the MQVersion of the client.
            strict_only: the client asks for strict JSON, whatever its version is.
        """
        if strict_only or version >= STRICT_JSON_VERSION:
            return self.encode_strict()
        return self.encode()

    def encode_strict(self) -> bytes:
        """Return strict JSON in ASCII, as fastjson's BrowserCompatible feature writes it."""
        text = json.dumps(self.to_json(), separators=(",", ":"), sort_keys=True)
        return _ESCAPE.sub(_upper_hex, text).encode("ascii")


def _upper_hex(found: re.Match[str]) -> str:
    return found[0] if found[1] is None else f"\\u{found[1].upper()}"


@dataclass(slots=True, kw_only=True)
class ClusterInfo(Body):
    """The name server returns all brokers and clusters that it knows (request code 106)."""

    broker_addr_table: dict[str, BrokerData] = field(default_factory=dict)
    """The addresses of each broker, by broker name."""
    cluster_addr_table: dict[str, list[str]] = field(default_factory=dict)
    """The broker names of each cluster, by cluster name."""
