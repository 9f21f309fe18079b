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
    """The address for clients, ``ip:port``."""
    cluster_name: str
    ha_server_addr: str
    """The address for slaves, ``ip:port``."""
    broker_id: Int64
    """0 is the master, and every other id is a slave."""
    compressed: bool = False
    """True when the body has the zlib form, see ``remoting.bodies.register``."""
    body_crc32: Int32 = 0
    """The CRC-32 of the body as it is sent, & 0x7fffffff; 0 is not checked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterBrokerResponse(Header):
    """The name server returns what a slave needs to know about its master (request code 103)."""

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
    """The name server compares versions (request code 322); the one it knows is in the body."""

    changed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTopicFromNamesrv(Header):
    """Forget a topic in all clusters, or only in one (request code 216)."""

    topic: str
    cluster_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WipeWritePermOfBroker(Header):
    """Take write permission from all queues of a broker (request code 205)."""

    broker_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WipeWritePermOfBrokerResponse(Header):
    """The name server returns how many topics it changed (request code 205)."""

    wipe_topic_count: Int32


@dataclass(frozen=True, slots=True, kw_only=True)
class AddWritePermOfBroker(Header):
    """Give read and write permission to all queues of a broker (request code 327)."""

    broker_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AddWritePermOfBrokerResponse(Header):
    """The name server returns how many topics it changed (request code 327)."""

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
    """The name server returns the value of a key (request code 101)."""

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
