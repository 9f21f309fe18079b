"""Bodies made of the values that also lie in a store: topics, groups, their versions.

``storefmt.config.tables`` declares ``TopicConfig``, ``SubscriptionGroup`` and ``DataVersion``;
here is what wraps them on the wire. Where such a value IS the body (request codes 200 and 322),
use ``encode_value`` and ``decode_value``.

Source: common/protocol/body/TopicConfigSerializeWrapper.java, SubscriptionGroupWrapper.java.
"""

from dataclasses import dataclass, field
from typing import TypeVar

from remoting.bodies.base import Body, JsonValue
from remoting.errors import BadBody
from storefmt.config import fastjson
from storefmt.config.tables import DataVersion, SubscriptionGroup, TopicConfig
from storefmt.errors import ConfigDamaged

_V = TypeVar("_V", bound=JsonValue)


@dataclass(slots=True, kw_only=True)
class TopicConfigSerializeWrapper(Body):
    """Every topic of a broker (request code 21; also topics.json)."""

    topic_config_table: dict[str, TopicConfig] = field(default_factory=dict)
    data_version: DataVersion = field(default_factory=DataVersion)


@dataclass(slots=True, kw_only=True)
class SubscriptionGroupWrapper(Body):
    """Every consumer group of a broker (request code 201; also subscriptionGroup.json)."""

    subscription_group_table: dict[str, SubscriptionGroup] = field(default_factory=dict)
    data_version: DataVersion = field(default_factory=DataVersion)


def encode_value(value: JsonValue) -> bytes:
    """Return one topic, group or version as a body of its own."""
    return fastjson.dumps(value.to_json()).encode()


def decode_value(kind: type[_V], data: bytes) -> _V:
    """Return the topic, group or version in a body; raises BadBody."""
    try:
        return kind.from_json(fastjson.loads(data))
    except ConfigDamaged as error:
        raise BadBody(f"{kind.__name__}: {error}", body=kind.__name__) from None
