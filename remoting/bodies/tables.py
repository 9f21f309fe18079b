"""Plain lists and tables that several requests answer with.

Source: common/protocol/body (4.9.7).
"""

from dataclasses import dataclass, field

from remoting.bodies.base import Body


@dataclass(slots=True, kw_only=True)
class KVTable(Body):
    """Names and values: runtime information (28), a key-value namespace (219), order topics."""

    table: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class KVConfigSerializeWrapper(Body):
    """Every namespace of a name server: the content of its kvConfig.json."""

    config_table: dict[str, dict[str, str]] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class TopicList(Body):
    """Topic names (request codes 206, 224, 304, 305, 311 to 313)."""

    topic_list: list[str] = field(default_factory=list)
    broker_addr: str | None = None
    """A broker to ask for the rest; only in the answer to request code 304."""


@dataclass(slots=True, kw_only=True)
class GroupList(Body):
    """Consumer group names (request code 300)."""

    group_list: list[str] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class GetConsumerListByGroupResponseBody(Body):
    """Client ids of the live members of a group (request code 38)."""

    consumer_id_list: list[str] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class ConsumeByWho(Body):
    """Which groups consumed a message; left over in 4.9.7, no request answers with it."""

    consumed_group: list[str] = field(default_factory=list)
    not_consumed_group: list[str] = field(default_factory=list)
    topic: str | None = None
    queue_id: int = 0
    offset: int = 0
    """Queue offset, in entries."""
