"""Lists and tables that are the answers to several requests.

Source: common/protocol/body (4.9.7).
"""

from dataclasses import dataclass, field

from remoting.bodies.base import Body


@dataclass(slots=True, kw_only=True)
class KVTable(Body):
    """Names and their values.

    This is the runtime information of a broker (request code 28), a namespace of a name server's
    key-value table (219), or the configuration of ordered topics (103).
    """

    table: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class KVConfigSerializeWrapper(Body):
    """All namespaces of a name server; this is the content of its kvConfig.json."""

    config_table: dict[str, dict[str, str]] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class TopicList(Body):
    """The server returns topic names (request codes 206, 224, 304, 305 and 311 to 313)."""

    topic_list: list[str] = field(default_factory=list)
    broker_addr: str | None = None
    """The broker to ask for the other names; only the answer to request code 304 has it."""


@dataclass(slots=True, kw_only=True)
class GroupList(Body):
    """The broker returns the names of consumer groups (request code 300)."""

    group_list: list[str] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class GetConsumerListByGroupResponseBody(Body):
    """The broker returns the client ids of the connected members of a group (request code 38)."""

    consumer_id_list: list[str] = field(default_factory=list)
