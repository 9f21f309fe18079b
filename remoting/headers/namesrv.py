"""Requests that a name server answers.

Source: common/protocol/header/namesrv (4.9.7).
"""

from dataclasses import dataclass

from remoting.header import Header, Int32, Int64


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterBroker(Header):
    """A broker announces itself and its topics (request code 103)."""

    broker_name: str
    broker_addr: str
    """Where clients connect, ``ip:port``."""
    cluster_name: str
    ha_server_addr: str
    """Where slaves connect, ``ip:port``."""
    broker_id: Int64
    """0 is the master."""
    compressed: bool = False
    """True when the body is the zlib form."""
    body_crc32: Int32 = 0
    """CRC-32 of the body as sent, & 0x7fffffff; 0 is not checked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterBrokerResponse(Header):
    """What a slave needs to know about its master."""

    ha_server_addr: str | None = None
    master_addr: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnRegisterBroker(Header):
    """Forget one broker address at once (request code 104)."""

    broker_name: str
    broker_addr: str
    cluster_name: str
    broker_id: Int64


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryDataVersion(Header):
    """Ask whether the topics of a broker changed since it last registered (request code 322)."""

    broker_name: str
    broker_addr: str
    cluster_name: str
    broker_id: Int64


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryDataVersionResponse(Header):
    """Answer to request code 322; the known version is in the body."""

    changed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTopicFromNamesrv(Header):
    """Forget a topic, everywhere or in one cluster (request code 216)."""

    topic: str
    cluster_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WipeWritePermOfBroker(Header):
    """Take the write permission from all queues of a broker (request code 205)."""

    broker_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WipeWritePermOfBrokerResponse(Header):
    """Answer to request code 205."""

    wipe_topic_count: Int32


@dataclass(frozen=True, slots=True, kw_only=True)
class AddWritePermOfBroker(Header):
    """Give read and write permission to all queues of a broker (request code 327)."""

    broker_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AddWritePermOfBrokerResponse(Header):
    """Answer to request code 327."""

    add_topic_count: Int32


@dataclass(frozen=True, slots=True, kw_only=True)
class PutKVConfig(Header):
    """Set one key of a namespace (request code 100)."""

    namespace: str
    key: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GetKVConfig(Header):
    """Read one key of a namespace (request code 101)."""

    namespace: str
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GetKVConfigResponse(Header):
    """Answer to request code 101."""

    value: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteKVConfig(Header):
    """Remove one key of a namespace (request code 102)."""

    namespace: str
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GetKVListByNamespace(Header):
    """Read all keys of a namespace (request code 219)."""

    namespace: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterOrderTopic(Header):
    """Declare an ordered topic; no request code of 4.9 carries it."""

    topic: str
    order_topic_string: str
    """``broker:queues`` pairs joined by semicolons."""
