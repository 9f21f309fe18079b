"""Where topics and brokers are: what a name server answers.

Rule: broker ids are the keys of ``broker_addrs``, 0 is the master. Java clients of 4.9.4 and
later get the route as strict JSON (``encode_strict``), older ones and every reader of
``ClusterInfo`` get bare integer keys.

Source: common/protocol/route (4.9.7), namesrv/processor/ClientRequestProcessor.java.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Final

from remoting.bodies.base import Body

MASTER_ID: Final = 0
STRICT_JSON_VERSION: Final = 401
"""MQVersion of 4.9.4: requests from there on get a route in strict JSON."""

_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-f]{4})|.)")


@dataclass(slots=True, kw_only=True)
class QueueData(Body):
    """How many queues of a topic one broker has, and what may be done with them."""

    broker_name: str
    read_queue_nums: int = 0
    write_queue_nums: int = 0
    perm: int = 0
    """4 read, 2 write, 1 inherit."""
    topic_sys_flag: int = 0


@dataclass(slots=True, kw_only=True)
class BrokerData(Body):
    """The addresses of one broker name: a master and its slaves."""

    cluster: str | None = None
    broker_name: str
    broker_addrs: dict[int, str] = field(default_factory=dict)
    """Broker id to ``ip:port``."""

    def master(self) -> str | None:
        """Return the master's address, None while there is only a slave."""
        return self.broker_addrs.get(MASTER_ID)

    def any_address(self) -> str | None:
        """Return the master's address, else that of the first slave, else None."""
        lowest = min(self.broker_addrs, default=None)
        return None if lowest is None else self.broker_addrs[lowest]


@dataclass(slots=True, kw_only=True)
class TopicRouteData(Body):
    """Brokers and queues of one topic (request code 105)."""

    order_topic_conf: str | None = None
    """``broker:queues`` pairs joined by semicolons, for ordered topics."""
    queue_datas: list[QueueData] = field(default_factory=list)
    broker_datas: list[BrokerData] = field(default_factory=list)
    filter_server_table: dict[str, list[str]] = field(default_factory=dict)

    def encode_for(self, version: int, *, strict_only: bool = False) -> bytes:
        """Return the text that a client of MQVersion ``version`` is answered with."""
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
    """Every broker and every cluster that a name server knows (request code 106)."""

    broker_addr_table: dict[str, BrokerData] = field(default_factory=dict)
    """Broker name to its addresses."""
    cluster_addr_table: dict[str, list[str]] = field(default_factory=dict)
    """Cluster name to its broker names."""
